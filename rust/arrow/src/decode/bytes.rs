//! A binary column under construction.

use std::mem;
use std::ops::Range;

use arrow_array::BinaryArray;
use arrow_buffer::{Buffer, OffsetBuffer};
use arrow_schema::ArrowError;
use bytes::Bytes;

use super::buffer_pool::BufferPool;
use super::null_runs::NullRuns;

/// A binary column under construction, with offsets and values in their final layout.
#[derive(Debug)]
pub(super) struct BytesColumn {
    pub(super) offsets: Vec<i32>,
    pub(super) values: Vec<u8>,
    pub(super) nulls: NullRuns,
    offsets_pool: BufferPool<i32>,
    values_pool: BufferPool<u8>,
    /// The bytes that the only row lies in, and where: instead of `values`.
    adopted: Option<(Bytes, Range<i32>)>,
    /// Whether the column is selected. If not, it stays empty.
    pub(super) selected: bool,
}

impl BytesColumn {
    /// Creates an empty column. Buffers of up to `max_pooled` values are reused.
    pub(super) fn new(selected: bool, max_pooled: usize) -> Self {
        Self {
            offsets: vec![0],
            values: Vec::new(),
            nulls: NullRuns::default(),
            offsets_pool: BufferPool::new(usize::MAX),
            values_pool: BufferPool::new(max_pooled),
            adopted: None,
            selected,
        }
    }

    /// Reserves memory for the first rows. Later batches start with the size of the batch before them: a
    /// guess for those too would enlarge the returned buffers until they no longer fit.
    pub(super) fn reserve_first(&mut self, bytes: usize) {
        if self.selected && self.values.capacity() == 0 {
            self.values.reserve(bytes);
        }
    }

    /// The length of all values in bytes.
    pub(super) fn len(&self) -> usize {
        self.values.len() + self.adopted.as_ref().map_or(0, |(_, range)| range.len())
    }

    pub(super) const fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Appends a row. The caller keeps the sum of all lengths within 31 bits.
    pub(super) fn push(&mut self, bytes: Option<&[u8]>) {
        if self.selected {
            self.nulls.set_from(self.rows(), bytes.is_none());
            self.values.extend_from_slice(bytes.unwrap_or_default());
            self.offsets.push(self.values.len() as i32);
        }
    }

    /// Makes a part of `bytes` the value of the only row, which is null so far, without a copy.
    pub(super) fn adopt(&mut self, bytes: Bytes, range: Range<i32>) {
        if self.selected {
            self.adopted = Some((bytes, range));
        }
    }

    /// Returns the array and leaves an empty column of the same capacity.
    pub(super) fn finish(&mut self) -> Result<BinaryArray, ArrowError> {
        let rows = self.rows();
        let nulls = self.nulls.finish(rows);
        if let Some((bytes, range)) = self.adopted.take() {
            self.offsets.truncate(1);
            let offsets = OffsetBuffer::new(vec![range.start, range.end].into());
            return BinaryArray::try_new(offsets, Buffer::from(bytes), None);
        }
        if nulls.as_ref().is_some_and(|nulls| nulls.null_count() == rows) {
            self.offsets.truncate(1);
            return Ok(BinaryArray::new_null(rows));
        }
        let capacity = self.offsets.len();
        let (offsets, next) = self.offsets_pool.exchange(mem::take(&mut self.offsets), capacity);
        self.offsets = next;
        self.offsets.push(0);
        let capacity = self.values.len() + self.values.len() / 16;
        let (values, next) = self.values_pool.exchange(mem::take(&mut self.values), capacity);
        self.values = next;
        BinaryArray::try_new(OffsetBuffer::new(offsets), values.into_inner(), nulls)
    }
}
