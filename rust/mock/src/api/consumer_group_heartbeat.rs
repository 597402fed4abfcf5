//! ConsumerGroupHeartbeat (68), versions 0–1: the one request of a member of a KIP-848 group.
//!
//! From 1 on clients make their own ids and may subscribe by a regular expression. A group with members
//! of the classic kind is not taken over.

use std::collections::BTreeMap;
use std::time::Duration;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::consumer_group_heartbeat::{
    Assignment, ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse,
    ConsumerGroupHeartbeatTopicPartitions,
};
use ottla_protocol::wire::Uuid;

use super::{Call, Serve, Served};
use crate::group::consumer::{Beat, JOINS, Partitions, Refused};

impl Serve for ConsumerGroupHeartbeatRequest {
    fn serve(&self, call: &mut Call<'_>) -> Served<ConsumerGroupHeartbeatResponse> {
        let response = beat(self, call).unwrap_or_else(|(code, why)| ConsumerGroupHeartbeatResponse {
            error_code: code.code(),
            error_message: Some(if why.is_empty() { code.meaning().to_owned() } else { why }),
            ..ConsumerGroupHeartbeatResponse::default()
        });
        Served::Answer(response)
    }

    fn throttle_time(response: &mut ConsumerGroupHeartbeatResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn beat(
    request: &ConsumerGroupHeartbeatRequest,
    call: &mut Call<'_>,
) -> Result<ConsumerGroupHeartbeatResponse, Refused> {
    let plain = |code: ErrorCode| (code, String::new());
    call.whole_fault().map_err(plain)?;
    if request.group_id.is_empty() {
        return Err((ErrorCode::InvalidRequest, "GroupId can't be empty.".to_owned()));
    }
    let beat = build_beat(request, call);
    let regex = beat.check()?;
    call.enter_group(&request.group_id).map_err(plain)?;
    let topics = call.state.topic_sizes();
    let groups = &mut call.state.groups;
    let config = groups.config.clone();
    let not_found = || (ErrorCode::GroupIdNotFound, format!("Group {} not found.", request.group_id));
    let group = if beat.epoch == JOINS {
        groups.get_or_create(&request.group_id).become_consumer()
    } else {
        groups.get_mut(&request.group_id).and_then(|group| group.consumer_mut())
    };
    let group = group.ok_or_else(not_found)?;
    let beaten = if beat.leaves() {
        group.leave(&beat)?
    } else {
        group.beat(&beat, regex, &topics, (&config, call.clock))?
    };
    call.changed = true;
    call.late_fault().map_err(plain)?;
    Ok(ConsumerGroupHeartbeatResponse {
        member_id: Some(beaten.member_id),
        member_epoch: beaten.epoch,
        heartbeat_interval_ms: i32::try_from(config.consumer_heartbeat_interval.as_millis())
            .unwrap_or(i32::MAX),
        assignment: beaten.assignment.map(build_assignment),
        ..ConsumerGroupHeartbeatResponse::default()
    })
}

fn build_beat<'a>(request: &'a ConsumerGroupHeartbeatRequest, call: &mut Call<'_>) -> Beat<'a> {
    let owned = request.topic_partitions.as_ref().map(|topics| {
        let of =
            |topic: Uuid, partitions: &[i32]| -> Vec<_> { partitions.iter().map(|p| (topic, *p)).collect() };
        topics.iter().flat_map(|topic| of(topic.topic_id, &topic.partitions)).collect()
    });
    Beat {
        version: call.version,
        member_id: &request.member_id,
        new_id: call.state.new_member_suffix(),
        epoch: request.member_epoch,
        instance_id: request.instance_id.as_deref(),
        rack_id: request.rack_id.as_deref(),
        client_id: call.client_id.unwrap_or_default().to_owned(),
        client_host: call.client_host(),
        rebalance_timeout: u64::try_from(request.rebalance_timeout_ms).ok().map(Duration::from_millis),
        names: request.subscribed_topic_names.as_deref(),
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
