//! Records that were collected and not delivered to the application yet.
//!
//! Invariants: a partition's position moves as its records are delivered, and no further. Buffered records
//! become stale when the consumer's version changes; then they are dropped and fetched again. A record that
//! the caller cannot convert stays the next one. Nothing is delivered before it was decoded.

use std::collections::VecDeque;

use crate::consumer::Consumer;
use crate::consumer::read::partition_filter::PartitionFilter;
use crate::consumer::read::record_set::{RecordEntry, RecordSet};
#[cfg(feature = "arrow")]
use crate::consumer::read::typed_set;
use crate::topic_partition::TopicPartition;
#[cfg(feature = "arrow")]
use crate::typed::{InvalidFields, TypedColumns};

/// Why the caller could not convert a record. The record stays the next one.
#[derive(Debug)]
pub enum ConvertError<E> {
    /// The record is unusable: the records before it are delivered, and the next call returns the error.
    Record(E),
    /// The call was interrupted: no record is delivered, and the error is returned at once.
    Interrupted(E),
}

/// Buffered records, in the order of delivery.
#[derive(Debug, Default)]
pub(crate) struct RecordBuffer {
    sets: VecDeque<RecordSet>,
    /// The index of the next record in the first set.
    next_index: usize,
    /// The consumer's version when the records were collected.
    version: u64,
    /// The partitions whose records may be delivered; their sets come first.
    of: PartitionFilter,
}

/// The most bytes of records of other partitions that stay buffered for a poll of some.
const MAX_OTHER_BYTES: usize = 16 << 20;

impl RecordBuffer {
    /// Drops stale records; returns whether any are left.
    pub(super) fn drop_stale(&mut self, consumer: &Consumer) -> bool {
        if self.sets.is_empty() {
            return false;
        }
        if self.version == consumer.version() {
            return true;
        }
        self.discard(consumer);
        false
    }

    /// Drops all records; they are fetched again.
    pub(super) fn discard(&mut self, consumer: &Consumer) {
        if !self.sets.is_empty() {
            *self = Self::default();
            consumer.discard_undelivered();
        }
    }

    /// Delivers only records of these partitions from now on; returns whether any are buffered.
    pub(super) fn select(&mut self, consumer: &Consumer, of: &PartitionFilter) -> bool {
        let has_records = self.drop_stale(consumer);
        if of.is_all() {
            self.of = PartitionFilter::default();
            return has_records;
        }
        self.of = of.clone();
        self.bring_selected_forward();
        if self.has_selected() {
            return true;
        }
        if self.sets.iter().map(|set| set.bytes.len()).sum::<usize>() > MAX_OTHER_BYTES {
            self.discard(consumer);
        }
        false
    }

    fn bring_selected_forward(&mut self) {
        if let Some(front) = self.sets.front_mut() {
            front.entries.drain(..std::mem::take(&mut self.next_index).min(front.entries.len()));
        }
        // Sets of a partition keep their order; that of partitions is free.
        let of = &self.of;
        self.sets.make_contiguous().sort_by_key(|set| !of.selects(&set.partition));
    }

    /// Whether the next record may be delivered.
    fn has_selected(&self) -> bool {
        self.sets.front().is_some_and(|set| self.of.selects(&set.partition))
    }

    /// Collects at most `max_records` records of these partitions, if none are buffered.
    pub(super) fn fill(&mut self, consumer: &Consumer, max_records: usize, of: &PartitionFilter) {
        if self.select(consumer, of) {
            return;
        }
        // Read before the records are collected: any later change makes them stale.
        let version = consumer.version();
        let mut sets: VecDeque<_> = consumer.take_records_of(max_records, of).into();
        // Those of other partitions are as old, or this drops them.
        if self.drop_stale(consumer) {
            sets.append(&mut self.sets);
        }
        *self = Self { sets, next_index: 0, version, of: of.clone() };
    }

    /// The buffered records whose keys and values were not decoded.
    #[cfg(feature = "arrow")]
    pub(super) fn undecoded(&mut self) -> impl Iterator<Item = &mut RecordSet> {
        self.sets.iter_mut().filter(|set| set.typed.is_none())
    }

    /// Decodes the keys and values of the next records, whose schemas were looked up.
    #[cfg(feature = "arrow")]
    pub(super) fn decode_typed(
        &mut self,
        typed: &TypedColumns,
        invalid: &InvalidFields,
    ) -> crate::error::Result<()> {
        // Of a set that is decoded again, what was delivered is not.
        if let Some(front) = self.sets.front_mut().filter(|set| set.typed.is_none()) {
            front.entries.drain(..self.next_index.min(front.entries.len()));
            self.next_index = 0;
        }
        typed_set::decode(typed, &mut self.sets, invalid)
    }

    /// Moves the buffer back to `slot`, in front of records that were added there meanwhile.
    pub(super) fn restore_to(mut self, slot: &mut Self) {
        if !slot.sets.is_empty() {
            self.sets.append(&mut slot.sets);
        }
        *slot = self;
    }

    /// Converts and delivers the next records, at most `max_records`.
    pub(super) fn pop_records<T, E>(
        &mut self,
        consumer: &Consumer,
        max_records: usize,
        mut convert: impl FnMut(&RecordSet, &RecordEntry) -> Result<T, ConvertError<E>>,
    ) -> Result<Vec<T>, E> {
        let buffered: usize = self.sets.iter().map(|set| set.entries.len()).sum();
        let mut records = Vec::with_capacity(buffered.saturating_sub(self.next_index).min(max_records));
        // The number of records delivered from each set.
        let mut counts = Vec::new();
        let (mut skip, mut unusable) = (self.next_index, None);
        for set in &self.sets {
            let is_deliverable = consumer.is_decoded(set) && self.of.selects(&set.partition);
            if records.len() >= max_records || unusable.is_some() || !is_deliverable {
                break;
            }
            let before = records.len();
            for entry in set.entries.iter().skip(std::mem::take(&mut skip)).take(max_records - before) {
                match convert(set, entry) {
                    Ok(record) => records.push(record),
                    Err(ConvertError::Interrupted(error)) => return Err(error),
                    Err(ConvertError::Record(error)) => {
                        unusable = Some(error);
                        break;
                    }
                }
            }
            counts.push(records.len() - before);
        }
        for count in counts {
            self.advance(consumer, count);
        }
        match unusable {
            Some(error) if records.is_empty() => {
                self.forget_failure();
                Err(error)
            }
            _ => Ok(records),
        }
    }

    /// Converts and delivers the next record, if there is one.
    pub(super) fn pop_record<T, E>(
        &mut self,
        consumer: &Consumer,
        convert: impl FnOnce(&RecordSet, &RecordEntry) -> Result<T, E>,
    ) -> Result<Option<T>, E> {
        let is_deliverable = |set: &&RecordSet| consumer.is_decoded(set) && self.of.selects(&set.partition);
        let Some(set) = self.sets.front().filter(is_deliverable) else { return Ok(None) };
        let Some(entry) = set.entries.get(self.next_index) else { return Ok(None) };
        let record = match convert(set, entry) {
            Ok(record) => record,
            Err(error) => {
                self.forget_failure();
                return Err(error);
            }
        };
        self.advance(consumer, 1);
        Ok(Some(record))
    }

    /// Lets the next record be decoded again, if it could not be: its schema may be registered by then.
    fn forget_failure(&mut self) {
        #[cfg(feature = "arrow")]
        if let Some(set) = self.sets.front_mut() {
            let row = set.entries.get(self.next_index).map(|entry| entry.row);
            set.typed.take_if(|typed| row.is_some_and(|row| typed.is_failed(row)));
        }
    }

    /// Whether the next records must be decoded before they are delivered.
    #[cfg(feature = "arrow")]
    pub(super) fn has_undecoded(&self) -> bool {
        self.sets.iter().any(|set| set.typed.is_none())
    }

    /// Moves a partition forward to an offset within its buffered records; returns whether it has a record at or
    /// after it. Nothing is dropped otherwise.
    pub(super) fn skip_to(&mut self, consumer: &Consumer, partition: &TopicPartition, offset: i64) -> bool {
        let of_partition = |set: &RecordSet| set.partition == *partition;
        let Some(version) = self.sets.iter().find(|set| of_partition(set)).map(RecordSet::version) else {
            return false;
        };
        let mut undelivered = self.sets.iter().enumerate().flat_map(|(at, set)| {
            let delivered = if at == 0 { self.next_index } else { 0 };
            set.entries.iter().skip(delivered).map(move |entry| (set, entry))
        });
        if !undelivered.any(|(set, entry)| of_partition(set) && entry.offset >= offset) {
            return false;
        }
        if !consumer.skip_to(partition, version, offset) {
            return false;
        }
        if let Some(front) = self.sets.front_mut().filter(|set| of_partition(set)) {
            front.entries.drain(..self.next_index);
            self.next_index = 0;
        }
        for set in self.sets.iter_mut().filter(|set| of_partition(set)) {
            set.entries.retain(|entry| entry.offset >= offset);
        }
        self.sets.retain(|set| !set.entries.is_empty());
        true
    }

    /// Delivers the next records, at most `max_records`, in their sets.
    pub(super) fn pop_sets(&mut self, consumer: &Consumer, max_records: usize) -> Vec<RecordSet> {
        let (mut sets, mut left) = (Vec::new(), max_records);
        while left > 0
            && self.sets.front().is_some_and(|set| consumer.is_decoded(set))
            && self.has_selected()
            && let Some(mut set) = self.sets.pop_front()
        {
            let delivered = std::mem::take(&mut self.next_index);
            if delivered > 0 {
                // The rest of a set whose first records were popped one by one.
                let (_, Some(rest)) = set.split(delivered) else { continue };
                set = rest;
            }
            let (set, rest) = set.split(left);
            left -= set.entries.len();
            consumer.mark_delivered(&set.partition, set.version(), set.next, set.leader_epoch);
            sets.push(set);
            if let Some(rest) = rest {
                self.sets.push_front(rest);
            }
        }
        sets
    }

    /// Moves the position of the first set's partition past `count` more records.
    fn advance(&mut self, consumer: &Consumer, count: usize) {
        self.next_index += count;
        let Some(set) = self.sets.front() else { return };
        let is_exhausted = self.next_index >= set.entries.len();
        let next = match self.next_index.checked_sub(1).and_then(|last| set.entries.get(last)) {
            _ if is_exhausted => set.next,
            Some(last) => last.offset + 1,
            None => return,
        };
        consumer.mark_delivered(&set.partition, set.version(), next, set.leader_epoch);
        if is_exhausted {
            self.sets.pop_front();
            self.next_index = 0;
        }
    }
}
