//! Subscribing and assigning: a group or the application chooses the partitions, never both.
//!
//! Invariant: a subscription is checked at once and takes effect in the next poll, as in Java's consumer. A
//! member that is never polled would block rebalances of its group, so brokers learn of it only then.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::Mutex;

use super::Consumer;
use super::assignor::Assignor;
use super::group::{Group, GroupSettings, Subscription};
use crate::consumer::partition_state::FetchState;
use crate::error::{Error, Kind, Result};
use crate::topic_partition::TopicPartition;

/// How the partitions are chosen; `SubscriptionType` in Java.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum SubscriptionType {
    #[default]
    None,
    UserAssigned,
    Subscribed,
}

/// How the partitions are chosen, and a subscription that the group does not know yet.
#[derive(Debug, Default)]
pub(super) struct ConsumerSubscription {
    subscription_type: Mutex<SubscriptionType>,
    /// The subscription for the next poll. Locked while the group is updated, so that updates cannot
    /// overlap.
    pending: Mutex<Option<Subscription>>,
    /// The application's assignors, instead of `partition.assignment.strategy`.
    pub(super) assignors: Vec<Arc<dyn Assignor>>,
}

impl ConsumerSubscription {
    /// Whether the application has neither subscribed nor assigned partitions.
    pub(super) fn is_unset(&self) -> bool {
        *self.subscription_type.lock() == SubscriptionType::None
    }

    /// Whether the application has assigned the partitions: a membership that ends must not change them.
    pub(super) fn is_user_assigned(&self) -> bool {
        *self.subscription_type.lock() == SubscriptionType::UserAssigned
    }
}

impl Consumer {
    fn set_type(&self, wanted: SubscriptionType) -> Result<()> {
        self.check_open()?;
        let mut current = self.subscription.subscription_type.lock();
        if *current != SubscriptionType::None && *current != wanted {
            let message = match *current {
                SubscriptionType::UserAssigned => {
                    "partitions are assigned manually: call unsubscribe() before subscribing"
                }
                _ => "topics are subscribed: call unsubscribe() before assigning partitions",
            };
            return Err(Error::new(Kind::State, message));
        }
        *current = wanted;
        self.shared.subscribed.store(wanted == SubscriptionType::Subscribed, Ordering::Release);
        Ok(())
    }

    fn group_settings(&self) -> Result<GroupSettings> {
        let settings = GroupSettings::try_from(self.client().config())?;
        let member_id = self.shared.own_member_id().cloned();
        GroupSettings { member_id, ..settings }.with_assignors(&self.subscription.assignors)
    }

    /// Subscribes as a member of the group, from the next poll on; replaces an earlier subscription.
    pub fn subscribe(&self, subscription: Subscription) -> Result<()> {
        self.group_settings()?.check(&subscription)?;
        self.set_type(SubscriptionType::Subscribed)?;
        *self.subscription.pending.lock() = Some(subscription);
        // Wake a poll in progress.
        self.shared.poll_wakeup.notify_waiters();
        Ok(())
    }

    /// Passes a new subscription to the group. Call it on a runtime.
    pub(super) fn join(&self) -> Result<()> {
        let mut pending = self.subscription.pending.lock();
        let Some(subscription) = pending.take() else { return Ok(()) };
        let group = match self.shared.group.get() {
            Some(group) => group,
            None => {
                let settings = self.group_settings()?;
                self.shared.group.get_or_init(|| Group::start(self.client().clone(), settings))
            }
        };
        group.subscribe(subscription)?;
        self.start();
        Ok(())
    }

    /// Assigns exactly these partitions, without a group. Partitions that were assigned before keep their
    /// position.
    pub fn assign(&self, partitions: Vec<TopicPartition>) -> Result<()> {
        self.set_type(SubscriptionType::UserAssigned)?;
        self.shared.subscriptions.lock().replace(partitions, self.initial_state());
        self.start();
        Ok(())
    }

    /// Unsubscribes from topics, or unassigns partitions. A group member gives up its partitions through
    /// rebalance events of the next polls.
    pub fn unsubscribe(&self) -> Result<()> {
        self.check_open()?;
        let previous = std::mem::take(&mut *self.subscription.subscription_type.lock());
        let mut pending = self.subscription.pending.lock();
        *pending = None;
        match (previous, self.shared.group.get()) {
            (SubscriptionType::Subscribed, Some(group)) => group.unsubscribe(),
            _ => self.shared.subscriptions.lock().replace(Vec::new(), FetchState::AwaitReset),
        }
        Ok(())
    }

    /// The state of newly assigned partitions.
    pub(super) fn initial_state(&self) -> FetchState {
        if self.shared.group_id.is_some() { FetchState::AwaitCommitted } else { FetchState::AwaitReset }
    }
}
