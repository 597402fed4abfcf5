//! The sticky partition for records without a key: it changes after a batch's worth of bytes, so that
//! batches are full and evenly spread (KIP-480, KIP-794). No I/O; random choices are an argument.
//!
//! Invariant: a partition gets at least `batch.size` bytes in a row, and is left when a batch ends or
//! after twice that size.

/// The current sticky partition and the bytes sent to it.
#[derive(Debug, Default)]
pub struct StickyPartition {
    partition: Option<i32>,
    bytes: usize,
}

impl StickyPartition {
    /// The current partition.
    #[must_use]
    pub fn partition(&self) -> Option<i32> {
        self.partition
    }

    /// Returns the partition for `bytes` more, and counts them as sent to it.
    ///
    /// `continues` says whether they still fit into a partition's open batch. Leaving that batch half
    /// full would make it wait for `linger.ms`, and each switch would cost a partial batch. `pick`
    /// chooses the next partition, or `None` if the topic has none.
    pub fn next(
        &mut self,
        bytes: usize,
        batch_size: usize,
        continues: impl FnOnce(i32) -> bool,
        pick: impl FnOnce() -> Option<i32>,
    ) -> Option<i32> {
        let limit = batch_size.max(1);
        let stays = |partition: &i32| {
            self.bytes < limit || self.bytes < limit.saturating_mul(2) && continues(*partition)
        };
        match self.partition.filter(stays) {
            Some(_) => self.bytes = self.bytes.saturating_add(bytes),
            None => (self.partition, self.bytes) = (pick(), bytes),
        }
        self.partition
    }

    /// Takes back bytes that were not sent to the partition after all.
    pub fn give_back(&mut self, partition: i32, bytes: usize) {
        if self.partition == Some(partition) {
            self.bytes = self.bytes.saturating_sub(bytes);
        }
    }
}
