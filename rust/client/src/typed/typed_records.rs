//! Keys and values of records, for programs that take them one by one.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use ottla_schema::{DecodedColumn, RowError};

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
        self.key.iter().chain(&self.value).map(|field| field.array.len()).min()
    }

    /// Whether the key or the value in `row` could not be decoded.
    pub(crate) fn is_failed(&self, row: usize) -> bool {
        self.key.iter().chain(&self.value).any(|field| field.array(row).is_err())
    }
}

/// The keys, or the values, of a set of records.
#[derive(Debug, Clone)]
pub struct TypedField {
    array: ArrayRef,
    errors: Arc<[RowError]>,
    name: &'static str,
}

impl TypedField {
    pub(crate) fn new(decoded: DecodedColumn, name: &'static str) -> Self {
        Self { array: decoded.array, errors: decoded.errors.into(), name }
    }

    /// `key` or `value`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The array that has the value in `row`.
    ///
    /// # Errors
    /// [`Kind::Serialization`] if the record could not be decoded.
    pub fn array(&self, row: usize) -> Result<&ArrayRef> {
        match self.errors.binary_search_by_key(&row, |error| error.row) {
            Ok(at) => {
                let reason = self.errors.get(at).map(ToString::to_string).unwrap_or_default();
                Err(Error::new(Kind::Serialization, format!("the {} cannot be decoded: {reason}", self.name)))
            }
            Err(_) => Ok(&self.array),
        }
    }
}
