//! The byte positions of a batch's fields, for all modules of `records`.
//!
//! Invariant: callers check the length of the slice first. On a slice that is too short, [`read_i64`]
//! and its siblings return zero instead of panicking.

// All magics.
pub(super) const BASE_OFFSET: usize = 0;
pub(super) const LENGTH: usize = 8;
/// Offset and length: the bytes that the length does not count.
pub(super) const PREFIX: usize = 12;
pub(super) const MAGIC: usize = 16;

// Magic 2.
pub(super) const LEADER_EPOCH: usize = 12;
pub(super) const CRC: usize = 17;
/// The CRC covers everything from the attributes on.
pub(super) const ATTRIBUTES: usize = 21;
pub(super) const LAST_OFFSET_DELTA: usize = 23;
pub(super) const BASE_TIMESTAMP: usize = 27;
pub(super) const MAX_TIMESTAMP: usize = 35;
pub(super) const PRODUCER_ID: usize = 43;
pub(super) const PRODUCER_EPOCH: usize = 51;
pub(super) const BASE_SEQUENCE: usize = 53;
pub(super) const COUNT: usize = 57;
pub(super) const RECORDS: usize = 61;

pub(super) const CODEC_MASK: i16 = 0x07;
pub(super) const LOG_APPEND_TIME: i16 = 0x08;
pub(super) const TRANSACTIONAL: i16 = 0x10;
pub(super) const CONTROL: i16 = 0x20;
pub(super) const DELETE_HORIZON: i16 = 0x40;

// Magic 0 and 1.
pub(super) const LEGACY_CRC: usize = 12;
pub(super) const LEGACY_ATTRIBUTES: usize = 17;
pub(super) const LEGACY_TIMESTAMP: usize = 18;
/// CRC, magic, attributes and two null lengths.
pub(super) const LEGACY_MIN_V0: usize = 14;
/// As version 0, and a timestamp.
pub(super) const LEGACY_MIN_V1: usize = 22;

macro_rules! field {
    ($read:ident, $write:ident, $type:ty) => {
        #[inline]
        pub(super) fn $read(bytes: &[u8], at: usize) -> $type {
            bytes
                .get(at..)
                .and_then(|rest| rest.first_chunk())
                .map_or(0, |chunk| <$type>::from_be_bytes(*chunk))
        }

        #[inline]
        #[allow(dead_code, reason = "one macro for all widths; not every width is written")]
        pub(super) fn $write(bytes: &mut [u8], at: usize, value: $type) {
            if let Some(chunk) = bytes.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
                *chunk = value.to_be_bytes();
            }
        }
    };
}

field!(read_i8, write_i8, i8);
field!(read_i16, write_i16, i16);
field!(read_i32, write_i32, i32);
field!(read_u32, write_u32, u32);
field!(read_i64, write_i64, i64);
