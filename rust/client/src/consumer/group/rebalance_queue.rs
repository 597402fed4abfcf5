//! What the application's thread has to do for the group, one thing at a time, and the desk on which
//! it lies.
//!
//! Invariants: changes are done in the order in which they were put down; the first one stays the
//! same from when it was taken until it is acknowledged, whatever happens meanwhile; what was not
//! taken yet may be withdrawn.

use std::collections::VecDeque;

use crate::error::Error;
use crate::topic_partition::TopicPartition;

/// What the application's thread must do; each is acknowledged before the next one comes.
#[derive(Debug, Clone)]
pub enum Change {
    /// Give these up: commit what was processed, call back. They are its own until that is
    /// acknowledged.
    Revoke(Vec<TopicPartition>),
    /// The outcome of a rebalance.
    Assign {
        /// What has come; may be empty.
        added: Vec<TopicPartition>,
        /// All that the member has from now on.
        all: Vec<TopicPartition>,
    },
    /// These are gone already, and others may read them: a commit would be refused.
    Lost(Vec<TopicPartition>),
    /// The member is not in the group, and does not come back by itself.
    Failed(Error),
}

/// The changes that the application has not done yet.
#[derive(Debug, Default)]
pub struct Desk {
    changes: VecDeque<Change>,
    /// Whether the application has the first one in hand.
    taken: bool,
}

impl Desk {
    pub(super) fn put(&mut self, change: Change) {
        self.changes.push_back(change);
    }

    /// Whether the application has done everything.
    pub(super) fn is_clear(&self) -> bool {
        self.changes.is_empty()
    }

    /// The first change, for the application to do.
    pub fn take(&mut self) -> Option<Change> {
        let first = self.changes.front().cloned();
        self.taken = first.is_some();
        first
    }

    /// The first change has been done; `None` if nobody has taken one.
    pub(super) fn done(&mut self) -> Option<Change> {
        std::mem::take(&mut self.taken).then(|| self.changes.pop_front()).flatten()
    }

    /// Takes back what the application has not seen yet.
    pub(super) fn withdraw(&mut self) {
        self.changes.truncate(usize::from(self.taken));
    }
}
