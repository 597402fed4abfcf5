//! Who chooses a consumer's partitions: its group, or the application.
//!
//! Invariant: a subscription is checked when it is made and takes effect with the next poll, as in
//! Java's consumer. A member that nobody polls would keep the others of its group waiting, so until
//! then no broker hears of it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::Mutex;

use super::Consumer;
use super::assignor::Assignor;
use super::group::{Group, GroupSettings, Subscription};
use crate::consumer::partition_state::Phase;
use crate::error::{Error, Kind, Result};
use crate::topic_partition::TopicPartition;

/// Who chooses the partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Mode {
    #[default]
    Idle,
    Assigned,
    Subscribed,
}

/// Who chooses the partitions, and what the group is yet to hear.
#[derive(Debug, Default)]
pub(super) struct Choice {
    mode: Mutex<Mode>,
    /// What the next poll subscribes to. Locked while the group is told anything, so that nothing
    /// comes in between.
    wanted: Mutex<Option<Subscription>>,
    /// The application's own, instead of `partition.assignment.strategy`.
    pub(super) assignors: Vec<Arc<dyn Assignor>>,
}

impl Choice {
    /// Whether nothing was subscribed to or assigned.
    pub(super) fn is_nobodys(&self) -> bool {
        *self.mode.lock() == Mode::Idle
    }
}

impl Consumer {
    fn enter(&self, mode: Mode) -> Result<()> {
        self.check_open()?;
        let mut now = self.choice.mode.lock();
        if *now != Mode::Idle && *now != mode {
            let words = match *now {
                Mode::Assigned => "partitions were assigned by hand: unsubscribe first to subscribe",
                _ => "topics are subscribed to: unsubscribe first to assign partitions by hand",
            };
            return Err(Error::new(Kind::State, words));
        }
        *now = mode;
        self.shared.subscribed.store(mode == Mode::Subscribed, Ordering::Release);
        Ok(())
    }

    fn group_settings(&self) -> Result<GroupSettings> {
        GroupSettings::try_from(self.client().config())?.with_assignors(&self.choice.assignors)
    }

    /// Reads the topics as a member of the group, from the next poll on; replaces an earlier
    /// subscription.
    pub fn subscribe(&self, subscription: Subscription) -> Result<()> {
        self.group_settings()?.check(&subscription)?;
        self.enter(Mode::Subscribed)?;
        *self.choice.wanted.lock() = Some(subscription);
        // A poll that waits takes it up.
        self.shared.ready.notify_waiters();
        Ok(())
    }

    /// Tells the group what was subscribed to since the last poll, in the runtime that this is called
    /// in.
    pub(super) fn join(&self) -> Result<()> {
        let mut wanted = self.choice.wanted.lock();
        let Some(subscription) = wanted.take() else { return Ok(()) };
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

    /// Reads exactly these partitions, without a group's doing. Those that were assigned before stay
    /// where they are.
    pub fn assign(&self, partitions: Vec<TopicPartition>) -> Result<()> {
        self.enter(Mode::Assigned)?;
        self.shared.assignment.lock().replace(partitions, self.first_phase());
        self.start();
        Ok(())
    }

    /// Gives up partitions and membership. A group's partitions are given up by the changes that the
    /// next polls bring.
    pub fn unsubscribe(&self) -> Result<()> {
        self.check_open()?;
        let mode = std::mem::take(&mut *self.choice.mode.lock());
        let mut wanted = self.choice.wanted.lock();
        *wanted = None;
        match (mode, self.shared.group.get()) {
            (Mode::Subscribed, Some(group)) => group.unsubscribe(),
            _ => self.shared.assignment.lock().replace(Vec::new(), Phase::Policy),
        }
        Ok(())
    }

    /// How partitions without a position find one.
    pub(super) fn first_phase(&self) -> Phase {
        if self.shared.group_id.is_some() { Phase::Committed } else { Phase::Policy }
    }
}
