//! Produce (0), versions 3–13: append one batch per partition.
//!
//! Topics by id from 13 on. With `acks=0` there is no answer, and an error ends the connection.
//! From 10 on NOT_LEADER_OR_FOLLOWER comes with the new leader and its address (KIP-951).

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::produce::{
    LeaderIdAndEpoch, NodeEndpoint, PartitionProduceData, PartitionProduceResponse, ProduceRequest,
    ProduceResponse, TopicProduceResponse,
};

use super::hints::Hints;
use super::{Call, Serve, Served};
use crate::fault::Target;
use crate::log::{AppendRules, Appended, Header};
use crate::state::ClusterState;

const BY_ID: i16 = 13;
const HINTS: i16 = 10;
/// Before this version a client may not know zstd.
const ZSTD: i16 = 7;
const ZSTD_CODEC: i16 = 4;

type Refused = (ErrorCode, &'static str);

impl Serve for ProduceRequest {
    fn targets(&self, version: i16, state: &ClusterState) -> Vec<Target> {
        let mut targets = Vec::new();
        for topic in &self.topic_data {
            let Ok(name) = state.topic_name(&topic.name, topic.topic_id, version >= BY_ID) else { continue };
            let partitions = topic.partition_data.iter().map(|p| Some(p.index));
            targets.extend(partitions.map(|partition| Target { topic: name.clone(), partition }));
        }
        targets
    }

    fn serve(&self, call: &mut Call<'_>) -> Served<ProduceResponse> {
        let mut hints = Hints::default();
        let mut failed = false;
        let mut response = ProduceResponse::default();
        for topic in &self.topic_data {
            let name = call.state.topic_name(&topic.name, topic.topic_id, call.version >= BY_ID);
            let mut answers = Vec::with_capacity(topic.partition_data.len());
            for data in &topic.partition_data {
                let outcome = match &name {
                    Ok(name) => append(call, name, self.acks, data),
                    Err(code) => Err((*code, "")),
                };
                let mut answer = build_partition(data.index, outcome);
                failed |= outcome.is_err();
                if let (Ok(name), Err((ErrorCode::NotLeaderOrFollower, _))) = (&name, outcome)
                    && call.version >= HINTS
                    && let Some((leader_id, leader_epoch)) = hints.leader(call.state, name, data.index)
                {
                    answer.current_leader = LeaderIdAndEpoch { leader_id, leader_epoch };
                }
                answers.push(answer);
            }
            response.responses.push(TopicProduceResponse {
                name: topic.name.clone(),
                topic_id: topic.topic_id,
                partition_responses: answers,
            });
        }
        response.node_endpoints = hints
            .into_nodes()
            .map(|node| NodeEndpoint {
                node_id: node.id,
                host: node.host,
                port: i32::from(node.port),
                rack: node.rack,
            })
            .collect();
        match self.acks {
            0 if failed => Served::Close,
            0 => Served::Nothing,
            _ => Served::Answer(response),
        }
    }

    fn throttle_time(response: &mut ProduceResponse) -> &mut i32 {
        &mut response.throttle_time_ms
    }
}

fn append(
    call: &mut Call<'_>,
    topic: &str,
    acks: i16,
    data: &PartitionProduceData,
) -> Result<Appended, Refused> {
    let plain = |code: ErrorCode| (code, "");
    call.check_fault(topic, Some(data.index)).map_err(plain)?;
    if !(-1..=1).contains(&acks) {
        return Err(plain(ErrorCode::InvalidRequiredAcks));
    }
    let Some(records) = data.records.as_ref().filter(|records| !records.is_empty()) else {
        return Err((ErrorCode::InvalidRecord, "a partition has no records"));
    };
    let cluster_max = call.state.config.max_message_bytes;
    let Some(found) = call.state.topic(topic) else {
        return Err(plain(ErrorCode::UnknownTopicOrPartition));
    };
    let (max_message_bytes, min_insync) =
        (found.config.max_message_bytes(cluster_max), found.config.min_insync());
    let append_time = found.config.log_append_time().then_some(call.now);
    let partition = call.state.partition_mut(topic, data.index).map_err(plain)?;
    partition.check_leader(call.broker, -1).map_err(plain)?;
    if acks == -1 && partition.isr.len() < min_insync {
        return Err(plain(ErrorCode::NotEnoughReplicas));
    }
    if call.version < ZSTD && Header::read(records)?.codec() == ZSTD_CODEC {
        return Err(plain(ErrorCode::UnsupportedCompressionType));
    }
    let rules = AppendRules { max_message_bytes, leader_epoch: partition.leader_epoch, append_time };
    let appended = partition.log.append(records, rules)?;
    call.changed = true;
    Ok(appended)
}

fn build_partition(index: i32, outcome: Result<Appended, Refused>) -> PartitionProduceResponse {
    match outcome {
        Ok(appended) => PartitionProduceResponse {
            index,
            base_offset: appended.base_offset,
            log_append_time_ms: appended.append_time,
            log_start_offset: appended.start_offset,
            ..PartitionProduceResponse::default()
        },
        Err((code, message)) => PartitionProduceResponse {
            index,
            error_code: code.code(),
            base_offset: -1,
            error_message: (!message.is_empty()).then(|| message.to_owned()),
            ..PartitionProduceResponse::default()
        },
    }
}
