//! Metadata (3), versions 0–13: brokers, controller, topics and leaders.
//!
//! All topics: an empty list in version 0, null from 1 on. By id from 12 on. An unknown topic is
//! created if client (from 4 on) and cluster allow it, and is still unknown in that first answer, as
//! in KRaft.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::metadata::{
    MetadataRequest, MetadataRequestTopic, MetadataResponse, MetadataResponseBroker,
    MetadataResponsePartition, MetadataResponseTopic,
};

use super::{Call, Serve, Served};
use crate::fault::Target;
use crate::state::{ClusterState, NO_LEADER, NewTopic, Topic, TopicConfig, check_name};

/// Every operation on a topic, and on the cluster, as bits: the mock has no authorizer.
const TOPIC_OPERATIONS: i32 = 0b1101_1111_1000;
const CLUSTER_OPERATIONS: i32 = 0b1_1111_1010_0000;

impl Serve for MetadataRequest {
    fn targets(&self, version: i16, state: &ClusterState) -> Vec<Target> {
        let whole = |topic: String| Target { topic, partition: None };
        match self.wanted(version) {
            None => state.topics().map(|(name, _)| whole(name.to_owned())).collect(),
            Some(topics) => {
                let by_id = |t: &MetadataRequestTopic| state.topic_name("", t.topic_id, true).ok();
                topics.iter().filter_map(|t| t.name.clone().or_else(|| by_id(t))).map(whole).collect()
            }
        }
    }

    fn serve(&self, call: &mut Call<'_>) -> Served<MetadataResponse> {
        let mut response = MetadataResponse::default();
        if call.version >= 13
            && let Some((_, code)) = call.errors.iter().find(|(_, c)| *c == ErrorCode::RebootstrapRequired)
        {
            response.error_code = code.code();
            return Served::Answer(response);
        }
        response.topics = match self.wanted(call.version) {
            None => {
                let names: Vec<String> = call.state.topics().map(|(name, _)| name.to_owned()).collect();
                names.iter().map(|name| self.named(call, name)).collect()
            }
            Some(topics) => topics.iter().map(|topic| self.one(call, topic)).collect(),
        };
        let state = &*call.state;
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
        Served::Answer(response)
    }

    fn throttle_time(response: &mut MetadataResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

trait Parts {
    fn wanted(&self, version: i16) -> Option<&[MetadataRequestTopic]>;
    fn one(&self, call: &mut Call<'_>, topic: &MetadataRequestTopic) -> MetadataResponseTopic;
    fn named(&self, call: &mut Call<'_>, name: &str) -> MetadataResponseTopic;
}

impl Parts for MetadataRequest {
    /// The topics asked for; `None` for all.
    fn wanted(&self, version: i16) -> Option<&[MetadataRequestTopic]> {
        self.topics.as_deref().filter(|topics| version > 0 || !topics.is_empty())
    }

    fn one(&self, call: &mut Call<'_>, topic: &MetadataRequestTopic) -> MetadataResponseTopic {
        match &topic.name {
            Some(name) => self.named(call, name),
            None => match call.state.topic_name("", topic.topic_id, true) {
                // Kafka names topics by id from version 12 on, although the field is older.
                Ok(name) if call.version >= 12 => self.named(call, &name),
                found => MetadataResponseTopic {
                    error_code: found.err().unwrap_or(ErrorCode::InvalidRequest).code(),
                    name: (call.version < 12).then(String::new),
                    topic_id: topic.topic_id,
                    ..MetadataResponseTopic::default()
                },
            },
        }
    }

    fn named(&self, call: &mut Call<'_>, name: &str) -> MetadataResponseTopic {
        let refused = |code: ErrorCode| MetadataResponseTopic {
            error_code: code.code(),
            name: Some(name.to_owned()),
            ..MetadataResponseTopic::default()
        };
        if let Err(code) = call.check_fault(name, None) {
            return refused(code);
        }
        let allowed = call.version < 4 || self.allow_auto_topic_creation;
        match call.state.topic(name) {
            Some(topic) => {
                let mut found = describe(call.state, name, topic);
                for (_, index) in call.omitted.iter().filter(|(on, _)| on.covers(name, None)) {
                    found.partitions.retain(|partition| partition.partition_index != *index);
                }
                if self.include_topic_authorized_operations {
                    found.topic_authorized_operations = TOPIC_OPERATIONS;
                }
                found
            }
            None if allowed && call.state.config.auto_create_topics => refused(auto_create(call, name)),
            None => refused(check_name(name).err().map_or(ErrorCode::UnknownTopicOrPartition, |r| r.code)),
        }
    }
}

fn auto_create(call: &mut Call<'_>, name: &str) -> ErrorCode {
    let config = TopicConfig::new([]).unwrap_or_default();
    let new = NewTopic { name, partitions: -1, replication: -1, assignments: None, config };
    match call.state.create_topic(new) {
        Ok(_) => {
            call.changed = true;
            ErrorCode::UnknownTopicOrPartition
        }
        Err(refusal) => refusal.code,
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
