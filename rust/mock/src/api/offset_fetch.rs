//! OffsetFetch (9), versions 1–10: the committed offsets of groups.
//!
//! All partitions of a group from version 2, leader epochs from 5, `require_stable` from 7, several groups
//! per request from 8, KIP-848 members from 9, topics by id from 10. A partition without a committed offset
//! has offset -1 and no error.

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::offset_fetch::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics, OffsetFetchResponse,
    OffsetFetchResponseGroup, OffsetFetchResponsePartition, OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic, OffsetFetchResponseTopics,
};
use ottla_protocol::wire::Uuid;

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::fault::FaultTarget;
use crate::group::{CommittedOffset, Group, MemberIdentity};
use crate::state::ClusterState;

const BATCHED: i16 = 8;
/// The first version with an error code for the whole request.
const WHOLE_ERROR: i16 = 2;

impl RequestHandler for OffsetFetchRequest {
    fn targets(&self, version: i16, state: &ClusterState) -> Vec<FaultTarget> {
        let topics = groups(self, version).into_iter().filter_map(|group| group.topics).flatten();
        let targets = topics.flat_map(|topic| {
            state.fault_targets(
                (&topic.name, topic.topic_id, version >= OffsetFetchRequest::FIRST_BY_ID),
                topic.partition_indexes,
            )
        });
        targets.collect()
    }

    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<OffsetFetchResponse> {
        let groups: Vec<_> = groups(self, context.version)
            .iter()
            .map(|group| fetch(group, self.require_stable, context))
            .collect();
        if context.version >= BATCHED {
            return HandlerResult::Response(OffsetFetchResponse { groups, ..OffsetFetchResponse::default() });
        }
        let group = groups.into_iter().next().unwrap_or_default();
        HandlerResult::Response(build_single(self, group, context.version))
    }

    fn throttle_time(response: &mut OffsetFetchResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

/// Converts a request of any version to the newest form, a list of groups.
fn groups(request: &OffsetFetchRequest, version: i16) -> Vec<OffsetFetchRequestGroup> {
    if version >= BATCHED {
        return request.groups.clone();
    }
    let topics = request.topics.as_ref().map(|topics| {
        let topics = topics.iter().map(|topic| OffsetFetchRequestTopics {
            name: topic.name.clone(),
            topic_id: Uuid::ZERO,
            partition_indexes: topic.partition_indexes.clone(),
        });
        topics.collect()
    });
    let group_id = request.group_id.clone();
    vec![OffsetFetchRequestGroup { group_id, topics, ..OffsetFetchRequestGroup::default() }]
}

fn fetch(
    requested: &OffsetFetchRequestGroup,
    stable: bool,
    context: &mut RequestContext<'_>,
) -> OffsetFetchResponseGroup {
    let group_id = requested.group_id.clone();
    let checked = check(requested, context);
    if let Err(code) = checked {
        return OffsetFetchResponseGroup { group_id, error_code: code.code(), topics: Vec::new() };
    }
    let group = context.state.groups.get(&requested.group_id);
    let topics = match &requested.topics {
        Some(topics) => topics.clone(),
        None => committed(group, context.state),
    };
    let topics = topics.into_iter().map(|topic| {
        let name = context.state.topic_name(
            &topic.name,
            topic.topic_id,
            context.version >= OffsetFetchRequest::FIRST_BY_ID,
        );
        let partitions = topic.partition_indexes.iter().map(|index| {
            let found = name.as_deref().map_err(|code| *code).and_then(|name| {
                context.check_fault(name, Some(*index))?;
                look_up(group, name, *index, stable)
            });
            build_partition(*index, found)
        });
        let partitions = partitions.collect();
        OffsetFetchResponseTopics { partitions, name: topic.name, topic_id: topic.topic_id }
    });
    OffsetFetchResponseGroup { group_id, error_code: 0, topics: topics.collect() }
}

fn check(requested: &OffsetFetchRequestGroup, context: &mut RequestContext<'_>) -> Result<(), ErrorCode> {
    context.check_request_fault()?;
    context.enter_group(&requested.group_id)?;
    let Some(group) = context.state.groups.get(&requested.group_id) else { return Ok(()) };
    if requested.member_id.is_none() && requested.member_epoch < 0 {
        return Ok(());
    }
    let member_id = requested.member_id.as_deref().unwrap_or_default();
    group.check_fetch(MemberIdentity { member_id, instance_id: None, epoch: requested.member_epoch })
}

/// All partitions for which the group has a committed offset.
fn committed(group: Option<&Group>, state: &ClusterState) -> Vec<OffsetFetchRequestTopics> {
    let Some(group) = group else { return Vec::new() };
    let topic = |(name, offsets): (&String, &BTreeMap<i32, CommittedOffset>)| OffsetFetchRequestTopics {
        name: name.clone(),
        topic_id: state.topic(name).map_or(Uuid::ZERO, |topic| topic.id),
        partition_indexes: offsets.keys().copied().collect(),
    };
    group.offsets.all().map(topic).collect()
}

fn look_up<'a>(
    group: Option<&'a Group>,
    topic: &str,
    partition: i32,
    stable: bool,
) -> Result<Option<&'a CommittedOffset>, ErrorCode> {
    let Some(group) = group else { return Ok(None) };
    if stable && group.offsets.is_pending(topic, partition) {
        return Err(ErrorCode::UnstableOffsetCommit);
    }
    Ok(group.offsets.get(topic, partition))
}

fn build_partition(
    index: i32,
    found: Result<Option<&CommittedOffset>, ErrorCode>,
) -> OffsetFetchResponsePartitions {
    let offset = found.ok().flatten();
    OffsetFetchResponsePartitions {
        partition_index: index,
        committed_offset: offset.map_or(-1, |offset| offset.offset),
        committed_leader_epoch: offset.map_or(-1, |offset| offset.leader_epoch),
        metadata: Some(offset.map(|offset| offset.metadata.clone()).unwrap_or_default()),
        error_code: found.err().unwrap_or(ErrorCode::None).code(),
    }
}

/// The response of older versions, which describes one group.
fn build_single(
    request: &OffsetFetchRequest,
    group: OffsetFetchResponseGroup,
    version: i16,
) -> OffsetFetchResponse {
    let partition = |p: OffsetFetchResponsePartitions| OffsetFetchResponsePartition {
        partition_index: p.partition_index,
        committed_offset: p.committed_offset,
        committed_leader_epoch: p.committed_leader_epoch,
        metadata: p.metadata,
        error_code: p.error_code,
    };
    let topics = group.topics.into_iter().map(|topic| OffsetFetchResponseTopic {
        partitions: topic.partitions.into_iter().map(partition).collect(),
        name: topic.name,
    });
    let mut response = OffsetFetchResponse { topics: topics.collect(), ..OffsetFetchResponse::default() };
    if version >= WHOLE_ERROR {
        response.error_code = group.error_code;
    } else if group.error_code != 0 {
        let rejected = |index: &i32| OffsetFetchResponsePartition {
            error_code: group.error_code,
            ..partition(build_partition(*index, Ok(None)))
        };
        let topics = request.topics.iter().flatten().map(|topic| OffsetFetchResponseTopic {
            name: topic.name.clone(),
            partitions: topic.partition_indexes.iter().map(rejected).collect(),
        });
        response.topics = topics.collect();
    }
    response
}
