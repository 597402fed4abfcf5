//! The partition that librdkafka's `consistent` gives a key, for topics that librdkafka has filled.
//!
//! Invariant: the same key goes to the same partition as with librdkafka, whatever the leaders do.

/// The partition of a key among `count`, as librdkafka's `consistent` and `consistent_random` choose
/// it: zlib's CRC-32 modulo the count; 0 if there are none.
#[must_use]
pub fn consistent(key: &[u8], count: usize) -> i32 {
    // The sum has 32 bits.
    super::below(crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32IsoHdlc, key) as u32, count)
}
