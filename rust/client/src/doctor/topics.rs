//! Which topics there are, and who leads their partitions.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::metadata::{
    MetadataRequest, MetadataRequestTopic, MetadataResponse, MetadataResponseTopic,
};
use ottla_protocol::wire::Uuid;

use super::Probe;
use super::check::Check;
use super::facts::TopicFacts;
use super::steps::{of_error, step};
use crate::cluster::bootstrap::request_metadata;
use crate::connection::Connection;

/// Partitions without leader that are named; the others are counted.
const NAMED: usize = 20;

/// A partition that a broker leads.
#[derive(Debug, Clone)]
pub(super) struct Led {
    pub(super) topic: Arc<str>,
    pub(super) topic_id: Uuid,
    pub(super) partition: i32,
}

/// What was found out about the topics.
#[derive(Debug)]
pub(super) struct LookedUp {
    pub(super) facts: TopicFacts,
    /// By broker, what it leads: users' topics first, in the order of their names.
    pub(super) leaders: HashMap<i32, Vec<Led>>,
    /// By broker, how many replicas it holds.
    pub(super) replicas: BTreeMap<i32, usize>,
}

/// Asks one broker for a topic, or for all.
pub(super) async fn look_up(probe: &Probe, connection: &Connection, name: Option<&str>) -> LookedUp {
    let wanted =
        name.map(|name| vec![MetadataRequestTopic { name: Some(name.to_owned()), ..Default::default() }]);
    let request = MetadataRequest { topics: wanted, allow_auto_topic_creation: false, ..Default::default() };
    let (looked, response) = step(probe, Check::Metadata, async {
        let ended = |error| of_error(&error, connection.close_reason().is_some());
        request_metadata(connection, &request).await.map_err(ended)
    })
    .await;
    let mut facts = TopicFacts {
        step: looked,
        name: name.map(str::to_owned),
        error: None,
        topics: 0,
        partitions: 0,
        leaderless: Vec::new(),
        leaderless_count: 0,
        under_replicated: 0,
        missing_brokers: Vec::new(),
    };
    let mut leaders: HashMap<i32, Vec<Led>> = HashMap::new();
    let mut replicas = BTreeMap::new();
    let MetadataResponse { brokers, mut topics, .. } = response.unwrap_or_default();
    topics.sort_by(|a, b| (a.is_internal, &a.name).cmp(&(b.is_internal, &b.name)));
    for topic in &topics {
        count(topic, &mut facts, &mut leaders);
        for id in topic.partitions.iter().flat_map(|partition| &partition.replica_nodes) {
            *replicas.entry(*id).or_default() += 1;
        }
    }
    // Metadata names the brokers that are alive; replica lists name all.
    let alive: BTreeSet<i32> = brokers.iter().map(|broker| broker.node_id).collect();
    let missing = replicas.iter().filter(|(id, _)| !alive.contains(id)).take(NAMED);
    facts.missing_brokers = missing.map(|(id, count)| (*id, *count)).collect();
    LookedUp { facts, leaders, replicas }
}

fn count(topic: &MetadataResponseTopic, facts: &mut TopicFacts, leaders: &mut HashMap<i32, Vec<Led>>) {
    let name: Arc<str> = topic.name.clone().unwrap_or_default().into();
    match ErrorCode::from(topic.error_code) {
        ErrorCode::None => facts.topics += 1,
        code if facts.name.is_some() => facts.error = Some(code),
        // Of all topics, one that is being deleted is no problem of the client's.
        _ => return,
    }
    for partition in &topic.partitions {
        facts.partitions += 1;
        facts.under_replicated += usize::from(partition.isr_nodes.len() < partition.replica_nodes.len());
        if partition.leader_id < 0 {
            facts.leaderless_count += 1;
            if facts.leaderless.len() < NAMED {
                facts.leaderless.push((name.to_string(), partition.partition_index));
            }
            continue;
        }
        let led =
            Led { topic: Arc::clone(&name), topic_id: topic.topic_id, partition: partition.partition_index };
        leaders.entry(partition.leader_id).or_default().push(led);
    }
}
