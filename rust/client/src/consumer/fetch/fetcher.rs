//! The task behind a consumer: a fetch on its way to each broker that has something to read, and the
//! look-ups that partitions without a position need (`positions.rs`).
//!
//! It runs whether or not the application asks: answers are checked and kept, up to
//! `prefetch.max.bytes` in all, so that a slow application costs bounded memory and a fast one does
//! not wait (`send_fetches.rs`). Invariant: an answer counts only for partitions that are still as
//! they were when it was asked for.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use tokio::task::JoinSet;
use tokio::time::{Duration, Instant, sleep_until};

use super::fetch_session::FetchSession;
use super::send_fetches::InFlight;
use crate::consumer::fetch::request::{Answer, Ask, Limits, fetch};
use crate::consumer::positions::{self, Found};
use crate::consumer::state::Shared;
use crate::error::{Error, Kind, Result};
use crate::metadata::{Snapshot, TopicSelector};
use crate::tasks::duty_cycle::DutyCycle;
use crate::tasks::panics::{catch, try_catch};
use crate::topic_partition::TopicPartition;

/// What is known of a broker that is fetched from.
#[derive(Debug, Default)]
pub(crate) struct Source {
    pub(crate) session: FetchSession,
    pub(crate) in_flight: Option<InFlight>,
    pub(crate) not_before: Option<Instant>,
    pub(crate) failures: u32,
    /// When the first of them happened.
    pub(crate) failing_since: Option<Instant>,
    /// While a partition's buffer is full: when the others are asked for new records again.
    pub(crate) check_at: Option<Instant>,
}

/// A partition of a request, as it was when it was asked for.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) partition: TopicPartition,
    pub(crate) version: u64,
    pub(crate) offset: i64,
}

/// A task that has ended.
pub(crate) enum Done {
    Fetched { broker: i32, asked: Vec<Asked>, answer: Result<Answer> },
    Found(Vec<Found>),
    Refreshed(Result<()>),
    Died(Error),
}

pub(crate) struct Fetcher {
    pub(crate) shared: Arc<Shared>,
    pub(crate) sources: BTreeMap<i32, Source>,
    pub(crate) tasks: JoinSet<Done>,
    /// A refresh of the metadata is needed, or under way.
    pub(crate) stale: bool,
    refreshing: bool,
    rest: Option<Instant>,
}

impl Fetcher {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            sources: BTreeMap::new(),
            tasks: JoinSet::new(),
            stale: false,
            refreshing: false,
            rest: None,
        }
    }

    /// Runs until it is aborted. An error is one that it cannot go on after.
    pub(crate) async fn run(mut self) -> Result<()> {
        let mut duty_cycle = DutyCycle::default();
        loop {
            let now = Instant::now();
            let due = match duty_cycle.wait_until(now) {
                Some(later) => later,
                None => {
                    let due = self.walk(now);
                    duty_cycle.record_pass(now, Instant::now());
                    due
                }
            };
            tokio::select! {
                Some(done) = self.tasks.join_next(), if !self.tasks.is_empty() => match done {
                    Ok(Done::Fetched { broker, asked, answer }) => self.process(broker, asked, answer),
                    Ok(Done::Found(found)) => {
                        for found in found {
                            self.stale |= found.apply(&self.shared);
                        }
                    }
                    Ok(Done::Refreshed(result)) => self.refreshed(result),
                    // The partitions that it was for would wait for it for ever.
                    Ok(Done::Died(error)) => return Err(error),
                    // The runtime is shutting down: no task panics.
                    Err(_) => return Ok(()),
                },
                () = self.shared.news.notified() => {}
                () = sleep_until(due) => {}
            }
        }
    }

    /// Looks at all partitions, and begins what can be begun. Returns when to do so again, whatever happens
    /// until then.
    fn walk(&mut self, now: Instant) -> Instant {
        let snapshot = self.shared.client.snapshot();
        for look_up in positions::wanted(&self.shared, &snapshot, now) {
            let shared = Arc::clone(&self.shared);
            self.tasks.spawn(async move {
                let found = catch("the look-up of a position", look_up.run(&shared)).await;
                found.map_or_else(Done::Died, Done::Found)
            });
        }
        self.send_fetches(&snapshot, now);
        self.refresh(&snapshot, now);
        self.next_due(now)
    }

    /// When there may be something to do although nothing happens.
    fn next_due(&self, now: Instant) -> Instant {
        let sources = self.sources.values().filter(|source| source.in_flight.is_none());
        let brokers = sources.flat_map(|source| [source.not_before, source.check_at]).flatten();
        let brokers = brokers.filter(|due| *due > now);
        let partitions = self.shared.assignment.lock().next_due(now);
        let due = brokers.chain(partitions).chain(self.rest.filter(|due| *due > now)).min();
        due.unwrap_or(now + Duration::from_secs(1))
    }

    /// Refreshes the metadata if it is in doubt: one at a time, and not without a rest.
    fn refresh(&mut self, snapshot: &Snapshot, now: Instant) {
        if !self.stale || self.refreshing || self.rest.is_some_and(|due| due > now) {
            return;
        }
        (self.stale, self.refreshing) = (false, true);
        let (client, generation) = (self.shared.client.clone(), snapshot.generation);
        let topics: HashSet<Arc<str>> =
            self.shared.assignment.lock().partitions().map(|(topic, _)| Arc::clone(topic)).collect();
        let topics: Vec<Arc<str>> = topics.into_iter().collect();
        self.tasks.spawn(async move {
            let refreshed = client.refresh(generation, TopicSelector::Topics(&topics));
            Done::Refreshed(try_catch("a refresh of the metadata", refreshed).await.map(drop))
        });
    }

    fn refreshed(&mut self, result: Result<()>) {
        self.refreshing = false;
        self.rest = Some(Instant::now() + self.shared.client.config().retry_backoff);
        if let Err(error) = result {
            tracing::debug!(target: "ottla.fetch", %error, "metadata cannot be refreshed");
            self.stale = true;
            if matches!(error.kind(), Kind::Authentication | Kind::Config | Kind::Closed) {
                self.shared.fail(error);
            }
        }
    }
}

/// Ends the sessions, so that brokers need not remember them; nobody waits for the answers.
impl Drop for Fetcher {
    fn drop(&mut self) {
        for (broker, source) in &mut self.sources {
            let Some(ask) = source.session.end() else { continue };
            end_session(&self.shared, *broker, ask);
        }
    }
}

fn end_session(shared: &Shared, broker: i32, ask: Ask) {
    let client = shared.client.clone();
    let limits = Limits {
        max_wait: Duration::ZERO,
        min_bytes: 0,
        max_bytes: 0,
        partition_max_bytes: 0,
        read_committed: false,
    };
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(async move {
            // The broker would forget it by itself.
            let _ = fetch(&client, broker, &ask, limits).await;
        });
    }
}
