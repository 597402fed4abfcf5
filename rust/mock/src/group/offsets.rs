//! The committed offsets of a group.
//!
//! Invariant: an offset that is pending in a transaction is not committed yet.

use std::collections::{BTreeMap, BTreeSet};

/// A committed offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommittedOffset {
    /// The offset of the next record to read.
    pub offset: i64,
    /// The leader epoch of the last record read, or -1.
    pub leader_epoch: i32,
    /// Metadata of the committing client.
    pub metadata: String,
}

/// A group's offsets, by topic and partition.
#[derive(Debug, Default)]
pub(crate) struct Offsets {
    committed: BTreeMap<String, BTreeMap<i32, CommittedOffset>>,
    /// Set by tests.
    pending: BTreeSet<(String, i32)>,
    /// The offsets in open transactions, by producer id.
    transactional: BTreeMap<i64, BTreeMap<(String, i32), CommittedOffset>>,
}

impl Offsets {
    pub(crate) fn commit(&mut self, topic: &str, partition: i32, offset: CommittedOffset) {
        self.committed.entry(topic.to_owned()).or_default().insert(partition, offset);
    }

    /// Stores an offset that becomes committed with a producer's transaction.
    pub(crate) fn commit_in_transaction(
        &mut self,
        producer_id: i64,
        topic: &str,
        partition: i32,
        offset: CommittedOffset,
    ) {
        let offsets = self.transactional.entry(producer_id).or_default();
        offsets.insert((topic.to_owned(), partition), offset);
    }

    /// Commits or drops the offsets of a producer's transaction.
    pub(crate) fn end_transaction(&mut self, producer_id: i64, committed: bool) {
        let offsets = self.transactional.remove(&producer_id).unwrap_or_default();
        for ((topic, partition), offset) in offsets.into_iter().filter(|_| committed) {
            self.commit(&topic, partition, offset);
        }
    }

    pub(crate) fn get(&self, topic: &str, partition: i32) -> Option<&CommittedOffset> {
        self.committed.get(topic)?.get(&partition)
    }

    /// All committed offsets, by topic.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&String, &BTreeMap<i32, CommittedOffset>)> {
        self.committed.iter()
    }

    pub(crate) fn delete(&mut self, topic: &str, partition: i32) {
        if let Some(partitions) = self.committed.get_mut(topic) {
            partitions.remove(&partition);
            if partitions.is_empty() {
                self.committed.remove(topic);
            }
        }
    }

    /// Deletes the offsets of a deleted topic.
    pub(crate) fn delete_topic(&mut self, topic: &str) {
        self.committed.remove(topic);
        self.pending.retain(|(name, _)| name != topic);
        for offsets in self.transactional.values_mut() {
            offsets.retain(|(name, _), _| name != topic);
        }
    }

    /// Whether an open transaction has an offset for this partition.
    pub(crate) fn is_pending(&self, topic: &str, partition: i32) -> bool {
        let key = (topic.to_owned(), partition);
        self.pending.contains(&key) || self.transactional.values().any(|offsets| offsets.contains_key(&key))
    }

    pub(crate) fn set_pending(&mut self, topic: &str, partition: i32, pending: bool) {
        let key = (topic.to_owned(), partition);
        if pending {
            self.pending.insert(key);
        } else {
            self.pending.remove(&key);
        }
    }
}
