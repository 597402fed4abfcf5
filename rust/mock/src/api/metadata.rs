//! Metadata (3), versions 0–13: brokers, controller, topics and leaders.
//!
//! An empty list (version 0) or null (from version 1) requests all topics; topics by id from version 12. An
//! unknown topic is created if both the client (from version 4) and the cluster allow it; as in KRaft, that
//! first response still reports it as unknown.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::metadata::{
    MetadataRequest, MetadataRequestTopic, MetadataResponse, MetadataResponseBroker,
    MetadataResponsePartition, MetadataResponseTopic,
};

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::fault::FaultTarget;
use crate::state::{ClusterState, NO_LEADER, NewTopic, Topic, TopicConfig, validate_topic_name};

/// All operations on a topic and on the cluster, as bits: the mock enforces no access control lists.
const TOPIC_OPERATIONS: i32 = 0b1101_1111_1000;
pub(super) const CLUSTER_OPERATIONS: i32 = 0b1_1111_1010_0000;

impl RequestHandler for MetadataRequest {
    fn targets(&self, version: i16, state: &ClusterState) -> Vec<FaultTarget> {
        let whole = |topic: String| FaultTarget { topic, partition: None };
        match requested_topics(self, version) {
            None => state.topics().map(|(name, _)| whole(name.to_owned())).collect(),
            Some(topics) => {
                let by_id = |t: &MetadataRequestTopic| state.topic_name("", t.topic_id, true).ok();
                let named =
                    |t: &MetadataRequestTopic| t.name.clone().filter(|_| !asks_by_id(topics, version));
                topics.iter().filter_map(|t| named(t).or_else(|| by_id(t))).map(whole).collect()
            }
        }
    }

    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<MetadataResponse> {
        let mut response = MetadataResponse::default();
        if context.version >= 13
            && let Some((_, code)) = context.errors.iter().find(|(_, c)| *c == ErrorCode::RebootstrapRequired)
        {
            response.error_code = code.code();
            return HandlerResult::Response(response);
        }
        response.topics = match requested_topics(self, context.version) {
            None => {
                let names: Vec<String> = context.state.topics().map(|(name, _)| name.to_owned()).collect();
                names.iter().map(|name| topic_by_name(self, context, name)).collect()
            }
            Some(topics) => {
                let by_id = asks_by_id(topics, context.version);
                topics.iter().map(|topic| describe_requested(self, context, topic, by_id)).collect()
            }
        };
        let state = &*context.state;
        response.cluster_id = Some(state.cluster_id.clone());
        response.controller_id = state.controller;
        response.brokers = state
            .alive()
            .map(|node| MetadataResponseBroker {
                node_id: node.id,
                host: node.host.clone(),
                port: i32::from(node.port),
                rack: node.rack.clone(),
            })
            .collect();
        if self.include_cluster_authorized_operations {
            response.cluster_authorized_operations = CLUSTER_OPERATIONS;
        }
        HandlerResult::Response(response)
    }

    fn throttle_time(response: &mut MetadataResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

/// The requested topics; `None` means all.
fn requested_topics(request: &MetadataRequest, version: i16) -> Option<&[MetadataRequestTopic]> {
    request.topics.as_deref().filter(|topics| version > 0 || !topics.is_empty())
}

/// Whether names are not looked at: Kafka does so as soon as one topic has an id.
fn asks_by_id(topics: &[MetadataRequestTopic], version: i16) -> bool {
    version >= 12 && topics.iter().any(|topic| !topic.topic_id.is_zero())
}

fn describe_requested(
    request: &MetadataRequest,
    context: &mut RequestContext<'_>,
    topic: &MetadataRequestTopic,
    by_id: bool,
) -> MetadataResponseTopic {
    match topic.name.as_ref().filter(|_| !by_id) {
        Some(name) => topic_by_name(request, context, name),
        None => match context.state.topic_name("", topic.topic_id, true) {
            // The field exists since version 10, but Kafka resolves ids only from version 12.
            Ok(name) if context.version >= 12 => topic_by_name(request, context, &name),
            found => MetadataResponseTopic {
                error_code: found.err().unwrap_or(ErrorCode::InvalidRequest).code(),
                name: (context.version < 12).then(String::new),
                topic_id: topic.topic_id,
                ..MetadataResponseTopic::default()
            },
        },
    }
}

fn topic_by_name(
    request: &MetadataRequest,
    context: &mut RequestContext<'_>,
    name: &str,
) -> MetadataResponseTopic {
    let rejected = |code: ErrorCode| MetadataResponseTopic {
        error_code: code.code(),
        name: Some(name.to_owned()),
        ..MetadataResponseTopic::default()
    };
    if let Err(code) = context.check_fault(name, None) {
        return rejected(code);
    }
    let allowed = context.version < 4 || request.allow_auto_topic_creation;
    match context.state.topic(name) {
        Some(topic) => {
            let mut found = describe(context.state, name, topic);
            for (_, index) in context.omitted.iter().filter(|(on, _)| on.covers(name, None)) {
                found.partitions.retain(|partition| partition.partition_index != *index);
            }
            if request.include_topic_authorized_operations {
                found.topic_authorized_operations = TOPIC_OPERATIONS;
            }
            found
        }
        None if allowed && context.state.config.auto_create_topics => rejected(auto_create(context, name)),
        None => {
            rejected(validate_topic_name(name).err().map_or(ErrorCode::UnknownTopicOrPartition, |r| r.code))
        }
    }
}

fn auto_create(context: &mut RequestContext<'_>, name: &str) -> ErrorCode {
    let config = TopicConfig::new([]).unwrap_or_default();
    let new = NewTopic { name, partitions: -1, replication: -1, assignments: None, config };
    match context.state.create_topic(new) {
        Ok(_) => {
            context.changed = true;
            ErrorCode::UnknownTopicOrPartition
        }
        Err(error) => error.code,
    }
}

fn describe(state: &ClusterState, name: &str, topic: &Topic) -> MetadataResponseTopic {
    let partitions = (0..).zip(&topic.partitions).map(|(index, partition)| {
        let error =
            if partition.leader == NO_LEADER { ErrorCode::LeaderNotAvailable } else { ErrorCode::None };
        let offline = partition.replicas.iter().copied().filter(|id| !state.is_alive(*id));
        MetadataResponsePartition {
            error_code: error.code(),
            partition_index: index,
            leader_id: partition.leader,
            leader_epoch: partition.leader_epoch,
            replica_nodes: partition.replicas.clone(),
            isr_nodes: partition.isr.clone(),
            offline_replicas: offline.collect(),
        }
    });
    MetadataResponseTopic {
        name: Some(name.to_owned()),
        topic_id: topic.id,
        partitions: partitions.collect(),
        ..MetadataResponseTopic::default()
    }
}
