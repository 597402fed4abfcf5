//! Snapshots of brokers, topics, logs and groups that [`crate::MockCluster`] returns.

use std::net::SocketAddr;

use ottla_protocol::otlp::{Data, KeyValue, MetricsData};
use ottla_protocol::records::Compression;
use ottla_protocol::wire::Uuid;

use crate::log::StoredBatch;

/// A push of a client's metrics (KIP-714).
#[derive(Debug, Clone, PartialEq)]
pub struct PushedMetrics {
    /// The client's instance.
    pub client_instance_id: Uuid,
    /// Its `client.id`.
    pub client_id: String,
    /// The id of the broker that has taken it.
    pub broker: i32,
    /// Whether it is the client's last push.
    pub terminating: bool,
    /// The codec of its bytes.
    pub compression: Compression,
    /// The metrics.
    pub data: MetricsData,
}

impl PushedMetrics {
    /// The values of all metrics: name, attributes and number.
    pub fn values(&self) -> impl Iterator<Item = (&str, Vec<(&str, &str)>, f64)> {
        let scopes = self.data.resource_metrics.iter().flat_map(|resource| &resource.scope_metrics);
        scopes.flat_map(|scope| &scope.metrics).flat_map(|metric| {
            let points = match &metric.data {
                Some(Data::Gauge(gauge)) => gauge.data_points.as_slice(),
                Some(Data::Sum(sum)) => sum.data_points.as_slice(),
                None => &[],
            };
            points.iter().filter_map(|point| {
                Some((metric.name.as_str(), texts(&point.attributes), point.value?.as_f64()))
            })
        })
    }

    /// The attributes of the client.
    #[must_use]
    pub fn attributes(&self) -> Vec<(&str, &str)> {
        let resources = self.data.resource_metrics.iter().filter_map(|each| each.resource.as_ref());
        resources.flat_map(|resource| texts(&resource.attributes)).collect()
    }
}

fn texts(attributes: &[KeyValue]) -> Vec<(&str, &str)> {
    attributes.iter().filter_map(|each| Some((each.key.as_str(), each.text()?))).collect()
}

/// The state of a broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerInfo {
    /// Its id.
    pub id: i32,
    /// The address at which it listens, or will once it is started again.
    pub address: SocketAddr,
    /// Its rack.
    pub rack: Option<String>,
    /// Whether it is running and not fenced.
    pub alive: bool,
}

/// The state of a topic.
#[derive(Debug, Clone)]
pub struct TopicInfo {
    /// Its id.
    pub id: Uuid,
    /// Its partitions, by index.
    pub partitions: Vec<PartitionInfo>,
}

/// The state of a partition.
#[derive(Debug, Clone)]
pub struct PartitionInfo {
    /// The broker id of the leader, if there is one.
    pub leader: Option<i32>,
    /// The leader epoch.
    pub leader_epoch: i32,
    /// The broker ids of the replicas.
    pub replicas: Vec<i32>,
    /// The broker ids of the in-sync replicas.
    pub isr: Vec<i32>,
}

/// A reassignment of replicas that is in progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReassignmentInfo {
    /// The broker ids of the replicas that it adds.
    pub adding: Vec<i32>,
    /// The broker ids of the replicas that it removes.
    pub removing: Vec<i32>,
}

/// The content of a partition's log.
#[derive(Debug, Clone)]
pub struct LogInfo {
    /// The log start offset.
    pub start_offset: i64,
    /// The offset after the last record.
    pub high_watermark: i64,
    /// The first offset of the oldest open transaction, or the high watermark.
    pub last_stable_offset: i64,
    /// The batches, in order.
    pub batches: Vec<StoredBatch>,
}

/// The state of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupInfo {
    /// Its state, by Kafka's name: `Empty`, `PreparingRebalance`, `Stable`, ….
    pub state: String,
    /// `classic`, or `consumer` for KIP-848.
    pub kind: String,
    /// The protocol type, usually `consumer`.
    pub protocol_type: String,
    /// The name of the assignor in use.
    pub protocol: Option<String>,
    /// The generation, or the group epoch.
    pub generation: i32,
    /// The id of the leader, in a classic group.
    pub leader: Option<String>,
    /// Its members.
    pub members: Vec<MemberInfo>,
}

/// The state of a member of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberInfo {
    /// Its id.
    pub id: String,
    /// Its `group.instance.id`.
    pub instance_id: Option<String>,
    /// Its `client.id`.
    pub client_id: String,
    /// The generation, or the member epoch.
    pub epoch: i32,
    /// Its assigned partitions, as topic and index.
    pub assignment: Vec<(String, i32)>,
}

/// The state of a transactional id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionInfo {
    /// The transactional id.
    pub transactional_id: String,
    /// Its state, by Kafka's name: `Empty`, `Ongoing`, `CompleteCommit`, ….
    pub state: String,
    /// The producer id.
    pub producer_id: i64,
    /// The producer epoch.
    pub producer_epoch: i16,
    /// The partitions of the open transaction, as topic and index.
    pub partitions: Vec<(String, i32)>,
    /// The groups whose offsets the open transaction commits.
    pub groups: Vec<String>,
}
