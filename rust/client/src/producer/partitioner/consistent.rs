//! librdkafka's `consistent` partitioner, for topics that librdkafka also writes to.
//!
//! Invariant: a key goes to the same partition as with librdkafka, whatever the leaders.

/// The partition of a key among `count`, as librdkafka's `consistent` and `consistent_random` choose
/// it: zlib's CRC-32 modulo `count`; 0 if `count` is 0.
#[must_use]
pub fn consistent(key: &[u8], count: usize) -> i32 {
    // The checksum has 32 bits.
    super::below(crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32IsoHdlc, key) as u32, count)
}
