//! The idempotent producers of a log (KIP-98): the last batches of each, by which duplicates are detected and
//! gaps rejected.
//!
//! As in Kafka, an unknown producer may start at any sequence number, and a new epoch only at 0.

use std::collections::{HashMap, VecDeque};

use ottla_protocol::ErrorCode;

use super::StoredBatch;
use crate::transaction::ProducerIdAndEpoch;

/// The number of batches that a broker keeps per producer.
const BATCHES_TO_RETAIN: usize = 5;

/// The sequence numbers and offset of an appended batch.
#[derive(Debug, Clone, Copy)]
struct BatchMetadata {
    first: i32,
    last: i32,
    base_offset: i64,
}

#[derive(Debug, Default)]
struct ProducerState {
    epoch: i16,
    /// The timestamp of the last batch or marker.
    last_timestamp: i64,
    /// Of the coordinator that wrote the last marker.
    coordinator_epoch: Option<i32>,
    /// Oldest first; empty after a marker with a new epoch.
    batches: VecDeque<BatchMetadata>,
}

/// The producers of a log, by id.
#[derive(Debug, Default)]
pub(super) struct ProducerStates(HashMap<i64, ProducerState>);

/// The sequence number of the last of `count` records, of which the first has `first`; wraps around.
fn last_sequence(first: i32, count: i32) -> i32 {
    let last = (i64::from(first) + i64::from(count) - 1) & 0x7fff_ffff;
    i32::try_from(last).unwrap_or(0)
}

impl ProducerState {
    /// A new epoch begins with new sequence numbers.
    fn set_epoch(&mut self, epoch: i16) {
        if epoch != self.epoch {
            self.epoch = epoch;
            self.batches.clear();
        }
    }
}

/// What DescribeProducers shows of a producer.
#[derive(Debug)]
pub(crate) struct ActiveProducer {
    pub(crate) id: i64,
    pub(crate) epoch: i16,
    pub(crate) last_sequence: Option<i32>,
    pub(crate) last_timestamp: i64,
    pub(crate) coordinator_epoch: Option<i32>,
    /// The first offset of its open transaction.
    pub(crate) transaction_start: Option<i64>,
}

impl ProducerStates {
    /// Checks a batch: returns the offset of its first copy if it is a duplicate, `None` if it may be
    /// appended.
    pub(super) fn check(
        &self,
        id: i64,
        epoch: i16,
        first: i32,
        count: i32,
    ) -> Result<Option<i64>, ErrorCode> {
        let Some(producer) = self.0.get(&id).filter(|_| id >= 0) else { return Ok(None) };
        if epoch < producer.epoch {
            return Err(ErrorCode::InvalidProducerEpoch);
        }
        if epoch > producer.epoch {
            return if first == 0 { Ok(None) } else { Err(ErrorCode::OutOfOrderSequenceNumber) };
        }
        let last = last_sequence(first, count);
        let known = producer.batches.iter().find(|known| (known.first, known.last) == (first, last));
        if let Some(known) = known {
            return Ok(Some(known.base_offset));
        }
        let next = producer.batches.back().map_or(0, |back| last_sequence(back.last, 2));
        if next == first { Ok(None) } else { Err(ErrorCode::OutOfOrderSequenceNumber) }
    }

    /// Records an appended batch.
    pub(super) fn record(&mut self, batch: &StoredBatch) {
        if batch.producer_id < 0 {
            return;
        }
        if batch.base_sequence < 0 {
            // A control batch has no sequence numbers, but its epoch fences older producers.
            if let Some(producer) = self.0.get_mut(&batch.producer_id) {
                producer.set_epoch(producer.epoch.max(batch.producer_epoch));
                producer.last_timestamp = batch.max_timestamp;
            }
            return;
        }
        let producer = self.0.entry(batch.producer_id).or_default();
        producer.set_epoch(batch.producer_epoch);
        producer.last_timestamp = batch.max_timestamp;
        let last = last_sequence(batch.base_sequence, batch.count);
        let metadata = BatchMetadata { first: batch.base_sequence, last, base_offset: batch.base_offset };
        producer.batches.push_back(metadata);
        if producer.batches.len() > BATCHES_TO_RETAIN {
            producer.batches.pop_front();
        }
    }

    /// The sequence number that a producer's next record must have.
    pub(super) fn next_sequence(&self, id: i64) -> i32 {
        let last = self.0.get(&id).and_then(|producer| producer.batches.back());
        last.map_or(0, |metadata| last_sequence(metadata.last, 2))
    }

    /// The last epoch of a producer.
    pub(super) fn epoch(&self, id: i64) -> Option<i16> {
        self.0.get(&id).map(|producer| producer.epoch)
    }

    /// The producers, in the order of their ids, without their transactions.
    pub(super) fn active(&self) -> Vec<ActiveProducer> {
        let active = self.0.iter().map(|(id, producer)| ActiveProducer {
            id: *id,
            epoch: producer.epoch,
            last_sequence: producer.batches.back().map(|metadata| metadata.last),
            last_timestamp: producer.last_timestamp,
            coordinator_epoch: producer.coordinator_epoch,
            transaction_start: None,
        });
        let mut active: Vec<_> = active.collect();
        active.sort_unstable_by_key(|producer| producer.id);
        active
    }

    /// Fails if a marker is older than the producer's last epoch or than the last coordinator's.
    pub(super) fn check_marker(
        &self,
        producer: ProducerIdAndEpoch,
        coordinator_epoch: i32,
    ) -> Result<(), ErrorCode> {
        let Some(known) = self.0.get(&producer.id) else { return Ok(()) };
        if producer.epoch < known.epoch {
            return Err(ErrorCode::InvalidProducerEpoch);
        }
        let is_fenced = known.coordinator_epoch.is_some_and(|last| coordinator_epoch < last);
        if is_fenced { Err(ErrorCode::TransactionCoordinatorFenced) } else { Ok(()) }
    }

    pub(super) fn set_coordinator_epoch(&mut self, id: i64, epoch: i32) {
        if let Some(producer) = self.0.get_mut(&id) {
            producer.coordinator_epoch = Some(epoch);
        }
    }

    /// Keeps only the last batch of each producer, as a broker does that loads a snapshot.
    pub(super) fn keep_last(&mut self) {
        for producer in self.0.values_mut() {
            let old = producer.batches.len().saturating_sub(1);
            producer.batches.drain(..old);
        }
    }

    /// Drops all producers, as after `producer.id.expiration.ms`.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
