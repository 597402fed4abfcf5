//! The prefetching task of a consumer: one fetch in flight to each broker that has something to read, and
//! lookups for partitions without a position (`positions`).
//!
//! It runs independently of polls. Responses are checked and buffered up to `prefetch.max.bytes` in total:
//! a slow application uses bounded memory, and a fast one does not wait (`send_fetches.rs`).
//!
//! Invariant: a response counts only for partitions whose version is still that of the request.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::task::JoinSet;
use tokio::time::{Duration, Instant, sleep_until};

use super::broker_state::BrokerState;
use super::completed_fetches::{CompletedFetches, FetchNumber};
use super::metadata_needs::MetadataNeeds;
use crate::consumer::fetch::request::{BrokerResponse, FetchRequestData, Limits, decode, fetch};
use crate::consumer::positions::{self, LookupResult};
use crate::consumer::state::ConsumerState;
use crate::error::{Error, Result};
use crate::metadata::RefreshNeed;
use crate::tasks::duty_cycle::DutyCycle;
use crate::tasks::panics::catch;

/// The outcome of a task.
pub(crate) enum TaskResult {
    Fetched { fetch: FetchNumber, response: Result<BrokerResponse> },
    LookedUp(Vec<LookupResult>),
    Panicked(Error),
}

pub(crate) struct Fetcher {
    pub(crate) shared: Arc<ConsumerState>,
    pub(crate) brokers: BTreeMap<i32, BrokerState>,
    /// Fetches and lookups that have to wait for something else than a response.
    pub(crate) tasks: JoinSet<TaskResult>,
    pub(crate) completed: Arc<CompletedFetches>,
    pub(crate) metadata_needs: MetadataNeeds,
}

impl Fetcher {
    pub(crate) fn new(shared: Arc<ConsumerState>) -> Self {
        let (tasks, completed) = (JoinSet::new(), Arc::default());
        Self { shared, brokers: BTreeMap::new(), tasks, completed, metadata_needs: MetadataNeeds::default() }
    }

    /// Records that the current metadata may be stale.
    pub(crate) fn metadata_is_stale(&mut self) {
        self.metadata_needs.add(RefreshNeed::Stale(self.shared.client.snapshot().generation));
    }

    /// Runs until aborted. An error is fatal.
    pub(crate) async fn run(mut self) -> Result<()> {
        let mut duty_cycle = DutyCycle::default();
        let mut refreshes = self.shared.client.refresh_outcomes();
        loop {
            let now = Instant::now();
            let due = match duty_cycle.wait_until(now) {
                Some(later) => later,
                None => {
                    let due = self.schedule(now);
                    duty_cycle.record_pass(now, Instant::now());
                    due
                }
            };
            tokio::select! {
                Some(result) = self.tasks.join_next(), if !self.tasks.is_empty() => match result {
                    Ok(TaskResult::Fetched { fetch, response }) => self.process_response(fetch, response),
                    Ok(TaskResult::LookedUp(found)) => {
                        for found in found {
                            if let Some(need) = found.apply(&self.shared) {
                                self.metadata_needs.add(need);
                            }
                        }
                    }
                    // Its partitions would stay in flight forever.
                    Ok(TaskResult::Panicked(error)) => return Err(error),
                    // The runtime is shutting down: panics are caught inside the task.
                    Err(_) => return Ok(()),
                },
                Ok(()) = refreshes.changed() => {
                    let outcome = refreshes.borrow().clone();
                    self.metadata_needs.refreshed(&self.shared, outcome);
                }
                () = self.completed.wait() => {
                    for (fetch, response) in self.completed.take() {
                        let response = response.and_then(|response| decode(&self.shared.client, response));
                        self.process_response(fetch, response.map_err(|error| error.broker(fetch.0)));
                    }
                }
                () = self.shared.fetcher_wakeup.notified() => {}
                () = sleep_until(due) => {}
            }
        }
    }

    /// Starts all requests that are possible now. Returns when to run again at the latest.
    fn schedule(&mut self, now: Instant) -> Instant {
        let snapshot = self.shared.client.snapshot();
        for lookup in positions::due_lookups(&self.shared, &snapshot, now) {
            let shared = Arc::clone(&self.shared);
            self.tasks.spawn(async move {
                let found = catch("a position lookup", lookup.run(&shared)).await;
                found.map_or_else(TaskResult::Panicked, TaskResult::LookedUp)
            });
        }
        self.send_fetches(&snapshot, now);
        self.metadata_needs.request_refresh(&self.shared);
        self.next_due(now)
    }

    /// When a backoff or check ends.
    fn next_due(&self, now: Instant) -> Instant {
        let brokers = self.brokers.values().filter(|broker_state| broker_state.in_flight.is_none());
        let due = |broker_state: &BrokerState| {
            [broker_state.not_before, broker_state.check_at, broker_state.held_until]
        };
        let brokers = brokers.flat_map(due).flatten();
        let brokers = brokers.filter(|due| *due > now);
        let partitions = self.shared.subscriptions.lock().next_retry(now);
        let due = brokers.chain(partitions).min();
        due.unwrap_or(now + Duration::from_secs(1))
    }
}

/// Closes the fetch sessions to free the brokers' memory; the responses are ignored.
impl Drop for Fetcher {
    fn drop(&mut self) {
        for (broker, broker_state) in &mut self.brokers {
            let Some(data) = broker_state.session.close_request() else { continue };
            end_session(&self.shared, *broker, data);
        }
    }
}

fn end_session(shared: &ConsumerState, broker: i32, data: FetchRequestData) {
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
            // Without it the session expires on the broker.
            let _ = fetch(&client, broker, &data, limits).await;
        });
    }
}
