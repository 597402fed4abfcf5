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
//! - `poll`, `wait`, `close`, `rebalance`, `subscribe`, `seek`: the application's interface; `call_sequence`: the order
//!   of the steps of a call; `state` is shared by all.
//! - `subscription_state`, `partition_state`: the assigned partitions and their positions; no I/O.
//! - `fetch`: the prefetching task, its requests, sessions and responses.
//! - `positions`: initial positions: committed offsets, offsets by time, truncated logs.
//! - `completed_fetch`, `read`: buffered record batches, and their decoding to records and Arrow batches.
//! - [`group`]: membership; [`assignor`]: the partition assignors of classic groups.
//! - `commit`, `commit_listener`: when to commit offsets, and who hears of it; `crate::group_offsets` sends them.
//! - [`share`]: the share consumer, whose members acquire records instead of partitions.
//! - `metrics`, `telemetry_source`: what is measured, and what is pushed of it.
//! - `scan`: bounded reads of partition ranges, without a consumer.

pub mod assignor;
mod call_sequence;
mod close;
mod commit;
mod commit_listener;
mod completed_fetch;
mod fetch;
pub mod group;
mod metrics;
mod partition_state;
mod poll;
mod poll_rhythm;
mod positions;
mod read;
mod rebalance;
mod scan;
mod seek;
pub mod share;
mod state;
mod subscribe;
mod subscription_state;
mod telemetry_source;
mod wait;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use ottla_protocol::records::Decompressor;
use ottla_protocol::wire::Uuid;
use parking_lot::Mutex;
use tokio::task::AbortHandle;
use tokio::time::Duration;

pub use call_sequence::{CallSequence, Progress, Step};
pub use commit_listener::CommitListener;
pub use completed_fetch::CompletedFetch;
pub use partition_state::Watermarks;
#[cfg(feature = "arrow")]
pub use read::arrow_decoding::ArrowLayout;
pub use read::buffered::PollTarget;
pub use read::partition_filter::PartitionFilter;
pub use read::record_buffer::ConvertError;
pub use read::record_set::{RecordEntry, RecordSet};
pub use rebalance::RebalanceListener;
#[cfg(feature = "arrow")]
pub use scan::Scan;
pub use scan::{Chunk, ChunkScan, FOLLOW, Gap, Range, ScanOptions};
pub use wait::{PollOutcome, TimeKeeper};

use crate::cluster::Client;
use crate::consumer::assignor::Assignor;
use crate::consumer::commit::CommitManager;
use crate::consumer::fetch::fetcher::Fetcher;
use crate::consumer::group::Group;
use crate::consumer::positions::committed_lookups;
use crate::consumer::read::buffered::ReadBuffers;
use crate::consumer::state::ConsumerState;
use crate::consumer::subscribe::ConsumerSubscription;
use crate::error::{Error, Kind, Result};
use crate::group_offsets::CommittedOffset;
use crate::group_offsets::ConsumerGroupMetadata;
use crate::tasks::panics::try_catch;
use crate::telemetry::Telemetry;
use crate::telemetry::source::Source;
use crate::topic_partition::TopicPartition;
#[cfg(feature = "arrow")]
use crate::typed::TypedColumns;

/// A consumer.
#[derive(Debug)]
pub struct Consumer {
    shared: Arc<ConsumerState>,
    subscription: ConsumerSubscription,
    fetcher: Mutex<Option<AbortHandle>>,
    commits: CommitManager,
    woken: AtomicBool,
    closing: AtomicBool,
    closed: AtomicBool,
    decompressor: Mutex<Decompressor>,
    buffers: ReadBuffers,
    /// How the keys and values of records are decoded.
    #[cfg(feature = "arrow")]
    typed: TypedColumns,
    /// The callback for rebalances of Rust programs.
    listener: Option<Arc<dyn RebalanceListener>>,
    /// Held by the call of a Rust program that polls or closes.
    polling: tokio::sync::Mutex<()>,
    /// Started with the fetcher: creating a consumer needs no runtime.
    telemetry: OnceLock<Option<Telemetry>>,
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
            closing: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            decompressor: Mutex::new(decompressor),
            buffers: ReadBuffers::default(),
            #[cfg(feature = "arrow")]
            typed: TypedColumns::default(),
            listener: None,
            polling: tokio::sync::Mutex::default(),
            telemetry: OnceLock::new(),
        }
    }

    /// Replaces the assignors of `partition.assignment.strategy`; the preferred one comes first.
    #[must_use]
    pub fn with_assignors(mut self, assignors: Vec<Arc<dyn Assignor>>) -> Self {
        self.subscription.assignors = assignors;
        self
    }

    /// Calls `listener` for each rebalance, inside [`Consumer::poll`], [`Consumer::poll_arrow`] and
    /// [`Consumer::close`].
    #[must_use]
    pub fn with_rebalance_listener(mut self, listener: Arc<dyn RebalanceListener>) -> Self {
        self.listener = Some(listener);
        self
    }

    /// Calls `listener` after each successful commit, automatic ones included. Commits within a transaction
    /// are not reported: their transaction may still be aborted.
    #[must_use]
    pub fn with_commit_listener(self, listener: Arc<dyn CommitListener>) -> Self {
        // A consumer that was just created has no listener yet.
        let _ = self.shared.commit_listener.set(listener);
        self
    }

    /// Decodes the keys and values of records: see [`RecordSet::typed`]. Arrow batches have a layout of their
    /// own.
    #[cfg(feature = "arrow")]
    #[must_use]
    pub fn with_typed_records(mut self, typed: TypedColumns) -> Self {
        self.typed = typed;
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
        self.telemetry();
    }

    /// Returns telemetry, and starts it if necessary; `None` with `enable.metrics.push=false`.
    fn telemetry(&self) -> Option<&Telemetry> {
        let start = || self.client().start_telemetry(Arc::clone(&self.shared) as Arc<dyn Source>);
        self.telemetry.get_or_init(start).as_ref()
    }

    /// The id under which the cluster receives this consumer's metrics (KIP-714). Connects to a broker if none is
    /// connected.
    ///
    /// # Errors
    /// [`Kind::Config`] with `enable.metrics.push=false`; [`Kind::Timeout`]; UNSUPPORTED_VERSION if the brokers
    /// do not support it.
    pub async fn client_instance_id(&self, timeout: Duration) -> Result<Uuid> {
        self.check_open()?;
        self.client().instance_id(self.telemetry(), timeout).await
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

    /// Commits offsets, or all positions. Retriable failures are retried until the timeout.
    ///
    /// A topic that does not exist any more holds up nothing: its offsets are an error of
    /// [`crate::Kind::UnknownTopic`] at once, and the others are committed all the same.
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
        self.commits.positions()
    }

    /// The offsets to commit with a transaction, or all positions, and the identity to commit them under.
    ///
    /// # Errors
    /// [`crate::Kind::Config`] without a group; [`crate::Kind::CommitFailed`] if a partition was revoked.
    pub fn offsets_for_transaction(
        &self,
        offsets: Option<HashMap<TopicPartition, CommittedOffset>>,
    ) -> Result<(HashMap<TopicPartition, CommittedOffset>, ConsumerGroupMetadata)> {
        self.check_open()?;
        self.commits.offsets_for_transaction(offsets)
    }

    /// The identity of this consumer in its group; `None` without a group. A subscribed consumer with
    /// `group.protocol=consumer` has its member id before it joins.
    #[must_use]
    pub fn group_metadata(&self) -> Option<ConsumerGroupMetadata> {
        let mut member = self.shared.group_metadata()?;
        if member.member_id.is_empty() && self.shared.is_subscribed() {
            member.member_id = self.shared.own_member_id().cloned().unwrap_or_default();
        }
        Some(member)
    }

    /// The id of this member. With `group.protocol=consumer` the consumer has it from the beginning, in other groups once
    /// it has joined; it is empty before, and without a group.
    #[must_use]
    pub fn member_id(&self) -> Arc<str> {
        let own = || self.shared.own_member_id().cloned().unwrap_or_default();
        let joined = self.group_metadata().map(|member| member.member_id);
        joined.filter(|id| !id.is_empty()).unwrap_or_else(own)
    }

    /// The group membership, once the consumer has joined.
    #[must_use]
    pub fn group(&self) -> Option<&Group> {
        self.shared.group.get()
    }
}
