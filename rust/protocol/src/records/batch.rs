//! [`Batch`]: the header of one record batch, and access to its records.
//!
//! Invariant: a [`Batch`] exists only if its length, magic, codec, CRC (unless `check.crcs` is off) and
//! the fields that others are computed from are valid.

use bytes::Bytes;

use super::checksum::crc32c;
use super::layout::{
    ATTRIBUTES, BASE_OFFSET, BASE_SEQUENCE, BASE_TIMESTAMP, CODEC_MASK, CONTROL, COUNT, CRC, DELETE_HORIZON,
    LAST_OFFSET_DELTA, LEADER_EPOCH, LEGACY_ATTRIBUTES, LEGACY_TIMESTAMP, LOG_APPEND_TIME, MAGIC,
    MAX_TIMESTAMP, PRODUCER_EPOCH, PRODUCER_ID, RECORDS, TRANSACTIONAL, read_i8, read_i16, read_i32,
    read_i64, read_u32,
};
use super::record_reader::V2Records;
use super::{Compression, Decompressor, RecordError, Records, RecordsPosition, legacy};

/// The origin of the records' timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimestampType {
    /// None: magic 0.
    NoTimestamp,
    /// Set by the producer.
    CreateTime,
    /// Set by the broker when it appended the records.
    LogAppendTime,
}

impl TimestampType {
    /// Kafka's id: -1, 0 or 1.
    #[must_use]
    pub const fn id(self) -> i32 {
        match self {
            Self::NoTimestamp => -1,
            Self::CreateTime => 0,
            Self::LogAppendTime => 1,
        }
    }
}

/// One batch. Magic 0 and 1 have no batches: each entry, compressed or not, counts as one.
#[derive(Debug, Clone)]
pub struct Batch {
    bytes: Bytes,
    codec: Compression,
    check_crc: bool,
}

impl Batch {
    /// Checks `bytes`: one whole entry of magic 0, 1 or 2, not shorter than its header.
    pub(super) fn check(bytes: Bytes, check_crc: bool) -> Result<Self, RecordError> {
        let magic = read_i8(&bytes, MAGIC);
        let base_offset = read_i64(&bytes, BASE_OFFSET);
        if check_crc {
            let (expected, actual) = match magic {
                2 => (read_u32(&bytes, CRC), crc32c(bytes.get(ATTRIBUTES..).unwrap_or_default())),
                _ => legacy::crcs(&bytes),
            };
            if expected != actual {
                return Err(RecordError::Crc { base_offset, expected, actual });
            }
        }
        let id = (attributes(&bytes) & CODEC_MASK) as u8;
        let codec = match Compression::from_id(id) {
            // Zstd requires magic 2.
            Some(codec) if magic == 2 || codec != Compression::Zstd => codec,
            _ => return Err(RecordError::Codec { base_offset, codec: id }),
        };
        let field = |field, value| Err(RecordError::Field { base_offset, field, value });
        // The next batch needs an offset, too.
        if !(0..i64::MAX).contains(&base_offset) {
            return field("base offset", base_offset);
        }
        if magic == 2 {
            let delta = read_i32(&bytes, LAST_OFFSET_DELTA);
            if delta < 0 || base_offset.checked_add(i64::from(delta) + 1).is_none() {
                return field("last offset delta", i64::from(delta));
            }
            let count = read_i32(&bytes, COUNT);
            if count < 0 {
                return field("record count", i64::from(count));
            }
        }
        Ok(Self { bytes, codec, check_crc })
    }

    /// The batch's bytes, including the header.
    #[must_use]
    pub const fn as_bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The length of header and records in bytes.
    #[must_use]
    pub const fn size_in_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The version of the format.
    #[must_use]
    pub fn magic(&self) -> i8 {
        read_i8(&self.bytes, MAGIC)
    }

    /// The offset in the header: that of the first record, which compaction may have removed; in magic
    /// 0 and 1 that of the last one.
    #[must_use]
    pub fn base_offset(&self) -> i64 {
        read_i64(&self.bytes, BASE_OFFSET)
    }

    /// The last offset that the batch covers, even if compaction removed that record. The next batch
    /// begins after it.
    #[must_use]
    pub fn last_offset(&self) -> i64 {
        self.base_offset() + self.if_v2(|bytes| i64::from(read_i32(bytes, LAST_OFFSET_DELTA)), 0)
    }

    /// The epoch of the leader that appended the batch, -1 if unknown.
    #[must_use]
    pub fn partition_leader_epoch(&self) -> i32 {
        self.if_v2(|bytes| read_i32(bytes, LEADER_EPOCH), -1)
    }

    /// The codec of the records.
    #[must_use]
    pub const fn compression(&self) -> Compression {
        self.codec
    }

    /// The origin of the timestamps.
    #[must_use]
    pub fn timestamp_type(&self) -> TimestampType {
        match attributes(&self.bytes) & LOG_APPEND_TIME {
            _ if self.magic() == 0 => TimestampType::NoTimestamp,
            0 => TimestampType::CreateTime,
            _ => TimestampType::LogAppendTime,
        }
    }

    /// The timestamp that the records' deltas are relative to, -1 if there is none.
    #[must_use]
    pub fn base_timestamp(&self) -> i64 {
        self.if_v2(|bytes| read_i64(bytes, BASE_TIMESTAMP), self.legacy_timestamp())
    }

    /// The largest timestamp, -1 if there is none. With [`TimestampType::LogAppendTime`], the timestamp
    /// of every record.
    #[must_use]
    pub fn max_timestamp(&self) -> i64 {
        self.if_v2(|bytes| read_i64(bytes, MAX_TIMESTAMP), self.legacy_timestamp())
    }

    /// The time at which compaction may remove the batch's tombstones and markers, if known.
    #[must_use]
    pub fn delete_horizon(&self) -> Option<i64> {
        (self.magic() == 2 && attributes(&self.bytes) & DELETE_HORIZON != 0).then(|| self.base_timestamp())
    }

    /// Whether the batch belongs to a transaction.
    #[must_use]
    pub fn is_transactional(&self) -> bool {
        self.magic() == 2 && attributes(&self.bytes) & TRANSACTIONAL != 0
    }

    /// Whether the batch holds markers instead of an application's records.
    #[must_use]
    pub fn is_control(&self) -> bool {
        self.magic() == 2 && attributes(&self.bytes) & CONTROL != 0
    }

    /// The producer's id, -1 if the producer is not idempotent.
    #[must_use]
    pub fn producer_id(&self) -> i64 {
        self.if_v2(|bytes| read_i64(bytes, PRODUCER_ID), -1)
    }

    /// The producer's epoch, -1 if the producer is not idempotent.
    #[must_use]
    pub fn producer_epoch(&self) -> i16 {
        self.if_v2(|bytes| read_i16(bytes, PRODUCER_EPOCH), -1)
    }

    /// The sequence number of the first record, -1 if the producer is not idempotent.
    #[must_use]
    pub fn base_sequence(&self) -> i32 {
        self.if_v2(|bytes| read_i32(bytes, BASE_SEQUENCE), -1)
    }

    /// The number of records that the header announces. `None` for magic 0 and 1, where only
    /// decompression reveals it.
    #[must_use]
    pub fn count(&self) -> Option<u32> {
        self.if_v2(|bytes| u32::try_from(read_i32(bytes, COUNT)).ok(), None)
    }

    /// Returns the records, decompressed by `decompressor` if necessary.
    ///
    /// # Errors
    /// [`RecordError`] if they cannot be decompressed.
    pub fn records<'a>(&'a self, decompressor: &'a mut Decompressor) -> Result<Records<'a>, RecordError> {
        let Some(count) = self.count() else {
            return legacy::records(&self.bytes, self.codec, self.check_crc, decompressor)
                .map(Records::legacy);
        };
        let payload = self.bytes.get(RECORDS..).unwrap_or_default();
        let rest = match self.codec {
            Compression::None => payload,
            // Compaction emptied the batch: there is nothing to decompress.
            _ if count == 0 && payload.is_empty() => payload,
            codec => decompressor.decompress(codec, payload, false, self.base_offset())?,
        };
        Ok(Records::v2(self.v2_records(rest, count, 0)))
    }

    /// Returns the records from a position on; `decompressed` is the decompressed batch, unless it is not compressed.
    pub(super) fn resume<'a>(&'a self, decompressed: &'a [u8], position: RecordsPosition) -> Records<'a> {
        let rest =
            |bytes: &'a [u8]| bytes.get(bytes.len().saturating_sub(position.left)..).unwrap_or_default();
        let is_compressed = self.codec != Compression::None;
        let Some(count) = self.count() else {
            let rest = rest(if is_compressed { decompressed } else { &self.bytes });
            return Records::legacy(legacy::resume(&self.bytes, self.codec, self.check_crc, rest, position));
        };
        let payload = self.bytes.get(RECORDS..).unwrap_or_default();
        let rest = rest(if is_compressed { decompressed } else { payload });
        Records::v2(self.v2_records(rest, count, position.index))
    }

    fn v2_records<'a>(&self, rest: &'a [u8], count: u32, index: u32) -> V2Records<'a> {
        let append_time = self.timestamp_type() == TimestampType::LogAppendTime;
        V2Records {
            rest,
            base_offset: self.base_offset(),
            last_offset_delta: read_u32(&self.bytes, LAST_OFFSET_DELTA),
            base_timestamp: self.base_timestamp(),
            append_time: append_time.then(|| self.max_timestamp()),
            count,
            index,
        }
    }

    fn if_v2<T>(&self, read: impl FnOnce(&[u8]) -> T, legacy: T) -> T {
        if self.magic() == 2 { read(&self.bytes) } else { legacy }
    }

    fn legacy_timestamp(&self) -> i64 {
        if self.magic() == 1 { read_i64(&self.bytes, LEGACY_TIMESTAMP) } else { -1 }
    }
}

fn attributes(bytes: &[u8]) -> i16 {
    match read_i8(bytes, MAGIC) {
        2 => read_i16(bytes, ATTRIBUTES),
        _ => i16::from(read_i8(bytes, LEGACY_ATTRIBUTES)),
    }
}

const _: () = assert!(RECORDS == 61);
