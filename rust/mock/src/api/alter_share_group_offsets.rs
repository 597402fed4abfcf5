//! AlterShareGroupOffsets (91), version 0: sets the start offsets of a share group without members; creates the group
//! if necessary (KIP-932).

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::alter_share_group_offsets::{
    AlterShareGroupOffsetsRequest, AlterShareGroupOffsetsRequestPartition, AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition, AlterShareGroupOffsetsResponseTopic,
};
use ottla_protocol::wire::Uuid;

use super::share_acknowledgements::{ShareError, plain};
use super::{HandlerResult, RequestContext, RequestHandler};
use crate::fault::FaultTarget;
use crate::share_partition::SharePartition;
use crate::state::ClusterState;

impl RequestHandler for AlterShareGroupOffsetsRequest {
    fn targets(&self, _version: i16, _state: &ClusterState) -> Vec<FaultTarget> {
        let of = |topic: &str, index| FaultTarget { topic: topic.to_owned(), partition: Some(index) };
        let topics = self.topics.iter();
        topics.flat_map(|t| t.partitions.iter().map(|p| of(&t.topic_name, p.partition_index))).collect()
    }

    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<AlterShareGroupOffsetsResponse> {
        let mut response = AlterShareGroupOffsetsResponse::default();
        if let Err((code, why)) = check(context, &self.group_id) {
            response.error_code = code.code();
            response.error_message = Some(why);
            return HandlerResult::Response(response);
        }
        for topic in &self.topics {
            let partitions = topic.partitions.iter().map(|partition| {
                let outcome = alter(context, &self.group_id, &topic.topic_name, partition).err();
                AlterShareGroupOffsetsResponsePartition {
                    partition_index: partition.partition_index,
                    error_code: outcome.unwrap_or(ErrorCode::None).code(),
                    error_message: outcome.map(|code| code.meaning().to_owned()),
                }
            });
            let partitions = partitions.collect();
            response.responses.push(AlterShareGroupOffsetsResponseTopic {
                topic_name: topic.topic_name.clone(),
                topic_id: context.state.topic(&topic.topic_name).map_or(Uuid::ZERO, |topic| topic.id),
                partitions,
            });
        }
        HandlerResult::Response(response)
    }

    fn throttle_time(response: &mut AlterShareGroupOffsetsResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn check(context: &mut RequestContext<'_>, id: &str) -> Result<(), ShareError> {
    context.check_request_fault().map_err(plain)?;
    context.check_share_groups().map_err(plain)?;
    context.enter_group(id).map_err(plain)?;
    let group = context.state.groups.share_or_create(id);
    let group =
        group.ok_or_else(|| (ErrorCode::GroupIdNotFound, format!("Group {id} is not a share group.")))?;
    context.changed = true;
    if group.members().is_empty() { Ok(()) } else { Err(plain(ErrorCode::NonEmptyGroup)) }
}

fn alter(
    context: &mut RequestContext<'_>,
    group: &str,
    topic: &str,
    requested: &AlterShareGroupOffsetsRequestPartition,
) -> Result<(), ErrorCode> {
    let index = requested.partition_index;
    context.check_fault(topic, Some(index))?;
    let epoch = context.state.partition(topic, index)?.leader_epoch;
    let id = context.state.topic(topic).ok_or(ErrorCode::UnknownTopicOrPartition)?.id;
    let share = SharePartition::altered(requested.start_offset, epoch);
    context.state.share_partitions.set(group, (id, index), share);
    context.check_fault_after_handling(topic, Some(index))
}
