//! ConsumerGroupHeartbeat (68), versions 0–1: joins, keeps alive and leaves a KIP-848 group.
//!
//! From version 1, clients choose their member ids and may subscribe by a regular expression. A group with
//! classic members is not converted.

use std::collections::BTreeMap;
use std::time::Duration;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::consumer_group_heartbeat::{
    Assignment, ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse,
    ConsumerGroupHeartbeatTopicPartitions,
};
use ottla_protocol::wire::Uuid;

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::group::consumer::{Heartbeat, HeartbeatError, JOIN_GROUP_MEMBER_EPOCH, Partitions};

impl RequestHandler for ConsumerGroupHeartbeatRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<ConsumerGroupHeartbeatResponse> {
        let response =
            heartbeat(self, context).unwrap_or_else(|(code, why)| ConsumerGroupHeartbeatResponse {
                error_code: code.code(),
                error_message: Some(if why.is_empty() { code.meaning().to_owned() } else { why }),
                ..ConsumerGroupHeartbeatResponse::default()
            });
        HandlerResult::Response(response)
    }

    fn throttle_time(response: &mut ConsumerGroupHeartbeatResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn heartbeat(
    request: &ConsumerGroupHeartbeatRequest,
    context: &mut RequestContext<'_>,
) -> Result<ConsumerGroupHeartbeatResponse, HeartbeatError> {
    let plain = |code: ErrorCode| (code, String::new());
    context.check_any_fault().map_err(plain)?;
    context.check_consumer_groups().map_err(plain)?;
    if request.group_id.is_empty() {
        return Err((ErrorCode::InvalidRequest, "GroupId can't be empty.".to_owned()));
    }
    let heartbeat = build_heartbeat(request, context);
    let regex = heartbeat.check()?;
    context.enter_group(&request.group_id).map_err(plain)?;
    let topics = context.state.topic_sizes();
    let groups = &mut context.state.groups;
    let config = groups.config_of(&request.group_id).clone();
    let not_found = || (ErrorCode::GroupIdNotFound, format!("Group {} not found.", request.group_id));
    let group = if heartbeat.epoch == JOIN_GROUP_MEMBER_EPOCH {
        groups.get_or_create(&request.group_id).become_consumer()
    } else {
        groups.get_mut(&request.group_id).and_then(|group| group.consumer_mut())
    };
    let group = group.ok_or_else(not_found)?;
    let result = if heartbeat.is_leave() {
        group.leave(&heartbeat)?
    } else {
        group.heartbeat(&heartbeat, regex, &topics, (&config, context.clock))?
    };
    context.changed = true;
    context.check_any_fault_after_handling().map_err(plain)?;
    Ok(ConsumerGroupHeartbeatResponse {
        member_id: Some(result.member_id),
        member_epoch: result.epoch,
        heartbeat_interval_ms: i32::try_from(config.consumer_heartbeat_interval.as_millis())
            .unwrap_or(i32::MAX),
        assignment: result.assignment.map(build_assignment),
        ..ConsumerGroupHeartbeatResponse::default()
    })
}

fn build_heartbeat<'a>(
    request: &'a ConsumerGroupHeartbeatRequest,
    context: &mut RequestContext<'_>,
) -> Heartbeat<'a> {
    let owned = request.topic_partitions.as_ref().map(|topics| {
        let of =
            |topic: Uuid, partitions: &[i32]| -> Vec<_> { partitions.iter().map(|p| (topic, *p)).collect() };
        topics.iter().flat_map(|topic| of(topic.topic_id, &topic.partitions)).collect()
    });
    Heartbeat {
        version: context.version,
        member_id: &request.member_id,
        new_id: context.state.new_member_suffix(),
        epoch: request.member_epoch,
        instance_id: request.instance_id.as_deref(),
        rack_id: request.rack_id.as_deref(),
        client_id: context.client_id.unwrap_or_default().to_owned(),
        client_host: context.client_host(),
        rebalance_timeout: u64::try_from(request.rebalance_timeout_ms).ok().map(Duration::from_millis),
        subscribed_topic_names: request.subscribed_topic_names.as_deref(),
        regex: request.subscribed_topic_regex.as_deref(),
        assignor: request.server_assignor.as_deref(),
        owned,
    }
}

fn build_assignment(partitions: Partitions) -> Assignment {
    let mut topics: BTreeMap<Uuid, Vec<i32>> = BTreeMap::new();
    for (topic, partition) in partitions {
        topics.entry(topic).or_default().push(partition);
    }
    let topics = topics.into_iter();
    let topic_partitions = topics
        .map(|(topic_id, partitions)| ConsumerGroupHeartbeatTopicPartitions { topic_id, partitions })
        .collect();
    Assignment { topic_partitions }
}
