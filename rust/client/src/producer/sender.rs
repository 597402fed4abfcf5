//! The sender: one task that sends ready batches to the leaders of their partitions.
//!
//! Invariants: it wakes only for a deadline, a response or a notification. While a partition has no
//! leader, each pass requests a metadata refresh; the client paces them. Requests to a broker are written
//! in the order in which their batches were drained.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ottla_protocol::ErrorCode;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant, sleep_until};

use super::adaptive_partitioning::AdaptivePartitioning;
use super::batch::Batch;
use super::drain::{DrainResult, ExpiredInFlight};
use super::inner::ProducerInner;
use super::produce::{ProduceOutcome, WriteOrder, send_request};
use super::produce_response::process_outcome;
use super::producer_id::ProducerIdState;
use super::refusal_message::log;
use super::refused_writes::{Notice, RefusedWrites};
use super::transaction::SenderTask;
use super::unobserved_failures::{REPORT_AFTER, UnobservedFailure};
use crate::error::Error;
use crate::metadata::no_leader::no_leader;
use crate::metadata::{RefreshNeed, Snapshot, TopicSelector};
use crate::tasks::duty_cycle::DutyCycle;
use crate::topic_partition::TopicPartition;

/// How often an idle sender checks its batches.
const IDLE_WAKEUP: Duration = Duration::from_secs(1);

/// How often to log unobserved failures.
const REPORT_INTERVAL: Duration = Duration::from_secs(5);

/// The requests in flight, by broker.
#[derive(Default)]
struct InFlightRequests {
    tasks: JoinSet<ProduceOutcome>,
    in_flight: HashMap<i32, usize>,
    /// Resolves once the last request to a broker was written, or never will be.
    written: HashMap<i32, oneshot::Receiver<()>>,
}

impl InFlightRequests {
    fn spawn(&mut self, inner: &Arc<ProducerInner>, broker: i32, batches: Vec<Batch>) {
        *self.in_flight.entry(broker).or_default() += 1;
        inner.accumulator.metrics.in_flight.fetch_add(1, Ordering::Relaxed);
        let (written, wait) = oneshot::channel();
        let previous = self.written.insert(broker, wait);
        self.tasks.spawn(send_request(Arc::clone(inner), broker, batches, WriteOrder { previous, written }));
    }

    async fn finished(&mut self, inner: &ProducerInner) -> Option<ProduceOutcome> {
        let outcome = self.tasks.join_next().await?;
        inner.accumulator.metrics.in_flight.fetch_sub(1, Ordering::Relaxed);
        let outcome = outcome.ok()?;
        if let Some(count) = self.in_flight.get_mut(&outcome.broker) {
            *count = count.saturating_sub(1);
        }
        Some(outcome)
    }
}

/// Runs until the producer is dropped.
pub(super) async fn run(inner: Arc<ProducerInner>) {
    let config = inner.client.config().clone();
    let mut requests = InFlightRequests::default();
    let mut producer_id = ProducerIdState::new(config.retry_backoff.max(Duration::from_millis(10)));
    let mut adaptive = AdaptivePartitioning::default();
    let mut pace = DutyCycle::default();
    let mut report_at = Instant::now() + REPORT_INTERVAL;
    let mut leaderless_since: Option<Instant> = None;
    let mut refreshes = inner.client.refresh_outcomes();
    let mut transaction_task = SenderTask::default();
    let mut refused = RefusedWrites::default();
    loop {
        let now = Instant::now();
        let snapshot = inner.client.snapshot();
        if let Some(transaction) = &inner.accumulator.transaction {
            if let Some(reason) = transaction.abort_reason() {
                inner.accumulator.fail_queued(&reason);
            }
            transaction_task.start(&inner, transaction);
        }
        let PendingWork { leaderless, needs_producer_id, next_wakeup } = match pace.wait_until(now) {
            Some(later) => PendingWork { next_wakeup: Some(later), ..PendingWork::default() },
            None => {
                let work = send_due(&inner, &snapshot, &producer_id, &mut requests, now);
                pace.record_pass(now, Instant::now());
                leaderless_since = work.leaderless.as_ref().map(|_| leaderless_since.unwrap_or(now));
                work
            }
        };
        adaptive.update(&inner, &requests.in_flight, now);
        if let Some((topic, partition)) = leaderless {
            let since = leaderless_since.unwrap_or(now);
            request_refresh(&inner, RefreshNeed::Missing(snapshot.generation));
            let error = no_leader(&snapshot, &topic, partition);
            inner.record_failure(&topic, &error, since);
        }
        let producer_id_at =
            needs_producer_id.and_then(|leader| producer_id.start_request(&inner.client, leader, now));
        if now >= report_at {
            inner.accumulator.failures.take_unreported(REPORT_AFTER).iter().for_each(UnobservedFailure::warn);
            report_at = now + REPORT_INTERVAL;
        }
        report_refused(&inner, &mut refused, &snapshot, now);
        let wait = [next_wakeup, producer_id_at, refused.next_due()]
            .into_iter()
            .flatten()
            .fold(now + IDLE_WAKEUP, Instant::min);
        tokio::select! {
            () = inner.wake.notified() => {}
            () = sleep_until(wait) => {}
            Ok(()) = refreshes.changed() => {}
            Some(()) = transaction_task.finished() => {}
            Some(response) = producer_id.response() => match response {
                Ok(metadata_is_stale) => {
                    if let Some((error, since)) = producer_id.error.as_ref().zip(producer_id.failing_since) {
                        inner.client.record_failure("requesting a producer id", error, since);
                    }
                    if metadata_is_stale {
                        request_refresh(&inner, RefreshNeed::Stale(inner.client.snapshot().generation));
                    }
                }
                Err(error) => inner.accumulator.fail_without_producer_id(&error, producer_id.current),
            },
            Some(outcome) = requests.finished(&inner) => {
                if outcome.got_response() {
                    adaptive.response_received(outcome.broker);
                }
                if process_outcome(&inner, &mut refused, outcome) {
                    request_refresh(&inner, RefreshNeed::Stale(inner.client.snapshot().generation));
                }
            }
        }
    }
}

fn request_refresh(inner: &ProducerInner, need: RefreshNeed) {
    // A closed client fails the requests to come.
    let _ = inner.client.request_refresh(need, TopicSelector::Tracked);
}

/// Warns about refused writes, or refreshes the metadata before that.
fn report_refused(inner: &ProducerInner, refused: &mut RefusedWrites, snapshot: &Snapshot, now: Instant) {
    for notice in refused.poll(now) {
        match notice {
            Notice::Refresh => request_refresh(inner, RefreshNeed::Stale(snapshot.generation)),
            notice => log(&notice, snapshot, inner.client.config().delivery_timeout),
        }
    }
}

/// What remains to be done after sending.
#[derive(Default)]
struct PendingWork {
    /// A partition whose batches need a leader.
    leaderless: Option<TopicPartition>,
    /// A producer id is needed, to write to this broker if it is known.
    needs_producer_id: Option<Option<i32>>,
    next_wakeup: Option<Instant>,
}

/// Sends the batches that are due, and fails those that have expired.
fn send_due(
    inner: &Arc<ProducerInner>,
    snapshot: &Snapshot,
    producer_id: &ProducerIdState,
    requests: &mut InFlightRequests,
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
    let producer = transaction.map_or(producer_id.current, |transaction| transaction.producer());
    loop {
        let in_flight = &requests.in_flight;
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
                batch.last_error.clone_from(&producer_id.error);
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
            groups.into_iter().for_each(|batches| requests.spawn(inner, broker, batches));
        }
        work.leaderless = work.leaderless.or(leaderless);
        work.needs_producer_id =
            work.needs_producer_id.or(needs_producer_id.map(|partition| leader(&partition)));
        work.next_wakeup = [work.next_wakeup, next_wakeup].into_iter().flatten().min();
        // A request has at most one batch of a partition, so further batches need another drain.
        if !(sent && has_more) {
            return work;
        }
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
