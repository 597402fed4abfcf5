//! Membership in a consumer group.
//!
//! - `classic`, `consumer_protocol`, `share_protocol`: the state machine of a member of each kind, without I/O;
//!   `standalone`: that of a consumer without a group, which reads all partitions of its topics.
//! - `topic_names`: the names of topics that are assigned by id.
//! - `membership_manager`: their interface and shared parts; `timers`: the poll and backoff timers;
//!   `membership_error`: errors for the application.
//! - `rebalance_queue`: rebalance events for the application, in order.
//! - `driver`: the task that runs a member's actions; `send_to_coordinator`: one request; `group_state`:
//!   the state shared with the task; `contact`: whether a coordinator may know of the member.
//! - `waiting`, `release_watch`, `unreleased_partitions`: what a member waits for in other members, for the log.
//!
//! Invariant: heartbeats depend on the application only through `max.poll.interval.ms`.

pub mod classic;
pub mod consumer_protocol;
mod contact;
mod driver;
mod group_state;
mod membership_error;
mod membership_manager;
mod rebalance_queue;
mod release_watch;
mod send_to_coordinator;
mod settings;
pub mod share_protocol;
pub mod standalone;
mod subscription;
mod timers;
mod topic_names;
mod topics;
mod unreleased_partitions;
mod waiting;

use std::pin::pin;
use std::sync::{Arc, OnceLock};

use ottla_protocol::ErrorCode;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::{Duration, Instant, timeout};

pub use membership_manager::{
    Action, Core, GroupRequest, GroupResponse, LeaderAssignment, MembershipManager, SubscribedTopics,
};
pub use rebalance_queue::{RebalanceEvent, RebalanceQueue};
pub use settings::GroupSettings;
pub use subscription::Subscription;

use self::classic::{Assignors, ClassicMember};
use self::consumer_protocol::ConsumerMember;
use self::contact::Contact;
use self::driver::run;
use self::group_state::{GroupState, SubscriptionRequest};
use self::share_protocol::ShareMember;
use self::standalone::StandaloneMember;
pub(crate) use self::topic_names::TopicIdPartition;
use crate::cluster::Client;
use crate::config::GroupProtocol;
use crate::error::{Error, Kind, Result};
use crate::group_offsets::ConsumerGroupMetadata;
use crate::tasks::panics::catch;

/// A consumer's membership in its group. Dropping it does not leave the group; call [`Group::leave`] first.
#[derive(Debug)]
pub struct Group {
    shared: Arc<GroupState>,
    task: AbortHandle,
}

impl Drop for Group {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A poll of the application. The poll timer is stopped until it is dropped.
#[derive(Debug)]
pub struct PollScope<'a>(&'a Group);

impl Drop for PollScope<'_> {
    fn drop(&mut self) {
        self.0.shared.membership_manager.lock().core().poll_timer.exit(Instant::now());
    }
}

impl Group {
    /// Creates a member without a subscription and starts its task on the current runtime. Without a group id, its
    /// subscriptions concern no other consumer.
    #[must_use]
    pub fn start(client: Client, settings: GroupSettings) -> Self {
        let environment = client.inner.environment.clone();
        let membership_manager: Box<dyn MembershipManager> = match settings.protocol {
            _ if !settings.has_group() => Box::new(StandaloneMember::new(settings.clone(), environment)),
            GroupProtocol::Classic => {
                let is_cooperative = Assignors(settings.assignors.clone().into()).is_cooperative();
                Box::new(ClassicMember::new(settings.clone(), is_cooperative, environment))
            }
            GroupProtocol::Consumer => {
                Box::new(ConsumerMember::new(settings.clone(), environment, Instant::now()))
            }
        };
        Self::start_member(client, settings, membership_manager)
    }

    /// Creates a member of a share group without a subscription and starts its task on the current runtime.
    #[must_use]
    pub fn start_share(client: Client, settings: GroupSettings) -> Self {
        let member = ShareMember::new(settings.clone(), client.inner.environment.clone(), Instant::now());
        Self::start_member(client, settings, Box::new(member))
    }

    fn start_member(
        client: Client,
        settings: GroupSettings,
        membership_manager: Box<dyn MembershipManager>,
    ) -> Self {
        let assignors = Assignors(settings.assignors.clone().into());
        let shared = Arc::new(GroupState {
            client,
            settings,
            assignors,
            contact: Contact::default(),
            membership_manager: Mutex::new(membership_manager),
            requested: Mutex::new(SubscriptionRequest::default()),
            wake: Notify::new(),
            event_notify: Notify::new(),
            fatal_error: OnceLock::new(),
        });
        let state = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            if let Err(error) = catch("the task of a group's member", run(Arc::clone(&state))).await {
                let _ = state.fatal_error.set(error);
                state.event_notify.notify_waiters();
            }
        });
        Self { shared, task: task.abort_handle() }
    }

    /// Subscribes, or changes the subscription; the member joins or rejoins on its own.
    pub fn subscribe(&self, subscription: Subscription) -> Result<()> {
        self.shared.settings.check(&subscription)?;
        let now = Instant::now();
        let mut requested = self.shared.requested.lock();
        match &subscription {
            Subscription::Topics(names) => {
                let topics = SubscribedTopics { names: names.iter().cloned().collect(), regex: None };
                self.shared.membership_manager.lock().subscribe(now, topics);
            }
            Subscription::Regex(regex) => {
                let topics = SubscribedTopics { names: Default::default(), regex: Some(regex.clone()) };
                self.shared.membership_manager.lock().subscribe(now, topics);
            }
            // The driver passes the matching topics once it knows all topics.
            Subscription::Matching(_) => {}
        }
        requested.set(Some(subscription));
        self.shared.wake.notify_one();
        Ok(())
    }

    /// Gives up all partitions, as a [`RebalanceEvent`], and leaves once the application has completed it.
    pub fn unsubscribe(&self) {
        self.stop(|membership_manager, now| membership_manager.unsubscribe(now));
    }

    /// Leaves at once, and waits until the coordinator knows, if it may know of the member at all. A static member of
    /// a classic group sends nothing, as in Java: the group keeps its partitions for `session.timeout.ms`.
    pub async fn leave(&self, within: Duration) -> Result<()> {
        self.stop(|membership_manager, now| membership_manager.leave(now));
        if self.shared.contact.give_up() {
            return Ok(());
        }
        let is_idle = async {
            loop {
                let mut changed = pin!(self.shared.event_notify.notified());
                changed.as_mut().enable();
                if self.shared.fatal_error.get().is_some() || self.shared.membership_manager.lock().is_idle()
                {
                    return;
                }
                changed.await;
            }
        };
        let left = timeout(within, is_idle).await;
        if let Some(error) = self.shared.fatal_error.get() {
            return Err(error.clone());
        }
        left.map_err(|_| {
            let message = format!(
                "the coordinator of group {} did not confirm in time that this member leaves; it removes the member when its session expires",
                self.shared.settings.group_id
            );
            Error::new(Kind::Timeout, message)
        })
    }

    fn stop(&self, how: impl FnOnce(&mut dyn MembershipManager, Instant)) {
        // Under this lock, so that the driver cannot subscribe in between.
        let mut requested = self.shared.requested.lock();
        requested.set(None);
        how(&mut **self.shared.membership_manager.lock(), Instant::now());
        self.shared.wake.notify_one();
    }

    /// The next rebalance event; the same one until it is completed. Cancel-safe.
    pub async fn next_event(&self) -> RebalanceEvent {
        loop {
            self.wait_for_event().await;
            if let Some(event) = self.try_next_event() {
                return event;
            }
        }
    }

    /// Waits for a rebalance event without starting it. Until it is started, it may be withdrawn.
    pub async fn wait_for_event(&self) {
        loop {
            let mut changed = pin!(self.shared.event_notify.notified());
            changed.as_mut().enable();
            if self.shared.fatal_error.get().is_some()
                || !self.shared.membership_manager.lock().core().events.is_empty()
            {
                return;
            }
            changed.await;
        }
    }

    /// The next rebalance event, if there is one.
    #[must_use]
    pub fn try_next_event(&self) -> Option<RebalanceEvent> {
        let event = self.shared.membership_manager.lock().core().events.start_next();
        // The task has ended: every poll reports why.
        event.or_else(|| self.shared.fatal_error.get().cloned().map(RebalanceEvent::Failed))
    }

    /// Completes the event that was started: revoked partitions are given up, assigned ones are owned.
    pub fn complete_event(&self) {
        self.shared.membership_manager.lock().complete_event(Instant::now());
        self.shared.wake.notify_one();
    }

    /// The identity for commits.
    #[must_use]
    pub fn group_metadata(&self) -> ConsumerGroupMetadata {
        self.shared.membership_manager.lock().group_metadata()
    }

    /// Why the member left its group without being asked to, until it rejoins: the poll timeout.
    #[must_use]
    pub fn leave_reason(&self) -> Option<Arc<str>> {
        self.shared.membership_manager.lock().core().leave_reason.clone()
    }

    /// Enters a poll. The poll timer restarts when the result is dropped.
    pub fn enter_poll(&self) -> PollScope<'_> {
        let now = Instant::now();
        let mut membership_manager = self.shared.membership_manager.lock();
        membership_manager.core().poll_timer.enter();
        if membership_manager.on_poll(now) {
            self.shared.wake.notify_one();
        }
        PollScope(self)
    }

    /// Records a poll without waiting in it.
    pub fn record_poll(&self) {
        drop(self.enter_poll());
    }

    /// Handles the error code of another request, such as a commit, that was sent as `sent_as`. It is
    /// ignored if the identity has changed since.
    pub fn report_error(&self, sent_as: &ConsumerGroupMetadata, code: ErrorCode) {
        self.shared.membership_manager.lock().report_error(Instant::now(), sent_as, code);
        self.shared.wake.notify_one();
    }
}
