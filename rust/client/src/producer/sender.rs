//! The sender: one task that takes ready batches to the leaders of their partitions.
//!
//! Invariants: it wakes only when something is due, came back, or was asked for; a partition without
//! a leader costs one refresh of the metadata at a time, with a pause between them.

use std::collections::HashMap;
use std::sync::Arc;

use ottla_protocol::records::Compressor;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant, sleep_until};

use super::accumulator::Accumulator;
use super::drain::{Drained, Late};
use super::produce::{Outcome, process_outcome, send_request};
use crate::cluster::Client;
use crate::error::Result;
use crate::metadata::Want;
use crate::topics::no_leader;

/// Even an idle sender looks after its batches this often.
const IDLE: Duration = Duration::from_secs(1);

/// What the producer's handle and its task share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) client: Client,
    pub(super) accumulator: Accumulator,
    /// Something may be ready.
    pub(super) wake: Notify,
    /// Compressors that rest between batches.
    pub(super) compressors: Mutex<Vec<Compressor>>,
}

/// Refreshes the metadata on the side: the other partitions' batches do not wait for it. Ends with
/// the sender.
struct Refresher {
    task: JoinSet<()>,
    /// The generation that is known to be stale.
    stale: Option<u64>,
    /// A partition without a leader is no reason to ask all the time.
    not_before: Instant,
}

impl Refresher {
    fn want(&mut self, stale: u64) {
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
        Self { client, accumulator, wake: Notify::new(), compressors: Mutex::default() }
    }

    pub(super) fn compressor(&self) -> Result<Compressor> {
        if let Some(compressor) = self.compressors.lock().pop() {
            return Ok(compressor);
        }
        super::compressor(self.client.config())
    }
}

/// Runs until the producer is dropped.
pub(super) async fn run(shared: Arc<Shared>) {
    let config = shared.client.config().clone();
    let pause = config.retry_backoff.max(Duration::from_millis(10));
    let mut requests: JoinSet<Outcome> = JoinSet::new();
    let mut in_flight: HashMap<i32, usize> = HashMap::new();
    let mut refresher = Refresher { task: JoinSet::new(), stale: None, not_before: Instant::now() };
    loop {
        let now = Instant::now();
        let snapshot = shared.client.snapshot();
        let leader = |(topic, partition): &(Arc<str>, i32)| {
            let leader = snapshot.leader(topic, *partition).map(|leader| leader.id);
            if leader.is_none() {
                // Waiting for a leader is a use, too.
                shared.client.inner.metadata.touch([topic]);
            }
            leader
        };
        let room = |broker| config.max_in_flight.saturating_sub(in_flight.get(&broker).copied().unwrap_or(0));
        let Drained { requests: ready, expired, late, leaderless, next } =
            shared.accumulator.drain(now, config.max_request_size, leader, room);
        for mut batch in expired {
            let partition = batch.completion.partition();
            if batch.last_error.is_none() && leader(partition).is_none() {
                batch.last_error = Some(no_leader(&snapshot, &partition.0, partition.1));
            }
            shared.accumulator.expire_batch(batch);
        }
        for Late { completion, broker, last_error } in late {
            let mut error = shared.accumulator.too_late(last_error.as_ref());
            // Before a first attempt has failed, whom it waits for is all that is known.
            if last_error.is_none() {
                error = error.broker(broker);
                if let Some(known) = snapshot.brokers.get(&broker) {
                    error = error.address(known.endpoint.to_string());
                }
            }
            completion.complete(Err(error));
        }
        for (broker, groups) in ready {
            for batches in groups {
                *in_flight.entry(broker).or_default() += 1;
                requests.spawn(send_request(Arc::clone(&shared), broker, batches));
            }
        }
        if leaderless {
            refresher.want(snapshot.generation);
        }
        let refresh_at = refresher.start(&shared, now);
        let wait = [next, refresh_at].into_iter().flatten().min().unwrap_or(now + IDLE);
        tokio::select! {
            () = shared.wake.notified() => {}
            () = sleep_until(wait) => {}
            Some(_) = refresher.task.join_next() => refresher.not_before = Instant::now() + pause,
            Some(done) = requests.join_next() => {
                if let Ok(outcome) = done {
                    if let Some(count) = in_flight.get_mut(&outcome.broker) {
                        *count = count.saturating_sub(1);
                    }
                    if process_outcome(&shared, outcome) {
                        refresher.want(shared.client.inner.metadata.peek().generation);
                    }
                }
            }
        }
    }
}
