//! One batch of a fetched blob: its header, and the way to its records.
//!
//! Invariant: a [`Batch`] exists only if its length, its magic, its codec, its CRC (unless told
//! not to look) and the fields that others are computed from were checked.

use bytes::Bytes;

use super::checksum::crc32c;
use super::layout::{
    ATTRIBUTES, BASE_OFFSET, BASE_SEQUENCE, BASE_TIMESTAMP, CODEC_MASK, CONTROL, COUNT, CRC, DELETE_HORIZON,
    LAST_OFFSET_DELTA, LEADER_EPOCH, LEGACY_ATTRIBUTES, LEGACY_TIMESTAMP, LOG_APPEND_TIME, MAGIC,
    MAX_TIMESTAMP, PRODUCER_EPOCH, PRODUCER_ID, RECORDS, TRANSACTIONAL, read_i8, read_i16, read_i32,
    read_i64, read_u32,
};
use super::record::CurrentRecords;
use super::{Compression, RecordError, Records, Scratch, legacy};

/// Who gave the records their timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimestampType {
    /// Magic 0 has none.
    NoTimestamp,
    /// The producer.
    CreateTime,
    /// The broker, when it appended them.
    LogAppendTime,
}

impl TimestampType {
    /// Kafka's number: -1, 0 or 1.
    #[must_use]
    pub const fn id(self) -> i32 {
        match self {
            Self::NoTimestamp => -1,
            Self::CreateTime => 0,
            Self::LogAppendTime => 1,
        }
    }
}

/// One batch. Magic 0 and 1 have no batches: there each entry, compressed or not, is one.
#[derive(Debug, Clone)]
pub struct Batch {
    bytes: Bytes,
    codec: Compression,
    check_crc: bool,
}

impl Batch {
    /// `bytes` is one whole entry of magic 0, 1 or 2 and not shorter than its header.
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
            // Zstd came after magic 2.
            Some(codec) if magic == 2 || codec != Compression::Zstd => codec,
            _ => return Err(RecordError::Codec { base_offset, codec: id }),
        };
        let field = |field, value| Err(RecordError::Field { base_offset, field, value });
        if base_offset < 0 {
            return field("base offset", base_offset);
        }
        if magic == 2 {
            let delta = read_i32(&bytes, LAST_OFFSET_DELTA);
            if delta < 0 || base_offset.checked_add(i64::from(delta)).is_none() {
                return field("last offset delta", i64::from(delta));
            }
            let count = read_i32(&bytes, COUNT);
            if count < 0 {
                return field("record count", i64::from(count));
            }
        }
        Ok(Self { bytes, codec, check_crc })
    }

    /// The batch's bytes, header included.
    #[must_use]
    pub const fn as_bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Bytes of header and records.
    #[must_use]
    pub const fn size_in_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The format's version.
    #[must_use]
    pub fn magic(&self) -> i8 {
        read_i8(&self.bytes, MAGIC)
    }

    /// The offset in the header: that of the first record (which compaction may have taken away),
    /// but of the last one in magic 0 and 1.
    #[must_use]
    pub fn base_offset(&self) -> i64 {
        read_i64(&self.bytes, BASE_OFFSET)
    }

    /// The last offset that the batch covers, even if compaction took that record away. A reader
    /// goes on behind it.
    #[must_use]
    pub fn last_offset(&self) -> i64 {
        self.base_offset() + self.current(|bytes| i64::from(read_i32(bytes, LAST_OFFSET_DELTA)), 0)
    }

    /// The epoch of the leader that appended it, -1 if none is known.
    #[must_use]
    pub fn partition_leader_epoch(&self) -> i32 {
        self.current(|bytes| read_i32(bytes, LEADER_EPOCH), -1)
    }

    /// How the records are compressed.
    #[must_use]
    pub const fn compression(&self) -> Compression {
        self.codec
    }

    /// Who gave the timestamps.
    #[must_use]
    pub fn timestamp_type(&self) -> TimestampType {
        match attributes(&self.bytes) & LOG_APPEND_TIME {
            _ if self.magic() == 0 => TimestampType::NoTimestamp,
            0 => TimestampType::CreateTime,
            _ => TimestampType::LogAppendTime,
        }
    }

    /// What the records' timestamps are counted from, -1 if there is none.
    #[must_use]
    pub fn base_timestamp(&self) -> i64 {
        self.current(|bytes| read_i64(bytes, BASE_TIMESTAMP), self.legacy_timestamp())
    }

    /// The greatest timestamp, -1 if there is none. With [`TimestampType::LogAppendTime`] that of
    /// every record.
    #[must_use]
    pub fn max_timestamp(&self) -> i64 {
        self.current(|bytes| read_i64(bytes, MAX_TIMESTAMP), self.legacy_timestamp())
    }

    /// When compaction may drop the batch's tombstones and markers, if that is known.
    #[must_use]
    pub fn delete_horizon(&self) -> Option<i64> {
        (self.magic() == 2 && attributes(&self.bytes) & DELETE_HORIZON != 0).then(|| self.base_timestamp())
    }

    /// Whether it belongs to a transaction.
    #[must_use]
    pub fn is_transactional(&self) -> bool {
        self.magic() == 2 && attributes(&self.bytes) & TRANSACTIONAL != 0
    }

    /// Whether it holds markers and not an application's records.
    #[must_use]
    pub fn is_control(&self) -> bool {
        self.magic() == 2 && attributes(&self.bytes) & CONTROL != 0
    }

    /// Who produced it, -1 if not an idempotent producer.
    #[must_use]
    pub fn producer_id(&self) -> i64 {
        self.current(|bytes| read_i64(bytes, PRODUCER_ID), -1)
    }

    /// The producer's epoch, or -1.
    #[must_use]
    pub fn producer_epoch(&self) -> i16 {
        self.current(|bytes| read_i16(bytes, PRODUCER_EPOCH), -1)
    }

    /// The sequence number of the first record, or -1.
    #[must_use]
    pub fn base_sequence(&self) -> i32 {
        self.current(|bytes| read_i32(bytes, BASE_SEQUENCE), -1)
    }

    /// How many records the header announces. `None` for magic 0 and 1, where only decompression
    /// could tell.
    #[must_use]
    pub fn count(&self) -> Option<u32> {
        self.current(|bytes| u32::try_from(read_i32(bytes, COUNT)).ok(), None)
    }

    /// The records, decompressed into `scratch` if need be.
    ///
    /// # Errors
    /// [`RecordError`] if they cannot be decompressed.
    pub fn records<'a>(&'a self, scratch: &'a mut Scratch) -> Result<Records<'a>, RecordError> {
        let Some(count) = self.count() else {
            return legacy::records(&self.bytes, self.codec, self.check_crc, scratch).map(Records::legacy);
        };
        let payload = self.bytes.get(RECORDS..).unwrap_or_default();
        let rest = match self.codec {
            Compression::None => payload,
            // A batch that compaction emptied has nothing to decompress.
            _ if count == 0 && payload.is_empty() => payload,
            codec => scratch.decompress(codec, payload, false, self.base_offset())?,
        };
        let append_time = self.timestamp_type() == TimestampType::LogAppendTime;
        Ok(Records::current(CurrentRecords {
            rest,
            base_offset: self.base_offset(),
            last_offset_delta: read_u32(&self.bytes, LAST_OFFSET_DELTA),
            base_timestamp: self.base_timestamp(),
            append_time: append_time.then(|| self.max_timestamp()),
            count,
            index: 0,
        }))
    }

    fn current<T>(&self, read: impl FnOnce(&[u8]) -> T, legacy: T) -> T {
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
