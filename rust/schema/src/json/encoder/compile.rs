//! Compiles a JSON type and the type of a column to steps.
//!
//! Invariants: a pair of types that could only be converted by guessing is refused. So is a field of the column that
//! the JSON type lacks, because its data would be lost. The recursion is as deep as the JSON type, which is bounded.

use arrow_schema::DataType;

use super::step::{MemberStep, WriteKind, WriteStep};
use crate::json::value_type::{Kind, Object, ValueType};
use crate::row_failure::RowFailure;
use crate::source::{
    DecimalConversion, Rescale, check_fields, entries, is_text, list_items, struct_field, value_type,
};

/// Compiles a JSON type for a column. `expected` is the type of columns that are decoded from the JSON type.
pub(super) fn compile(
    target: &ValueType,
    expected: &DataType,
    data_type: &DataType,
) -> Result<WriteStep, RowFailure> {
    let kind = kind(&target.kind, expected, value_type(data_type))?;
    let kind = kind.ok_or_else(|| RowFailure::type_mismatch(data_type, expected))?;
    Ok(WriteStep { is_nullable: target.nullable, kind })
}

fn kind(target: &Kind, expected: &DataType, source: &DataType) -> Result<Option<WriteKind>, RowFailure> {
    let is_float = source.is_integer() || matches!(source, DataType::Float16 | DataType::Float32);
    Ok(match target {
        _ if *source == DataType::Null => Some(WriteKind::Null),
        Kind::Text => is_text(source).then_some(WriteKind::Text),
        Kind::String => is_text(source).then_some(WriteKind::String),
        Kind::Boolean => (*source == DataType::Boolean).then_some(WriteKind::Boolean),
        Kind::Integer(min, max) => source.is_integer().then_some(WriteKind::Integer(*min, *max)),
        Kind::Double => (is_float || *source == DataType::Float64).then_some(WriteKind::Double),
        Kind::Float => is_float.then_some(WriteKind::Float),
        Kind::Decimal(precision, scale) => {
            let conversion = DecimalConversion::new(source, *precision, (*scale).cast_signed());
            conversion.map(|conversion| WriteKind::Decimal(conversion, *scale))
        }
        Kind::Date => Rescale::to_days(source).map(WriteKind::Date),
        Kind::Timestamp { unit, needs_offset } => {
            let rescale = Rescale::of_timestamp(source, *unit, *needs_offset);
            rescale.map(|rescale| WriteKind::Timestamp { rescale, unit: *unit, has_offset: *needs_offset })
        }
        Kind::List(items) => match (list_items(expected), list_items(source)) {
            (Some(expected), Some(found)) => {
                let items = compile(items, expected.data_type(), found.data_type());
                Some(WriteKind::List(Box::new(items.map_err(RowFailure::in_items)?)))
            }
            _ => None,
        },
        Kind::Map(values) => match (entries(expected), entries(source)) {
            (Some(expected), Some(found)) if is_text(value_type(found.key.1)) => {
                let values = compile(values, expected.value.1, found.value.1);
                let values = Box::new(values.map_err(RowFailure::in_items)?);
                Some(WriteKind::Map(found.key.0, found.value.0, values))
            }
            _ => None,
        },
        Kind::Object(object) => match (expected, source) {
            (DataType::Struct(expected), DataType::Struct(found)) => {
                Some(object_kind(object, expected, found)?)
            }
            _ => None,
        },
    })
}

fn object_kind(
    object: &Object,
    expected: &arrow_schema::Fields,
    found: &arrow_schema::Fields,
) -> Result<WriteKind, RowFailure> {
    check_fields(found, "the schema", |name| object.position(name, 0).is_some())?;
    let mut steps = Vec::with_capacity(found.len());
    for (member, expected) in object.members.iter().zip(expected) {
        let name = &member.name;
        let is_required = member.is_required || !member.value.nullable;
        let Some((column, data_type)) = struct_field(found, name) else {
            if is_required {
                return Err(RowFailure::new("it is required, but the column lacks it").in_field(name));
            }
            continue;
        };
        let step = compile(&member.value, expected.data_type(), data_type);
        let step = step.map_err(|failure| failure.in_field(name))?;
        let mut key = serde_json::to_vec(name).map_err(|_| RowFailure::internal())?;
        key.push(b':');
        steps.push(MemberStep { column, name: name.clone(), key, is_required, step });
    }
    Ok(WriteKind::Object(steps))
}
