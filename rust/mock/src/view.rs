//! What a test sees of a cluster: copies, taken at one moment.

use std::net::SocketAddr;

use ottla_protocol::wire::Uuid;

use crate::log::StoredBatch;

/// A broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerInfo {
    /// Its id.
    pub id: i32,
    /// Where it listens, or will when it is started again.
    pub address: SocketAddr,
    /// Its rack.
    pub rack: Option<String>,
    /// Whether it runs.
    pub alive: bool,
}

/// A topic.
#[derive(Debug, Clone)]
pub struct TopicInfo {
    /// Its id.
    pub id: Uuid,
    /// Its partitions, by index.
    pub partitions: Vec<PartitionInfo>,
}

/// A partition.
#[derive(Debug, Clone)]
pub struct PartitionInfo {
    /// Its leader; `None` if it has none.
    pub leader: Option<i32>,
    /// The leader's epoch.
    pub leader_epoch: i32,
    /// Its replicas.
    pub replicas: Vec<i32>,
    /// Those in sync.
    pub isr: Vec<i32>,
}

/// What a partition's log holds.
#[derive(Debug, Clone)]
pub struct LogView {
    /// The first offset that can be read.
    pub start_offset: i64,
    /// The offset after the last record.
    pub high_watermark: i64,
    /// Where the oldest open transaction begins, or the end.
    pub last_stable_offset: i64,
    /// The batches, in order.
    pub batches: Vec<StoredBatch>,
}

/// A group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupInfo {
    /// Its state, by Kafka's name: `Empty`, `PreparingRebalance`, `Stable`, ….
    pub state: String,
    /// `classic`, or `consumer` for KIP-848.
    pub kind: String,
    /// What its members are, as a rule `consumer`.
    pub protocol_type: String,
    /// The assignor.
    pub protocol: Option<String>,
    /// The generation, or the group's epoch.
    pub generation: i32,
    /// The member that assigns, in a classic group.
    pub leader: Option<String>,
    /// Its members.
    pub members: Vec<MemberInfo>,
}

/// A member of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberInfo {
    /// Its id.
    pub id: String,
    /// Its `group.instance.id`.
    pub instance_id: Option<String>,
    /// Its client's name.
    pub client_id: String,
    /// The generation, or the member's epoch.
    pub epoch: i32,
    /// The partitions that it was given.
    pub assignment: Vec<(String, i32)>,
}
