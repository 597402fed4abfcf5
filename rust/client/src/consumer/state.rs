//! What a consumer and its tasks share.
//!
//! Invariant: the lock of the assignment is never held over a wait.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::Member;
use super::group::Group;
use crate::cluster::Client;
use crate::config::IsolationLevel;
use crate::consumer::partition_state::Slot;
use crate::consumer::subscription_state::Assignment;
use crate::error::{Error, Kind};
use crate::topic_partition::TopicPartition;

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) client: Client,
    pub(super) assignment: Mutex<Assignment>,
    /// The assignment's version.
    pub(super) versions: Arc<AtomicU64>,
    /// Something for the fetcher to do.
    pub(super) news: Notify,
    /// Something for the application.
    pub(super) ready: Notify,
    pub(super) group_id: Option<Arc<str>>,
    /// The membership, once the consumer has subscribed and polled.
    pub(super) group: OnceLock<Group>,
    /// Whether the group decides about the partitions.
    pub(super) subscribed: AtomicBool,
    failed: Mutex<Option<Error>>,
    /// Why nothing is fetched any more: the fetcher has died.
    died: OnceLock<Error>,
}

impl Shared {
    pub(super) fn new(client: Client) -> Self {
        let group_id = &client.config().group_id;
        let group_id = (!group_id.is_empty()).then(|| Arc::from(group_id.as_str()));
        let assignment = Assignment::default();
        Self {
            client,
            versions: assignment.versions(),
            assignment: Mutex::new(assignment),
            news: Notify::new(),
            ready: Notify::new(),
            group_id,
            group: OnceLock::new(),
            subscribed: AtomicBool::new(false),
            failed: Mutex::default(),
            died: OnceLock::new(),
        }
    }

    pub(super) fn read_committed(&self) -> bool {
        self.client.config().isolation_level == IsolationLevel::ReadCommitted
    }

    /// Lets a partition rest after one more failure.
    pub(super) fn rest(&self, slot: &mut Slot, now: Instant) {
        slot.failures += 1;
        slot.failing_since.get_or_insert(now);
        slot.not_before = Some(now + self.client.backoff(slot.failures));
    }

    /// Records why nothing has been read from a partition since `since`; warns once that has lasted.
    ///
    /// A topic or partition that the application has assigned and that does not exist is an error for the
    /// application after `default.api.timeout.ms`, and again after as long: it may be created later.
    pub(super) fn record_failure(
        &self,
        assignment: &mut Assignment,
        partition: &TopicPartition,
        since: Instant,
        error: Error,
    ) {
        let (topic, index) = partition;
        let error = error.at(topic, *index);
        self.client.record_failure(format_args!("reading {topic}"), &error, since);
        let is_over = since.elapsed() >= self.client.config().default_api_timeout;
        if error.kind() == Kind::UnknownTopic && is_over && !self.is_subscribed() {
            if let Some(slot) = assignment.slot(partition) {
                slot.failing_since = None;
            }
            assignment.fail(partition, error);
            self.ready.notify_waiters();
        }
    }

    /// Who commits; `None` without a group.
    pub(super) fn member(&self) -> Option<Member> {
        if let Some(group) = self.membership() {
            return Some(group.member());
        }
        let mut member = Member::none(self.group_id.clone()?);
        let instance_id = &self.client.config().group_instance_id;
        if self.is_subscribed() && !instance_id.is_empty() {
            member.instance_id = Some(instance_id.as_str().into());
        }
        Some(member)
    }

    /// Whether the group decides about the partitions.
    pub(super) fn is_subscribed(&self) -> bool {
        self.subscribed.load(Ordering::Acquire)
    }

    /// The membership, if this consumer is subscribed and was polled since.
    pub(super) fn membership(&self) -> Option<&Group> {
        self.group.get().filter(|_| self.is_subscribed())
    }

    /// Keeps an error for the application that is of no partition.
    pub(super) fn fail(&self, error: Error) {
        *self.failed.lock() = Some(error);
        self.ready.notify_waiters();
    }

    /// Keeps the error that every poll raises from now on.
    pub(super) fn die(&self, error: Error) {
        let _ = self.died.set(error);
        self.ready.notify_waiters();
    }

    pub(super) fn take_error(&self) -> Option<Error> {
        if let Some(died) = self.died.get() {
            return Some(died.clone());
        }
        let failed = self.failed.lock().take();
        failed.or_else(|| self.assignment.lock().take_error())
    }
}
