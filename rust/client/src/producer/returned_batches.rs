//! Batches that come back from the sender: each completes, or is queued for another attempt.
//!
//! Invariants: a batch completes once, and releases its memory when nothing sends it any more. A failure is
//! known to the transaction before anyone who waits for it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::time::Instant;

use super::accumulator::Accumulator;
use super::batch::Batch;
use super::idempotence::ProducerIdAndEpoch;
use super::produce_result::AppendInfo;
use super::queue::PartitionQueue;
use super::split_part::SplitPart;
use crate::error::{Error, Result};

impl Accumulator {
    /// Completes a batch: it was written, or has failed for good.
    pub(super) fn complete(&self, batch: Batch, result: Result<AppendInfo>) {
        let queue = self.queue_for(&batch);
        let mut state = queue.state.lock();
        state.remove_in_flight(&batch);
        let mut others = Vec::new();
        match &result {
            Ok(_) => others = state.acknowledge(&batch),
            Err(_) => state.abandon(&batch),
        }
        drop(state);
        others.into_iter().for_each(|other| self.finish(other, Ok(AppendInfo::UNKNOWN)));
        self.finish(batch, result);
    }

    pub(super) fn queue_for(&self, batch: &Batch) -> Arc<PartitionQueue> {
        let (topic, partition) = batch.part.partition();
        self.queue(topic, *partition)
    }

    fn finish(&self, batch: Batch, result: Result<AppendInfo>) {
        self.memory.release(batch.reserved);
        if let Err(error) = &result {
            if !batch.part.is_complete() {
                self.metrics.failed(&batch.part.partition().0, batch.count());
            }
            // Before any waiter wakes: it may commit at once.
            self.transaction_failed(&batch.part, error, batch.sequence.is_some());
        }
        batch.complete(result);
        // Removed last: a flush must find the batch either here or complete.
        let mut incomplete = self.incomplete.lock();
        incomplete.remove(&batch.key());
        if incomplete.is_empty() {
            self.emptied.notify_waiters();
        }
        drop(incomplete);
        if let Some(bytes) = batch.into_bytes() {
            self.buffer_pool.deallocate_bytes(bytes, self.unused_memory());
        }
    }

    /// Records of a transaction have failed. `is_sequenced`: they have used sequence numbers.
    pub(super) fn transaction_failed(&self, part: &SplitPart, error: &Error, is_sequenced: bool) {
        if let Some(transaction) = &self.transaction {
            let (topic, partition) = part.partition();
            transaction.record_failed(&error.clone().at(topic, *partition), is_sequenced);
        }
    }

    /// Queues a failed batch for another attempt, unless it has completed meanwhile.
    pub(super) fn retry(&self, mut batch: Batch, not_before: Instant, error: Error) {
        batch.failed_attempts += 1;
        self.metrics.retried(&batch.part.partition().0, batch.count());
        self.put_back(batch, Some(not_before), error);
    }

    /// Queues a batch that a broker rejected as out of order: it waits for earlier batches or for new
    /// sequence numbers, or completes if it is known to be written. `invalidate_id`: the producer id
    /// is no longer usable.
    pub(super) fn retry_out_of_order(
        &self,
        mut batch: Batch,
        not_before: Instant,
        error: Error,
        invalidate_id: bool,
    ) {
        batch.out_of_order = true;
        let queue = self.queue_for(&batch);
        let mut state = queue.state.lock();
        if invalidate_id {
            state.invalidate_producer_id(&batch);
        }
        let acknowledged = state.is_acknowledged(&batch);
        drop(state);
        if acknowledged {
            return self.complete(batch, Ok(AppendInfo::UNKNOWN));
        }
        self.put_back(batch, Some(not_before), error);
    }

    /// Queues a batch that a broker rejected, until its transaction decides what becomes of it.
    pub(super) fn hold_back(&self, batch: Batch, error: Error) {
        self.put_back(batch, None, error);
    }

    fn put_back(&self, mut batch: Batch, not_before: Option<Instant>, error: Error) {
        batch.not_before = not_before;
        let queue = self.queue_for(&batch);
        let mut state = queue.state.lock();
        state.remove_in_flight(&batch);
        // Checked under the lock, so that no late batch stays behind in the queue.
        if batch.part.is_complete() || self.finished.load(Ordering::Acquire) {
            state.abandon(&batch);
            drop(state);
            let error = match self.fatal_error.get() {
                Some(fatal_error) => fatal_error.clone(),
                None => error.prefixed("not acknowledged before the producer was closed"),
            };
            return self.finish(batch, Err(error));
        }
        batch.last_error = Some(error);
        state.put_back(batch);
    }

    /// Queues the parts of a batch that was too large.
    pub(super) fn retry_split(&self, batch: Batch, parts: Vec<Batch>, error: Error) {
        self.metrics.split.count();
        let mut incomplete = self.incomplete.lock();
        let produce_result = batch.part.produce_result();
        incomplete.extend(parts.iter().map(|part| (part.key(), Arc::clone(produce_result))));
        drop(incomplete);
        let queue = self.queue_for(&batch);
        let mut state = queue.state.lock();
        state.remove_in_flight(&batch);
        // The topic rejects batches of this size, so the next ones stay smaller.
        state.max_size = state.max_size.min(batch.uncompressed_size() / 2);
        drop(state);
        parts.into_iter().for_each(|part| self.put_back(part, None, error.clone()));
    }

    /// Fails a batch that is not in flight.
    pub(super) fn fail_unsent(&self, batch: Batch, error: Error) {
        self.finish(batch, Err(error));
    }

    /// Fails the batches that need a producer id other than `current`, because none could be obtained.
    pub(super) fn fail_without_producer_id(&self, error: &Error, current: Option<ProducerIdAndEpoch>) {
        for queue in &self.queues.read().order {
            let waiting = queue.state.lock().take_without_sequence(current);
            waiting.into_iter().for_each(|batch| self.finish(batch, Err(error.clone())));
        }
    }

    /// Fails all queued batches: their transaction cannot be committed, or the application gives them up. Returns the
    /// number of records.
    pub(super) fn fail_queued(&self, error: &Error) -> usize {
        let mut records = 0;
        if self.incomplete.lock().is_empty() {
            return records;
        }
        for queue in &self.queues.read().order {
            let mut state = queue.state.lock();
            let mut queued: Vec<_> = state.ready.drain(..).collect();
            queued.extend(state.open.take());
            queued.iter().for_each(|batch| state.abandon(batch));
            drop(state);
            records += queued.iter().map(Batch::count).sum::<usize>();
            queued.into_iter().for_each(|batch| self.finish(batch, Err(error.clone())));
        }
        records
    }
}
