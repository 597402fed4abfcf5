//! CRC-32C, the checksum of batches of magic 2: it covers everything from the attributes on.

use crc_fast::CrcAlgorithm::Crc32Iscsi;

/// The checksum of `bytes`. The crate names Castagnoli's polynomial after iSCSI.
pub(super) fn crc32c(bytes: &[u8]) -> u32 {
    // The crate returns every checksum as u64.
    crc_fast::checksum(Crc32Iscsi, bytes) as u32
}
