//! The rows of a column before they are decoded, wherever their bytes are.

use arrow_array::cast::AsArray;
use arrow_array::{Array, BinaryArray, ListArray};

/// Keys or values, with the headers of their records.
pub trait EncodedRows {
    /// The number of rows.
    fn count(&self) -> usize;

    /// The bytes of a row; `None` for null.
    fn bytes(&self, row: usize) -> Option<&[u8]>;

    /// The last value of a header of a row; `None` without one.
    fn header(&self, row: usize, name: &str) -> Option<&[u8]>;
}

/// Rows of an Arrow batch; headers are `list<struct<key: string, value: binary>>`.
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
