//! Records without a key stay with one partition until it has got a batch's worth of bytes, then go
//! to another (KIP-480, KIP-794): full batches, evenly spread. No I/O, no randomness of its own.
//!
//! Invariant: a partition gets at least `batch.size` bytes in a row, and is left when a batch ends,
//! or after twice as many bytes at the latest.

/// Which partition it is now, and how much it has got.
#[derive(Debug, Default)]
pub struct StickyPartition {
    partition: Option<i32>,
    bytes: usize,
}

impl StickyPartition {
    /// The partition that it is now.
    #[must_use]
    pub fn partition(&self) -> Option<i32> {
        self.partition
    }

    /// The partition for `bytes` more, which count as sent to it.
    ///
    /// `continues` says whether they would still go into a partition's open batch: leaving it half
    /// full would have it wait for `linger.ms`, and every switch would cost a batch that is not
    /// full. `pick` chooses the next partition; `None` if the topic has none.
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

    /// Takes back bytes that a partition did not get after all.
    pub fn give_back(&mut self, partition: i32, bytes: usize) {
        if self.partition == Some(partition) {
            self.bytes = self.bytes.saturating_sub(bytes);
        }
    }
}
