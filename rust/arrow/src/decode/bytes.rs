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
}

impl BytesColumn {
    pub(super) fn new() -> Self {
        Self { offsets: vec![0], values: Vec::new(), nulls: NullBufferBuilder::new(0) }
    }

    pub(super) fn reserve(&mut self, rows: usize, bytes: usize) {
        self.offsets.reserve(rows);
        self.values.reserve(bytes);
    }

    /// The caller keeps the sum of all bytes within 31 bits.
    #[inline(always)]
    pub(super) fn push(&mut self, bytes: Option<&[u8]>) {
        self.extend(&[bytes], |bytes| *bytes);
    }

    /// Appends `bytes` of each row.
    #[inline]
    pub(super) fn extend<'r, R>(&mut self, rows: &'r [R], bytes: impl Fn(&'r R) -> Option<&'r [u8]>) {
        let (mut end, mut nulls) = (self.values.len() as i32, 0);
        let values = &mut self.values;
        self.offsets.extend(rows.iter().map(|row| {
            match bytes(row) {
                Some(bytes) => {
                    values.extend_from_slice(bytes);
                    end += bytes.len() as i32;
                }
                None => nulls += 1,
            }
            end
        }));
        if nulls == 0 {
            self.nulls.append_n_non_nulls(rows.len());
        } else if nulls == rows.len() {
            self.nulls.append_n_nulls(rows.len());
        } else {
            rows.iter().for_each(|row| self.nulls.append(bytes(row).is_some()));
        }
    }

    /// The array, leaving an empty column with room for as much again.
    pub(super) fn finish(&mut self) -> Result<BinaryArray, ArrowError> {
        let mut fresh = Vec::with_capacity(self.offsets.len());
        fresh.push(0);
        let offsets = mem::replace(&mut self.offsets, fresh);
        let room = self.values.len();
        let values = mem::replace(&mut self.values, Vec::with_capacity(room + room / 16));
        BinaryArray::try_new(OffsetBuffer::new(offsets.into()), Buffer::from_vec(values), self.nulls.finish())
    }
}
