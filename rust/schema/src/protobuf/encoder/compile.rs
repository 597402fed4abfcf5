//! Compiles a message and the type of a column to steps.
//!
//! Invariants: a pair of types that could only be converted by guessing is refused. So is a field of the column that
//! the message lacks, because its data would be lost. The recursion is as deep as the message, which is bounded.

use arrow_schema::DataType;
use prost_reflect::{EnumDescriptor, FieldDescriptor, Kind, MessageDescriptor, Syntax};

use super::step::{FieldKind, FieldStep, MessageStep, Names, Presence, ValueStep};
use crate::protobuf::column::U64_DIGITS;
use crate::protobuf::plan::{WellKnown, field_type, type_of_value};
use crate::protobuf::scalar::Encoding;
use crate::protobuf::time::TimeKind;
use crate::row_failure::RowFailure;
use crate::source::{
    DecimalConversion, check_fields, entries, is_binary, is_text, list_items, struct_field, value_type,
};

/// Compiles a message with fields for a column.
pub(super) fn compile(message: &MessageDescriptor, data_type: &DataType) -> Result<MessageStep, RowFailure> {
    let fields = match value_type(data_type) {
        DataType::Struct(fields) => fields.clone(),
        // All rows are null.
        DataType::Null => return Ok(MessageStep { fields: Vec::new(), oneofs: Vec::new() }),
        _ => {
            let expected = type_of_value(&Kind::Message(message.clone()));
            return Err(RowFailure::type_mismatch(data_type, &expected));
        }
    };
    let target = format!("the message {}", message.full_name());
    check_fields(&fields, &target, |name| message.get_field_by_name(name).is_some())?;
    let mut steps = Vec::new();
    let oneofs: Vec<_> = message.oneofs().filter(|oneof| !oneof.is_synthetic()).collect();
    let mut oneof_fields = vec![Vec::new(); oneofs.len()];
    let mut descriptors: Vec<_> = message.fields().collect();
    descriptors.sort_by_key(FieldDescriptor::number);
    for field in descriptors {
        let name = field.name();
        let Some((column, data_type)) = struct_field(&fields, name) else {
            if field.is_required() {
                return Err(RowFailure::new("it is required, but the column lacks it").in_field(name));
            }
            continue;
        };
        if let Some(oneof) = field.containing_oneof().and_then(|of| oneofs.iter().position(|it| *it == of))
            && let Some(members) = oneof_fields.get_mut(oneof)
        {
            members.push(steps.len());
        }
        let presence = match field.supports_presence() {
            _ if field.is_required() => Presence::Required,
            true => Presence::Explicit,
            false => Presence::Implicit,
        };
        let kind = field_kind(&field, data_type).map_err(|failure| failure.in_field(name))?;
        steps.push(FieldStep { name: name.to_owned(), column, number: field.number(), presence, kind });
    }
    Ok(MessageStep { fields: steps, oneofs: oneof_fields })
}

fn field_kind(field: &FieldDescriptor, data_type: &DataType) -> Result<FieldKind, RowFailure> {
    let source = value_type(data_type);
    let mismatch = || RowFailure::type_mismatch(data_type, &field_type(field));
    match field.kind() {
        _ if *source == DataType::Null => Ok(FieldKind::Single(ValueStep::Null)),
        Kind::Message(entry) if field.is_map() => {
            let entries = entries(source).ok_or_else(mismatch)?;
            let (key_kind, value_kind) =
                (entry.map_entry_key_field().kind(), entry.map_entry_value_field().kind());
            Ok(FieldKind::Map {
                columns: (entries.key.0, entries.value.0),
                key: value(&key_kind, false, entries.key.1).map_err(RowFailure::in_items)?,
                value: value(&value_kind, false, entries.value.1).map_err(RowFailure::in_items)?,
            })
        }
        kind if field.is_list() => {
            let items = list_items(source).ok_or_else(mismatch)?;
            let items = value(&kind, field.is_group(), items.data_type()).map_err(RowFailure::in_items)?;
            let is_packed = items.is_packable() && is_packed(field);
            Ok(FieldKind::Repeated { items, is_packed })
        }
        kind => Ok(FieldKind::Single(value(&kind, field.is_group(), data_type)?)),
    }
}

fn value(kind: &Kind, is_group: bool, data_type: &DataType) -> Result<ValueStep, RowFailure> {
    use Encoding::{Fixed, Fixed32, Varint, Varint32, Zigzag};
    let source = value_type(data_type);
    let is_float = source.is_integer() || matches!(source, DataType::Float16 | DataType::Float32);
    let of_integer = |step: ValueStep| source.is_integer().then_some(step);
    let uint64 = |encoding| {
        DecimalConversion::new(source, U64_DIGITS, 0).map(|conversion| ValueStep::U64(encoding, conversion))
    };
    let step = match kind {
        _ if *source == DataType::Null => Some(ValueStep::Null),
        Kind::Bool => (*source == DataType::Boolean).then_some(ValueStep::Bool),
        Kind::Int32 => of_integer(ValueStep::I32(Varint)),
        Kind::Sint32 => of_integer(ValueStep::I32(Zigzag)),
        Kind::Sfixed32 => of_integer(ValueStep::I32(Fixed)),
        Kind::Int64 => of_integer(ValueStep::I64(Varint)),
        Kind::Sint64 => of_integer(ValueStep::I64(Zigzag)),
        Kind::Sfixed64 => of_integer(ValueStep::I64(Fixed)),
        Kind::Uint32 => of_integer(ValueStep::I64(Varint32)),
        Kind::Fixed32 => of_integer(ValueStep::I64(Fixed32)),
        Kind::Uint64 => uint64(Varint),
        Kind::Fixed64 => uint64(Fixed),
        Kind::Float => is_float.then_some(ValueStep::F32),
        Kind::Double => (is_float || *source == DataType::Float64).then_some(ValueStep::F64),
        Kind::String => is_text(source).then_some(ValueStep::Text),
        Kind::Bytes => is_binary(source).then_some(ValueStep::Binary),
        Kind::Enum(of) => match is_text(source) {
            true => Some(ValueStep::Enum(Box::new(names(of)))),
            false => of_integer(ValueStep::I32(Varint)),
        },
        Kind::Message(message) => match WellKnown::of(message) {
            Some(WellKnown::Time(kind)) => match (kind, source) {
                (TimeKind::Timestamp, DataType::Timestamp(unit, Some(_)))
                | (TimeKind::Duration, DataType::Duration(unit)) => Some(ValueStep::Time(kind, *unit)),
                _ => None,
            },
            Some(WellKnown::Json(kind)) => is_text(source).then_some(ValueStep::Json(kind)),
            Some(WellKnown::Wrapper(field)) => {
                Some(ValueStep::Wrapper(Box::new(value(&field.kind(), false, data_type)?)))
            }
            None if message.fields().len() == 0 => {
                (*source == DataType::Boolean).then_some(ValueStep::Empty { is_group })
            }
            None => {
                let message = Box::new(compile(message, data_type)?);
                Some(ValueStep::Message { is_group, message })
            }
        },
    };
    step.ok_or_else(|| RowFailure::type_mismatch(data_type, &type_of_value(kind)))
}

/// Returns whether a packable field is packed in this schema. `FieldDescriptor::is_packed` does not know: protox
/// compiles the options of fields after their descriptors.
fn is_packed(field: &FieldDescriptor) -> bool {
    let stated = field.field_descriptor_proto().options.as_ref().and_then(|options| options.packed);
    stated.unwrap_or(field.parent_file().syntax() == Syntax::Proto3)
}

fn names(of: &EnumDescriptor) -> Names {
    let values = of.values().map(|value| (value.name().to_owned(), value.number()));
    Names { of: of.full_name().to_owned(), numbers: values.collect() }
}
