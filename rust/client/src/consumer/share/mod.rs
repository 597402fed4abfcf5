//! The share consumer (KIP-932): members of a share group read partitions together, record by record.
//!
//! A poll acquires records from the leaders (ShareFetch), each under a lock with a time limit. The application
//! acknowledges them: accepted, released, rejected or renewed. What is not acknowledged is delivered again.
//!
//! - `state`: all state, without I/O; `schedule`: the requests that are due; `responses`: their results.
//! - `leader_state`: the share session with one leader; `acknowledgements`: what is sent to it.
//! - `renewals`: renewals that come too late.
//! - `acquired_fetch`, `delivered`: records before and after their delivery; [`OffsetRanges`]: sets of offsets.
//! - `fetcher`: the task that sends the requests; `shared`: what it shares with the consumer.
//! - `poll`, `read`, `read_typed`, `read_arrow`, `commit`, `close`: the application's interface.
//!
//! Invariants: nothing is fetched unless the application polls, so that locks do not expire unused. Membership
//! is a [`Group`] of its own kind (`group/share_protocol`). Memory is bounded by one fetch of each leader.

mod acknowledgements;
mod acquired_fetch;
mod close;
mod commit;
mod delivered;
mod fetcher;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]
mod harness;
mod leader_state;
mod offset_ranges;
mod poll;
mod read;
#[cfg(feature = "arrow")]
mod read_arrow;
#[cfg(feature = "arrow")]
mod read_typed;
mod renewals;
mod responses;
mod schedule;
mod shared;
mod state;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use ottla_protocol::records::Decompressor;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::{Duration, Instant};

pub use acknowledgements::{AcknowledgeType, AcknowledgementResult};
pub use offset_ranges::OffsetRanges;
pub use poll::ShareRecord;

use self::read::DecodedFetch;
#[cfg(feature = "arrow")]
use self::read_arrow::ColumnsCursor;
use self::shared::Shared;
use self::state::{ShareSettings, ShareState};
use crate::cluster::Client;
use crate::consumer::group::{Group, GroupSettings, RebalanceEvent, Subscription};
use crate::error::{Error, Kind, Result};
use crate::tasks::panics::try_catch;
use crate::topic_partition::TopicPartition;
#[cfg(feature = "arrow")]
use crate::typed::TypedColumns;

/// A share consumer. One task at a time polls it, acknowledges records and commits.
#[derive(Debug)]
pub struct ShareConsumer {
    shared: Arc<Shared>,
    topics: Mutex<BTreeSet<Arc<str>>>,
    /// A subscription that the group does not know yet; it takes effect with the next poll.
    pending_subscription: Mutex<Option<Subscription>>,
    fetcher: Mutex<Option<AbortHandle>>,
    /// The records of the first buffered fetch.
    decoded: Mutex<Option<DecodedFetch>>,
    decompressor: Mutex<Decompressor>,
    /// How far the first buffered fetch was decoded to columns.
    #[cfg(feature = "arrow")]
    columns_cursor: Mutex<Option<ColumnsCursor>>,
    /// How the keys and values of records are decoded.
    #[cfg(feature = "arrow")]
    typed: TypedColumns,
    /// The time of the last wait for records.
    polled_at: Mutex<Option<Instant>>,
    woken: AtomicBool,
    closing: AtomicBool,
    closed: AtomicBool,
}

impl Drop for ShareConsumer {
    fn drop(&mut self) {
        self.stop();
    }
}

impl ShareConsumer {
    /// Creates a share consumer without a subscription. It needs its own client, as a consumer does.
    ///
    /// # Errors
    /// [`Kind::Config`] without `group.id`.
    pub fn new(client: Client) -> Result<Self> {
        client.config().check_brokers("a share consumer")?;
        if !GroupSettings::try_from(client.config())?.has_group() {
            return Err(Error::new(
                Kind::Config,
                "a share consumer is a member of a share group: set group.id",
            ));
        }
        let decompressor = Decompressor::with_limit(client.config().decompressed_batch_max);
        let state = ShareState::new(ShareSettings::from(client.config()));
        let shared = Shared {
            client,
            state: Mutex::new(state),
            fetcher_wakeup: Notify::new(),
            poll_wakeup: Notify::new(),
            group: OnceLock::new(),
            leaderless: Mutex::default(),
            fatal_error: OnceLock::new(),
        };
        Ok(Self {
            shared: Arc::new(shared),
            topics: Mutex::default(),
            pending_subscription: Mutex::default(),
            fetcher: Mutex::default(),
            decoded: Mutex::default(),
            decompressor: Mutex::new(decompressor),
            #[cfg(feature = "arrow")]
            columns_cursor: Mutex::default(),
            #[cfg(feature = "arrow")]
            typed: TypedColumns::default(),
            polled_at: Mutex::default(),
            woken: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            closed: AtomicBool::new(false),
        })
    }

    /// The client.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.shared.client
    }

    fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::new(Kind::Closed, "this share consumer was closed: create another one"));
        }
        self.shared.client.check_open()
    }

    /// Subscribes to topics, from the next poll on; replaces an earlier subscription.
    ///
    /// # Errors
    /// [`Kind::Config`] without topics.
    pub fn subscribe(&self, topics: Vec<Arc<str>>) -> Result<()> {
        self.check_open()?;
        if topics.is_empty() {
            return Err(Error::new(Kind::Config, "subscribe() needs at least one topic"));
        }
        *self.topics.lock() = topics.iter().cloned().collect();
        *self.pending_subscription.lock() = Some(Subscription::Topics(topics));
        self.shared.poll_wakeup.notify_waiters();
        Ok(())
    }

    /// Leaves the group. Records that were delivered can still be acknowledged and committed.
    pub fn unsubscribe(&self) -> Result<()> {
        self.check_open()?;
        self.topics.lock().clear();
        *self.pending_subscription.lock() = None;
        if let Some(group) = self.shared.group.get() {
            group.unsubscribe();
        }
        self.shared.state.lock().unassign(Instant::now());
        *self.decoded.lock() = None;
        #[cfg(feature = "arrow")]
        self.columns_cursor.lock().take();
        self.shared.fetcher_wakeup.notify_one();
        Ok(())
    }

    /// The subscribed topics.
    #[must_use]
    pub fn subscription(&self) -> Vec<Arc<str>> {
        self.topics.lock().iter().cloned().collect()
    }

    /// The partitions that this member reads, sorted, as of the last poll.
    #[must_use]
    pub fn assignment(&self) -> Vec<TopicPartition> {
        self.shared.state.lock().assignment.iter().cloned().collect()
    }

    /// The id of this member; empty before the first poll.
    #[must_use]
    pub fn member_id(&self) -> Arc<str> {
        Arc::clone(&self.shared.state.lock().member_id)
    }

    /// The duration of an acquisition lock, once a broker has stated it.
    #[must_use]
    pub fn acquisition_lock_timeout(&self) -> Option<Duration> {
        self.shared.state.lock().lock_timeout
    }

    /// Acknowledges a record of the last poll. The next poll, commit or close sends it.
    ///
    /// # Errors
    /// [`Kind::State`] with `share.acknowledgement.mode=implicit`, or if the last poll did not deliver the
    /// record, or its acknowledgement was sent.
    pub fn acknowledge(
        &self,
        topic: &str,
        partition: i32,
        offset: i64,
        acknowledge_type: AcknowledgeType,
    ) -> Result<()> {
        self.check_open()?;
        let mut state = self.shared.state.lock();
        state.check_explicit()?;
        state.delivered.acknowledge(topic, partition, offset, acknowledge_type)
    }

    /// Acknowledges the delivered records of a partition from the first to the last offset, inclusive.
    ///
    /// # Errors
    /// As for [`ShareConsumer::acknowledge`], if there is no such record.
    pub fn acknowledge_offsets(
        &self,
        topic: &str,
        partition: i32,
        offsets: (i64, i64),
        acknowledge_type: AcknowledgeType,
    ) -> Result<()> {
        self.check_open()?;
        let mut state = self.shared.state.lock();
        state.check_explicit()?;
        state.delivered.acknowledge_offsets(topic, partition, offsets, acknowledge_type)
    }

    /// Acknowledges all records of the last poll that have no acknowledgement yet.
    ///
    /// # Errors
    /// [`Kind::State`] with `share.acknowledgement.mode=implicit`.
    pub fn acknowledge_all(&self, acknowledge_type: AcknowledgeType) -> Result<()> {
        self.check_open()?;
        let mut state = self.shared.state.lock();
        state.check_explicit()?;
        state.delivered.acknowledge_rest(acknowledge_type);
        Ok(())
    }

    /// Keeps the results of acknowledgements for [`ShareConsumer::take_results`], or logs failures only.
    pub fn keep_results(&self, keep: bool) {
        let mut state = self.shared.state.lock();
        state.keep_results = keep;
        if !keep {
            state.results.clear();
        }
    }

    /// Takes the results of acknowledgements since the last call.
    #[must_use]
    pub fn take_results(&self) -> Vec<AcknowledgementResult> {
        self.shared.state.lock().results.drain(..).collect()
    }

    /// Ends the current or the next poll with an error of [`Kind::Wakeup`].
    pub fn wakeup(&self) {
        self.woken.store(true, Ordering::Release);
        self.shared.poll_wakeup.notify_waiters();
    }

    /// Passes a new subscription to the group, and starts the task. Call it on a runtime.
    fn join(&self) -> Result<()> {
        let mut pending = self.pending_subscription.lock();
        let Some(subscription) = pending.take() else { return Ok(()) };
        let group = match self.shared.group.get() {
            Some(group) => group,
            None => {
                let settings = GroupSettings::try_from(self.client().config())?;
                self.shared.group.get_or_init(|| Group::start_share(self.client().clone(), settings))
            }
        };
        group.subscribe(subscription)?;
        let mut fetcher = self.fetcher.lock();
        if fetcher.is_none() {
            let shared = Arc::clone(&self.shared);
            let task = tokio::spawn(async move {
                let running = fetcher::run(Arc::clone(&shared));
                if let Err(error) = try_catch("the task of a share consumer", running).await {
                    let _ = shared.fatal_error.set(error);
                    shared.poll_wakeup.notify_waiters();
                }
            });
            *fetcher = Some(task.abort_handle());
        }
        Ok(())
    }

    /// Applies assignments of the group. Returns the error of a member that is not in its group.
    fn process_group_events(&self) -> Result<()> {
        let Some(group) = self.shared.group.get() else { return Ok(()) };
        while let Some(event) = group.try_next_event() {
            let assigned = match event {
                RebalanceEvent::Assign { all, .. } => all,
                RebalanceEvent::Lost(_) | RebalanceEvent::Revoke(_) => Vec::new(),
                RebalanceEvent::Failed(error) => {
                    group.complete_event();
                    return Err(error);
                }
            };
            let member_id = group.group_metadata().member_id;
            self.shared.state.lock().assign(member_id, assigned);
            self.shared.fetcher_wakeup.notify_one();
            group.complete_event();
        }
        Ok(())
    }

    fn stop(&self) {
        self.closed.store(true, Ordering::Release);
        if let Some(fetcher) = self.fetcher.lock().take() {
            fetcher.abort();
        }
    }
}
