//! Partitions that a scan was to read and that are gone with their topic.
//!
//! Invariant: what was just made, or is not known to the broker that was asked, is not taken for
//! deleted: a partition is gone only when nobody has known it for a while.

use std::collections::{HashMap, VecDeque};

use ottla_protocol::ErrorCode;
use tokio::time::{Duration, Instant};

use super::cursor::Cursor;
use crate::consumer::scan::FOLLOW;
use crate::metadata::Snapshot;
use crate::metadata::no_leader::no_leader;
use crate::topic_partition::TopicPartition;

/// A topic that was made just now takes a moment to be known to all brokers.
const UNKNOWN_FOR: Duration = Duration::from_secs(5);

pub(crate) struct Deleted {
    grace: Duration,
    unknown_since: HashMap<TopicPartition, Instant>,
}

impl Deleted {
    /// For a scan that may make no progress for `timeout`.
    pub(crate) fn new(timeout: Duration) -> Self {
        Self { grace: UNKNOWN_FOR.min(timeout / 2), unknown_since: HashMap::new() }
    }

    /// How long a partition is unknown before it counts as gone.
    pub(crate) fn grace(&self) -> Duration {
        self.grace
    }

    /// Takes note of those that the metadata has not got although it was asked for them since then.
    pub(crate) fn missed<'a>(
        &mut self,
        snapshot: &Snapshot,
        cursors: impl IntoIterator<Item = &'a Cursor>,
        since: Instant,
    ) {
        let unknown = cursors.into_iter().filter(|cursor| is_unknown(snapshot, cursor));
        self.unknown_since.extend(unknown.map(|cursor| (cursor.partition.clone(), since)));
    }

    /// Takes the cursors out whose partitions are gone by now. A log that is followed may come back.
    pub(crate) fn take_out(&mut self, snapshot: &Snapshot, cursors: &mut VecDeque<Cursor>) -> Vec<Cursor> {
        let now = Instant::now();
        let mut gone = Vec::new();
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
                gone.push(cursor);
            }
        }
        *cursors = left;
        gone
    }
}

fn is_unknown(snapshot: &Snapshot, cursor: &Cursor) -> bool {
    let (topic, partition) = &cursor.partition;
    no_leader(snapshot, topic, *partition).code() == Some(ErrorCode::UnknownTopicOrPartition)
}
