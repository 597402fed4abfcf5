//! The refresher: the one task of a client that refreshes the metadata when a refresh is due, because a
//! caller needs one, the metadata is old, or a connection was lost.
//!
//! Invariants: it does not keep the client alive, and ends with it. `metadata/refresh_schedule.rs` alone
//! decides when a refresh is due.

use std::future::pending;
use std::sync::{Arc, Weak};

use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;
use tokio::time::{Duration, Instant, sleep, sleep_until};

use crate::cluster::event_subscribers::EventSubscribers;
use crate::cluster::{Client, Inner};
use crate::error::Result;
use crate::metadata::{NextRefresh, Pace, RefreshNeed, RefreshOutcome, TopicSelector};
use crate::retry::persistent_failures::Place;
use crate::tasks::panics::try_catch;

/// How often a refresh in flight checks whether the client is still in use.
const ABANDONED_CHECK_INTERVAL: Duration = Duration::from_secs(1);
const REFRESHING: &str = "refreshing the metadata";

impl Client {
    /// States that the metadata needs a refresh, and returns at once: the refresher performs it when it is
    /// due. The topics are tracked from now on; `TopicSelector::All` is for [`Client::refresh`] only.
    ///
    /// The next refresh uses up the need, so a caller that still has it states it again after each
    /// outcome. Returns the number of the last refresh that has started: later ones serve the need. Fails
    /// if the client was closed.
    pub(crate) fn request_refresh(&self, need: RefreshNeed, selector: TopicSelector<'_>) -> Result<u64> {
        self.check_open()?;
        let started = self.inner.metadata.request_refresh(need, selector);
        self.start_refresher();
        Ok(started)
    }

    /// Whether a caller has requested a refresh that is still due.
    pub(super) fn is_refresh_requested(&self) -> bool {
        let next = self.inner.metadata.next_refresh(&self.inner.pace(), 0.0);
        next.is_some_and(|next| next.requested) && self.check_open().is_ok()
    }

    /// The outcomes of all refreshes. Receive them before reading the snapshot.
    pub(crate) fn refresh_outcomes(&self) -> watch::Receiver<RefreshOutcome> {
        self.inner.metadata.refresh_outcomes()
    }

    /// Starts the refresher unless it is running.
    pub(super) fn start_refresher(&self) {
        let mut refresher = self.inner.refresher.lock();
        // Checked under the lock, so that `close` cannot miss the task.
        if refresher.as_ref().is_none_or(AbortHandle::is_finished) && self.check_open().is_ok() {
            *refresher = Some(tokio::spawn(Refresher::new(&self.inner).run()).abort_handle());
        }
    }
}

impl Inner {
    fn pace(&self) -> Pace {
        let max_age = match self.event_subscribers.any() {
            true => self.config.metadata_max_age.min(self.config.events_metadata_max_age),
            false => self.config.metadata_max_age,
        };
        Pace { backoff: self.config.backoff(), max_age }
    }
}

struct Refresher {
    inner: Weak<Inner>,
    schedule_changed: Arc<Notify>,
    connection_lost: Arc<Notify>,
    event_subscribers: Arc<EventSubscribers>,
    /// The jitter of the next pause.
    random: f64,
    /// When the first of the refreshes that failed in a row began.
    failing_since: Option<Instant>,
}

impl Refresher {
    fn new(inner: &Arc<Inner>) -> Self {
        Self {
            inner: Arc::downgrade(inner),
            schedule_changed: inner.metadata.schedule_changed(),
            connection_lost: inner.pool.lost(),
            event_subscribers: Arc::clone(&inner.event_subscribers),
            random: inner.environment.random(),
            failing_since: None,
        }
    }

    /// Runs until the client is closed or dropped.
    async fn run(mut self) {
        while let Some(inner) = self.inner.upgrade() {
            let next = inner.metadata.next_refresh(&inner.pace(), self.random);
            drop(inner);
            let requested = tokio::select! {
                () = self.schedule_changed.notified() => continue,
                () = self.event_subscribers.first_added.notified() => continue,
                () = self.connection_lost.notified() => {
                    if let Some(inner) = self.inner.upgrade() {
                        inner.metadata.connection_lost(&inner.pace());
                    }
                    continue;
                }
                requested = until_due(next) => requested,
            };
            let Some(inner) = self.inner.upgrade() else { return };
            self.random = inner.environment.random();
            let client = Client::of(inner);
            if client.check_open().is_err() {
                return;
            }
            refresh(&client, requested, &mut self.failing_since).await;
        }
    }
}

/// Waits until a refresh is due. Returns whether a caller has requested it.
async fn until_due(next: Option<NextRefresh>) -> bool {
    match next {
        Some(NextRefresh { due, requested }) => {
            sleep_until(due).await;
            requested
        }
        None => pending().await,
    }
}

async fn refresh(client: &Client, requested: bool, failing_since: &mut Option<Instant>) {
    let started = Instant::now();
    let generation = client.inner.metadata.peek().generation;
    let refresh = client.refresh(generation, TopicSelector::Tracked);
    let result = tokio::select! {
        result = try_catch("a refresh of the metadata", refresh) => result,
        () = until_abandoned(client) => return,
    };
    match result {
        // Callers report what the failure means for them.
        Err(error) if requested => {
            tracing::debug!(target: "ottla.metadata", %error, "requested metadata refresh failed");
        }
        Err(error) => {
            let since = *failing_since.get_or_insert(started);
            client.record_failure(REFRESHING, &error, since);
        }
        Ok(_) => {
            *failing_since = None;
            client.record_success(REFRESHING, Place::Everywhere);
        }
    }
}

/// Waits until nothing else holds the client. A refresh may take long, and must not keep its connections open.
async fn until_abandoned(client: &Client) {
    while Arc::strong_count(&client.inner) > 1 {
        sleep(ABANDONED_CHECK_INTERVAL).await;
    }
}
