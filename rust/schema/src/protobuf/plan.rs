//! Plans the columns of a message from its descriptor.
//!
//! Invariant: the shape of a message is within the limits before its columns are built, since names expand.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field};
use prost_reflect::{EnumDescriptor, FieldDescriptor, Kind, MessageDescriptor};

use super::collections::{ListColumn, MapColumn};
use super::column::Column;
use super::enumeration::Names;
use super::json::{JsonColumn, JsonKind};
use super::message_column::{FieldColumn, MessageColumn};
use super::scalar::Encoding;
use super::storage::{Numbers, Texts};
use super::time::{TimeColumn, TimeKind};
use super::unsupported;
use crate::error::SchemaError;
use crate::shape::{Shape, check_level};

/// The columns of a message, whose rows may be null.
pub(super) fn plan(message: &MessageDescriptor) -> Result<MessageColumn, SchemaError> {
    let mut planner = Planner::default();
    planner.message_shape(message, 1)?;
    if message.fields().len() == 0 {
        return Err(unsupported(format!("the message {} has no fields", message.full_name())));
    }
    Ok(planner.message(message, true))
}

/// The type of a field's column.
pub(super) fn field_type(field: &FieldDescriptor) -> DataType {
    Planner::default().field(field).data_type()
}

/// The type of a column of values.
pub(super) fn type_of_value(kind: &Kind) -> DataType {
    Planner::default().value(kind, false, false).data_type()
}

/// A message of Google's with a column type of its own.
pub(super) enum WellKnown {
    Time(TimeKind),
    Json(JsonKind),
    Wrapper(FieldDescriptor),
}

impl WellKnown {
    /// The imports `google/protobuf/…` are always Google's own.
    pub(super) fn of(message: &MessageDescriptor) -> Option<Self> {
        if !message.parent_file().name().starts_with("google/protobuf/") {
            return None;
        }
        Some(match message.full_name().strip_prefix("google.protobuf.")? {
            "Timestamp" => Self::Time(TimeKind::Timestamp),
            "Duration" => Self::Time(TimeKind::Duration),
            "Struct" => Self::Json(JsonKind::Struct),
            "Value" => Self::Json(JsonKind::Value),
            "ListValue" => Self::Json(JsonKind::List),
            "BoolValue" | "Int32Value" | "Int64Value" | "UInt32Value" | "UInt64Value" | "FloatValue"
            | "DoubleValue" | "StringValue" | "BytesValue" => Self::Wrapper(message.get_field(1)?),
            _ => return None,
        })
    }
}

#[derive(Default)]
struct Planner {
    /// The shapes of messages, by full name.
    shapes: HashMap<String, Shape>,
    /// The messages that contain the current one.
    open: Vec<String>,
    enums: HashMap<String, Arc<Names>>,
}

impl Planner {
    fn message_shape(&mut self, message: &MessageDescriptor, level: usize) -> Result<Shape, SchemaError> {
        check_level(level).map_err(unsupported)?;
        let name = message.full_name();
        if let Some(shape) = self.shapes.get(name) {
            return Ok(*shape);
        }
        if self.open.iter().any(|open| open == name) {
            return Err(unsupported(format!("the message {name} is recursive, which Arrow has no type for")));
        }
        self.open.push(name.to_owned());
        let mut shapes = Vec::with_capacity(message.fields().len());
        for field in message.fields() {
            shapes.push(self.field_shape(&field, level + 1)?);
        }
        self.open.pop();
        let shape = Shape::of(&shapes, false).map_err(unsupported)?;
        self.shapes.insert(name.to_owned(), shape);
        Ok(shape)
    }

    fn field_shape(&mut self, field: &FieldDescriptor, level: usize) -> Result<Shape, SchemaError> {
        let of = |parts: &[Shape]| Shape::of(parts, false).map_err(unsupported);
        match field.kind() {
            Kind::Message(entry) if field.is_map() => {
                let value = self.value_shape(&entry.map_entry_value_field().kind(), level + 2)?;
                of(&[of(&[Shape::LEAF, value])?])
            }
            kind if field.is_list() => of(&[self.value_shape(&kind, level + 1)?]),
            kind => self.value_shape(&kind, level),
        }
    }

    fn value_shape(&mut self, kind: &Kind, level: usize) -> Result<Shape, SchemaError> {
        match kind {
            Kind::Message(message) if WellKnown::of(message).is_none() => self.message_shape(message, level),
            _ => Ok(Shape::LEAF),
        }
    }

    /// The number of columns of a value.
    fn width(&self, kind: &Kind) -> usize {
        match kind {
            Kind::Message(message) => self.shapes.get(message.full_name()).map_or(1, |shape| shape.types()),
            _ => 1,
        }
    }

    fn message(&mut self, message: &MessageDescriptor, is_nullable: bool) -> MessageColumn {
        let oneofs: Vec<_> = message.oneofs().filter(|oneof| !oneof.is_synthetic()).collect();
        let fields = message.fields().map(|field| {
            let oneof = field.containing_oneof();
            FieldColumn {
                name: field.name().to_owned(),
                number: field.number(),
                column: self.field(&field),
                oneof: oneof.and_then(|oneof| oneofs.iter().position(|it| *it == oneof)),
                is_required: field.is_required(),
                width: self.width(&field.kind()),
            }
        });
        // The order of the file, not that of the numbers, as people read it.
        let mut fields: Vec<FieldColumn> = fields.collect();
        let declared = &message.descriptor_proto().field;
        let place = |number: u32| declared.iter().position(|it| u32::try_from(it.number()) == Ok(number));
        fields.sort_by_cached_key(|field| place(field.number));
        MessageColumn::new(fields, is_nullable)
    }

    fn field(&mut self, field: &FieldDescriptor) -> Column {
        let kind = field.kind();
        match &kind {
            Kind::Message(entry) if field.is_map() => {
                let value = entry.map_entry_value_field().kind();
                let mut part = |name: &str, number, kind: &Kind| FieldColumn {
                    name: name.to_owned(),
                    number,
                    column: self.value(kind, false, false),
                    oneof: None,
                    is_required: false,
                    width: 0,
                };
                let key = part("key", 1, &entry.map_entry_key_field().kind());
                let entries = MessageColumn::new(vec![key, part("value", 2, &value)], false);
                let entry_field = Field::new("entries", entries.data_type(), false);
                Column::Map(Box::new(MapColumn::new(entries, entry_field.into(), 1 + self.width(&value))))
            }
            _ if field.is_list() => {
                let items = self.value(&kind, false, field.is_group());
                let item_field = Field::new_list_field(items.data_type(), false);
                Column::List(Box::new(ListColumn::new(items, item_field.into(), self.width(&kind))))
            }
            _ => {
                let is_nullable = field.supports_presence() && !field.is_required();
                self.value(&kind, is_nullable, field.is_group())
            }
        }
    }

    fn value(&mut self, kind: &Kind, is_nullable: bool, is_group: bool) -> Column {
        use Encoding::{Fixed, Fixed32, Varint, Varint32, Zigzag};
        let int32 = |encoding| Column::I32(encoding, Numbers::new(0, is_nullable));
        let int64 = |encoding| Column::I64(encoding, Numbers::new(0, is_nullable));
        let uint64 = |encoding| Column::U64(encoding, Numbers::new(0, is_nullable));
        match kind {
            Kind::Bool => Column::Bool(Numbers::new(false, is_nullable)),
            Kind::Int32 => int32(Varint),
            Kind::Sint32 => int32(Zigzag),
            Kind::Sfixed32 => int32(Fixed),
            Kind::Int64 => int64(Varint),
            Kind::Sint64 => int64(Zigzag),
            Kind::Sfixed64 => int64(Fixed),
            Kind::Uint32 => int64(Varint32),
            Kind::Fixed32 => int64(Fixed32),
            Kind::Uint64 => uint64(Varint),
            Kind::Fixed64 => uint64(Fixed),
            Kind::Float => Column::F32(Numbers::new(0.0, is_nullable)),
            Kind::Double => Column::F64(Numbers::new(0.0, is_nullable)),
            Kind::String => Column::Text(Texts::new("", is_nullable)),
            Kind::Bytes => Column::Binary(Texts::new("", is_nullable)),
            Kind::Enum(descriptor) => {
                let default = descriptor.default_value().number();
                Column::Enum(self.names(descriptor), Numbers::new(default, is_nullable))
            }
            Kind::Message(message) => match WellKnown::of(message) {
                Some(WellKnown::Time(kind)) => Column::Time(Box::new(TimeColumn::new(kind, is_nullable))),
                Some(WellKnown::Json(kind)) => Column::Json(Box::new(JsonColumn::new(kind, is_nullable))),
                Some(WellKnown::Wrapper(value)) => {
                    Column::Wrapper(Box::new(self.value(&value.kind(), is_nullable, false)))
                }
                None => {
                    let message = Box::new(self.message(message, is_nullable));
                    Column::Message { is_group, message }
                }
            },
        }
    }

    fn names(&mut self, descriptor: &EnumDescriptor) -> Arc<Names> {
        let names = self.enums.entry(descriptor.full_name().to_owned());
        names.or_insert_with(|| Arc::new(Names::new(descriptor))).clone()
    }
}
