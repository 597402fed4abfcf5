//! The consumer of one application: subscription, fetcher, group membership and offsets.
//!
//! The application polls. Between polls the fetcher reads ahead and the group member sends heartbeats. A
//! poll reports rebalance events first, then errors, then records.
//!
//! Invariants: the position moves only past delivered records, and a commit never exceeds the position. A
//! seek, a pause or an assignment change invalidates collected records that were not delivered
//! ([`Consumer::version`]). Nothing is fetched before partitions are assigned, and the consumer joins its
//! group in the first poll after subscribing (`subscribe.rs`).
//!
//! - `subscribe`, `seek`, `fetch_collector`: the rest of the application's interface; `state` is shared by
//!   all.
//! - `subscription_state`, `partition_state`: the assigned partitions and their positions; no I/O.
//! - `fetch`: the prefetching task, its requests, sessions and responses.
//! - `positions`: initial positions: committed offsets, offsets by time, truncated logs.
//! - `completed_fetch`, `record_decoder`, `record_set`: buffered record batches and their decoding.
//! - [`group`]: membership; [`assignor`]: the partition assignors of classic groups.
//! - [`offsets`], `commit`, `group_metadata`: offset commits and the identity under which they are sent.
//! - `scan`: bounded reads of partition ranges, without a consumer.
pub mod assignor;
mod commit;
mod completed_fetch;
mod fetch;
mod fetch_collector;
pub mod group;
mod group_metadata;
pub mod offsets;
mod partition_state;
mod positions;
mod record_decoder;
mod record_set;
mod scan;
mod seek;
mod state;
mod subscribe;
mod subscription_state;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ottla_protocol::records::Decompressor;
use parking_lot::Mutex;
use tokio::task::AbortHandle;
use tokio::time::{Duration, Instant, sleep_until};

pub use completed_fetch::CompletedFetch;
pub use group_metadata::ConsumerGroupMetadata;
pub use record_set::{RecordEntry, RecordSet};
pub use scan::{Chunk, FOLLOW, Gap, Range, Scan, ScanOptions};

use crate::cluster::Client;
use crate::consumer::assignor::Assignor;
use crate::consumer::commit::CommitManager;
use crate::consumer::fetch::fetcher::Fetcher;
use crate::consumer::group::{Group, RebalanceEvent};
use crate::consumer::offsets::CommittedOffset;
use crate::consumer::positions::committed_lookups;
use crate::consumer::state::ConsumerState;
use crate::consumer::subscribe::ConsumerSubscription;
use crate::error::{Error, Kind, Result};
use crate::tasks::panics::try_catch;
use crate::topic_partition::TopicPartition;

/// The outcome of a poll.
#[derive(Debug)]
pub enum PollOutcome {
    /// Records can be taken.
    Ready,
    /// The assignment changes. Call [`Consumer::prepare_rebalance`], the application's callback,
    /// [`Consumer::await_pending_commits`] and [`Consumer::complete_rebalance`], in this order.
    Rebalance(RebalanceEvent),
    /// The deadline passed.
    TimedOut,
}

/// A consumer.
#[derive(Debug)]
pub struct Consumer {
    shared: Arc<ConsumerState>,
    subscription: ConsumerSubscription,
    fetcher: Mutex<Option<AbortHandle>>,
    commits: CommitManager,
    woken: AtomicBool,
    closed: AtomicBool,
    decompressor: Mutex<Decompressor>,
}

impl Drop for Consumer {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Consumer {
    /// Creates a consumer without partitions. A consumer that joins a group needs its own client: a broker
    /// processes the requests of a connection one at a time, and may hold back a JoinGroup response.
    #[must_use]
    pub fn new(client: Client) -> Self {
        let decompressor = Decompressor::with_limit(client.config().decompressed_batch_max);
        let shared = Arc::new(ConsumerState::new(client));
        Self {
            commits: CommitManager::new(Arc::clone(&shared)),
            shared,
            subscription: ConsumerSubscription::default(),
            fetcher: Mutex::default(),
            woken: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            decompressor: Mutex::new(decompressor),
        }
    }

    /// Replaces the assignors of `partition.assignment.strategy`; the preferred one comes first.
    #[must_use]
    pub fn with_assignors(mut self, assignors: Vec<Arc<dyn Assignor>>) -> Self {
        self.subscription.assignors = assignors;
        self
    }

    /// The client.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.shared.client
    }

    pub(super) fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::new(Kind::Closed, "this consumer was closed: create another one"));
        }
        self.shared.client.check_open()
    }

    /// Starts the fetcher on the current runtime, unless it runs.
    pub(super) fn start(&self) {
        let mut fetcher = self.fetcher.lock();
        if fetcher.is_none() {
            let shared = Arc::clone(&self.shared);
            let task = tokio::spawn(async move {
                let fetcher = Fetcher::new(Arc::clone(&shared));
                if let Err(error) = try_catch("the task that fetches for a consumer", fetcher.run()).await {
                    shared.fail_permanently(error);
                }
            });
            *fetcher = Some(task.abort_handle());
        }
        self.shared.fetcher_wakeup.notify_one();
    }

    fn stop(&self) {
        self.closed.store(true, Ordering::Release);
        if let Some(fetcher) = self.fetcher.lock().take() {
            fetcher.abort();
        }
    }

    /// The assigned partitions, sorted.
    #[must_use]
    pub fn assignment(&self) -> Vec<TopicPartition> {
        let mut partitions: Vec<_> = self.shared.subscriptions.lock().partitions().cloned().collect();
        partitions.sort();
        partitions
    }

    /// Waits until there is something for the application, or until the deadline. Cancel-safe.
    pub async fn poll(&self, deadline: Instant) -> Result<PollOutcome> {
        let mut poll_scope = self.shared.group.get().map(Group::enter_poll);
        loop {
            let ready = self.shared.poll_wakeup.notified();
            tokio::pin!(ready);
            // From here on no wakeup is missed.
            ready.as_mut().enable();
            if self.woken.swap(false, Ordering::AcqRel) {
                return Err(Error::new(Kind::Wakeup, "the poll was ended by wakeup()"));
            }
            self.check_open()?;
            self.join()?;
            let group = self.shared.group.get();
            if poll_scope.is_none() {
                poll_scope = group.map(Group::enter_poll);
            }
            if group.is_none() && self.subscription.is_unset() {
                let message = "nothing to poll: subscribe to topics or assign partitions first";
                return Err(Error::new(Kind::State, message));
            }
            let now = Instant::now();
            if let Some(event) = group.and_then(Group::try_next_event) {
                return Ok(PollOutcome::Rebalance(event));
            }
            self.commits.maybe_auto_commit(now);
            if let Some(error) = self.shared.take_error() {
                return Err(error);
            }
            if self.shared.subscriptions.lock().has_deliverable() {
                return Ok(PollOutcome::Ready);
            }
            if deadline <= now {
                return Ok(PollOutcome::TimedOut);
            }
            let event = async {
                match group {
                    Some(group) => group.wait_for_event().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = ready => {}
                () = event => {}
                () = sleep_until(deadline.min(self.commits.next_auto_commit(now))) => {}
            }
        }
    }

    /// Ends the current or the next poll with an error of [`Kind::Wakeup`].
    pub fn wakeup(&self) {
        self.woken.store(true, Ordering::Release);
        self.shared.poll_wakeup.notify_waiters();
    }

    /// Runs before the application's rebalance callback: commits delivered records before a revocation, and
    /// adds assigned partitions.
    pub async fn prepare_rebalance(&self, event: &RebalanceEvent) {
        match event {
            RebalanceEvent::Revoke(_) => self.commits.before_revocation().await,
            RebalanceEvent::Assign { all, .. } => {
                self.shared.subscriptions.lock().replace(all.clone(), self.initial_state());
                self.shared.fetcher_wakeup.notify_one();
            }
            RebalanceEvent::Lost(_) | RebalanceEvent::Failed(_) => {}
        }
    }

    /// Waits a few seconds at most for commits of revoked partitions, including those of the application's
    /// callback. It runs between the callback and [`Consumer::complete_rebalance`], which rejects later
    /// ones.
    pub async fn await_pending_commits(&self, event: &RebalanceEvent) {
        if matches!(event, RebalanceEvent::Revoke(_)) {
            self.commits.wait_for_pending().await;
        }
    }

    /// Runs after the application's callback: removes revoked and lost partitions, and lets the group
    /// member continue.
    pub fn complete_rebalance(&self, event: &RebalanceEvent) -> Result<()> {
        if let RebalanceEvent::Revoke(partitions) | RebalanceEvent::Lost(partitions) = event {
            self.shared.subscriptions.lock().remove(partitions);
        }
        if let Some(group) = self.shared.group.get() {
            group.complete_event();
        }
        self.shared.fetcher_wakeup.notify_one();
        match event {
            RebalanceEvent::Failed(error) => Err(error.clone()),
            _ => Ok(()),
        }
    }

    /// Commits offsets, or all positions. Retriable failures are retried until the timeout.
    pub async fn commit(
        &self,
        offsets: Option<HashMap<TopicPartition, CommittedOffset>>,
        timeout: Duration,
    ) -> Result<()> {
        self.check_open()?;
        self.commits.commit(offsets, timeout).await
    }

    /// Stops automatic commits: the application has failed and may not have processed the delivered
    /// records. Commits that the application requests are still sent.
    pub fn stop_auto_commit(&self) {
        self.commits.stop_auto_commit();
    }

    /// The committed offsets of the group; `None` for partitions without one.
    pub async fn committed(
        &self,
        partitions: Vec<TopicPartition>,
        timeout: Duration,
    ) -> Result<HashMap<TopicPartition, Option<CommittedOffset>>> {
        self.check_open()?;
        committed_lookups::fetch(&self.shared, partitions, timeout).await
    }

    /// The positions, in the form in which a commit would send them.
    #[must_use]
    pub fn positions(&self) -> HashMap<TopicPartition, CommittedOffset> {
        self.commits.positions(true)
    }

    /// The identity of this consumer in its group; `None` without a group.
    #[must_use]
    pub fn group_metadata(&self) -> Option<ConsumerGroupMetadata> {
        self.shared.group_metadata()
    }

    /// The group membership, once the consumer has joined.
    #[must_use]
    pub fn group(&self) -> Option<&Group> {
        self.shared.group.get()
    }

    /// Starts closing: commits delivered records and gives up the partitions. Handle the remaining
    /// rebalance events with [`Consumer::next_closing_event`].
    pub async fn begin_close(&self, timeout: Duration) {
        if self.check_open().is_err() {
            return;
        }
        self.commits.auto_commit_now(timeout).await;
        // The consumer is open, so this cannot fail.
        let _ = self.unsubscribe();
    }

    /// The next rebalance event of a closing consumer.
    #[must_use]
    pub fn next_closing_event(&self) -> Option<RebalanceEvent> {
        self.shared.group.get()?.try_next_event()
    }

    /// Finishes closing: leaves the group within the timeout.
    pub async fn end_close(&self, timeout: Duration) -> Result<()> {
        self.stop();
        let left = match self.shared.group.get() {
            Some(group) => group.leave(timeout).await,
            None => Ok(()),
        };
        self.shared.poll_wakeup.notify_waiters();
        left
    }
}
