//! The progress of a scan within one range, and the broker to read it from.

use ottla_protocol::ErrorCode;
use ottla_protocol::wire::Uuid;
use tokio::time::Instant;

use crate::consumer::scan::Range;
use crate::error::{Error, Kind, Result};
use crate::metadata::Snapshot;
use crate::topic_partition::TopicPartition;

/// A range that is not read to its end yet.
#[derive(Debug)]
pub(crate) struct Cursor {
    pub(crate) partition: TopicPartition,
    /// The id of the topic; zero if it is unknown or the topic has none.
    topic_id: Uuid,
    /// Whether a broker has served a fetch with this id. Before that the id comes from this client's
    /// metadata, which may be older than the range.
    is_confirmed: bool,
    pub(crate) offset: i64,
    pub(crate) end: i64,
    /// Consecutive fetches with corrupt records.
    pub(crate) corrupt: u32,
    /// The preferred read replica and when to return to the leader (KIP-392).
    pub(crate) preferred_replica: Option<(i32, Instant)>,
}

impl Cursor {
    pub(crate) fn new(range: Range) -> Self {
        Self {
            partition: range.partition,
            topic_id: Uuid::ZERO,
            is_confirmed: false,
            offset: range.start,
            end: range.end,
            corrupt: 0,
            preferred_replica: None,
        }
    }

    /// Whether the topic of this name is still the one read so far, rather than a recreated one.
    pub(crate) fn is_same_topic(&mut self, snapshot: &Snapshot) -> bool {
        let Some(topic) = snapshot.topic(&self.partition.0).filter(|topic| !topic.id.is_zero()) else {
            return true;
        };
        if !self.is_confirmed {
            self.topic_id = topic.id;
        }
        self.topic_id == topic.id
    }

    /// Records that a broker has served a fetch of the topic.
    pub(crate) fn confirm(&mut self) {
        self.is_confirmed = true;
    }

    /// Continues at the start of the topic that has the name now.
    pub(crate) fn restart_in_new_topic(&mut self, snapshot: &Snapshot) {
        self.is_confirmed = false;
        (self.offset, self.corrupt, self.preferred_replica) = (0, 0, None);
        // Adopts the id that the next fetch uses.
        self.is_same_topic(snapshot);
    }

    /// The broker to read from: the preferred read replica while it is valid, else the leader if there is
    /// one.
    pub(crate) fn broker(&self, snapshot: &Snapshot, now: Instant) -> Option<i32> {
        let (topic, partition) = &self.partition;
        let leader = snapshot.leader(topic, *partition)?.id;
        let preferred_replica =
            self.preferred_replica.filter(|(id, until)| *until > now && snapshot.brokers.contains_key(id));
        Some(preferred_replica.map_or(leader, |(id, _)| id))
    }

    /// Switches to the preferred read replica if the metadata knows it. Otherwise the metadata needs a
    /// refresh: the leader would name the replica again at once.
    pub(crate) fn use_preferred_replica(
        &mut self,
        replica: i32,
        until: Instant,
        snapshot: &Snapshot,
    ) -> Result<()> {
        if snapshot.brokers.contains_key(&replica) {
            self.preferred_replica = Some((replica, until));
            return Ok(());
        }
        self.preferred_replica = None;
        let message = "the leader names a preferred read replica that the metadata does not know yet";
        let error = Error::with_code(ErrorCode::ReplicaNotAvailable, message);
        Err(error.at(&self.partition.0, self.partition.1).broker(replica))
    }

    /// Returns to the leader. Returns whether `broker` was a follower.
    pub(crate) fn back_to_leader(&mut self, broker: i32) -> bool {
        self.preferred_replica.take().is_some_and(|(id, _)| id == broker)
    }

    /// The error for a replica whose log ends before the offset; a retry may succeed.
    pub(crate) fn lagging_error(&self) -> Error {
        let message = format!("the broker's log does not reach offset {} yet", self.offset);
        Error::new(Kind::Timeout, message).at(&self.partition.0, self.partition.1)
    }
}
