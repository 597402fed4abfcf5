//! The batches of one partition: open, ready and in flight, and which one may be sent next. No I/O;
//! the time is an argument.
//!
//! Invariants: ready batches keep the order in which they were opened, those with sequence numbers
//! first. After a failure they are sent one at a time, oldest first, until one is acknowledged. With
//! idempotence, no batch overtakes another.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::time::Instant;

use super::batch::{Batch, BatchKey};
use super::compression_ratio::CompressionRatio;
use super::idempotence::{ProducerIdAndEpoch, SequenceAvailability, SequenceState};
use crate::error::Error;
use crate::producer::partition_transaction::PartitionTransaction;
use crate::producer::split_part::SplitPart;
use crate::topic_partition::TopicPartition;

/// The batches of one partition.
#[derive(Debug)]
pub(super) struct PartitionQueue {
    pub(super) partition: TopicPartition,
    /// The compression ratio of the topic.
    pub(super) compression: Arc<CompressionRatio>,
    /// Its index among all queues.
    pub(super) index: usize,
    pub(super) state: Mutex<QueueState>,
}

#[derive(Debug)]
pub(super) struct QueueState {
    pub(super) open: Option<Batch>,
    pub(super) ready: VecDeque<Batch>,
    /// The batches that are being sent.
    pub(super) in_flight: Vec<InFlightBatch>,
    /// The size of the previous batch, as an estimate for the next one.
    pub(super) last_size: usize,
    /// The size limit of a batch, in bytes before compression.
    pub(super) max_size: usize,
    /// Whether the queue is in the list of active queues, which the sender visits.
    pub(super) is_active: bool,
    /// Sequence numbers, with idempotence.
    sequences: Option<SequenceState>,
    /// The transaction that the batches belong to, with `transactional.id`.
    pub(super) transaction: PartitionTransaction,
}

/// A batch in flight. The sender owns the batch; its deadline is watched here.
#[derive(Debug)]
pub(super) struct InFlightBatch {
    pub(super) key: BatchKey,
    pub(super) deadline: Instant,
    /// Weak, so that dropping the batch completes it.
    pub(super) part: Weak<SplitPart>,
    /// The number of records.
    pub(super) count: usize,
    /// The broker that it is being sent to.
    pub(super) broker: i32,
    /// The error of the previous attempt.
    pub(super) last_error: Option<Error>,
}

/// Which batch may be sent next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextBatch {
    /// The ready batch at this index.
    Ready(usize),
    /// None before this time.
    NotBefore(Instant),
    /// None until a batch in flight completes or another one is ready.
    Wait,
    /// None until there is a producer id.
    NeedsProducerId,
    /// None: in a transaction, the ready batches were rejected as out of order and cannot be renumbered.
    Rejected,
}

impl PartitionQueue {
    pub(super) fn new(
        partition: TopicPartition,
        (index, compression): (usize, Arc<CompressionRatio>),
        max_size: usize,
        idempotent: bool,
    ) -> Self {
        let state = QueueState {
            open: None,
            ready: VecDeque::new(),
            in_flight: Vec::new(),
            last_size: 0,
            max_size,
            is_active: false,
            sequences: idempotent.then(SequenceState::default),
            transaction: PartitionTransaction::default(),
        };
        Self { partition, compression, index, state: Mutex::new(state) }
    }

    /// The queued bytes in batches of `batch_size`, each batch counting as at least one.
    pub(super) fn queued_batches(&self, batch_size: usize) -> usize {
        let state = self.state.lock();
        let batches = state.ready.iter().chain(&state.open);
        batches.map(|batch| (batch.size() / batch_size.max(1)).max(1)).sum()
    }
}

impl QueueState {
    /// Moves the open batch to the ready ones.
    pub(super) fn close(&mut self, open: Batch) {
        self.last_size = open.size();
        self.ready.push_back(open);
    }

    /// The next records belong to this transaction, under this producer id and epoch.
    pub(super) fn begin_transaction(
        &mut self,
        transaction: PartitionTransaction,
        producer: ProducerIdAndEpoch,
    ) {
        self.transaction = transaction;
        if let Some(sequences) = &mut self.sequences {
            sequences.begin_transaction(producer);
        }
    }

    /// The number of records in batches that are not complete.
    pub(super) fn unacknowledged_records(&self) -> usize {
        let queued = self.ready.iter().chain(&self.open).map(Batch::count);
        let is_incomplete = |part: &Weak<SplitPart>| part.upgrade().is_some_and(|part| !part.is_complete());
        let in_flight = self.in_flight.iter().filter(|batch| is_incomplete(&batch.part));
        queued.chain(in_flight.map(|batch| batch.count)).sum()
    }

    /// Whether there is no batch at all, open, ready or in flight.
    pub(super) fn is_empty(&self) -> bool {
        self.ready.is_empty() && self.open.is_none() && self.in_flight.is_empty()
    }

    /// Whether the open batch has space for `bytes`.
    pub(super) fn has_room_for(&self, bytes: usize, batch_size: usize) -> bool {
        self.open.as_ref().is_some_and(|open| open.size() + bytes <= batch_size)
    }

    /// Whether another batch may be in flight, of at most `max_in_flight`.
    pub(super) fn may_send_more(&self, max_in_flight: usize) -> bool {
        let can_pipeline = self.sequences.as_ref().is_none_or(SequenceState::can_pipeline);
        self.in_flight.is_empty() || can_pipeline && self.in_flight.len() < max_in_flight
    }

    /// Which batch may be sent next, with at most `max_in_flight` in flight.
    pub(super) fn next(
        &mut self,
        current: Option<ProducerIdAndEpoch>,
        max_in_flight: usize,
        now: Instant,
    ) -> NextBatch {
        if self.in_flight.len() >= max_in_flight {
            return NextBatch::Wait;
        }
        let Some(sequences) = &mut self.sequences else { return self.when_ready(0, now) };
        let sequenced = self.ready.iter().take_while(|batch| batch.sequence.is_some()).count();
        if sequenced > 0 {
            let mut with_numbers = self.ready.iter().take(sequenced);
            if let Some(at) = with_numbers.position(|batch| !batch.out_of_order) {
                let key = self.ready.get(at).map(Batch::key);
                let overtakes = self.in_flight.iter().any(|batch| Some(batch.key) < key);
                return if overtakes { NextBatch::Wait } else { self.when_ready(at, now) };
            }
            if !self.in_flight.is_empty() {
                return NextBatch::Wait;
            }
            // None of them is in the log, and none can get there with its sequence numbers.
            if sequences.is_transactional() {
                return NextBatch::Rejected;
            }
            sequences.bump_epoch();
            self.ready.iter_mut().take(sequenced).for_each(Batch::clear_sequence);
        }
        if self.ready.is_empty() {
            return NextBatch::Wait;
        }
        match sequences.prepare(current, self.in_flight.len()) {
            SequenceAvailability::Available => self.when_ready(0, now),
            SequenceAvailability::WaitForInFlight => NextBatch::Wait,
            SequenceAvailability::NeedsProducerId => NextBatch::NeedsProducerId,
        }
    }

    fn when_ready(&self, at: usize, now: Instant) -> NextBatch {
        match self.ready.get(at).map(|batch| batch.not_before) {
            None => NextBatch::Wait,
            Some(Some(not_before)) if not_before > now => NextBatch::NotBefore(not_before),
            Some(_) => NextBatch::Ready(at),
        }
    }

    /// Takes a ready batch to send it to a broker. With idempotence, it has sequence numbers then.
    pub(super) fn take(&mut self, at: usize, deadline: Instant, broker: i32) -> Option<Batch> {
        let mut batch = self.ready.remove(at)?;
        if batch.sequence.is_none()
            && let Some(sequences) = &mut self.sequences
        {
            batch.sequence = sequences.assign(batch.count());
        }
        batch.part.set_count(batch.count());
        self.in_flight.push(InFlightBatch {
            key: batch.key(),
            deadline,
            part: Arc::downgrade(&batch.part),
            count: batch.count(),
            broker,
            last_error: batch.last_error.clone(),
        });
        Some(batch)
    }

    /// Removes a batch from those in flight.
    pub(super) fn remove_in_flight(&mut self, batch: &Batch) {
        self.in_flight.retain(|in_flight| in_flight.key != batch.key());
    }

    /// Puts a batch back among the ready ones, in its order.
    pub(super) fn put_back(&mut self, batch: Batch) {
        if let Some(sequences) = &mut self.sequences {
            sequences.retry();
        }
        let at = self.ready.partition_point(|other| other.key() < batch.key());
        self.ready.insert(at, batch);
    }

    /// Takes the batches that have no sequence numbers, if they need a producer id other than
    /// `current`.
    pub(super) fn take_without_sequence(&mut self, current: Option<ProducerIdAndEpoch>) -> Vec<Batch> {
        if !self.needs_producer_id(current) {
            return Vec::new();
        }
        let sequenced = self.ready.iter().take_while(|batch| batch.sequence.is_some()).count();
        self.ready.drain(sequenced..).chain(self.open.take()).collect()
    }

    /// A batch was written. Returns earlier ones whose result was unknown and that were written too, or it
    /// would have been rejected.
    pub(super) fn acknowledge(&mut self, batch: &Batch) -> Vec<Batch> {
        let (Some(sequences), Some(sequence)) = (&mut self.sequences, batch.sequence) else {
            return Vec::new();
        };
        sequences.acknowledge(sequence, batch.count());
        let key = batch.key();
        let known = |other: &Batch| {
            other.out_of_order && other.sequence.is_some_and(|s| sequences.is_acknowledged(s))
        };
        let mut written = Vec::new();
        while let Some(at) = self.ready.iter().position(known) {
            written.extend(self.ready.remove(at));
        }
        // Later batches may have been rejected only because this one was missing.
        self.ready.iter_mut().for_each(|other| other.out_of_order &= other.key() < key);
        written
    }

    /// Whether a batch was certainly written although the broker rejects it, because an earlier and a later one
    /// were.
    pub(super) fn is_acknowledged(&self, batch: &Batch) -> bool {
        let (Some(sequences), Some(sequence)) = (&self.sequences, batch.sequence) else { return false };
        sequences.is_acknowledged(sequence)
    }

    /// A batch is not sent again although it is not known to be written.
    pub(super) fn abandon(&mut self, batch: &Batch) {
        let (Some(sequences), Some(sequence)) = (&mut self.sequences, batch.sequence) else { return };
        let key = batch.key();
        let later = self.ready.iter().any(|other| other.sequence.is_some() && other.key() > key)
            || self.in_flight.iter().any(|other| other.key > key);
        sequences.abandon(sequence, batch.count(), !later, batch.maybe_written());
    }

    /// The broker rejects the producer id and epoch.
    pub(super) fn invalidate_producer_id(&mut self, batch: &Batch) {
        if let (Some(sequences), Some(sequence)) = (&mut self.sequences, batch.sequence) {
            sequences.invalidate_producer_id(sequence);
        }
    }

    /// Whether the next batch has to wait for a new producer id.
    pub(super) fn needs_producer_id(&self, current: Option<ProducerIdAndEpoch>) -> bool {
        self.sequences.as_ref().is_some_and(|sequences| sequences.needs_producer_id(current))
    }
}

#[cfg(test)]
#[allow(clippy::expect_used, reason = "a test may fail")]
mod tests;
#[cfg(test)]
#[allow(clippy::expect_used, reason = "a test may fail")]
mod transaction_tests;
