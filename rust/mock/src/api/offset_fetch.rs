//! OffsetFetch (9), versions 1–10: how far groups have come.
//!
//! All partitions of a group from 2 on, leader epochs from 5, offsets that a transaction holds back from
//! 7 (`require_stable`), many groups at once from 8, members of KIP-848's groups from 9, topics by id
//! from 10. A partition without an offset has -1 and no error.

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::offset_fetch::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics, OffsetFetchResponse,
    OffsetFetchResponseGroup, OffsetFetchResponsePartition, OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic, OffsetFetchResponseTopics,
};
use ottla_protocol::wire::Uuid;

use super::{Call, Serve, Served};
use crate::fault::Target;
use crate::group::{CommittedOffset, Committer, Group};
use crate::state::ClusterState;

const MANY: i16 = 8;
const BY_ID: i16 = 10;
/// The first version that has an error for the request as a whole.
const WHOLE_ERROR: i16 = 2;

impl Serve for OffsetFetchRequest {
    fn targets(&self, version: i16, state: &ClusterState) -> Vec<Target> {
        let mut targets = Vec::new();
        for topic in groups(self, version).into_iter().filter_map(|group| group.topics).flatten() {
            let Ok(name) = state.topic_name(&topic.name, topic.topic_id, version >= BY_ID) else { continue };
            let partitions = topic.partition_indexes.iter().map(|index| Some(*index));
            targets.extend(partitions.map(|partition| Target { topic: name.clone(), partition }));
        }
        targets
    }

    fn serve(&self, call: &mut Call<'_>) -> Served<OffsetFetchResponse> {
        let groups: Vec<_> =
            groups(self, call.version).iter().map(|group| fetch(group, self.require_stable, call)).collect();
        if call.version >= MANY {
            return Served::Answer(OffsetFetchResponse { groups, ..OffsetFetchResponse::default() });
        }
        let group = groups.into_iter().next().unwrap_or_default();
        Served::Answer(build_single(self, group, call.version))
    }

    fn throttle_time(response: &mut OffsetFetchResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

/// The groups of a request of any version, in the newest form.
fn groups(request: &OffsetFetchRequest, version: i16) -> Vec<OffsetFetchRequestGroup> {
    if version >= MANY {
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

fn fetch(wanted: &OffsetFetchRequestGroup, stable: bool, call: &mut Call<'_>) -> OffsetFetchResponseGroup {
    let group_id = wanted.group_id.clone();
    let checked = check(wanted, call);
    if let Err(code) = checked {
        return OffsetFetchResponseGroup { group_id, error_code: code.code(), topics: Vec::new() };
    }
    let group = call.state.groups.get(&wanted.group_id);
    let topics = match &wanted.topics {
        Some(topics) => topics.clone(),
        None => committed(group, call.state),
    };
    let topics = topics.into_iter().map(|topic| {
        let name = call.state.topic_name(&topic.name, topic.topic_id, call.version >= BY_ID);
        let partitions = topic.partition_indexes.iter().map(|index| {
            let found = name.as_deref().map_err(|code| *code).and_then(|name| {
                call.check_fault(name, Some(*index))?;
                look_up(group, name, *index, stable)
            });
            build_partition(*index, found)
        });
        let partitions = partitions.collect();
        OffsetFetchResponseTopics { partitions, name: topic.name, topic_id: topic.topic_id }
    });
    OffsetFetchResponseGroup { group_id, error_code: 0, topics: topics.collect() }
}

fn check(wanted: &OffsetFetchRequestGroup, call: &mut Call<'_>) -> Result<(), ErrorCode> {
    call.request_fault()?;
    call.enter_group(&wanted.group_id)?;
    let Some(group) = call.state.groups.get(&wanted.group_id) else { return Ok(()) };
    if wanted.member_id.is_none() && wanted.member_epoch < 0 {
        return Ok(());
    }
    let member_id = wanted.member_id.as_deref().unwrap_or_default();
    group.check_fetch(Committer { member_id, instance_id: None, epoch: wanted.member_epoch })
}

/// All partitions that the group has an offset of.
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

/// The answer about one group, as older versions have it.
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
        let refused = |index: &i32| OffsetFetchResponsePartition {
            error_code: group.error_code,
            ..partition(build_partition(*index, Ok(None)))
        };
        let topics = request.topics.iter().flatten().map(|topic| OffsetFetchResponseTopic {
            name: topic.name.clone(),
            partitions: topic.partition_indexes.iter().map(refused).collect(),
        });
        response.topics = topics.collect();
    }
    response
}
