//! Fetches the topics, and the leaders and replicas of their partitions.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::metadata::{
    MetadataRequest, MetadataRequestTopic, MetadataResponse, MetadataResponseTopic,
};
use ottla_protocol::wire::Uuid;

use super::ProbeContext;
use super::check::Check;
use super::facts::TopicFacts;
use super::progress::Subject;
use super::steps::{of_error, step};
use crate::cluster::bootstrap::request_metadata;
use crate::connection::Connection;

/// Partitions and brokers that are listed at most; the others are only counted.
const MAX_LISTED: usize = 20;

/// A partition that a broker leads.
#[derive(Debug, Clone)]
pub(super) struct LedPartition {
    pub(super) topic: Arc<str>,
    pub(super) topic_id: Uuid,
    pub(super) partition: i32,
}

/// The facts of the topics, by leader and by replica.
#[derive(Debug)]
pub(super) struct FetchedTopics {
    pub(super) facts: TopicFacts,
    /// By broker, the partitions that it leads: internal topics last, otherwise by name.
    pub(super) leaders: HashMap<i32, Vec<LedPartition>>,
    /// By broker, the number of replicas that it hosts.
    pub(super) replicas: BTreeMap<i32, usize>,
}

/// Fetches one topic, or all topics, from a broker.
pub(super) async fn fetch(
    probe: &ProbeContext,
    connection: &Connection,
    name: Option<&str>,
) -> FetchedTopics {
    let topics =
        name.map(|name| vec![MetadataRequestTopic { name: Some(name.to_owned()), ..Default::default() }]);
    let request = MetadataRequest { topics, allow_auto_topic_creation: false, ..Default::default() };
    let (checked, response) = step(probe, &Subject::topics(name), Check::Metadata, async {
        let failed = |error| of_error(&error, connection.close_reason().is_some());
        request_metadata(connection, &request).await.map_err(failed)
    })
    .await;
    let mut facts = TopicFacts {
        step: checked,
        name: name.map(str::to_owned),
        error: None,
        topics: 0,
        partitions: 0,
        leaderless: Vec::new(),
        leaderless_count: 0,
        under_replicated: 0,
        missing_brokers: Vec::new(),
    };
    let mut leaders: HashMap<i32, Vec<LedPartition>> = HashMap::new();
    let mut replicas = BTreeMap::new();
    let MetadataResponse { brokers, mut topics, .. } = response.unwrap_or_default();
    topics.sort_by(|a, b| (a.is_internal, &a.name).cmp(&(b.is_internal, &b.name)));
    for topic in &topics {
        count(topic, &mut facts, &mut leaders);
        for id in topic.partitions.iter().flat_map(|partition| &partition.replica_nodes) {
            *replicas.entry(*id).or_default() += 1;
        }
    }
    // The metadata lists live brokers only; replica lists contain all brokers.
    let alive: BTreeSet<i32> = brokers.iter().map(|broker| broker.node_id).collect();
    let missing = replicas.iter().filter(|(id, _)| !alive.contains(id)).take(MAX_LISTED);
    facts.missing_brokers = missing.map(|(id, count)| (*id, *count)).collect();
    FetchedTopics { facts, leaders, replicas }
}

fn count(
    topic: &MetadataResponseTopic,
    facts: &mut TopicFacts,
    leaders: &mut HashMap<i32, Vec<LedPartition>>,
) {
    let name: Arc<str> = topic.name.clone().unwrap_or_default().into();
    match ErrorCode::from(topic.error_code) {
        ErrorCode::None => facts.topics += 1,
        code if facts.name.is_some() => facts.error = Some(code),
        // Among all topics, one may be in deletion, which is no problem for the client.
        _ => return,
    }
    for partition in &topic.partitions {
        facts.partitions += 1;
        facts.under_replicated += usize::from(partition.isr_nodes.len() < partition.replica_nodes.len());
        if partition.leader_id < 0 {
            facts.leaderless_count += 1;
            if facts.leaderless.len() < MAX_LISTED {
                facts.leaderless.push((name.to_string(), partition.partition_index));
            }
            continue;
        }
        let led = LedPartition {
            topic: Arc::clone(&name),
            topic_id: topic.topic_id,
            partition: partition.partition_index,
        };
        leaders.entry(partition.leader_id).or_default().push(led);
    }
}
