//! The sender: the task that sends what must wait for a time, a connection, a producer id or the compressor. Other
//! batches are sent by the thread that finds them ready (`immediate.rs`).
//!
//! Invariants: it wakes only for a deadline, the end of one of its requests, or a notification. While a partition has no
//! leader, each pass requests a metadata refresh; the client paces them.

use std::sync::Arc;

use tokio::task::JoinSet;
use tokio::time::{Duration, Instant, sleep_until};

use super::inner::ProducerInner;
use super::produce::send_request;
use super::producer_id::ProducerIdState;
use super::send_due::send_due;
use super::sending::{PendingWork, ProduceOutcome};
use super::transaction::SenderTask;
use super::unobserved_failures::{REPORT_AFTER, UnobservedFailure};
use crate::metadata::no_leader::no_leader;
use crate::metadata::{RefreshNeed, Snapshot};
use crate::retry::persistent_failures::Place;
use crate::tasks::duty_cycle::DutyCycle;
use crate::topic_partition::TopicPartition;

/// How often a sender that has records checks them.
const BUSY_WAKEUP: Duration = Duration::from_secs(1);

/// How often a sender without records does: less often than records can expire, or else each record that another thread
/// sends would have to wake it. There may be thousands of producers.
const IDLE_WAKEUP: Duration = Duration::from_secs(30);

const REQUESTING_PRODUCER_ID: &str = "requesting a producer id";

/// The least time between logs of unobserved failures.
const REPORT_INTERVAL: Duration = Duration::from_secs(5);

/// Runs until the producer is dropped.
pub(super) async fn run(inner: Arc<ProducerInner>) {
    let config = inner.client.config().clone();
    let mut requests: JoinSet<ProduceOutcome> = JoinSet::new();
    let mut producer_id = ProducerIdState::new(config.retry_backoff.max(Duration::from_millis(10)));
    let mut pace = DutyCycle::default();
    let mut report_at = Instant::now() + REPORT_INTERVAL;
    let mut leaderless_since: Option<(Instant, TopicPartition)> = None;
    let mut refreshes = inner.client.refresh_outcomes();
    let mut transaction_task = SenderTask::default();
    loop {
        let now = Instant::now();
        let snapshot = inner.client.snapshot();
        if let Some(transaction) = &inner.accumulator.transaction {
            transaction_task.start(&inner, transaction);
        }
        let PendingWork { leaderless, needs_producer_id, next_wakeup, .. } = match pace.wait_until(now) {
            Some(later) => PendingWork { next_wakeup: Some(later), ..PendingWork::default() },
            None => {
                let work = pass(&inner, &snapshot, &producer_id, &mut requests, now);
                pace.record_pass(now, Instant::now());
                leaderless_since = match (&work.leaderless, leaderless_since.take()) {
                    (Some(_), Some(since)) => Some(since),
                    (Some(partition), None) => Some((now, partition.clone())),
                    (None, over) => {
                        over.iter().for_each(|(_, partition)| inner.record_success(partition));
                        None
                    }
                };
                work
            }
        };
        if let Some((topic, partition)) = leaderless {
            let since = leaderless_since.as_ref().map_or(now, |(since, _)| *since);
            inner.request_refresh(RefreshNeed::Missing(snapshot.generation));
            let error = no_leader(&snapshot, &topic, partition);
            inner.record_failure(&topic, &error, since);
        }
        let producer_id_at =
            needs_producer_id.and_then(|leader| producer_id.start_request(&inner.client, leader, now));
        if now >= report_at {
            inner.accumulator.failures.take_unreported(REPORT_AFTER).iter().for_each(UnobservedFailure::warn);
            report_at = now + REPORT_INTERVAL;
        }
        let refused_at = inner.report_refused(&snapshot, now);
        let unobserved_at = (!inner.accumulator.failures.is_empty()).then_some(report_at);
        let wait = [next_wakeup, producer_id_at, refused_at, unobserved_at]
            .into_iter()
            .flatten()
            .fold(now + longest_wait(&inner), Instant::min);
        inner.sending.lock().task_wakes_at = Some(wait);
        tokio::select! {
            () = inner.wake.notified() => {}
            () = sleep_until(wait) => {}
            Ok(()) = refreshes.changed() => {}
            Some(()) = transaction_task.finished() => {}
            Some(response) = producer_id.response() => match response {
                Ok(metadata_is_stale) => {
                    if producer_id.error.is_none() {
                        inner.client.record_success(REQUESTING_PRODUCER_ID, Place::Everywhere);
                    }
                    if let Some((error, since)) = producer_id.error.as_ref().zip(producer_id.failing_since) {
                        inner.client.record_failure(REQUESTING_PRODUCER_ID, error, since);
                    }
                    if metadata_is_stale {
                        inner.request_refresh(RefreshNeed::Stale(inner.client.snapshot().generation));
                    }
                }
                Err(error) => inner.accumulator.fail_without_producer_id(&error, producer_id.current),
            },
            Some(ended) = requests.join_next() => {
                if let Ok(outcome) = ended {
                    inner.ended(outcome);
                }
            }
        }
    }
}

/// How long to wait if nothing else happens.
fn longest_wait(inner: &ProducerInner) -> Duration {
    match inner.accumulator.memory.used() {
        0 => IDLE_WAKEUP.min(inner.accumulator.delivery_timeout / 2),
        _ => BUSY_WAKEUP,
    }
}

/// Sends what is due; what has to wait for something gets a task.
fn pass(
    inner: &Arc<ProducerInner>,
    snapshot: &Snapshot,
    producer_id: &ProducerIdState,
    requests: &mut JoinSet<ProduceOutcome>,
    now: Instant,
) -> PendingWork {
    let (work, waiting, ended) = {
        let mut sending = inner.sending.lock();
        sending.producer_id = producer_id.current;
        sending.producer_id_error.clone_from(&producer_id.error);
        let work = send_due(inner, &mut sending, snapshot, now);
        (work, std::mem::take(&mut sending.waiting), std::mem::take(&mut sending.ended))
    };
    for request in waiting {
        requests.spawn(send_request(Arc::clone(inner), request.broker, request.batches, request.order));
    }
    ended.into_iter().for_each(|outcome| inner.ended(outcome));
    work
}
