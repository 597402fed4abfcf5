//! The sender: one task that takes ready batches to the leaders of their partitions.
//!
//! Invariants: it wakes only when something is due, came back, or was asked for; a partition without
//! a leader costs one refresh of the metadata at a time, with a pause between them. InFlightRequests to one
//! broker are written in the order in which their batches were taken out.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ottla_protocol::records::Compressor;
use parking_lot::{Mutex, RwLock};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant, sleep_until};

use super::TopicWriter;
use super::accumulator::Accumulator;
use super::batch::Batch;
use super::drain::{DrainResult, ExpiredInFlight};
use super::partitioner::AdaptivePartitioning;
use super::produce::{ProduceOutcome, WriteOrder, process_outcome, send_request};
use crate::cluster::Client;
use crate::error::{Error, Result};
use crate::metadata::no_leader::no_leader;
use crate::metadata::{Snapshot, Want};
use crate::producer::producer_id::ProducerIdState;
use crate::producer::unobserved_failures::{REPORT_AFTER, UnobservedFailure};
use crate::tasks::duty_cycle::Pace;
use crate::topic_partition::TopicPartition;

/// Even an idle sender looks after its batches this often.
const IDLE_WAKEUP: Duration = Duration::from_secs(1);

/// How often failures that nobody has asked about are partition_lookup_at for.
const REPORT_INTERVAL: Duration = Duration::from_secs(5);

/// How long a partition that a broker does not know is taken not to exist.
const PARTITION_LOOKUP_INTERVAL: Duration = Duration::from_secs(1);

/// What the producer's handle and its task share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) client: Client,
    pub(super) accumulator: Accumulator,
    /// The topics that are written to.
    pub(super) topic_writers: RwLock<hashbrown::HashMap<Arc<str>, Arc<TopicWriter>>>,
    /// Something may be ready.
    pub(super) wake: Notify,
    /// Compressors that rest between batches.
    pub(super) compressors: Mutex<Vec<Compressor>>,
    /// When a broker was last asked for a partition that is not known.
    partition_lookup_at: Mutex<Option<Instant>>,
    /// Why records were last not written, and when that was.
    last_failure: Mutex<Option<(Instant, Error)>>,
}

/// Refreshes the metadata on the side: the other partitions' batches do not wait for it. Ends with
/// the sender.
struct MetadataRefresher {
    task: JoinSet<()>,
    /// The generation that is known to be stale.
    stale: Option<u64>,
    /// A partition without a leader is no reason to ask all the time.
    not_before: Instant,
}

impl MetadataRefresher {
    fn request(&mut self, stale: u64) {
        self.stale = self.stale.max(Some(stale));
    }

    /// Starts a refresh if one is wanted and it is time; otherwise says when it will be.
    fn start(&mut self, shared: &Arc<Shared>, now: Instant) -> Option<Instant> {
        let stale = self.stale.filter(|_| self.task.is_empty())?;
        if now < self.not_before {
            return Some(self.not_before);
        }
        self.stale = None;
        let shared = Arc::clone(shared);
        self.task.spawn(async move {
            // If it fails it is wanted again, for as long as batches have nowhere to go.
            if let Err(error) = shared.client.refresh(stale, Want::Known).await {
                tracing::debug!(target: "ottla.producer", %error, "metadata cannot be refreshed");
            }
        });
        None
    }
}

impl Shared {
    pub(super) fn new(client: Client, accumulator: Accumulator) -> Self {
        Self {
            client,
            accumulator,
            topic_writers: RwLock::default(),
            wake: Notify::new(),
            compressors: Mutex::default(),
            partition_lookup_at: Mutex::default(),
            last_failure: Mutex::default(),
        }
    }

    /// Records that records for `topic` have not been written since `since`; warns once that has lasted.
    pub(super) fn record_failure(&self, topic: &str, error: &Error, since: Instant) {
        self.client.record_failure(format_args!("writing to {topic}"), error, since);
        *self.last_failure.lock() = Some((Instant::now(), error.clone()));
    }

    /// Why records were last not written, if that was not before `since`.
    pub(super) fn failure_since(&self, since: Instant) -> Option<Error> {
        self.last_failure.lock().as_ref().filter(|(at, _)| *at >= since).map(|(_, error)| error.clone())
    }

    /// Whether a broker may be asked for a partition that is not known: it may not exist at all, and
    /// a program that always names it would ask all the time.
    pub(super) fn may_look_up_partition(&self, now: Instant) -> bool {
        let mut partition_lookup_at = self.partition_lookup_at.lock();
        let may = partition_lookup_at.is_none_or(|partition_lookup_at| {
            now.saturating_duration_since(partition_lookup_at) >= PARTITION_LOOKUP_INTERVAL
        });
        if may {
            *partition_lookup_at = Some(now);
        }
        may
    }

    pub(super) fn compressor(&self) -> Result<Compressor> {
        if let Some(compressor) = self.compressors.lock().pop() {
            return Ok(compressor);
        }
        super::compressor(self.client.config())
    }
}

/// The requests on their way, by broker.
#[derive(Default)]
struct InFlightRequests {
    tasks: JoinSet<ProduceOutcome>,
    in_flight: HashMap<i32, usize>,
    /// Resolves when the last request to a broker has been written, or will not be.
    written: HashMap<i32, oneshot::Receiver<()>>,
}

impl InFlightRequests {
    fn spawn(&mut self, shared: &Arc<Shared>, broker: i32, batches: Vec<Batch>) {
        *self.in_flight.entry(broker).or_default() += 1;
        shared.accumulator.metrics.in_flight.fetch_add(1, Ordering::Relaxed);
        let (written, wait) = oneshot::channel();
        let previous = self.written.insert(broker, wait);
        self.tasks.spawn(send_request(Arc::clone(shared), broker, batches, WriteOrder { previous, written }));
    }

    async fn finished(&mut self, shared: &Shared) -> Option<ProduceOutcome> {
        let outcome = self.tasks.join_next().await?;
        shared.accumulator.metrics.in_flight.fetch_sub(1, Ordering::Relaxed);
        let outcome = outcome.ok()?;
        if let Some(count) = self.in_flight.get_mut(&outcome.broker) {
            *count = count.saturating_sub(1);
        }
        Some(outcome)
    }
}

/// Runs until the producer is dropped.
pub(super) async fn run(shared: Arc<Shared>) {
    let config = shared.client.config().clone();
    let pause = config.retry_backoff.max(Duration::from_millis(10));
    let mut requests = InFlightRequests::default();
    let mut producer_id = ProducerIdState::new(pause);
    let mut adaptive = AdaptivePartitioning::default();
    let mut pace = Pace::default();
    let mut report_at = Instant::now() + REPORT_INTERVAL;
    let mut leaderless_since: Option<Instant> = None;
    let mut refresher = MetadataRefresher { task: JoinSet::new(), stale: None, not_before: Instant::now() };
    loop {
        let now = Instant::now();
        let snapshot = shared.client.snapshot();
        let PendingWork { leaderless, needs_producer_id, next_wakeup } = match pace.wait_until(now) {
            Some(later) => PendingWork { next_wakeup: Some(later), ..PendingWork::default() },
            None => {
                let work = send_due(&shared, &snapshot, &producer_id, &mut requests, now);
                pace.walked(now, Instant::now());
                leaderless_since = work.leaderless.as_ref().map(|_| leaderless_since.unwrap_or(now));
                work
            }
        };
        adaptive.update(&shared, &requests.in_flight, now);
        if let Some((topic, partition)) = leaderless {
            let since = leaderless_since.unwrap_or(now);
            refresher.request(snapshot.generation);
            let error = no_leader(&snapshot, &topic, partition);
            shared.record_failure(&topic, &error, since);
        }
        let refresh_at = refresher.start(&shared, now);
        let producer_id_at =
            needs_producer_id.and_then(|leader| producer_id.start_request(&shared, leader, now));
        if now >= report_at {
            shared
                .accumulator
                .failures
                .take_unreported(REPORT_AFTER)
                .iter()
                .for_each(UnobservedFailure::warn);
            report_at = now + REPORT_INTERVAL;
        }
        let wait = [next_wakeup, refresh_at, producer_id_at]
            .into_iter()
            .flatten()
            .fold(now + IDLE_WAKEUP, Instant::min);
        tokio::select! {
            () = shared.wake.notified() => {}
            () = sleep_until(wait) => {}
            Some(_) = refresher.task.join_next() => refresher.not_before = Instant::now() + pause,
            Some(response) = producer_id.response() => match response {
                Ok(metadata_is_stale) => {
                    if let Some((error, since)) = producer_id.error.as_ref().zip(producer_id.failing_since) {
                        shared.client.record_failure("asking for a producer id", error, since);
                    }
                    if metadata_is_stale {
                        refresher.request(shared.client.inner.metadata.peek().generation);
                    }
                }
                Err(error) => shared.accumulator.fail_without_producer_id(&error, producer_id.current),
            },
            Some(outcome) = requests.finished(&shared) => {
                if outcome.got_response() {
                    adaptive.response_received(outcome.broker);
                }
                if process_outcome(&shared, outcome) {
                    refresher.request(shared.client.inner.metadata.peek().generation);
                }
            }
        }
    }
}

/// What a work leaves to do.
#[derive(Default)]
struct PendingWork {
    /// A partition with batches that leave as soon as it has a leader.
    leaderless: Option<TopicPartition>,
    /// A producer id is needed, to write to this broker if it is known.
    needs_producer_id: Option<Option<i32>>,
    next_wakeup: Option<Instant>,
}

/// Sends what is due, and fails what has been waiting for too long.
fn send_due(
    shared: &Arc<Shared>,
    snapshot: &Snapshot,
    producer_id: &ProducerIdState,
    requests: &mut InFlightRequests,
    now: Instant,
) -> PendingWork {
    let config = shared.client.config();
    let leader = |(topic, partition): &TopicPartition| {
        let leader = snapshot.leader(topic, *partition).map(|leader| leader.id);
        if leader.is_none() {
            // Waiting for a leader is a use, too.
            shared.client.inner.metadata.touch([topic]);
        }
        leader
    };
    let mut work = PendingWork::default();
    loop {
        let in_flight = &requests.in_flight;
        let capacity =
            |broker| config.max_in_flight.saturating_sub(in_flight.get(&broker).copied().unwrap_or(0));
        let DrainResult {
            requests: ready,
            expired,
            expired_in_flight,
            leaderless,
            needs_producer_id,
            has_more,
            next_wakeup,
        } = shared.accumulator.drain(now, config.max_request_size, producer_id.current, leader, capacity);
        for mut batch in expired {
            let partition = batch.part.partition();
            if batch.last_error.is_none() && leader(partition).is_none() {
                batch.last_error = Some(no_leader(snapshot, &partition.0, partition.1));
            }
            if batch.last_error.is_none() && batch.sequence.is_none() {
                batch.last_error.clone_from(&producer_id.error);
            }
            let mut error = shared.accumulator.delivery_timed_out(batch.last_error.as_ref());
            if let (None, Some(broker)) = (&batch.last_error, leader(batch.part.partition())) {
                error = with_broker(error, snapshot, broker);
            }
            shared.accumulator.fail_unsent(batch, error);
        }
        expired_in_flight.into_iter().for_each(|expired| fail_in_flight(shared, snapshot, expired));
        let sent = !ready.is_empty();
        for (broker, groups) in ready {
            groups.into_iter().for_each(|batches| requests.spawn(shared, broker, batches));
        }
        work.leaderless = work.leaderless.or(leaderless);
        work.needs_producer_id =
            work.needs_producer_id.or(needs_producer_id.map(|partition| leader(&partition)));
        work.next_wakeup = [work.next_wakeup, next_wakeup].into_iter().flatten().min();
        // A partition has at most one batch in a request, and may have more in the next ones.
        if !(sent && has_more) {
            return work;
        }
    }
}

/// Tells those who sent a batch that its time is over while it is on its way.
fn fail_in_flight(shared: &Shared, snapshot: &Snapshot, expired: ExpiredInFlight) {
    let ExpiredInFlight { part, broker, count, last_error } = expired;
    shared.accumulator.metrics.failed(&part.partition().0, count);
    let mut error = shared.accumulator.delivery_timed_out(last_error.as_ref());
    if last_error.is_none() {
        error = with_broker(error, snapshot, broker);
    }
    part.complete(Err(error));
}

/// Before a first attempt has failed, whom a batch waits for is all that is known.
fn with_broker(error: Error, snapshot: &Snapshot, broker: i32) -> Error {
    let error = error.broker(broker);
    match snapshot.brokers.get(&broker) {
        Some(known) => error.address(known.endpoint.to_string()),
        None => error,
    }
}
