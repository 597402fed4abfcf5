//! CRC-32C, which covers a batch of magic 2 from its attributes on.

use crc_fast::CrcAlgorithm::Crc32Iscsi;

/// The checksum of `bytes`. (Castagnoli's polynomial goes by the name of iSCSI, too.)
pub(super) fn crc32c(bytes: &[u8]) -> u32 {
    // A 32-bit checksum in the crate's common type.
    crc_fast::checksum(Crc32Iscsi, bytes) as u32
}
