//! A column of bytes or text, in any of Arrow's layouts.

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, BinaryArray, BinaryViewArray, FixedSizeBinaryArray, LargeBinaryArray, LargeStringArray,
    StringArray, StringViewArray,
};
use arrow_schema::DataType;

use super::ColumnsError;

pub(super) const ACCEPTED: &str =
    "binary, large_binary, binary_view, fixed_size_binary, string, large_string, string_view or null";

/// A reference to a column of one of the accepted types.
#[derive(Debug, Clone, Copy)]
pub(super) enum BytesRef<'a> {
    Null,
    Binary(&'a BinaryArray),
    LargeBinary(&'a LargeBinaryArray),
    BinaryView(&'a BinaryViewArray),
    Fixed(&'a FixedSizeBinaryArray),
    Utf8(&'a StringArray),
    LargeUtf8(&'a LargeStringArray),
    Utf8View(&'a StringViewArray),
}

impl<'a> BytesRef<'a> {
    pub(super) fn try_new(column: &'static str, array: &'a dyn Array) -> Result<Self, ColumnsError> {
        let found = match array.data_type() {
            DataType::Null => Some(Self::Null),
            DataType::Binary => array.as_binary_opt().map(Self::Binary),
            DataType::LargeBinary => array.as_binary_opt().map(Self::LargeBinary),
            DataType::BinaryView => array.as_binary_view_opt().map(Self::BinaryView),
            DataType::FixedSizeBinary(_) => array.as_fixed_size_binary_opt().map(Self::Fixed),
            DataType::Utf8 => array.as_string_opt().map(Self::Utf8),
            DataType::LargeUtf8 => array.as_string_opt().map(Self::LargeUtf8),
            DataType::Utf8View => array.as_string_view_opt().map(Self::Utf8View),
            _ => None,
        };
        found.ok_or_else(|| ColumnsError::Type {
            column,
            found: array.data_type().clone(),
            accepted: ACCEPTED,
        })
    }

    /// The bytes of a row, or null. The row must exist.
    #[inline(always)]
    pub(super) fn get(&self, row: usize) -> Option<&'a [u8]> {
        match *self {
            Self::Null => None,
            Self::Binary(array) => array.is_valid(row).then(|| array.value(row)),
            Self::LargeBinary(array) => array.is_valid(row).then(|| array.value(row)),
            Self::BinaryView(array) => array.is_valid(row).then(|| array.value(row)),
            Self::Fixed(array) => array.is_valid(row).then(|| array.value(row)),
            Self::Utf8(array) => array.is_valid(row).then(|| array.value(row).as_bytes()),
            Self::LargeUtf8(array) => array.is_valid(row).then(|| array.value(row).as_bytes()),
            Self::Utf8View(array) => array.is_valid(row).then(|| array.value(row).as_bytes()),
        }
    }

    /// Whether the column's type guarantees UTF-8.
    pub(super) const fn is_text(&self) -> bool {
        matches!(self, Self::Null | Self::Utf8(_) | Self::LargeUtf8(_) | Self::Utf8View(_))
    }

    /// The text of a row, or null. The row must exist.
    pub(super) fn get_text(&self, row: usize) -> Option<&'a str> {
        match *self {
            Self::Utf8(array) => array.is_valid(row).then(|| array.value(row)),
            Self::LargeUtf8(array) => array.is_valid(row).then(|| array.value(row)),
            Self::Utf8View(array) => array.is_valid(row).then(|| array.value(row)),
            _ => None,
        }
    }
}
