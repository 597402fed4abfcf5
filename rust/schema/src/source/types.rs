//! The Arrow types that represent the same values.

use arrow_schema::{DataType, Field, Fields};

use crate::row_failure::RowFailure;

/// The type of a dictionary's values, or the type itself.
pub(crate) fn value_type(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => values,
        other => other,
    }
}

pub(crate) fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

pub(crate) fn is_binary(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_)
    )
}

/// The field of a list's items.
pub(crate) fn list_items(data_type: &DataType) -> Option<&Field> {
    match data_type {
        DataType::List(items) | DataType::LargeList(items) | DataType::FixedSizeList(items, _) => Some(items),
        _ => None,
    }
}

/// A part of a struct: its position and its type.
pub(crate) type Part<'a> = (usize, &'a DataType);

/// The key and the value of a map's entries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entries<'a> {
    pub(crate) key: Part<'a>,
    pub(crate) value: Part<'a>,
}

/// Returns the entries of a map, or of a list of structs with the fields `key` and `value`, since not every library
/// has maps.
pub(crate) fn entries(data_type: &DataType) -> Option<Entries<'_>> {
    if let DataType::Map(entries, _) = data_type {
        let DataType::Struct(fields) = entries.data_type() else { return None };
        let [key, value] = fields.as_ref() else { return None };
        return Some(Entries { key: (0, key.data_type()), value: (1, value.data_type()) });
    }
    let DataType::Struct(fields) = list_items(data_type)?.data_type() else { return None };
    let is_pair = fields.len() == 2;
    let part = |name| struct_field(fields, name).filter(|_| is_pair);
    Some(Entries { key: part("key")?, value: part("value")? })
}

/// Returns the field of a struct with this name.
pub(crate) fn struct_field<'a>(fields: &'a Fields, name: &str) -> Option<Part<'a>> {
    fields.find(name).map(|(at, field)| (at, field.data_type()))
}

/// Refuses a struct that has a field twice, or a field that its target lacks, because the field's data would be lost.
pub(crate) fn check_fields(
    fields: &Fields,
    target: &str,
    has_field: impl Fn(&str) -> bool,
) -> Result<(), RowFailure> {
    for (at, field) in fields.iter().enumerate() {
        let name = field.name();
        if !has_field(name) {
            return Err(RowFailure::new(format!("{target} has no such field; drop it from the column"))
                .in_field(name));
        }
        if fields.find(name).is_some_and(|(first, _)| first != at) {
            return Err(RowFailure::new("the column has this field twice").in_field(name));
        }
    }
    Ok(())
}
