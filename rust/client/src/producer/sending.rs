//! What the sender's task and the threads that send share: which requests are in flight, and what is sent next.
//!
//! Invariants: requests to a broker are written in the order in which their batches were drained: draining and writing
//! happen under one lock. Whoever finds that the task must act, or must look earlier than it has planned, wakes it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ottla_protocol::ErrorCode;
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;
use tokio::time::Instant;

use super::adaptive_partitioning::AdaptivePartitioning;
use super::batch::Batch;
use super::drain::{DrainResult, ExpiredInFlight};
use super::idempotence::ProducerIdAndEpoch;
use super::immediate::{ImmediateRequest, send_immediately};
use super::inner::ProducerInner;
use super::produce::{ProduceOutcome, WriteOrder};
use crate::error::Error;
use crate::metadata::Snapshot;
use crate::metadata::no_leader::no_leader;
use crate::topic_partition::TopicPartition;

/// The requests in flight, and what decides about the next ones.
#[derive(Debug, Default)]
pub(super) struct Sending {
    /// The number of requests in flight, by broker.
    in_flight: HashMap<i32, usize>,
    /// Resolves once the last request to a broker was written, or never will be.
    written: HashMap<i32, oneshot::Receiver<()>>,
    /// Requests in flight that no task waits for, by number.
    immediate: HashMap<u64, ImmediateRequest>,
    last_number: u64,
    /// Requests that have to wait for something: the task sends them.
    pub(super) waiting: Vec<WaitingRequest>,
    /// Requests that ended before they were sent.
    pub(super) ended: Vec<ProduceOutcome>,
    pub(super) adaptive: AdaptivePartitioning,
    /// The producer id without transactions, and the last error while there is none.
    pub(super) producer_id: Option<ProducerIdAndEpoch>,
    pub(super) producer_id_error: Option<Error>,
    /// The producer was closed or dropped: nothing is sent any more.
    pub(super) has_stopped: bool,
    /// When the task looks next.
    pub(super) task_wakes_at: Option<Instant>,
}

/// A request that has to wait for something.
#[derive(Debug)]
pub(super) struct WaitingRequest {
    pub(super) broker: i32,
    pub(super) batches: Vec<Batch>,
    pub(super) order: WriteOrder,
}

/// What remains to be done after sending.
#[derive(Debug, Default)]
pub(super) struct PendingWork {
    /// A partition whose batches need a leader.
    pub(super) leaderless: Option<TopicPartition>,
    /// A producer id is needed, to write to this broker if it is known.
    pub(super) needs_producer_id: Option<Option<i32>>,
    pub(super) next_wakeup: Option<Instant>,
}

impl Sending {
    /// Whether no request is in flight or waits.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.in_flight.values().all(|count| *count == 0)
    }

    /// Whether an earlier request to a broker may not be written yet.
    pub(super) fn has_unwritten(&mut self, broker: i32) -> bool {
        let Some(written) = self.written.get_mut(&broker) else { return false };
        if matches!(written.try_recv(), Err(TryRecvError::Empty)) {
            return true;
        }
        self.written.remove(&broker);
        false
    }

    /// Adds a request that is in flight from now on; returns its number.
    pub(super) fn add(&mut self, request: ImmediateRequest) -> u64 {
        self.last_number += 1;
        self.immediate.insert(self.last_number, request);
        self.last_number
    }

    /// Takes a request out, unless the producer has stopped.
    pub(super) fn take(&mut self, number: u64) -> Option<ImmediateRequest> {
        self.immediate.remove(&number)
    }

    /// Sends nothing any more, and takes out all requests that no task waits for: dropping them fails their records.
    pub(super) fn stop(&mut self) -> (Vec<ImmediateRequest>, Vec<WaitingRequest>) {
        self.has_stopped = true;
        (self.immediate.drain().map(|(_, request)| request).collect(), std::mem::take(&mut self.waiting))
    }

    /// A request to a broker has ended.
    pub(super) fn request_ended(&mut self, outcome: &ProduceOutcome) {
        if let Some(count) = self.in_flight.get_mut(&outcome.broker) {
            *count = count.saturating_sub(1);
        }
        if outcome.got_response() {
            self.adaptive.response_received(outcome.broker);
        }
    }

    fn send(&mut self, inner: &Arc<ProducerInner>, broker: i32, batches: Vec<Batch>) {
        *self.in_flight.entry(broker).or_default() += 1;
        inner.accumulator.metrics.in_flight.fetch_add(1, Ordering::Relaxed);
        let Some(batches) = send_immediately(inner, self, broker, batches) else { return };
        let (written, wait) = oneshot::channel();
        let previous = self.written.insert(broker, wait);
        self.waiting.push(WaitingRequest { broker, batches, order: WriteOrder { previous, written } });
    }

    /// Sends the batches that are due, and fails those that have expired.
    pub(super) fn send_due(
        &mut self,
        inner: &Arc<ProducerInner>,
        snapshot: &Snapshot,
        now: Instant,
    ) -> PendingWork {
        let config = inner.client.config();
        let leader = |(topic, partition): &TopicPartition| {
            let leader = snapshot.leader(topic, *partition).map(|leader| leader.id);
            if leader.is_none() {
                // Keeps the topic in the metadata while its records wait for a leader.
                inner.client.inner.metadata.touch([topic]);
            }
            leader
        };
        let mut work = PendingWork::default();
        let transaction = inner.accumulator.transaction.as_ref();
        if let Some(reason) = transaction.and_then(|transaction| transaction.abort_reason()) {
            inner.accumulator.fail_queued(&reason);
        }
        let producer = transaction.map_or(self.producer_id, |transaction| transaction.producer());
        loop {
            let in_flight = &self.in_flight;
            let capacity =
                |broker| config.max_in_flight.saturating_sub(in_flight.get(&broker).copied().unwrap_or(0));
            let DrainResult {
                requests: ready,
                expired,
                expired_in_flight,
                rejected,
                leaderless,
                needs_producer_id,
                has_more,
                next_wakeup,
            } = inner.accumulator.drain(now, config.max_request_size, producer, leader, capacity);
            for mut batch in expired {
                let partition = batch.part.partition();
                if batch.last_error.is_none() && leader(partition).is_none() {
                    batch.last_error = Some(no_leader(snapshot, &partition.0, partition.1));
                }
                if batch.last_error.is_none() && batch.sequence.is_none() {
                    batch.last_error.clone_from(&self.producer_id_error);
                }
                let mut error = inner.accumulator.delivery_timed_out(batch.last_error.as_ref());
                if let (None, Some(broker)) = (&batch.last_error, leader(batch.part.partition())) {
                    error = with_broker(error, snapshot, broker);
                }
                inner.accumulator.fail_unsent(batch, error);
            }
            expired_in_flight.into_iter().for_each(|expired| fail_in_flight(inner, snapshot, expired));
            for batch in rejected {
                let last = batch.last_error.clone();
                let error = last.unwrap_or_else(|| Error::from_code(ErrorCode::OutOfOrderSequenceNumber));
                inner.accumulator.fail_unsent(batch, error);
            }
            let sent = !ready.is_empty();
            for (broker, groups) in ready {
                groups.into_iter().for_each(|batches| self.send(inner, broker, batches));
            }
            work.leaderless = work.leaderless.or(leaderless);
            work.needs_producer_id =
                work.needs_producer_id.or(needs_producer_id.map(|partition| leader(&partition)));
            work.next_wakeup = [work.next_wakeup, next_wakeup].into_iter().flatten().min();
            // A request has at most one batch of a partition, so further batches need another drain.
            if !(sent && has_more) {
                break;
            }
        }
        self.adaptive.update(inner, &self.in_flight, now);
        work
    }

    /// Whether the task must act on what remains, or look earlier than it has planned.
    pub(super) fn needs_task(&self, work: &PendingWork) -> bool {
        work.leaderless.is_some()
            || work.needs_producer_id.is_some()
            || !self.waiting.is_empty()
            || work.next_wakeup.is_some_and(|at| self.task_wakes_at.is_none_or(|planned| at < planned))
    }
}

/// Fails the records of a batch that has expired in flight.
fn fail_in_flight(inner: &ProducerInner, snapshot: &Snapshot, expired: ExpiredInFlight) {
    let ExpiredInFlight { part, broker, count, last_error } = expired;
    inner.accumulator.metrics.failed(&part.partition().0, count);
    let mut error = inner.accumulator.delivery_timed_out(last_error.as_ref());
    if last_error.is_none() {
        error = with_broker(error, snapshot, broker);
    }
    inner.accumulator.transaction_failed(&part, &error, true);
    part.complete(Err(error));
}

/// Adds the broker that the batch was sent to, unless an earlier attempt's error names it.
fn with_broker(error: Error, snapshot: &Snapshot, broker: i32) -> Error {
    let error = error.broker(broker);
    match snapshot.brokers.get(&broker) {
        Some(known) => error.address(known.endpoint.to_string()),
        None => error,
    }
}
