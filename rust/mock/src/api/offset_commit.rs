//! OffsetCommit (8), versions 2–10: store how far a group has come.
//!
//! Leader epochs from 6 on, static members from 7, members of KIP-848's groups from 9, topics by id
//! from 10. Who does not use the group commits with the epoch -1, and only while nobody else does.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitResponse, OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
};

use super::{Call, Serve, Served};
use crate::fault::Target;
use crate::group::{CommittedOffset, Committer};
use crate::state::ClusterState;

const BY_ID: i16 = 10;
/// The first version in which a group that does not exist has a code of its own.
const GROUP_NOT_FOUND: i16 = 9;

impl Serve for OffsetCommitRequest {
    fn targets(&self, version: i16, state: &ClusterState) -> Vec<Target> {
        let mut targets = Vec::new();
        for topic in &self.topics {
            let Ok(name) = state.topic_name(&topic.name, topic.topic_id, version >= BY_ID) else { continue };
            let partitions = topic.partitions.iter().map(|p| Some(p.partition_index));
            targets.extend(partitions.map(|partition| Target { topic: name.clone(), partition }));
        }
        targets
    }

    fn serve(&self, call: &mut Call<'_>) -> Served<OffsetCommitResponse> {
        let checked = check(self, call);
        let mut response = OffsetCommitResponse::default();
        for topic in &self.topics {
            let name = call.state.topic_name(&topic.name, topic.topic_id, call.version >= BY_ID);
            let partitions = topic.partitions.iter().map(|wanted| {
                let stored = name.as_deref().map_err(|code| *code).and_then(|name| {
                    call.check_fault(name, Some(wanted.partition_index))?;
                    checked?;
                    store(&self.group_id, name, wanted, call)
                });
                OffsetCommitResponsePartition {
                    partition_index: wanted.partition_index,
                    error_code: stored.err().unwrap_or(ErrorCode::None).code(),
                }
            });
            let partitions = partitions.collect();
            let (name, topic_id) = (topic.name.clone(), topic.topic_id);
            response.topics.push(OffsetCommitResponseTopic { name, topic_id, partitions });
        }
        Served::Answer(response)
    }

    fn throttle_time(response: &mut OffsetCommitResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn check(request: &OffsetCommitRequest, call: &mut Call<'_>) -> Result<(), ErrorCode> {
    // A request that a fault refuses as a whole is no sign of life.
    call.request_fault()?;
    call.enter_group(&request.group_id)?;
    let epoch = request.generation_id_or_member_epoch;
    let groups = &mut call.state.groups;
    let group = match groups.get_mut(&request.group_id) {
        Some(group) => group,
        None if epoch < 0 => groups.get_or_create(&request.group_id),
        None if call.version >= GROUP_NOT_FOUND => return Err(ErrorCode::GroupIdNotFound),
        None => return Err(ErrorCode::IllegalGeneration),
    };
    let committer =
        Committer { member_id: &request.member_id, instance_id: request.group_instance_id.as_deref(), epoch };
    group.check_commit(committer, call.version, call.clock)
}

fn store(
    group: &str,
    topic: &str,
    wanted: &OffsetCommitRequestPartition,
    call: &mut Call<'_>,
) -> Result<(), ErrorCode> {
    call.state.partition(topic, wanted.partition_index)?;
    let metadata = wanted.committed_metadata.clone().unwrap_or_default();
    if metadata.len() > call.state.groups.config.max_metadata {
        return Err(ErrorCode::OffsetMetadataTooLarge);
    }
    let offset = CommittedOffset {
        offset: wanted.committed_offset,
        leader_epoch: wanted.committed_leader_epoch,
        metadata,
    };
    let group = call.state.groups.get_mut(group).ok_or(ErrorCode::GroupIdNotFound)?;
    group.offsets.commit(topic, wanted.partition_index, offset);
    call.changed = true;
    call.check_late_fault(topic, Some(wanted.partition_index))
}
