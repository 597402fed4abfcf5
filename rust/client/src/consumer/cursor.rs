//! How far a scan has come in one of its ranges, and whom to ask for the rest.

use tokio::time::Instant;

use super::scan::Range;
use crate::list_offsets::TopicPartition;
use crate::metadata::Snapshot;

/// A range that is not read to its end.
#[derive(Debug)]
pub(super) struct Cursor {
    pub(super) partition: TopicPartition,
    pub(super) offset: i64,
    pub(super) end: i64,
    /// How often in a row what came was damaged.
    pub(super) corrupt: u32,
    /// A replica that is nearer than the leader, and until when to read from it (KIP-392).
    pub(super) nearer: Option<(i32, Instant)>,
}

impl Cursor {
    pub(super) fn new(range: Range) -> Self {
        Self { partition: range.partition, offset: range.start, end: range.end, corrupt: 0, nearer: None }
    }

    /// The broker to ask: the nearer replica while it is known and its time is not over, else the
    /// leader if there is one.
    pub(super) fn broker(&self, snapshot: &Snapshot, now: Instant) -> Option<i32> {
        let (topic, partition) = &self.partition;
        let leader = snapshot.leader(topic, *partition)?.id;
        let nearer = self.nearer.filter(|(id, until)| *until > now && snapshot.brokers.contains_key(id));
        Some(nearer.map_or(leader, |(id, _)| id))
    }

    /// Goes back to the leader; says whether `broker` was not the leader.
    pub(super) fn back_to_leader(&mut self, broker: i32) -> bool {
        self.nearer.take().is_some_and(|(id, _)| id == broker)
    }
}
