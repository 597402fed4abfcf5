//! Sending what is due: by the thread that finds a batch ready or completes a request, or by the sender's task.
//!
//! Invariants: requests to a broker are written in the order in which their batches were drained: draining and writing
//! happen under one lock. Whoever finds that the task must act, or must look earlier than it has planned, wakes it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ottla_protocol::ErrorCode;
use parking_lot::MutexGuard;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::adaptive_partitioning::update_weights;
use super::batch::Batch;
use super::drain::{DrainResult, ExpiredInFlight};
use super::immediate::send_immediately;
use super::inner::ProducerInner;
use super::produce_response::process_outcome;
use super::sending::{PendingWork, ProduceOutcome, Sending, WaitingRequest, WriteOrder};
use crate::error::Error;
use crate::metadata::no_leader::no_leader;
use crate::metadata::{RefreshNeed, Snapshot};
use crate::topic_partition::TopicPartition;

/// The most bytes that the thread that sends a record writes itself.
const MAX_SENT_BY_CALLER: usize = 16 * 1024;

impl ProducerInner {
    /// A batch is ready: sends it on this thread if nothing waits or is in flight, and little is buffered. Otherwise the
    /// task does, which costs a change of threads, but lets this one go on.
    pub(super) fn batch_is_ready(self: &Arc<Self>) {
        if self.accumulator.sends_at_once()
            && self.accumulator.memory.used() <= MAX_SENT_BY_CALLER
            && let Some(sending) = self.sending.try_lock()
            && sending.is_idle()
        {
            return self.send_under(sending);
        }
        self.wake.notify_one();
    }

    /// Sends what has become due, on this thread.
    pub(super) fn send_what_is_due(self: &Arc<Self>) {
        self.send_under(self.sending.lock());
    }

    fn send_under(self: &Arc<Self>, mut sending: MutexGuard<'_, Sending>) {
        if sending.has_stopped {
            return;
        }
        let work = send_due(self, &mut sending, &self.client.snapshot(), Instant::now());
        let needs_task = sending.needs_task(&work);
        let ended = std::mem::take(&mut sending.ended);
        drop(sending);
        ended.into_iter().for_each(|outcome| self.ended(outcome));
        if needs_task {
            self.wake.notify_one();
        }
    }

    /// Processes the outcome of a request.
    pub(super) fn ended(&self, outcome: ProduceOutcome) {
        self.accumulator.metrics.in_flight.fetch_sub(1, Ordering::Relaxed);
        self.sending.lock().request_ended(&outcome);
        let is_stale = process_outcome(self, &self.refused, outcome);
        if is_stale {
            self.request_refresh(RefreshNeed::Stale(self.client.snapshot().generation));
        }
    }
}

/// Sends the batches that are due, and fails those that have expired.
pub(super) fn send_due(
    inner: &Arc<ProducerInner>,
    sending: &mut Sending,
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
    let producer = transaction.map_or(sending.producer_id, |transaction| transaction.producer());
    loop {
        let in_flight = &sending.in_flight;
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
                batch.last_error.clone_from(&sending.producer_id_error);
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
            groups.into_iter().for_each(|batches| send(inner, sending, broker, batches));
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
    work.needs_transaction_request = transaction.is_some_and(|transaction| transaction.needs_request());
    update_weights(inner, sending, snapshot, now);
    work
}

fn send(inner: &Arc<ProducerInner>, sending: &mut Sending, broker: i32, batches: Vec<Batch>) {
    *sending.in_flight.entry(broker).or_default() += 1;
    inner.accumulator.metrics.in_flight.fetch_add(1, Ordering::Relaxed);
    let Some(batches) = send_immediately(inner, sending, broker, batches) else { return };
    let (written, wait) = oneshot::channel();
    let previous = sending.written.insert(broker, wait);
    sending.waiting.push(WaitingRequest { broker, batches, order: WriteOrder { previous, written } });
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
