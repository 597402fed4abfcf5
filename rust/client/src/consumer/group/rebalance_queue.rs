//! Rebalance events for the application, handled one at a time.
//!
//! Invariants: events are handled in order. The first one does not change from its start to its completion.
//! Events that were not started may be withdrawn.

use std::collections::VecDeque;

use crate::error::Error;
use crate::topic_partition::TopicPartition;

/// A rebalance event for the application; the next one comes when it is completed.
#[derive(Debug, Clone)]
pub enum RebalanceEvent {
    /// Give up these partitions: commit processed records and call back. They stay owned until the event is
    /// completed.
    Revoke(Vec<TopicPartition>),
    /// The result of a rebalance.
    Assign {
        /// The new partitions; may be empty.
        added: Vec<TopicPartition>,
        /// All partitions of the member.
        all: Vec<TopicPartition>,
    },
    /// These partitions are lost, and others may read them: a commit would be rejected.
    Lost(Vec<TopicPartition>),
    /// The member is not in the group and does not rejoin by itself.
    Failed(Error),
}

/// The rebalance events that are not completed.
#[derive(Debug, Default)]
pub struct RebalanceQueue {
    events: VecDeque<RebalanceEvent>,
    /// Whether the application handles the first one.
    in_progress: bool,
}

impl RebalanceQueue {
    pub(super) fn push(&mut self, event: RebalanceEvent) {
        self.events.push_back(event);
    }

    /// Whether the application has completed all events.
    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Starts the first event.
    pub fn start_next(&mut self) -> Option<RebalanceEvent> {
        let first = self.events.front().cloned();
        self.in_progress = first.is_some();
        first
    }

    /// Completes the first event; `None` if it was not started.
    pub(super) fn complete(&mut self) -> Option<RebalanceEvent> {
        std::mem::take(&mut self.in_progress).then(|| self.events.pop_front()).flatten()
    }

    /// Withdraws events that were not started.
    pub(super) fn withdraw_pending(&mut self) {
        self.events.truncate(usize::from(self.in_progress));
    }

    /// Withdraws assignments that were not started, for a newer one.
    pub(super) fn withdraw_assignments(&mut self) {
        let mut is_started = self.in_progress;
        self.events.retain(|event| {
            std::mem::take(&mut is_started) || !matches!(event, RebalanceEvent::Assign { .. })
        });
    }
}
