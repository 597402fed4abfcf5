//! [`Batches`]: splits a partition's records into batches.
//!
//! Invariant: a truncated batch at the end, as a Fetch response may contain, ends the iteration without
//! an error; an impossible length is an error; an error ends the iteration.

use bytes::Bytes;

use super::layout::{LENGTH, MAGIC, PREFIX, RECORDS, read_i8, read_i32, read_i64};
use super::{Batch, RecordError, legacy};

/// Iterates over the batches in a partition's records.
#[derive(Debug, Clone)]
pub struct Batches {
    bytes: Bytes,
    check_crc: bool,
}

impl Batches {
    /// Iterates over `bytes`, the records of one partition in a Fetch response or a Produce request.
    #[must_use]
    pub const fn new(bytes: Bytes) -> Self {
        Self { bytes, check_crc: true }
    }

    /// Sets whether CRCs are checked (`check.crcs`); the default is true.
    #[must_use]
    pub const fn check_crc(mut self, check: bool) -> Self {
        self.check_crc = check;
        self
    }

    /// The bytes not yet iterated over: after the end, a truncated batch.
    #[must_use]
    pub const fn rest(&self) -> &Bytes {
        &self.bytes
    }

    /// The size that the next batch announces, if its length field is complete. After the end, the
    /// number of bytes that a fetch must request for the truncated batch to fit.
    #[must_use]
    pub fn next_batch_size(&self) -> Option<usize> {
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
            // Check the length even without the magic, so that the size announced by a truncated
            // batch always exceeds the bytes received.
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
