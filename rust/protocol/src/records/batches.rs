//! The batches of a fetched blob, one after another.
//!
//! Invariant: a batch that is cut off at the end, as a Fetch response may leave it, ends the
//! iteration quietly; a length that no batch can have is an error, and an error ends it for good.

use bytes::Bytes;

use super::layout::{LENGTH, MAGIC, PREFIX, RECORDS, read_i8, read_i32, read_i64};
use super::{Batch, RecordError, legacy};

/// Iterates over the batches of a blob.
#[derive(Debug, Clone)]
pub struct Batches {
    bytes: Bytes,
    check_crc: bool,
}

impl Batches {
    /// Over `bytes`, the records of one partition in a Fetch response or a Produce request.
    #[must_use]
    pub const fn new(bytes: Bytes) -> Self {
        Self { bytes, check_crc: true }
    }

    /// Whether CRCs are checked, as `check.crcs` says. They are, unless told otherwise.
    #[must_use]
    pub const fn check_crc(mut self, check: bool) -> Self {
        self.check_crc = check;
        self
    }

    /// The bytes not yet iterated over: after the end, a batch that was cut off.
    #[must_use]
    pub const fn rest(&self) -> &Bytes {
        &self.bytes
    }

    /// The size that the next batch announces, if enough of it is there to tell. After the end it
    /// says how many bytes a fetch must ask for so that the batch that was cut off fits.
    #[must_use]
    pub fn announced_size(&self) -> Option<usize> {
        if self.bytes.len() < PREFIX {
            return None;
        }
        usize::try_from(read_i32(&self.bytes, LENGTH)).ok().map(|len| PREFIX + len)
    }

    fn split_batch(&mut self) -> Result<Option<Batch>, RecordError> {
        if self.bytes.len() < PREFIX {
            return Ok(None);
        }
        let base_offset = read_i64(&self.bytes, 0);
        let length = read_i32(&self.bytes, LENGTH);
        if self.bytes.len() <= MAGIC {
            // Even without the magic the length is judged, so that what it announces for a batch
            // that was cut off is always more than what came.
            let minimum = legacy::min_len(0) as i32;
            let possible = length >= minimum;
            return if possible {
                Ok(None)
            } else {
                Err(RecordError::BatchLength { base_offset, length, minimum })
            };
        }
        let magic = read_i8(&self.bytes, MAGIC);
        let minimum = match magic {
            0 | 1 => legacy::min_len(magic),
            2 => RECORDS - PREFIX,
            _ => return Err(RecordError::Magic { base_offset, magic }),
        };
        match usize::try_from(length) {
            Ok(len) if len >= minimum => {
                let end = PREFIX + len;
                if end > self.bytes.len() {
                    return Ok(None);
                }
                Batch::check(self.bytes.split_to(end), self.check_crc).map(Some)
            }
            // The minimum is a small constant.
            _ => Err(RecordError::BatchLength { base_offset, length, minimum: minimum as i32 }),
        }
    }
}

impl Iterator for Batches {
    type Item = Result<Batch, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        let result = self.split_batch().transpose();
        if let Some(Err(_)) = result {
            self.bytes = Bytes::new();
        }
        result
    }
}
