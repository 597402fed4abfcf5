//! The records that the last poll delivered, and their acknowledgements by the application.
//!
//! Invariant: only a delivered record can be acknowledged, and until the acknowledgement is sent, a later one
//! replaces it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::acknowledgements::AcknowledgeType;
use super::acquired_fetch::AcquiredFetch;
use super::offset_ranges::{OffsetRanges, offset_count};
use crate::error::{Error, Kind, Result};
use crate::topic_partition::TopicPartition;

/// Delivered records of one fetch.
#[derive(Debug)]
pub(super) struct DeliveredFetch {
    /// The fetch; its `acquired` are the delivered records.
    pub(super) fetch: AcquiredFetch,
    pub(super) acknowledged: OffsetRanges<AcknowledgeType>,
}

/// The delivered records.
#[derive(Debug, Default)]
pub(super) struct Delivered {
    fetches: BTreeMap<Arc<str>, BTreeMap<i32, Vec<DeliveredFetch>>>,
    unacknowledged: u64,
}

impl Delivered {
    /// Adds a record of `fetch`.
    pub(super) fn add(&mut self, fetch: &AcquiredFetch, first: i64, last: i64, delivery_count: i16) {
        let (topic, partition) = &fetch.partition;
        let partitions = self.fetches.entry(Arc::clone(topic)).or_default();
        let fetches = partitions.entry(*partition).or_default();
        let is_same = |known: &&mut DeliveredFetch| {
            known.fetch.leader == fetch.leader
                && known.fetch.id == fetch.id
                && known.fetch.locked_until == fetch.locked_until
                && known.fetch.records.as_ptr() == fetch.records.as_ptr()
        };
        self.unacknowledged = self.unacknowledged.saturating_add(offset_count(first, last));
        if let Some(known) = fetches.last_mut().filter(|known| is_same(known)) {
            known.fetch.acquired.insert(first, last, delivery_count);
            return;
        }
        let mut delivered = AcquiredFetch { acquired: OffsetRanges::default(), ..fetch.clone() };
        delivered.acquired.insert(first, last, delivery_count);
        fetches.push(DeliveredFetch { fetch: delivered, acknowledged: OffsetRanges::default() });
    }

    /// Acknowledges the delivered records from `first` to `last`. Returns how many there are.
    fn acknowledge_range(
        &mut self,
        topic: &str,
        partition: i32,
        first: i64,
        last: i64,
        acknowledge_type: AcknowledgeType,
    ) -> u64 {
        let fetches = self.fetches.get_mut(topic).and_then(|partitions| partitions.get_mut(&partition));
        let mut found = 0_u64;
        for delivered in fetches.into_iter().flatten() {
            for (first, last, _) in delivered.fetch.acquired.between(first, last) {
                let records = offset_count(first, last);
                let before = delivered.acknowledged.between(first, last);
                let known = before.map(|(first, last, _)| offset_count(first, last));
                let known = known.fold(0, u64::saturating_add);
                found = found.saturating_add(records);
                self.unacknowledged = self.unacknowledged.saturating_sub(records.saturating_sub(known));
                delivered.acknowledged.insert(first, last, acknowledge_type);
            }
        }
        found
    }

    /// Acknowledges one record.
    pub(super) fn acknowledge(
        &mut self,
        topic: &str,
        partition: i32,
        offset: i64,
        acknowledge_type: AcknowledgeType,
    ) -> Result<()> {
        // An old and a new leader may both have delivered it.
        if self.acknowledge_range(topic, partition, offset, offset, acknowledge_type) > 0 {
            return Ok(());
        }
        let message = format!(
            "offset {offset} cannot be acknowledged: the last poll did not deliver it, or its acknowledgement was sent already"
        );
        Err(Error::new(Kind::State, message).at(&topic.into(), partition))
    }

    /// Acknowledges the delivered records from `first` to `last`; there must be some.
    pub(super) fn acknowledge_offsets(
        &mut self,
        topic: &str,
        partition: i32,
        (first, last): (i64, i64),
        acknowledge_type: AcknowledgeType,
    ) -> Result<()> {
        if self.acknowledge_range(topic, partition, first, last, acknowledge_type) > 0 {
            return Ok(());
        }
        let message = format!(
            "no record from offset {first} to {last} can be acknowledged: the last poll delivered none, or their acknowledgements were sent already"
        );
        Err(Error::new(Kind::State, message).at(&topic.into(), partition))
    }

    /// Acknowledges each record that has no acknowledgement.
    pub(super) fn acknowledge_rest(&mut self, acknowledge_type: AcknowledgeType) {
        for delivered in self.fetches.values_mut().flat_map(BTreeMap::values_mut).flatten() {
            let acknowledged = std::mem::take(&mut delivered.acknowledged);
            for (first, last, _) in delivered.fetch.acquired.iter() {
                delivered.acknowledged.insert(first, last, acknowledge_type);
            }
            for (first, last, earlier) in acknowledged.iter() {
                delivered.acknowledged.insert(first, last, earlier);
            }
        }
        self.unacknowledged = 0;
    }

    /// Takes the acknowledged records. The others stay.
    pub(super) fn take_acknowledged(&mut self) -> Vec<DeliveredFetch> {
        let mut taken = Vec::new();
        for fetches in self.fetches.values_mut().flat_map(BTreeMap::values_mut) {
            fetches.retain_mut(|delivered| {
                if delivered.acknowledged.is_empty() {
                    return true;
                }
                let acknowledged = std::mem::take(&mut delivered.acknowledged);
                let mut rest = delivered.fetch.clone();
                for (first, last, _) in acknowledged.iter() {
                    rest.acquired.remove(first, last);
                }
                let fetch = std::mem::replace(&mut delivered.fetch, rest);
                taken.push(DeliveredFetch { fetch, acknowledged });
                !delivered.fetch.acquired.is_empty()
            });
        }
        self.fetches.retain(|_, partitions| {
            partitions.retain(|_, fetches| !fetches.is_empty());
            !partitions.is_empty()
        });
        taken
    }

    /// The error if records have no acknowledgement.
    pub(super) fn check_acknowledged(&self) -> Result<()> {
        if self.unacknowledged == 0 {
            return Ok(());
        }
        let message = format!(
            "{} records of the last poll are not acknowledged: with share.acknowledgement.mode=explicit, acknowledge each record before the next poll",
            self.unacknowledged
        );
        let error = Error::new(Kind::State, message);
        Err(self
            .first_unacknowledged()
            .map_or(error.clone(), |(topic, partition)| error.at(&topic, partition)))
    }

    fn first_unacknowledged(&self) -> Option<TopicPartition> {
        let fetches = self.fetches.values().flat_map(BTreeMap::values).flatten();
        let mut fetches = fetches.filter(|it| it.acknowledged.count() < it.fetch.acquired.count());
        fetches.next().map(|delivered| delivered.fetch.partition.clone())
    }

    /// The leaders of the records that are with the application; a leader may occur more than once.
    pub(super) fn leaders(&self) -> impl Iterator<Item = i32> {
        self.fetches.values().flat_map(BTreeMap::values).flatten().map(|delivered| delivered.fetch.leader)
    }
}
