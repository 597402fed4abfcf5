//! DescribeProducers (61), version 0: the idempotent producers that partitions know, and their open
//! transactions.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::describe_producers::{
    DescribeProducersRequest, DescribeProducersResponse, PartitionResponse, ProducerState, TopicResponse,
};

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::fault::FaultTarget;
use crate::state::ClusterState;

impl RequestHandler for DescribeProducersRequest {
    fn targets(&self, _version: i16, _state: &ClusterState) -> Vec<FaultTarget> {
        let of = |topic: &str, index| FaultTarget { topic: topic.to_owned(), partition: Some(index) };
        let topics = self.topics.iter();
        topics.flat_map(|topic| topic.partition_indexes.iter().map(|index| of(&topic.name, *index))).collect()
    }

    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<DescribeProducersResponse> {
        context.changed |= context.state.expire_transactions(context.clock);
        let topics = self.topics.iter().map(|topic| {
            let partitions = topic.partition_indexes.iter().map(|index| {
                let (code, active_producers) = match describe(context, &topic.name, *index) {
                    Ok(producers) => (ErrorCode::None, producers),
                    Err(code) => (code, Vec::new()),
                };
                PartitionResponse {
                    partition_index: *index,
                    error_code: code.code(),
                    active_producers,
                    ..Default::default()
                }
            });
            TopicResponse { name: topic.name.clone(), partitions: partitions.collect() }
        });
        let topics = topics.collect();
        HandlerResult::Response(DescribeProducersResponse { topics, ..Default::default() })
    }

    fn throttle_time(response: &mut DescribeProducersResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn describe(context: &RequestContext<'_>, topic: &str, index: i32) -> Result<Vec<ProducerState>, ErrorCode> {
    context.check_fault(topic, Some(index))?;
    let partition = context.state.partition(topic, index)?;
    partition.check_reader(context.broker, -1, true)?;
    let producers = partition.log.active_producers().into_iter().map(|producer| ProducerState {
        producer_id: producer.id,
        producer_epoch: producer.epoch.into(),
        last_sequence: producer.last_sequence.unwrap_or(-1),
        last_timestamp: producer.last_timestamp,
        coordinator_epoch: producer.coordinator_epoch.unwrap_or(-1),
        current_txn_start_offset: producer.transaction_start.unwrap_or(-1),
    });
    Ok(producers.collect())
}
