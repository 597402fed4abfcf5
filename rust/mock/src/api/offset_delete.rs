//! OffsetDelete (47), version 0: delete offsets of topics that the group does not consume.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::offset_delete::{
    OffsetDeleteRequest, OffsetDeleteResponse, OffsetDeleteResponsePartition, OffsetDeleteResponseTopic,
};

use super::{Call, Serve, Served};
use crate::fault::Target;
use crate::state::ClusterState;

impl Serve for OffsetDeleteRequest {
    fn targets(&self, _version: i16, _state: &ClusterState) -> Vec<Target> {
        let of = |topic: &str, index| Target { topic: topic.to_owned(), partition: Some(index) };
        let topics = self.topics.iter();
        topics.flat_map(|t| t.partitions.iter().map(|p| of(&t.name, p.partition_index))).collect()
    }

    fn serve(&self, call: &mut Call<'_>) -> Served<OffsetDeleteResponse> {
        let mut response = OffsetDeleteResponse::default();
        if let Err(code) = check(&self.group_id, call) {
            response.error_code = code.code();
            return Served::Answer(response);
        }
        for topic in &self.topics {
            let partitions = topic.partitions.iter().map(|partition| {
                let index = partition.partition_index;
                let code = delete(&self.group_id, &topic.name, index, call).err().unwrap_or(ErrorCode::None);
                OffsetDeleteResponsePartition { partition_index: index, error_code: code.code() }
            });
            response.topics.push(OffsetDeleteResponseTopic {
                partitions: partitions.collect(),
                name: topic.name.clone(),
            });
        }
        Served::Answer(response)
    }

    fn throttle_time(response: &mut OffsetDeleteResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn check(group: &str, call: &mut Call<'_>) -> Result<(), ErrorCode> {
    call.request_fault()?;
    call.enter_group(group)?;
    call.state.groups.get(group).ok_or(ErrorCode::GroupIdNotFound)?.check_delete_offsets()
}

fn delete(group: &str, topic: &str, partition: i32, call: &mut Call<'_>) -> Result<(), ErrorCode> {
    call.check_fault(topic, Some(partition))?;
    call.state.partition(topic, partition)?;
    let group = call.state.groups.get_mut(group).ok_or(ErrorCode::GroupIdNotFound)?;
    if group.subscribes_to(topic) {
        return Err(ErrorCode::GroupSubscribedToTopic);
    }
    group.offsets.delete(topic, partition);
    call.check_late_fault(topic, Some(partition))
}
