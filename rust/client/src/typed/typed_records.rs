//! Keys and values of records, for programs that take them one by one: the records of a batch are decoded
//! together, as rows of typed columns.
//!
//! Invariant: a record's row is the number of its entry in the set that was decoded.

use std::sync::Arc;

use arrow_array::ArrayRef;
use ottla_schema::{DecodedColumn, EncodedRows, Header, RowError, SchemaId};

use super::typed_batch::TypedColumns;
use super::typed_column::TypedColumn;
use crate::consumer::RecordSet;
use crate::error::{Error, Kind, Result};

/// The decoded keys and values of a set of records.
#[derive(Debug, Clone, Default)]
pub struct TypedRecords {
    /// The keys, unless they stay bytes.
    pub key: Option<TypedField>,
    /// The values, unless they stay bytes.
    pub value: Option<TypedField>,
}

/// The keys, or the values, of a set of records.
#[derive(Debug, Clone)]
pub struct TypedField {
    array: ArrayRef,
    errors: Arc<[RowError]>,
    name: &'static str,
}

impl From<(DecodedColumn, &'static str)> for TypedField {
    fn from((decoded, name): (DecodedColumn, &'static str)) -> Self {
        Self { array: decoded.array, errors: decoded.errors.into(), name }
    }
}

impl TypedField {
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

/// The keys or the values of a set as rows.
struct SetRows<'a> {
    set: &'a RecordSet,
    header: Header,
}

impl EncodedRows for SetRows<'_> {
    fn count(&self) -> usize {
        self.set.entries.len()
    }

    fn bytes(&self, row: usize) -> Option<&[u8]> {
        let entry = self.set.entries.get(row)?;
        match self.header {
            Header::Key => self.set.key(entry),
            Header::Value => self.set.value(entry),
        }
    }

    fn header(&self, row: usize, name: &str) -> Option<&[u8]> {
        let entry = self.set.entries.get(row)?;
        self.set.headers(entry).filter(|(key, _)| *key == name.as_bytes()).last()?.1
    }
}

impl TypedColumns {
    /// The schemas that the records of a set need and that were not looked up.
    pub(crate) fn missing_of_set(&self, set: &RecordSet) -> Vec<(Arc<TypedColumn>, Vec<SchemaId>)> {
        let missing = |typed: &Arc<TypedColumn>| {
            (Arc::clone(typed), typed.missing(&SetRows { set, header: typed.header() }))
        };
        self.each().map(missing).collect()
    }

    /// Decodes the records of a set whose schemas were loaded.
    pub(crate) fn decode_set(&self, set: &RecordSet) -> Result<TypedRecords> {
        let decode = |typed: &Option<Arc<TypedColumn>>| {
            let decoded = typed.as_ref().map(|typed| {
                let rows = SetRows { set, header: typed.header() };
                typed.decode(&rows).map(|decoded| TypedField::from((decoded, typed.name())))
            });
            decoded.transpose()
        };
        Ok(TypedRecords { key: decode(&self.key)?, value: decode(&self.value)? })
    }
}
