//! Detects partitions of a scan whose topics were deleted.
//!
//! Invariant: a partition counts as deleted only after no broker has known it for a grace period: it may be
//! new, or unknown to one broker only.

use std::collections::{HashMap, VecDeque};

use ottla_protocol::ErrorCode;
use tokio::time::{Duration, Instant};

use super::cursor::Cursor;
use crate::consumer::scan::FOLLOW;
use crate::metadata::Snapshot;
use crate::metadata::no_leader::no_leader;
use crate::topic_partition::TopicPartition;

/// The longest grace period: a new topic takes a moment to be known to all brokers.
const MAX_GRACE: Duration = Duration::from_secs(5);

pub(crate) struct DeletedTopics {
    grace: Duration,
    unknown_since: HashMap<TopicPartition, Instant>,
}

impl DeletedTopics {
    /// For a scan that fails after `timeout` without progress.
    pub(crate) fn new(timeout: Duration) -> Self {
        Self { grace: MAX_GRACE.min(timeout / 2), unknown_since: HashMap::new() }
    }

    /// How long a partition is unknown before it counts as deleted.
    pub(crate) fn grace(&self) -> Duration {
        self.grace
    }

    /// Records the partitions that the metadata does not know although it was refreshed at `since`.
    pub(crate) fn record_unknown<'a>(
        &mut self,
        snapshot: &Snapshot,
        cursors: impl IntoIterator<Item = &'a Cursor>,
        since: Instant,
    ) {
        let unknown = cursors.into_iter().filter(|cursor| is_unknown(snapshot, cursor));
        self.unknown_since.extend(unknown.map(|cursor| (cursor.partition.clone(), since)));
    }

    /// Removes the cursors of deleted partitions. With [`FOLLOW`], the topic may come back.
    pub(crate) fn remove_deleted(
        &mut self,
        snapshot: &Snapshot,
        cursors: &mut VecDeque<Cursor>,
    ) -> Vec<Cursor> {
        let now = Instant::now();
        let mut deleted = Vec::new();
        let mut left = VecDeque::new();
        for cursor in cursors.drain(..) {
            if cursor.end == FOLLOW || !is_unknown(snapshot, &cursor) {
                self.unknown_since.remove(&cursor.partition);
                left.push_back(cursor);
                continue;
            }
            let since = *self.unknown_since.entry(cursor.partition.clone()).or_insert(now);
            if now.duration_since(since) < self.grace {
                left.push_back(cursor);
            } else {
                deleted.push(cursor);
            }
        }
        *cursors = left;
        deleted
    }
}

fn is_unknown(snapshot: &Snapshot, cursor: &Cursor) -> bool {
    let (topic, partition) = &cursor.partition;
    no_leader(snapshot, topic, *partition).code() == Some(ErrorCode::UnknownTopicOrPartition)
}
