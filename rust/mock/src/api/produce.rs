//! Produce (0), versions 3–13: append one batch per partition.
//!
//! Topics by id from 13 on. With `acks=0` there is no answer, and an error ends the connection.
//! From 10 on NOT_LEADER_OR_FOLLOWER comes with the new leader and its address (KIP-951).

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::produce::{
    LeaderIdAndEpoch, NodeEndpoint, PartitionProduceResponse, ProduceRequest, ProduceResponse,
    TopicProduceResponse,
};

use super::hints::Hints;
use super::{Call, Serve, Served};
use crate::fault::Target;
use crate::log::{self, AppendRules, Appended, Checked, Refused};
use crate::state::ClusterState;

const BY_ID: i16 = 13;
const HINTS: i16 = 10;

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

    fn check_records(&self, version: i16) -> Vec<Result<Checked, Refused>> {
        let partitions = self.topic_data.iter().flat_map(|topic| &topic.partition_data);
        partitions.map(|data| log::check(data.records.as_ref(), version)).collect()
    }

    fn serve(&self, call: &mut Call<'_>) -> Served<ProduceResponse> {
        let mut hints = Hints::default();
        let mut failed = false;
        let mut response = ProduceResponse::default();
        let mut checked = call.checked.iter();
        for topic in &self.topic_data {
            let name = call.state.topic_name(&topic.name, topic.topic_id, call.version >= BY_ID);
            let mut answers = Vec::with_capacity(topic.partition_data.len());
            for data in &topic.partition_data {
                let outcome = match (&name, checked.next()) {
                    (Ok(name), Some(checked)) => append(call, name, data.index, self.acks, checked),
                    (Ok(_), None) => Err((ErrorCode::UnknownServerError, "")),
                    (Err(code), _) => Err((*code, "")),
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
        response.node_endpoints =
            hints.into_endpoints(|node_id, host, port, rack| NodeEndpoint { node_id, host, port, rack });
        match self.acks {
            0 if failed => Served::Close,
            0 => Served::Nothing,
            _ => Served::Answer(response),
        }
    }

    fn throttle_time(response: &mut ProduceResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn append(
    call: &mut Call<'_>,
    topic: &str,
    index: i32,
    acks: i16,
    checked: &Result<Checked, Refused>,
) -> Result<Appended, Refused> {
    let plain = |code: ErrorCode| (code, "");
    call.check_fault(topic, Some(index)).map_err(plain)?;
    if !(-1..=1).contains(&acks) {
        return Err(plain(ErrorCode::InvalidRequiredAcks));
    }
    let checked = checked.as_ref().map_err(|refused| *refused)?;
    let cluster_max = call.state.config.max_message_bytes;
    let Some(config) = call.state.topic(topic).map(|topic| &topic.config) else {
        return Err(plain(ErrorCode::UnknownTopicOrPartition));
    };
    let mut rules = AppendRules {
        max_message_bytes: config.max_message_bytes(cluster_max),
        leader_epoch: -1,
        keys_needed: config.is_compacted(),
        append_time: config.log_append_time().then_some(call.now),
    };
    let min_insync = config.min_insync();
    let partition = call.state.partition_mut(topic, index).map_err(plain)?;
    partition.check_leader(call.broker, -1).map_err(plain)?;
    if acks == -1 && partition.isr.len() < min_insync {
        return Err(plain(ErrorCode::NotEnoughReplicas));
    }
    rules.leader_epoch = partition.leader_epoch;
    let appended = partition.log.append(checked, rules)?;
    call.changed = true;
    call.check_late_fault(topic, Some(index)).map_err(plain)?;
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
