//! The consumer: subscription, fetcher, membership and offsets put together, for one application.
//!
//! The application polls. Between polls the fetcher reads ahead and the membership keeps its
//! heartbeat; what both have for the application is handed out by the next poll: changes of the
//! assignment first, then errors, then records.
//!
//! Invariants: the position moves only past what was handed out, and a commit never passes it. What
//! was taken to be handed out is void after a seek, a pause or a change of the assignment
//! ([`Consumer::version`]). Nothing starts before there is something to read, and a group is joined by
//! the poll after the subscription (`subscribing.rs`).
//!
//! - `subscribe`, `seek`, `fetch_collector`: further parts of what an application calls; `state` is what they share.
//! - `subscription_state`, `partition_state`: which partitions a consumer has, and its position in each; no I/O.
//! - [`fetch`]: the task that fetches ahead: which broker is asked for what and when, requests, sessions, responses.
//! - `positions`: where to begin: committed offsets, offsets by time, truncated logs.
//! - `completed_fetch`, `records`: what waits to be handed out, and its decoding.
//! - [`group`]: membership; [`assignor`]: which member gets which partitions.
//! - [`offsets`], `commit`, `member`: what is committed, in whose name, and when.
//! - [`scan`]: bounded reads of partition ranges, without a consumer.
pub mod assignor;
mod commit;
mod completed_fetch;
mod fetch;
mod fetch_collector;
pub mod group;
mod member;
pub mod offsets;
mod partition_state;
mod positions;
mod records;
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

pub use completed_fetch::Prefetched;
pub use member::Member;
pub use records::{Entry, RecordSet};
pub use scan::{Chunk, FOLLOW, Gap, Range, Scan, ScanOptions};

use crate::cluster::Client;
use crate::consumer::assignor::Assignor;
use crate::consumer::commit::Commits;
use crate::consumer::fetch::fetcher::Fetcher;
use crate::consumer::group::{Change, Group};
use crate::consumer::offsets::Committed;
use crate::consumer::positions::committed_lookups;
use crate::consumer::state::Shared;
use crate::consumer::subscribe::Choice;
use crate::error::{Error, Kind, Result};
use crate::tasks::panics::try_catch;
use crate::topic_partition::TopicPartition;

/// What a poll found.
#[derive(Debug)]
pub enum Polled {
    /// There are records to take.
    Ready,
    /// The assignment changes: [`Consumer::begin`], then the application's callback, then
    /// [`Consumer::settle`] and [`Consumer::finish`].
    Change(Change),
    /// Nothing came in time.
    Nothing,
}

/// A consumer.
#[derive(Debug)]
pub struct Consumer {
    shared: Arc<Shared>,
    choice: Choice,
    fetcher: Mutex<Option<AbortHandle>>,
    commits: Commits,
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
    /// A consumer without partitions. A consumer of a group wants a client of its own: brokers answer
    /// one request of a connection at a time, and may keep a member that joins waiting.
    #[must_use]
    pub fn new(client: Client) -> Self {
        let decompressor = Decompressor::with_limit(client.config().decompressed_batch_max);
        let shared = Arc::new(Shared::new(client));
        Self {
            commits: Commits::new(Arc::clone(&shared)),
            shared,
            choice: Choice::default(),
            fetcher: Mutex::default(),
            woken: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            decompressor: Mutex::new(decompressor),
        }
    }

    /// The same with these assignors, the preferred first, instead of those that
    /// `partition.assignment.strategy` names.
    #[must_use]
    pub fn with_assignors(mut self, assignors: Vec<Arc<dyn Assignor>>) -> Self {
        self.choice.assignors = assignors;
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

    /// Starts fetching, in the runtime that this is called in.
    pub(super) fn start(&self) {
        let mut fetcher = self.fetcher.lock();
        if fetcher.is_none() {
            let shared = Arc::clone(&self.shared);
            let task = tokio::spawn(async move {
                let fetcher = Fetcher::new(Arc::clone(&shared));
                if let Err(error) = try_catch("the task that fetches for a consumer", fetcher.run()).await {
                    shared.die(error);
                }
            });
            *fetcher = Some(task.abort_handle());
        }
        self.shared.news.notify_one();
    }

    fn stop(&self) {
        self.closed.store(true, Ordering::Release);
        if let Some(fetcher) = self.fetcher.lock().take() {
            fetcher.abort();
        }
    }

    /// The partitions, sorted.
    #[must_use]
    pub fn assignment(&self) -> Vec<TopicPartition> {
        let mut partitions: Vec<_> = self.shared.assignment.lock().partitions().cloned().collect();
        partitions.sort();
        partitions
    }

    /// Waits until there is something for the application, or until the deadline. Cancel-safe.
    pub async fn poll(&self, deadline: Instant) -> Result<Polled> {
        let mut polling = self.shared.group.get().map(Group::polling);
        loop {
            let ready = self.shared.ready.notified();
            tokio::pin!(ready);
            // From here on nothing is missed.
            ready.as_mut().enable();
            if self.woken.swap(false, Ordering::AcqRel) {
                return Err(Error::new(Kind::Wakeup, "the poll was ended by wakeup()"));
            }
            self.check_open()?;
            self.join()?;
            let group = self.shared.group.get();
            if polling.is_none() {
                polling = group.map(Group::polling);
            }
            if group.is_none() && self.choice.is_nobodys() {
                let words = "nothing to poll: subscribe to topics or assign partitions first";
                return Err(Error::new(Kind::State, words));
            }
            let now = Instant::now();
            if let Some(change) = group.and_then(Group::try_change) {
                return Ok(Polled::Change(change));
            }
            self.commits.tick(now);
            if let Some(error) = self.shared.take_error() {
                return Err(error);
            }
            if self.shared.assignment.lock().is_ready() {
                return Ok(Polled::Ready);
            }
            if deadline <= now {
                return Ok(Polled::Nothing);
            }
            let change = async {
                match group {
                    Some(group) => group.changed().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = ready => {}
                () = change => {}
                () = sleep_until(deadline.min(self.commits.due(now))) => {}
            }
        }
    }

    /// Ends the poll that waits, or the next one, with an error of [`Kind::Wakeup`].
    pub fn wakeup(&self) {
        self.woken.store(true, Ordering::Release);
        self.shared.ready.notify_waiters();
    }

    /// Does what comes before the application's callback for a change: commits what was handed out
    /// before partitions are given up, and takes up new ones.
    pub async fn begin(&self, change: &Change) {
        match change {
            Change::Revoke(_) => self.commits.before_giving_up().await,
            Change::Assign { all, .. } => {
                self.shared.assignment.lock().replace(all.clone(), self.first_phase());
                self.shared.news.notify_one();
            }
            Change::Lost(_) | Change::Failed(_) => {}
        }
    }

    /// Waits for commits of what is to be given up, those that the application's callback asked for
    /// included, for a few seconds at most. It comes between the callback and [`Consumer::finish`], after
    /// which they are refused.
    pub async fn settle(&self, change: &Change) {
        if matches!(change, Change::Revoke(_)) {
            self.commits.settled().await;
        }
    }

    /// Does what comes after the application's callback: gives up what was revoked or lost, and has
    /// the membership go on.
    pub fn finish(&self, change: &Change) -> Result<()> {
        if let Change::Revoke(partitions) | Change::Lost(partitions) = change {
            self.shared.assignment.lock().remove(partitions);
        }
        if let Some(group) = self.shared.group.get() {
            group.acknowledge();
        }
        self.shared.news.notify_one();
        match change {
            Change::Failed(error) => Err(error.clone()),
            _ => Ok(()),
        }
    }

    /// Commits offsets, or all positions. Tried again until the time is over where that helps.
    pub async fn commit(
        &self,
        offsets: Option<HashMap<TopicPartition, Committed>>,
        timeout: Duration,
    ) -> Result<()> {
        self.check_open()?;
        self.commits.commit(offsets, timeout).await
    }

    /// Commits nothing automatically from now on: the application has failed, and records that were handed
    /// out may not be processed. Commits that it asked for still go out.
    pub fn stop_auto_commit(&self) {
        self.commits.stop_auto_commit();
    }

    /// What is committed in the group; `None` for partitions without.
    pub async fn committed(
        &self,
        partitions: Vec<TopicPartition>,
        timeout: Duration,
    ) -> Result<HashMap<TopicPartition, Option<Committed>>> {
        self.check_open()?;
        committed_lookups::ask_within(&self.shared, partitions, timeout).await
    }

    /// The positions, as a commit of them now would commit them.
    #[must_use]
    pub fn positions(&self) -> HashMap<TopicPartition, Committed> {
        self.commits.positions(true)
    }

    /// Who this consumer is in its group; `None` without a group.
    #[must_use]
    pub fn member(&self) -> Option<Member> {
        self.shared.member()
    }

    /// The membership, for what it tells about itself.
    #[must_use]
    pub fn group(&self) -> Option<&Group> {
        self.shared.group.get()
    }

    /// Begins to end: what was handed out is committed, and the membership gives up its partitions.
    /// The changes that polls would bring are then worked off with [`Consumer::leaving`].
    pub async fn begin_close(&self, timeout: Duration) {
        if self.check_open().is_err() {
            return;
        }
        self.commits.last(timeout).await;
        // It is open, so this cannot fail.
        let _ = self.unsubscribe();
    }

    /// The next change of a membership that ends.
    #[must_use]
    pub fn leaving(&self) -> Option<Change> {
        self.shared.group.get()?.try_change()
    }

    /// Ends: leaves the group, within the time.
    pub async fn end_close(&self, timeout: Duration) -> Result<()> {
        self.stop();
        let left = match self.shared.group.get() {
            Some(group) => group.leave(timeout).await,
            None => Ok(()),
        };
        self.shared.ready.notify_waiters();
        left
    }
}
