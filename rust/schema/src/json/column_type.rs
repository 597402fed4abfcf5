//! The type of a column: that of its field, without metadata.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef};

/// Returns a type without the metadata of its fields.
pub(super) fn plain_type(data_type: &DataType) -> DataType {
    let field = |field: &FieldRef| {
        Arc::new(Field::new(field.name(), plain_type(field.data_type()), field.is_nullable()))
    };
    match data_type {
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(field).collect()),
        DataType::List(items) => DataType::List(field(items)),
        DataType::LargeList(items) => DataType::LargeList(field(items)),
        DataType::Map(entries, sorted) => DataType::Map(field(entries), *sorted),
        other => other.clone(),
    }
}
