//! The state that a consumer shares with its tasks.
//!
//! Invariant: the lock of `subscriptions` is never held across an await.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::group::Group;
use crate::cluster::Client;
use crate::config::{GroupProtocol, IsolationLevel};
use crate::consumer::commit_listener::CommitListener;
use crate::consumer::metrics::Metrics;
use crate::consumer::partition_state::PartitionState;
use crate::consumer::poll_rhythm::PollRhythm;
use crate::consumer::subscription_state::SubscriptionState;
use crate::error::{Error, Kind};
use crate::group_offsets::CommittedOffset;
use crate::group_offsets::ConsumerGroupMetadata;
use crate::retry::persistent_failures::Place;
use crate::topic_partition::TopicPartition;

#[derive(Debug)]
pub(super) struct ConsumerState {
    pub(super) client: Client,
    pub(super) subscriptions: Mutex<SubscriptionState>,
    /// The latest version of [`SubscriptionState`], readable without its lock.
    pub(super) versions: Arc<AtomicU64>,
    /// Wakes the fetcher.
    pub(super) fetcher_wakeup: Notify,
    /// Wakes the poll of the application.
    pub(super) poll_wakeup: Notify,
    pub(super) group_id: Option<Arc<str>>,
    /// The group membership, from the first poll after subscribing; without a group id, the only member of none.
    pub(super) group: OnceLock<Group>,
    /// Whether the partitions follow from a subscription, and the application does not assign them.
    pub(super) subscribed: AtomicBool,
    /// The id that a KIP-848 member chooses itself.
    member_id: OnceLock<Arc<str>>,
    pub(super) commit_listener: OnceLock<Arc<dyn CommitListener>>,
    pub(super) metrics: Metrics,
    /// The application's polls.
    pub(super) rhythm: Mutex<PollRhythm>,
    error: Mutex<Option<Error>>,
    /// The panic that ended the fetcher.
    fatal_error: OnceLock<Error>,
}

impl ConsumerState {
    pub(super) fn new(client: Client) -> Self {
        let group_id = &client.config().group_id;
        let group_id = (!group_id.is_empty()).then(|| Arc::from(group_id.as_str()));
        let subscriptions = SubscriptionState::default();
        Self {
            metrics: Metrics::from(client.config()),
            client,
            versions: subscriptions.versions(),
            subscriptions: Mutex::new(subscriptions),
            fetcher_wakeup: Notify::new(),
            poll_wakeup: Notify::new(),
            group_id,
            group: OnceLock::new(),
            subscribed: AtomicBool::new(false),
            member_id: OnceLock::new(),
            commit_listener: OnceLock::new(),
            rhythm: Mutex::default(),
            error: Mutex::default(),
            fatal_error: OnceLock::new(),
        }
    }

    pub(super) fn read_committed(&self) -> bool {
        self.client.config().isolation_level == IsolationLevel::ReadCommitted
    }

    /// Delays the next request for a partition after one more failure.
    pub(super) fn back_off(&self, state: &mut PartitionState, now: Instant) {
        state.failures += 1;
        state.failing_since.get_or_insert(now);
        state.retry_at = Some(now + self.client.backoff(state.failures));
    }

    /// Records why nothing has been read from a partition since `since`, and logs a warning once that has
    /// lasted.
    ///
    /// An assigned topic or partition that does not exist is reported to the application after
    /// `default.api.timeout.ms`, and then again at the same interval: it may be created later. Members of a
    /// group are not affected.
    pub(super) fn record_failure(
        &self,
        subscriptions: &mut SubscriptionState,
        partition: &TopicPartition,
        since: Instant,
        error: Error,
    ) {
        let (topic, index) = partition;
        let error = error.at(topic, *index);
        self.client.record_failure(format_args!("reading {topic}"), &error, since);
        let is_overdue = since.elapsed() >= self.client.config().default_api_timeout;
        if error.kind() == Kind::UnknownTopic && is_overdue && !self.is_subscribed() {
            if let Some(state) = subscriptions.state(partition) {
                state.failing_since = None;
            }
            subscriptions.fail(partition, error);
            self.poll_wakeup.notify_waiters();
        }
    }

    /// Resets the failures of a partition after a success, which ends its warning.
    pub(super) fn record_success(&self, state: &mut PartitionState, (topic, partition): &TopicPartition) {
        if state.clear_failures() {
            self.client.record_success(format_args!("reading {topic}"), Place::Partition(*partition));
        }
    }

    /// Notes that the application is in a poll, until the returned value is dropped.
    pub(super) fn enter_poll(&self) -> InPoll<'_> {
        self.rhythm.lock().enter(Instant::now());
        InPoll(&self.rhythm)
    }

    /// The identity under which this consumer commits; `None` without a group.
    pub(super) fn group_metadata(&self) -> Option<ConsumerGroupMetadata> {
        let group_id = self.group_id.as_ref()?;
        if let Some(group) = self.membership() {
            return Some(group.group_metadata());
        }
        let mut member = ConsumerGroupMetadata::without_member(Arc::clone(group_id));
        let instance_id = &self.client.config().group_instance_id;
        if self.is_subscribed() && !instance_id.is_empty() {
            member.instance_id = Some(instance_id.as_str().into());
        }
        Some(member)
    }

    /// The id that a KIP-848 member chooses itself (KIP-1082), also before it joins; `None` in classic groups, whose
    /// coordinators choose it.
    pub(super) fn own_member_id(&self) -> Option<&Arc<str>> {
        let chooses =
            self.group_id.is_some() && self.client.config().group_protocol == GroupProtocol::Consumer;
        let choose = || self.client.inner.environment.uuid().to_string().into();
        chooses.then(|| self.member_id.get_or_init(choose))
    }

    /// Whether the partitions follow from a subscription, and the application does not assign them.
    pub(super) fn is_subscribed(&self) -> bool {
        self.subscribed.load(Ordering::Acquire)
    }

    /// The group membership, if this consumer is subscribed and was polled since.
    pub(super) fn membership(&self) -> Option<&Group> {
        self.group.get().filter(|_| self.is_subscribed())
    }

    /// Reports a successful commit to the listener.
    pub(super) fn report_commit(&self, offsets: &HashMap<TopicPartition, CommittedOffset>) {
        if let Some(listener) = self.commit_listener.get() {
            listener.on_commit(offsets);
        }
    }

    /// Keeps an error for the next poll that belongs to no partition.
    pub(super) fn fail(&self, error: Error) {
        *self.error.lock() = Some(error);
        self.poll_wakeup.notify_waiters();
    }

    /// Keeps an error that every poll returns from now on.
    pub(super) fn fail_permanently(&self, error: Error) {
        let _ = self.fatal_error.set(error);
        self.poll_wakeup.notify_waiters();
    }

    pub(super) fn take_error(&self) -> Option<Error> {
        if let Some(error) = self.fatal_error.get() {
            return Some(error.clone());
        }
        let error = self.error.lock().take();
        error.or_else(|| self.subscriptions.lock().take_error())
    }
}

/// The application is in a poll.
#[derive(Debug)]
pub(super) struct InPoll<'a>(&'a Mutex<PollRhythm>);

impl Drop for InPoll<'_> {
    fn drop(&mut self) {
        self.0.lock().exit(Instant::now());
    }
}
