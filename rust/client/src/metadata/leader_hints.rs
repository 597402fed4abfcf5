//! The leaders that brokers name in responses to requests that they refused (KIP-951).
//!
//! Invariant: a leader counts only if the broker refused the request for lack of it. A leader of an epoch that
//! is known is ignored.

use std::sync::Arc;

use ottla_protocol::ErrorCode;

use super::cache::Cache;
use super::snapshot::{NewLeader, brokers};
use crate::error::recovery::{Recovery, recovery};

/// The hints of one response.
#[derive(Debug, Default)]
pub(crate) struct LeaderHints {
    leaders: Vec<NewLeader>,
    /// The partitions whose leader has moved, named or not.
    moved: usize,
}

impl LeaderHints {
    /// Adds what the response says about a partition: its error, and the id and epoch of its leader, -1 if it
    /// names none.
    pub(crate) fn add(&mut self, topic: &Arc<str>, partition: i32, code: ErrorCode, leader: (i32, i32)) {
        if recovery(code) != Recovery::Refresh {
            return;
        }
        self.moved += 1;
        let (leader, leader_epoch) = leader;
        // The first leader has epoch 0, and none has moved there. Some messages have zeros by default.
        if leader >= 0 && leader_epoch > 0 {
            self.leaders.push(NewLeader { topic: Arc::clone(topic), partition, leader, leader_epoch });
        }
    }

    /// Merges the leaders into the metadata. Returns whether that does not have all leaders that have moved.
    pub(crate) fn apply(
        self,
        metadata: &Cache,
        endpoints: impl IntoIterator<Item = (i32, String, i32, Option<String>)>,
    ) -> bool {
        metadata.process_leaders(&self.leaders, &brokers(endpoints)) < self.moved
    }
}
