//! A binary column while it is being filled.

use std::mem;

use arrow_array::BinaryArray;
use arrow_buffer::OffsetBuffer;
use arrow_schema::ArrowError;

use super::nulls::Nulls;
use super::spare::Spare;

/// Offsets and values in their final form.
#[derive(Debug)]
pub(super) struct BytesColumn {
    pub(super) offsets: Vec<i32>,
    pub(super) values: Vec<u8>,
    pub(super) nulls: Nulls,
    spare_offsets: Spare<i32>,
    spare_values: Spare<u8>,
    /// Whether anybody asked for it. If not, it stays empty.
    pub(super) wanted: bool,
}

impl BytesColumn {
    /// `most` is the size up to which its memory is used again.
    pub(super) fn new(wanted: bool, most: usize) -> Self {
        Self {
            offsets: vec![0],
            values: Vec::new(),
            nulls: Nulls::default(),
            spare_offsets: Spare::new(usize::MAX),
            spare_values: Spare::new(most),
            wanted,
        }
    }

    /// Room for the very first rows. Later ones have what those before them took: to guess for them
    /// as well would have the memory that comes back grow, and not fit any more.
    pub(super) fn begin(&mut self, bytes: usize) {
        if self.wanted && self.values.capacity() == 0 {
            self.values.reserve(bytes);
        }
    }

    /// How many bytes its rows hold.
    pub(super) const fn len(&self) -> usize {
        self.values.len()
    }

    pub(super) const fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The caller keeps the sum of all bytes within 31 bits.
    pub(super) fn push(&mut self, bytes: Option<&[u8]>) {
        if self.wanted {
            self.nulls.note(self.rows(), bytes.is_none());
            self.values.extend_from_slice(bytes.unwrap_or_default());
            self.offsets.push(self.values.len() as i32);
        }
    }

    /// The array, leaving an empty column with room for as much again.
    pub(super) fn finish(&mut self) -> Result<BinaryArray, ArrowError> {
        let rows = self.rows();
        let nulls = self.nulls.finish(rows);
        if nulls.as_ref().is_some_and(|nulls| nulls.null_count() == rows) {
            self.offsets.truncate(1);
            return Ok(BinaryArray::new_null(rows));
        }
        let room = self.offsets.len();
        let (offsets, fresh) = self.spare_offsets.exchange(mem::take(&mut self.offsets), room);
        self.offsets = fresh;
        self.offsets.push(0);
        let room = self.values.len() + self.values.len() / 16;
        let (values, fresh) = self.spare_values.exchange(mem::take(&mut self.values), room);
        self.values = fresh;
        BinaryArray::try_new(OffsetBuffer::new(offsets), values.into_inner(), nulls)
    }
}
