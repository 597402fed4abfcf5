//! Draining the accumulator: which batches to send now, by leader, and which have expired. No I/O;
//! the time, the leaders and the brokers' capacity are arguments. It visits only partitions that have
//! batches.
//!
//! Invariants: a request holds at most one batch of a partition, and each drain starts at another
//! partition. A batch is closed only when it is sent: it grows as long as it waits.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::time::Instant;

use super::accumulator::Accumulator;
use super::batch::Batch;
use super::idempotence::ProducerIdAndEpoch;
use super::queue::{InFlightBatch, NextBatch, PartitionQueue, QueueState};
use super::split_part::SplitPart;
use crate::error::Error;
use crate::topic_partition::TopicPartition;

/// What a drain took out of the accumulator.
#[derive(Debug, Default)]
pub(super) struct DrainResult {
    /// Requests by broker: lists of batches, with at most one batch per partition.
    pub(super) requests: BTreeMap<i32, Vec<Vec<Batch>>>,
    /// Queued batches whose `delivery.timeout.ms` has expired.
    pub(super) expired: Vec<Batch>,
    /// Batches in flight whose `delivery.timeout.ms` has expired: their records fail now.
    pub(super) expired_in_flight: Vec<ExpiredInFlight>,
    /// A partition with a ready batch and no leader.
    pub(super) leaderless: Option<TopicPartition>,
    /// A partition whose records need a producer id.
    pub(super) needs_producer_id: Option<TopicPartition>,
    /// Batches of a transaction that were rejected as out of order.
    pub(super) rejected: Vec<Batch>,
    /// A partition that gave a batch has another one.
    pub(super) has_more: bool,
    /// When to drain again.
    pub(super) next_wakeup: Option<Instant>,
}

/// A batch in flight that the producer gives up: its broker, and the error of its previous attempt.
#[derive(Debug)]
pub(super) struct ExpiredInFlight {
    pub(super) part: Arc<SplitPart>,
    pub(super) broker: i32,
    pub(super) count: usize,
    pub(super) last_error: Option<Error>,
}

impl ExpiredInFlight {
    /// The batch, unless it is complete.
    fn incomplete(batch: &mut InFlightBatch) -> Option<Self> {
        let part = batch.part.upgrade().filter(|part| !part.is_complete())?;
        let InFlightBatch { broker, count, last_error, .. } = batch;
        Some(Self { part, broker: *broker, count: *count, last_error: last_error.take() })
    }
}

impl DrainResult {
    fn wake_at(&mut self, at: Option<Instant>) {
        self.next_wakeup = [self.next_wakeup, at].into_iter().flatten().min();
    }
}

impl Accumulator {
    /// Whether a batch may be sent without lingering any longer.
    pub(super) fn is_sendable(&self, batch: &Batch, now: Instant) -> bool {
        self.flushing.load(Ordering::Acquire) > 0
            || self.closed.load(Ordering::Acquire)
            || self.memory.has_waiters()
            || batch.size() >= batch.sendable_size
            || now >= batch.created + self.linger
    }

    /// Whether a partition has a batch that could be sent now.
    pub(super) fn has_sendable(&self, queue: &PartitionQueue, now: Instant) -> bool {
        let state = queue.state.lock();
        !state.ready.is_empty() || state.open.as_ref().is_some_and(|open| self.is_sendable(open, now))
    }

    /// Takes the next batch of each ready partition, by leader. A request holds at most `max_bytes`
    /// of records, and a broker gets at most `capacity(broker)` requests.
    pub(super) fn drain(
        &self,
        now: Instant,
        max_bytes: usize,
        producer: Option<ProducerIdAndEpoch>,
        leader: impl Fn(&TopicPartition) -> Option<i32>,
        capacity: impl Fn(i32) -> usize,
    ) -> DrainResult {
        let mut drained = DrainResult::default();
        let mut sizes: HashMap<i32, usize> = HashMap::new();
        let queues = self.queues.read();
        let mut active = std::mem::take(&mut *self.active.lock());
        let mut some_became_empty = false;
        let is_refused = self.transaction.as_ref().is_some_and(|transaction| transaction.is_epoch_refused());
        let start = self.drain_index.fetch_add(1, Ordering::Relaxed) % active.len().max(1);
        let (before, after) = active.split_at(start.min(active.len()));
        for queue in after.iter().chain(before).filter_map(|index| queues.order.get(*index)) {
            let mut state = queue.state.lock();
            self.expire(&mut state, now, &mut drained);
            if state.is_empty() {
                some_became_empty = true;
                continue;
            }
            if self.transaction.is_some() && !state.transaction.is_registered() {
                continue;
            }
            if is_refused {
                continue;
            }
            if !self.is_due(queue, &state, producer, now, &mut drained) {
                continue;
            }
            let Some(broker) = leader(&queue.partition) else {
                drained.leaderless.get_or_insert_with(|| queue.partition.clone());
                continue;
            };
            let requests = drained.requests.entry(broker).or_default();
            let total = sizes.entry(broker).or_default();
            let size = state.ready.front().or(state.open.as_ref()).map_or(0, Batch::size);
            let is_new = requests.is_empty() || *total + size > max_bytes;
            if is_new && requests.len() >= capacity(broker) {
                continue;
            }
            let Some(at) = self.next_batch(queue, &mut state, producer, now, &mut drained) else { continue };
            let requests = drained.requests.entry(broker).or_default();
            if is_new {
                requests.push(Vec::new());
                *total = 0;
            }
            *total += size;
            let Some(batch) = self.take_batch(&mut state, at, broker, &mut drained) else { continue };
            if let Some(request) = drained.requests.get_mut(&broker).and_then(|requests| requests.last_mut())
            {
                request.push(batch);
            }
        }
        if some_became_empty {
            // The only place where a queue becomes inactive: under its lock, so that no record is
            // missed.
            active.retain(|index| {
                let Some(queue) = queues.order.get(*index) else { return false };
                let mut state = queue.state.lock();
                state.is_active = !state.is_empty();
                state.is_active
            });
        }
        let mut list = self.active.lock();
        active.append(&mut list);
        *list = active;
        drained.requests.retain(|_, requests| !requests.is_empty());
        drained
    }

    /// Takes a batch out of its queue.
    fn take_batch(
        &self,
        state: &mut QueueState,
        at: usize,
        broker: i32,
        drained: &mut DrainResult,
    ) -> Option<Batch> {
        let deadline = state.ready.get(at)?.created + self.delivery_timeout;
        drained.wake_at(Some(deadline));
        drained.has_more |= !state.ready.is_empty() || state.open.is_some();
        state.take(at, deadline, broker)
    }

    /// Whether a partition has a batch to send now. If not, schedules the next drain, unless a
    /// response or a new record will cause it.
    fn is_due(
        &self,
        queue: &PartitionQueue,
        state: &QueueState,
        producer: Option<ProducerIdAndEpoch>,
        now: Instant,
        drained: &mut DrainResult,
    ) -> bool {
        if !state.ready.is_empty() {
            return true;
        }
        let Some(open) = &state.open else { return false };
        // Requested while the first batch lingers, so that it need not wait later.
        if state.needs_producer_id(producer) {
            drained.needs_producer_id = Some(queue.partition.clone());
            return false;
        }
        if !state.may_send_more(self.max_in_flight) {
            return false;
        }
        if !self.is_sendable(open, now) {
            drained.wake_at(Some(open.created + self.linger));
            return false;
        }
        true
    }

    /// The index of the ready batch to send next. Closes the open batch if none is ready.
    fn next_batch(
        &self,
        queue: &PartitionQueue,
        state: &mut QueueState,
        producer: Option<ProducerIdAndEpoch>,
        now: Instant,
        drained: &mut DrainResult,
    ) -> Option<usize> {
        if state.ready.is_empty()
            && let Some(open) = state.open.take()
        {
            state.close(open);
        }
        match state.next(producer, self.max_in_flight, now) {
            NextBatch::Ready(at) => return Some(at),
            NextBatch::NotBefore(time) => drained.wake_at(Some(time)),
            NextBatch::NeedsProducerId => drained.needs_producer_id = Some(queue.partition.clone()),
            NextBatch::Rejected => {
                let rejected = state.ready.iter().take_while(|batch| batch.sequence.is_some()).count();
                drained.rejected.extend(state.ready.drain(..rejected));
            }
            NextBatch::Wait => {}
        }
        None
    }

    /// The incomplete batches that are being sent.
    pub(super) fn in_flight(&self) -> Vec<ExpiredInFlight> {
        let mut all = Vec::new();
        for queue in &self.queues.read().order {
            all.extend(queue.state.lock().in_flight.iter_mut().filter_map(ExpiredInFlight::incomplete));
        }
        all
    }

    /// The number of records in batches that are not complete.
    pub(super) fn unacknowledged_records(&self) -> usize {
        let queues = self.queues.read();
        queues.order.iter().map(|queue| queue.state.lock().unacknowledged_records()).sum()
    }

    /// Takes queued batches that have expired, and reports expired ones in flight.
    fn expire(&self, state: &mut QueueState, now: Instant, drained: &mut DrainResult) {
        let is_expired = |batch: &Batch| now >= batch.created + self.delivery_timeout;
        while state.ready.front().is_some_and(is_expired)
            && let Some(batch) = state.ready.pop_front()
        {
            state.abandon(&batch);
            drained.expired.push(batch);
        }
        if state.ready.is_empty() && state.open.as_ref().is_some_and(is_expired) {
            drained.expired.extend(state.open.take());
        }
        // Of the remaining batches, the oldest one expires first, whatever else holds it back.
        let oldest = state.ready.front().or(state.open.as_ref());
        drained.wake_at(oldest.map(|batch| batch.created + self.delivery_timeout));
        for batch in &mut state.in_flight {
            if now < batch.deadline {
                drained.wake_at(Some(batch.deadline));
            } else {
                // Its memory stays reserved until the connection drops the bytes.
                drained.expired_in_flight.extend(ExpiredInFlight::incomplete(batch));
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::expect_used, reason = "a test may fail")]
mod tests;
