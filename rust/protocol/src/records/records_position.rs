//! [`RecordsPosition`]: how far the records of a batch were read.

/// How far the records of a batch were read: see [`Records::current_position`].
///
/// [`Records::current_position`]: super::Records::current_position
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordsPosition {
    /// The encoded length of the remaining records.
    pub(super) left: usize,
    /// The number of records before the position.
    pub(super) index: u32,
    /// In magic 1, the difference between absolute and relative offsets.
    pub(super) offset_shift: i64,
}
