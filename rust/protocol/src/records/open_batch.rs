//! [`OpenBatch`]: a batch whose records are read in steps.
//!
//! Invariants: a batch is decompressed once, however many steps its records take. Its decompressed bytes are
//! freed with it.

use bytes::Bytes;

use super::{Batch, Compression, Decompressor, Records, RecordsPosition};

/// A batch that was read up to a position, and its decompressed bytes.
#[derive(Debug, Clone)]
pub struct OpenBatch {
    batch: Batch,
    /// The decompressed records; empty if the batch is not compressed.
    decompressed: Bytes,
    position: RecordsPosition,
}

impl OpenBatch {
    /// Takes over the bytes of `batch`, whose records `decompressor` has decompressed last.
    #[must_use]
    pub fn new(batch: Batch, decompressor: &mut Decompressor, position: RecordsPosition) -> Self {
        let decompressed = match batch.compression() {
            Compression::None => Bytes::new(),
            _ => decompressor.take().into(),
        };
        Self { batch, decompressed, position }
    }

    /// The batch.
    #[must_use]
    pub const fn batch(&self) -> &Batch {
        &self.batch
    }

    /// The remaining records.
    #[must_use]
    pub fn records(&self) -> Records<'_> {
        self.batch.resume(&self.decompressed, self.position)
    }

    /// The bytes that the records lie in.
    #[must_use]
    pub const fn bytes(&self) -> &Bytes {
        match self.batch.compression() {
            Compression::None => self.batch.as_bytes(),
            _ => &self.decompressed,
        }
    }

    /// The bytes of memory that the decompressed records take.
    #[must_use]
    pub const fn decompressed_len(&self) -> usize {
        self.decompressed.len()
    }

    /// Continues at `position`, which [`OpenBatch::records`] reached.
    pub const fn move_to(&mut self, position: RecordsPosition) {
        self.position = position;
    }
}
