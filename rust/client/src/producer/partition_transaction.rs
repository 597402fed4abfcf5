//! The transaction that a partition takes part in, as its queue keeps it.
//!
//! Invariant: a partition is registered for one transaction only.

/// The transaction that a partition takes part in.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PartitionTransaction {
    /// The number of the last transaction with a record of the partition; 0 before the first.
    number: u64,
    is_registered: bool,
}

impl PartitionTransaction {
    pub(super) fn new(number: u64, is_registered: bool) -> Self {
        Self { number, is_registered }
    }

    pub(super) fn number(self) -> u64 {
        self.number
    }

    /// Whether the partition may be written to: the coordinator knows it, or its leader will add it.
    pub(super) fn is_registered(self) -> bool {
        self.is_registered
    }

    /// The coordinator has added the partition to the transaction with this number.
    pub(super) fn set_registered(&mut self, number: u64) {
        self.is_registered |= self.number == number;
    }
}
