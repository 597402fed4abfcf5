//! ListPartitionReassignments (46), version 0: the reassignments in progress, of the requested partitions or of all
//! (KIP-455). As in Kafka, unknown topics and partitions are no errors.

use ottla_protocol::messages::list_partition_reassignments::{
    ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse, OngoingPartitionReassignment,
    OngoingTopicReassignment,
};

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::state::Partition;

impl RequestHandler for ListPartitionReassignmentsRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<ListPartitionReassignmentsResponse> {
        let mut response = ListPartitionReassignmentsResponse::default();
        if let Err(code) = context.check_any_fault().and_then(|()| context.check_controller()) {
            response.error_code = code.code();
            response.error_message = Some(code.meaning().to_owned());
            return HandlerResult::Response(response);
        }
        let is_wanted = |name: &str, index: i32| {
            let mut topics = self.topics.iter().flatten();
            self.topics.is_none() || topics.any(|t| t.name == name && t.partition_indexes.contains(&index))
        };
        for (name, topic) in context.state.topics() {
            let indexed = (0..).zip(&topic.partitions);
            let ongoing = indexed.filter(|(index, p)| p.is_reassigned() && is_wanted(name, *index));
            let partitions: Vec<_> = ongoing.map(|(index, partition)| describe(index, partition)).collect();
            if !partitions.is_empty() {
                response.topics.push(OngoingTopicReassignment { name: name.to_owned(), partitions });
            }
        }
        HandlerResult::Response(response)
    }

    fn throttle_time(response: &mut ListPartitionReassignmentsResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn describe(partition_index: i32, partition: &Partition) -> OngoingPartitionReassignment {
    OngoingPartitionReassignment {
        partition_index,
        replicas: partition.replicas.clone(),
        adding_replicas: partition.adding.clone(),
        removing_replicas: partition.removing.clone(),
    }
}
