//! OffsetCommit (8), versions 2–10: store the committed offsets of a group.
//!
//! Leader epochs from version 6, static members from 7, KIP-848 members from 9, topics by id from 10. A
//! client that is not a member commits with epoch -1, which works only while the group is empty.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitResponse, OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
};

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::fault::FaultTarget;
use crate::group::{CommittedOffset, MemberIdentity};
use crate::state::ClusterState;

/// The first version that reports an unknown group as GROUP_ID_NOT_FOUND.
const GROUP_NOT_FOUND: i16 = 9;

impl RequestHandler for OffsetCommitRequest {
    fn targets(&self, version: i16, state: &ClusterState) -> Vec<FaultTarget> {
        let topics = self.topics.iter().flat_map(|topic| {
            let partitions = topic.partitions.iter().map(|partition| partition.partition_index);
            state.fault_targets(
                (&topic.name, topic.topic_id, version >= OffsetCommitRequest::FIRST_BY_ID),
                partitions,
            )
        });
        topics.collect()
    }

    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<OffsetCommitResponse> {
        let checked = check(self, context);
        let mut response = OffsetCommitResponse::default();
        for topic in &self.topics {
            let name = context.state.topic_name(
                &topic.name,
                topic.topic_id,
                context.version >= OffsetCommitRequest::FIRST_BY_ID,
            );
            let partitions = topic.partitions.iter().map(|requested| {
                let stored = name.as_deref().map_err(|code| *code).and_then(|name| {
                    context.check_fault(name, Some(requested.partition_index))?;
                    checked?;
                    store(&self.group_id, name, requested, context)
                });
                OffsetCommitResponsePartition {
                    partition_index: requested.partition_index,
                    error_code: stored.err().unwrap_or(ErrorCode::None).code(),
                }
            });
            let partitions = partitions.collect();
            let (name, topic_id) = (topic.name.clone(), topic.topic_id);
            response.topics.push(OffsetCommitResponseTopic { name, topic_id, partitions });
        }
        HandlerResult::Response(response)
    }

    fn throttle_time(response: &mut OffsetCommitResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn check(request: &OffsetCommitRequest, context: &mut RequestContext<'_>) -> Result<(), ErrorCode> {
    // A request that a fault rejects as a whole does not renew the session.
    context.check_request_fault()?;
    context.enter_group(&request.group_id)?;
    let epoch = request.generation_id_or_member_epoch;
    let groups = &mut context.state.groups;
    let group = match groups.get_mut(&request.group_id) {
        Some(group) => group,
        None if epoch < 0 => groups.get_or_create(&request.group_id),
        None if context.version >= GROUP_NOT_FOUND => return Err(ErrorCode::GroupIdNotFound),
        None => return Err(ErrorCode::IllegalGeneration),
    };
    let committer = MemberIdentity {
        member_id: &request.member_id,
        instance_id: request.group_instance_id.as_deref(),
        epoch,
    };
    group.check_commit(committer, context.version, context.clock)
}

fn store(
    group: &str,
    topic: &str,
    requested: &OffsetCommitRequestPartition,
    context: &mut RequestContext<'_>,
) -> Result<(), ErrorCode> {
    context.state.partition(topic, requested.partition_index)?;
    let offset = CommittedOffset {
        offset: requested.committed_offset,
        leader_epoch: requested.committed_leader_epoch,
        metadata: requested.committed_metadata.clone().unwrap_or_default(),
    };
    context.state.groups.check_metadata(&offset)?;
    let group = context.state.groups.get_mut(group).ok_or(ErrorCode::GroupIdNotFound)?;
    group.offsets.commit(topic, requested.partition_index, offset);
    context.changed = true;
    context.check_fault_after_handling(topic, Some(requested.partition_index))
}
