//! The positions of a list's items.
//!
//! Invariant: positions count from the first item that the rows refer to, so a slice of a long array costs less than
//! the whole array.

use std::ops::Range;

use arrow_buffer::OffsetBuffer;

/// The items of the rows of a list.
#[derive(Debug)]
pub(crate) enum Offsets {
    Small(OffsetBuffer<i32>),
    Large(OffsetBuffer<i64>),
    /// Each row has this many items.
    Fixed(usize),
}

impl Offsets {
    /// Creates the offsets. Also returns the range of the items.
    pub(super) fn of(offsets: &OffsetBuffer<i32>) -> (Self, Range<usize>) {
        let (start, end) = (offsets.first().copied(), offsets.last().copied());
        let range = start.unwrap_or_default() as usize..end.unwrap_or_default() as usize;
        (Self::Small(offsets.clone()), range)
    }

    /// Creates the offsets. Also returns the range of the items.
    pub(super) fn of_large(offsets: &OffsetBuffer<i64>) -> (Self, Range<usize>) {
        let (start, end) = (offsets.first().copied(), offsets.last().copied());
        let range = start.unwrap_or_default() as usize..end.unwrap_or_default() as usize;
        (Self::Large(offsets.clone()), range)
    }

    pub(super) fn fixed(size: i32) -> Self {
        Self::Fixed(usize::try_from(size).unwrap_or_default())
    }

    /// The items of a row.
    #[inline]
    pub(crate) fn range(&self, row: usize) -> Range<usize> {
        match self {
            Self::Small(offsets) => match (offsets.first(), offsets.get(row..row + 2)) {
                (Some(first), Some([start, end])) => (start - first) as usize..(end - first) as usize,
                _ => 0..0,
            },
            Self::Large(offsets) => match (offsets.first(), offsets.get(row..row + 2)) {
                (Some(first), Some([start, end])) => (start - first) as usize..(end - first) as usize,
                _ => 0..0,
            },
            Self::Fixed(size) => row * size..(row + 1) * size,
        }
    }
}
