//! A binary column while it is being filled.

use std::mem;

use arrow_array::BinaryArray;
use arrow_buffer::{Buffer, NullBufferBuilder, OffsetBuffer};
use arrow_schema::ArrowError;

/// Offsets and values in their final form. The bits for nulls exist from the first null on.
#[derive(Debug)]
pub(super) struct BytesColumn {
    offsets: Vec<i32>,
    values: Vec<u8>,
    nulls: NullBufferBuilder,
    /// Rows that `nulls` knows of. Those behind them are all null, or none is.
    settled: usize,
    run_is_null: bool,
}

impl BytesColumn {
    pub(super) fn new() -> Self {
        Self {
            offsets: vec![0],
            values: Vec::new(),
            nulls: NullBufferBuilder::new(0),
            settled: 0,
            run_is_null: false,
        }
    }

    pub(super) fn reserve(&mut self, rows: usize, bytes: usize) {
        self.offsets.reserve(rows);
        self.values.reserve(bytes);
    }

    /// How many bytes its rows hold.
    pub(super) const fn len(&self) -> usize {
        self.values.len()
    }

    /// The caller keeps the sum of all bytes within 31 bits.
    #[inline(always)]
    pub(super) fn push(&mut self, bytes: Option<&[u8]>) {
        if bytes.is_none() != self.run_is_null {
            self.settle();
            self.run_is_null = bytes.is_none();
        }
        if let Some(bytes) = bytes {
            self.values.extend_from_slice(bytes);
        }
        self.offsets.push(self.values.len() as i32);
    }

    /// Tells `nulls` of the rows that it does not know yet: in runs, since keys are nearly always
    /// there or nearly always not.
    fn settle(&mut self) {
        let rows = self.offsets.len() - 1;
        let run = rows - self.settled;
        match self.run_is_null {
            true => self.nulls.append_n_nulls(run),
            false => self.nulls.append_n_non_nulls(run),
        }
        self.settled = rows;
    }

    /// The array, leaving an empty column with room for as much again.
    pub(super) fn finish(&mut self) -> Result<BinaryArray, ArrowError> {
        self.settle();
        self.settled = 0;
        let mut fresh = Vec::with_capacity(self.offsets.len());
        fresh.push(0);
        let offsets = mem::replace(&mut self.offsets, fresh);
        let room = self.values.len();
        let values = mem::replace(&mut self.values, Vec::with_capacity(room + room / 16));
        BinaryArray::try_new(OffsetBuffer::new(offsets.into()), Buffer::from_vec(values), self.nulls.finish())
    }
}
