//! Strings and bytes, in any of Arrow's representations.
//!
//! Invariant: strings are UTF-8, which Arrow checks when it creates an array.

use arrow_array::cast::AsArray;
use arrow_array::types::ByteArrayType;
use arrow_array::{Array, BinaryViewArray, GenericByteArray};
use arrow_buffer::{Buffer, OffsetBuffer};
use arrow_schema::DataType;

/// The values of a column of strings or bytes.
#[derive(Debug)]
pub(crate) enum Bytes {
    Small(OffsetBuffer<i32>, Buffer),
    Large(OffsetBuffer<i64>, Buffer),
    View(BinaryViewArray),
    Fixed(usize, Buffer),
}

impl Bytes {
    pub(super) fn new(array: &dyn Array) -> Option<Self> {
        Some(match array.data_type() {
            DataType::Utf8 => small(array.as_string::<i32>()),
            DataType::Binary => small(array.as_binary::<i32>()),
            DataType::LargeUtf8 => large(array.as_string::<i64>()),
            DataType::LargeBinary => large(array.as_binary::<i64>()),
            DataType::Utf8View => Self::View(array.as_string_view().clone().to_binary_view()),
            DataType::BinaryView => Self::View(array.as_binary_view().clone()),
            DataType::FixedSizeBinary(size) => {
                let values = array.as_fixed_size_binary().values();
                Self::Fixed(usize::try_from(*size).ok()?, values.clone())
            }
            _ => return None,
        })
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> &[u8] {
        match self {
            Self::Small(offsets, bytes) => match offsets.get(at..at + 2) {
                Some([start, end]) => slice(bytes, *start as usize, *end as usize),
                _ => &[],
            },
            Self::Large(offsets, bytes) => match offsets.get(at..at + 2) {
                Some([start, end]) => slice(bytes, *start as usize, *end as usize),
                _ => &[],
            },
            Self::View(array) if at < array.len() => array.value(at),
            Self::View(_) => &[],
            Self::Fixed(size, bytes) => slice(bytes, at * size, (at + 1) * size),
        }
    }

    /// Returns the value as text. The column's type must be a string type.
    #[inline]
    pub(crate) fn text(&self, at: usize) -> &str {
        std::str::from_utf8(self.get(at)).unwrap_or_default()
    }
}

#[inline]
fn slice(bytes: &Buffer, start: usize, end: usize) -> &[u8] {
    bytes.as_slice().get(start..end).unwrap_or_default()
}

fn small<T: ByteArrayType<Offset = i32>>(array: &GenericByteArray<T>) -> Bytes {
    Bytes::Small(array.offsets().clone(), array.values().clone())
}

fn large<T: ByteArrayType<Offset = i64>>(array: &GenericByteArray<T>) -> Bytes {
    Bytes::Large(array.offsets().clone(), array.values().clone())
}
