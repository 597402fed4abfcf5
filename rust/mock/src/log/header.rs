//! The header of a record batch (magic 2): its fixed fields, and the two changes that a broker makes.
//!
//! Invariant: a [`Header`] exists only for bytes that hold exactly one whole batch with a right CRC.

use bytes::{Bytes, BytesMut};
use ottla_protocol::ErrorCode;

const LENGTH: usize = 8;
const PREFIX: usize = 12;
const LEADER_EPOCH: usize = 12;
const MAGIC: usize = 16;
const CRC: usize = 17;
const ATTRIBUTES: usize = 21;
const LAST_OFFSET_DELTA: usize = 23;
const BASE_TIMESTAMP: usize = 27;
const MAX_TIMESTAMP: usize = 35;
const PRODUCER_ID: usize = 43;
const PRODUCER_EPOCH: usize = 51;
const BASE_SEQUENCE: usize = 53;
const COUNT: usize = 57;
const RECORDS: usize = 61;

const CODEC_MASK: i16 = 0x07;
const LOG_APPEND_TIME: i16 = 0x08;

/// What a broker reads of a batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Header {
    pub(crate) attributes: i16,
    pub(crate) last_offset_delta: i32,
    pub(crate) base_timestamp: i64,
    pub(crate) max_timestamp: i64,
    pub(crate) producer_id: i64,
    pub(crate) producer_epoch: i16,
    pub(crate) base_sequence: i32,
    pub(crate) count: i32,
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
}

fn put<const N: usize>(bytes: &mut [u8], at: usize, value: [u8; N]) {
    if let Some(chunk) = bytes.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
        *chunk = value;
    }
}

impl Header {
    /// Reads and checks one whole batch.
    pub(crate) fn read(bytes: &Bytes) -> Result<Self, (ErrorCode, &'static str)> {
        if bytes.len() < RECORDS {
            return Err((ErrorCode::CorruptMessage, "the batch is shorter than its header"));
        }
        if bytes[MAGIC] != 2 {
            return Err((ErrorCode::InvalidRecord, "produce requests carry batches of magic 2"));
        }
        let length = i32::from_be_bytes(field(bytes, LENGTH));
        match usize::try_from(length).ok().and_then(|length| length.checked_add(PREFIX)) {
            Some(size) if size == bytes.len() => {}
            Some(size) if size >= RECORDS && size < bytes.len() => {
                return Err((ErrorCode::InvalidRecord, "a partition's records are more than one batch"));
            }
            _ => return Err((ErrorCode::CorruptMessage, "the batch's length is not that of its bytes")),
        }
        if crc32c::crc32c(&bytes[ATTRIBUTES..]) != u32::from_be_bytes(field(bytes, CRC)) {
            return Err((ErrorCode::CorruptMessage, "the batch's checksum is wrong"));
        }
        let header = Self {
            attributes: i16::from_be_bytes(field(bytes, ATTRIBUTES)),
            last_offset_delta: i32::from_be_bytes(field(bytes, LAST_OFFSET_DELTA)),
            base_timestamp: i64::from_be_bytes(field(bytes, BASE_TIMESTAMP)),
            max_timestamp: i64::from_be_bytes(field(bytes, MAX_TIMESTAMP)),
            producer_id: i64::from_be_bytes(field(bytes, PRODUCER_ID)),
            producer_epoch: i16::from_be_bytes(field(bytes, PRODUCER_EPOCH)),
            base_sequence: i32::from_be_bytes(field(bytes, BASE_SEQUENCE)),
            count: i32::from_be_bytes(field(bytes, COUNT)),
        };
        if header.count <= 0 || header.last_offset_delta != header.count - 1 {
            return Err((ErrorCode::InvalidRecord, "the batch's count does not fit its offsets"));
        }
        Ok(header)
    }

    /// The number of the batch's compression codec.
    pub(crate) fn codec(&self) -> i16 {
        self.attributes & CODEC_MASK
    }
}

/// A copy of the batch as the log keeps it: with its offset, its leader epoch and, where the topic
/// wants it, the broker's time.
pub(crate) fn stamped(batch: &Bytes, base_offset: i64, leader_epoch: i32, append_time: Option<i64>) -> Bytes {
    // A copy, so that a small batch does not keep the whole request's frame in memory.
    let mut bytes = BytesMut::from(&batch[..]);
    put(&mut bytes, 0, base_offset.to_be_bytes());
    put(&mut bytes, LEADER_EPOCH, leader_epoch.to_be_bytes());
    if let Some(time) = append_time {
        let attributes = i16::from_be_bytes(field(&bytes, ATTRIBUTES)) | LOG_APPEND_TIME;
        put(&mut bytes, ATTRIBUTES, attributes.to_be_bytes());
        put(&mut bytes, MAX_TIMESTAMP, time.to_be_bytes());
        let crc = crc32c::crc32c(&bytes[ATTRIBUTES..]);
        put(&mut bytes, CRC, crc.to_be_bytes());
    }
    bytes.freeze()
}
