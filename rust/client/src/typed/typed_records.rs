//! Keys and values of records, for programs that take them one by one.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use ottla_schema::{DecodedColumn, DecodedTypes, Place, RowError, RowsOfType};

use super::decoder::Decoded;
use crate::error::{Error, Kind, Result};

/// The decoded keys and values of a set of records.
#[derive(Debug, Clone, Default)]
pub struct TypedRecords {
    /// The keys, unless they stay bytes.
    pub key: Option<TypedField>,
    /// The values, unless they stay bytes.
    pub value: Option<TypedField>,
}

impl TypedRecords {
    /// The number of records that were decoded; `None` if keys and values stay bytes.
    pub(crate) fn rows(&self) -> Option<usize> {
        self.key.iter().chain(&self.value).map(TypedField::len).min()
    }

    /// Whether the key or the value in `row` could not be decoded.
    pub(crate) fn is_failed(&self, row: usize) -> bool {
        self.key.iter().chain(&self.value).any(|field| field.value(row).is_err())
    }
}

/// The keys, or the values, of a set of records.
#[derive(Debug, Clone)]
pub struct TypedField {
    rows: Rows,
    errors: Arc<[RowError]>,
    name: &'static str,
}

#[derive(Debug, Clone)]
enum Rows {
    /// Of one type.
    Column(ArrayRef),
    /// Of several types, as they were written.
    Types(Arc<[RowsOfType]>, Arc<[Place]>),
}

/// The key or value of a record.
#[derive(Debug, Clone, Copy)]
pub enum FieldValue<'a> {
    /// The value in this row, converted to the type of all values.
    Converted(&'a ArrayRef, usize),
    /// The value in this row, as it was written, with the name of its type.
    AsWritten(Option<&'a str>, &'a ArrayRef, usize),
    /// There is none, though all values keep the types that they were written with.
    Null,
}

impl TypedField {
    pub(crate) fn new(decoded: Decoded, name: &'static str) -> Self {
        let (rows, errors) = match decoded {
            Decoded::Column(DecodedColumn { array, errors, .. }) => (Rows::Column(array), errors),
            Decoded::Types(DecodedTypes { types, places, errors, .. }) => {
                (Rows::Types(types.into(), places.into()), errors)
            }
        };
        Self { rows, errors: errors.into(), name }
    }

    /// `key` or `value`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    fn len(&self) -> usize {
        match &self.rows {
            Rows::Column(array) => array.len(),
            Rows::Types(_, places) => places.len(),
        }
    }

    /// The value in `row`.
    ///
    /// # Errors
    /// [`Kind::Serialization`] if the record could not be decoded.
    pub fn value(&self, row: usize) -> Result<FieldValue<'_>> {
        if let Ok(at) = self.errors.binary_search_by_key(&row, |error| error.row) {
            let reason = self.errors.get(at).map(ToString::to_string).unwrap_or_default();
            return Err(Error::new(
                Kind::Serialization,
                format!("the {} cannot be decoded: {reason}", self.name),
            ));
        }
        let (types, places) = match &self.rows {
            Rows::Column(array) => return Ok(FieldValue::Converted(array, row)),
            Rows::Types(types, places) => (types, places),
        };
        let place = places.get(row).copied().flatten();
        let found = place.and_then(|(of_type, at)| Some((types.get(of_type)?, at)));
        Ok(found.map_or(FieldValue::Null, |(rows, at)| {
            FieldValue::AsWritten(rows.name.as_deref(), &rows.array, at)
        }))
    }
}
