//! [`BatchBuilder`]: encodes records straight into the open batch, as Java's `MemoryRecordsBuilder`.
//!
//! Invariant: the buffer always holds space for the header and then whole records, so that finishing a
//! batch takes one compression, one header and one CRC.

use bytes::Bytes;

use super::checksum::crc32c;
use super::encode::{Deltas, HEAD, put_record};
use super::layout::{
    ATTRIBUTES, BASE_SEQUENCE, BASE_TIMESTAMP, CONTROL, COUNT, CRC, LAST_OFFSET_DELTA, LEADER_EPOCH, LENGTH,
    MAGIC, MAX_TIMESTAMP, PREFIX, PRODUCER_EPOCH, PRODUCER_ID, RECORDS, TRANSACTIONAL, write_i8, write_i16,
    write_i32, write_i64, write_u32,
};
use super::varint::{zigzag_32, zigzag_64};
use super::{Compressor, Header, RecordError};

/// The maximum size of a batch: its length is a signed 32-bit number, as are the lengths inside.
const MAX_SIZE: usize = i32::MAX as usize;
/// The maximum size of a record without key, value and headers: length, attributes, two deltas, two
/// lengths, the number of headers.
const RECORD_OVERHEAD: usize = 5 + 1 + 10 + 5 + 5 + 5 + 5;

/// The producer's fields of a batch header, known only when the batch is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProducerState {
    /// The producer's id, -1 without idempotence.
    pub producer_id: i64,
    /// The producer's epoch, -1 without idempotence.
    pub producer_epoch: i16,
    /// The sequence number of the first record, -1 without idempotence.
    pub base_sequence: i32,
    /// Whether the batch belongs to a transaction.
    pub transactional: bool,
    /// Whether the batch holds markers; only brokers write such batches.
    pub control: bool,
}

impl Default for ProducerState {
    fn default() -> Self {
        Self { producer_id: -1, producer_epoch: -1, base_sequence: -1, transactional: false, control: false }
    }
}

/// The open batch of a partition.
#[derive(Debug)]
pub struct BatchBuilder {
    buffer: Vec<u8>,
    capacity: usize,
    count: u32,
    next_delta: u32,
    base_timestamp: i64,
    max_timestamp: i64,
}

impl BatchBuilder {
    /// Creates a builder whose first append allocates `capacity` bytes.
    #[must_use]
    pub const fn new(capacity: usize) -> Self {
        Self { buffer: Vec::new(), capacity, count: 0, next_delta: 0, base_timestamp: -1, max_timestamp: -1 }
    }

    /// Creates a builder that reuses `buffer` and drops its contents.
    #[must_use]
    pub fn in_buffer(mut buffer: Vec<u8>) -> Self {
        buffer.clear();
        let capacity = buffer.capacity();
        Self { buffer, ..Self::new(capacity) }
    }

    /// The capacity of a buffer that holds `bytes` bytes of records without growing.
    #[must_use]
    pub const fn capacity(bytes: usize) -> usize {
        bytes + RECORDS + HEAD
    }

    /// Returns the buffer, emptied. The appended records are lost.
    #[must_use]
    pub fn take_buffer(&mut self) -> Vec<u8> {
        self.reset();
        std::mem::take(&mut self.buffer)
    }

    /// Appends a record and returns its encoded size in bytes.
    ///
    /// `timestamp` is in milliseconds since the epoch, -1 for none.
    ///
    /// # Errors
    /// [`RecordError::RecordTooLarge`] if no batch can hold the record, [`RecordError::BatchFull`] if
    /// this one cannot. The batch is then unchanged.
    #[inline]
    pub fn append(
        &mut self,
        timestamp: i64,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: &[Header<'_>],
    ) -> Result<usize, RecordError> {
        if self.buffer.is_empty() || self.count == 0 {
            self.open(timestamp);
        }
        let key_len = key.map_or(0, <[u8]>::len);
        let value_len = value.map_or(0, <[u8]>::len);
        let start = self.buffer.len();
        let max_len = RECORD_OVERHEAD + key_len + value_len + headers_bound(headers);
        // Sums of the lengths of existing slices cannot overflow; after this check, no cast below does.
        if start + max_len > MAX_SIZE || self.next_delta >= i32::MAX as u32 {
            return Err(self.size_error(max_len));
        }

        self.buffer.reserve(max_len + HEAD);
        let deltas = Deltas {
            timestamp: zigzag_64(timestamp.wrapping_sub(self.base_timestamp)),
            offset: u64::from(zigzag_32(self.next_delta as i32)),
        };
        let size = put_record(&mut self.buffer, &deltas, key, value, headers);
        self.count += 1;
        self.next_delta += 1;
        self.max_timestamp = self.max_timestamp.max(timestamp);
        Ok(size)
    }

    /// An upper bound of the size that [`BatchBuilder::append`] would return, cheaper to compute.
    #[inline]
    #[must_use]
    pub fn upper_bound(key: Option<&[u8]>, value: Option<&[u8]>, headers: &[Header<'_>]) -> usize {
        RECORD_OVERHEAD + key.map_or(0, <[u8]>::len) + value.map_or(0, <[u8]>::len) + headers_bound(headers)
    }

    /// Leaves `offsets` offsets without a record, as compaction does. A log may hold such batches; a
    /// producer cannot send them.
    pub fn skip_offsets(&mut self, offsets: u32) {
        self.next_delta = self.next_delta.saturating_add(offsets).min(i32::MAX as u32);
    }

    /// The size of header and records in bytes, before compression.
    #[must_use]
    pub fn size_in_bytes(&self) -> usize {
        self.buffer.len().max(RECORDS)
    }

    /// The number of records.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there are no records.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The largest timestamp of the records, -1 if there is none.
    #[must_use]
    pub const fn max_timestamp(&self) -> i64 {
        self.max_timestamp
    }

    /// Finishes the batch: compresses it, writes header and CRC, and leaves the builder empty.
    ///
    /// # Errors
    /// [`RecordError::NotABatch`] if nothing was appended, [`RecordError::Compress`] if the codec
    /// fails; the records are kept then.
    pub fn finish(
        &mut self,
        producer: &ProducerState,
        compressor: &mut Compressor,
    ) -> Result<Bytes, RecordError> {
        if self.next_delta == 0 {
            return Err(RecordError::NotABatch { reason: "nothing was appended" });
        }
        if self.buffer.is_empty() {
            self.buffer.resize(RECORDS, 0);
        }
        let mut attributes = i16::from(compressor.codec().id());
        if producer.transactional {
            attributes |= TRANSACTIONAL;
        }
        if producer.control {
            attributes |= CONTROL;
        }
        let bytes = match compressor.compress(self.buffer.get(RECORDS..).unwrap_or_default(), RECORDS)? {
            // The returned bytes own this buffer; the next batch gets a new one.
            None => {
                let mut buffer = std::mem::take(&mut self.buffer);
                self.write_header(&mut buffer, attributes, producer);
                Bytes::from(buffer)
            }
            // Compressed bytes are few: copying them keeps both large buffers for reuse.
            Some(buffer) => {
                self.write_header(buffer, attributes, producer);
                self.buffer.clear();
                Bytes::copy_from_slice(buffer)
            }
        };
        self.reset();
        Ok(bytes)
    }

    /// Drops the records and keeps the buffer.
    pub fn reset(&mut self) {
        self.buffer.clear();
        (self.count, self.next_delta) = (0, 0);
        (self.base_timestamp, self.max_timestamp) = (-1, -1);
    }

    #[cold]
    fn open(&mut self, timestamp: i64) {
        self.buffer.reserve(self.capacity.max(RECORDS));
        self.buffer.resize(RECORDS, 0);
        self.base_timestamp = timestamp;
    }

    #[cold]
    fn size_error(&self, record_size: usize) -> RecordError {
        if record_size + RECORDS > MAX_SIZE {
            RecordError::RecordTooLarge { size: record_size, limit: MAX_SIZE }
        } else {
            RecordError::BatchFull { count: self.count, size: self.size_in_bytes() }
        }
    }

    fn write_header(&self, bytes: &mut [u8], attributes: i16, producer: &ProducerState) {
        // Appending keeps all of these within 31 bits.
        write_i64(bytes, 0, 0);
        write_i32(bytes, LENGTH, (bytes.len() - PREFIX) as i32);
        write_i32(bytes, LEADER_EPOCH, -1);
        write_i8(bytes, MAGIC, 2);
        write_i16(bytes, ATTRIBUTES, attributes);
        write_i32(bytes, LAST_OFFSET_DELTA, self.next_delta as i32 - 1);
        write_i64(bytes, BASE_TIMESTAMP, self.base_timestamp);
        write_i64(bytes, MAX_TIMESTAMP, self.max_timestamp);
        write_i64(bytes, PRODUCER_ID, producer.producer_id);
        write_i16(bytes, PRODUCER_EPOCH, producer.producer_epoch);
        write_i32(bytes, BASE_SEQUENCE, producer.base_sequence);
        write_i32(bytes, COUNT, self.count as i32);
        write_u32(bytes, CRC, crc32c(bytes.get(ATTRIBUTES..).unwrap_or_default()));
    }
}

#[inline]
fn headers_bound(headers: &[Header<'_>]) -> usize {
    headers.iter().map(|header| 10 + header.key.len() + header.value.map_or(0, <[u8]>::len)).sum()
}
