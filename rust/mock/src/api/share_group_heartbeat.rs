//! ShareGroupHeartbeat (76), version 1: joins, keeps alive and leaves a share group (KIP-932).

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::share_group_heartbeat::{
    Assignment, ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse, TopicPartitions,
};
use ottla_protocol::wire::Uuid;

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::group::consumer::{HeartbeatError, Partitions};
use crate::group::share::ShareHeartbeat;

impl RequestHandler for ShareGroupHeartbeatRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<ShareGroupHeartbeatResponse> {
        let response = heartbeat(self, context).unwrap_or_else(|(code, why)| ShareGroupHeartbeatResponse {
            error_code: code.code(),
            error_message: Some(if why.is_empty() { code.meaning().to_owned() } else { why }),
            ..ShareGroupHeartbeatResponse::default()
        });
        HandlerResult::Response(response)
    }

    fn throttle_time(response: &mut ShareGroupHeartbeatResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn heartbeat(
    request: &ShareGroupHeartbeatRequest,
    context: &mut RequestContext<'_>,
) -> Result<ShareGroupHeartbeatResponse, HeartbeatError> {
    let plain = |code: ErrorCode| (code, String::new());
    context.check_any_fault().map_err(plain)?;
    context.check_share_groups().map_err(plain)?;
    if request.group_id.is_empty() {
        return Err((ErrorCode::InvalidRequest, "GroupId can't be empty.".to_owned()));
    }
    let heartbeat = ShareHeartbeat {
        member_id: &request.member_id,
        epoch: request.member_epoch,
        rack_id: request.rack_id.as_deref(),
        client_id: context.client_id.unwrap_or_default().to_owned(),
        client_host: context.client_host(),
        subscribed_topic_names: request.subscribed_topic_names.as_deref(),
    };
    heartbeat.check()?;
    context.enter_group(&request.group_id).map_err(plain)?;
    let topics = context.state.topic_sizes();
    let groups = &mut context.state.groups;
    let config = groups.config_of(&request.group_id).share.clone();
    let exists = groups.get(&request.group_id).is_some();
    let group = if heartbeat.joins() {
        groups.share_or_create(&request.group_id)
    } else {
        groups.get_mut(&request.group_id).and_then(|group| group.share_mut())
    };
    let group = group.ok_or_else(|| {
        let why = if exists { "is not a share group." } else { "not found." };
        (ErrorCode::GroupIdNotFound, format!("Group {} {why}", request.group_id))
    })?;
    let result = if heartbeat.is_leave() {
        group.leave(&heartbeat)?
    } else {
        group.heartbeat(&heartbeat, &topics, (&config, context.clock))?
    };
    context.changed = true;
    context.check_any_fault_after_handling().map_err(plain)?;
    Ok(ShareGroupHeartbeatResponse {
        member_id: Some(request.member_id.clone()),
        member_epoch: result.epoch,
        heartbeat_interval_ms: i32::try_from(config.heartbeat_interval.as_millis()).unwrap_or(i32::MAX),
        assignment: result.assignment.map(build_assignment),
        ..ShareGroupHeartbeatResponse::default()
    })
}

fn build_assignment(partitions: Partitions) -> Assignment {
    let mut topics: BTreeMap<Uuid, Vec<i32>> = BTreeMap::new();
    for (topic, partition) in partitions {
        topics.entry(topic).or_default().push(partition);
    }
    let topics = topics.into_iter();
    let topic_partitions = topics.map(|(topic_id, partitions)| TopicPartitions { topic_id, partitions });
    Assignment { topic_partitions: topic_partitions.collect() }
}
