//! How far a scan has come in one of its ranges, and whom to ask for the rest.

use ottla_protocol::ErrorCode;
use ottla_protocol::wire::Uuid;
use tokio::time::Instant;

use crate::consumer::scan::Range;
use crate::error::{Error, Kind, Result};
use crate::metadata::Snapshot;
use crate::topic_partition::TopicPartition;

/// A range that is not read to its end.
#[derive(Debug)]
pub(crate) struct Cursor {
    pub(crate) partition: TopicPartition,
    /// The id of the topic that is read; zero if it is not known or has none.
    topic_id: Uuid,
    /// Whether a broker has served a fetch of that id. Until then the id is only what this client's
    /// metadata says, which may be older than the range.
    is_confirmed: bool,
    pub(crate) offset: i64,
    pub(crate) end: i64,
    /// How often in a row what came was damaged.
    pub(crate) corrupt: u32,
    /// A replica that is nearer than the leader, and until when to read from it (KIP-392).
    pub(crate) nearer: Option<(i32, Instant)>,
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
            nearer: None,
        }
    }

    /// Whether the topic of this name is the one that has been read so far: one that was deleted and made
    /// anew is another.
    pub(crate) fn is_of(&mut self, snapshot: &Snapshot) -> bool {
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

    /// Goes on at the start of the topic that has the name now.
    pub(crate) fn begin_anew(&mut self, snapshot: &Snapshot) {
        self.is_confirmed = false;
        (self.offset, self.corrupt, self.nearer) = (0, 0, None);
        // Takes the id that the next fetch has.
        self.is_of(snapshot);
    }

    /// The broker to ask: the nearer replica while it is known and its time is not over, else the
    /// leader if there is one.
    pub(crate) fn broker(&self, snapshot: &Snapshot, now: Instant) -> Option<i32> {
        let (topic, partition) = &self.partition;
        let leader = snapshot.leader(topic, *partition)?.id;
        let nearer = self.nearer.filter(|(id, until)| *until > now && snapshot.brokers.contains_key(id));
        Some(nearer.map_or(leader, |(id, _)| id))
    }

    /// Goes to a replica that the leader names as nearer, if the metadata has got it. One that has just
    /// come back is to be found first: the leader, asked again at once, would say the same.
    pub(crate) fn go_nearer(&mut self, replica: i32, until: Instant, snapshot: &Snapshot) -> Result<()> {
        if snapshot.brokers.contains_key(&replica) {
            self.nearer = Some((replica, until));
            return Ok(());
        }
        self.nearer = None;
        let words = "the leader names a nearer replica that the metadata has not got yet";
        let error = Error::with_code(ErrorCode::ReplicaNotAvailable, words);
        Err(error.at(&self.partition.0, self.partition.1).broker(replica))
    }

    /// Goes back to the leader; says whether `broker` was not the leader.
    pub(crate) fn back_to_leader(&mut self, broker: i32) -> bool {
        self.nearer.take().is_some_and(|(id, _)| id == broker)
    }

    /// A broker has less of the log than others: it is asked again, or another one.
    pub(crate) fn fell_behind(&self) -> Error {
        let words = format!("the broker's log does not reach offset {} yet", self.offset);
        Error::new(Kind::Timeout, words).at(&self.partition.0, self.partition.1)
    }
}
