//! The undecoded rows of a column, wherever their bytes are stored.

use arrow_array::cast::AsArray;
use arrow_array::{Array, BinaryArray, ListArray};

/// The undecoded keys or values of records, with the records' headers.
pub trait EncodedRows {
    /// The number of rows.
    fn count(&self) -> usize;

    /// Returns the bytes of a row, or `None` if it is null.
    fn bytes(&self, row: usize) -> Option<&[u8]>;

    /// Returns the last value of a row's header, or `None` if the row lacks the header.
    fn header(&self, row: usize, name: &str) -> Option<&[u8]>;
}

/// Rows of an Arrow batch. Their headers are `list<struct<key: string, value: binary>>`.
#[derive(Debug, Clone, Copy)]
pub struct ArrowRows<'a> {
    /// The keys or values.
    pub column: &'a BinaryArray,
    /// The headers, if decoding needs them.
    pub headers: Option<&'a ListArray>,
}

impl EncodedRows for ArrowRows<'_> {
    fn count(&self) -> usize {
        self.column.len()
    }

    fn bytes(&self, row: usize) -> Option<&[u8]> {
        self.column.is_valid(row).then(|| self.column.value(row))
    }

    fn header(&self, row: usize, name: &str) -> Option<&[u8]> {
        let headers = self.headers.filter(|headers| headers.is_valid(row))?;
        let entries = headers.values().as_struct_opt()?;
        let keys = entries.column(0).as_string_opt::<i32>()?;
        let values = entries.column(1).as_binary_opt::<i32>()?;
        let start = usize::try_from(*headers.value_offsets().get(row)?).ok()?;
        let end = usize::try_from(*headers.value_offsets().get(row + 1)?).ok()?;
        let found = (start..end).rev().find(|at| keys.is_valid(*at) && keys.value(*at) == name)?;
        values.is_valid(found).then(|| values.value(found))
    }
}
