//! A column of headers: lists of structs with a key and a value.

use arrow_array::cast::AsArray;
use arrow_array::{Array, LargeListArray, ListArray};
use arrow_schema::DataType;
use ottla_protocol::records::Header;

use super::ColumnsError;
use super::bytes::BytesRef;

const NAME: &str = "headers";
const ACCEPTED: &str = "list<struct<key: string, value: binary>>, large_list of the same, or null";

#[derive(Debug, Clone, Copy)]
enum ListRef<'a> {
    List(&'a ListArray),
    LargeList(&'a LargeListArray),
}

/// The headers of all rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct HeadersRef<'a> {
    lists: ListRef<'a>,
    keys: BytesRef<'a>,
    values: BytesRef<'a>,
}

impl<'a> HeadersRef<'a> {
    /// `None` for a column of type null.
    pub(super) fn try_new(array: &'a dyn Array) -> Result<Option<Self>, ColumnsError> {
        let mismatch =
            || ColumnsError::Type { column: NAME, found: array.data_type().clone(), accepted: ACCEPTED };
        let (lists, entries) = match array.data_type() {
            DataType::Null => return Ok(None),
            DataType::List(_) => {
                let lists = array.as_list_opt::<i32>().ok_or_else(mismatch)?;
                (ListRef::List(lists), lists.values())
            }
            DataType::LargeList(_) => {
                let lists = array.as_list_opt::<i64>().ok_or_else(mismatch)?;
                (ListRef::LargeList(lists), lists.values())
            }
            _ => return Err(mismatch()),
        };
        let entries = entries.as_struct_opt().ok_or_else(mismatch)?;
        let field = |name| {
            let array = entries.column_by_name(name).ok_or_else(mismatch)?;
            BytesRef::try_new(NAME, array.as_ref()).map_err(|_| mismatch())
        };
        let headers = Self { lists, keys: field("key")?, values: field("value")? };
        headers.check_keys(array.len(), entries)?;
        Ok(Some(headers))
    }

    /// Appends the row's headers to `out`.
    pub(super) fn read(&self, row: usize, out: &mut Vec<Header<'a>>) {
        for at in self.range(row) {
            let key = self.keys.get(at).unwrap_or_default();
            out.push(Header { key, value: self.values.get(at) });
        }
    }

    fn range(&self, row: usize) -> std::ops::Range<usize> {
        let (start, end) = match self.lists {
            ListRef::List(lists) if lists.is_valid(row) => {
                let offsets = lists.value_offsets();
                (offsets[row] as usize, offsets[row + 1] as usize)
            }
            ListRef::LargeList(lists) if lists.is_valid(row) => {
                let offsets = lists.value_offsets();
                (offsets[row] as usize, offsets[row + 1] as usize)
            }
            _ => (0, 0),
        };
        start..end
    }

    /// Refuses null headers and keys. Nulls outside of all rows' lists do not count.
    fn check_keys(&self, rows: usize, entries: &dyn Array) -> Result<(), ColumnsError> {
        for row in 0..rows {
            for at in self.range(row) {
                if entries.is_null(at) || self.keys.get(at).is_none() {
                    return Err(ColumnsError::NullHeaderKey { row });
                }
            }
        }
        Ok(())
    }
}
