//! AddPartitionsToTxn (24), versions 0–3: registers partitions with a transaction (protocol 1).
//!
//! If one partition has an error, none is added, and the others get OPERATION_NOT_ATTEMPTED.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::add_partitions_to_txn::{
    AddPartitionsToTxnPartitionResult, AddPartitionsToTxnRequest, AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
};

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::fault::FaultTarget;
use crate::state::ClusterState;
use crate::transaction::{ProducerIdAndEpoch, TransactionalProducer};

impl RequestHandler for AddPartitionsToTxnRequest {
    fn targets(&self, _version: i16, _state: &ClusterState) -> Vec<FaultTarget> {
        let partitions = self.partitions();
        partitions.map(|(topic, partition)| FaultTarget { topic, partition: Some(partition) }).collect()
    }

    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<AddPartitionsToTxnResponse> {
        let outcome = add(self, context);
        let code_of = |topic: &str, partition: i32| match &outcome {
            Ok(()) => context.check_fault_after_handling(topic, Some(partition)).err(),
            Err(Failure::Request(code)) => Some(*code),
            Err(Failure::Partitions(failed)) => Some(
                failed
                    .iter()
                    .find(|((name, index), _)| name == topic && *index == partition)
                    .map_or(ErrorCode::OperationNotAttempted, |(_, code)| *code),
            ),
        };
        let topics = self.v3_and_below_topics.iter().map(|topic| AddPartitionsToTxnTopicResult {
            name: topic.name.clone(),
            results_by_partition: topic
                .partitions
                .iter()
                .map(|index| AddPartitionsToTxnPartitionResult {
                    partition_index: *index,
                    partition_error_code: code_of(&topic.name, *index).unwrap_or(ErrorCode::None).code(),
                })
                .collect(),
        });
        HandlerResult::Response(AddPartitionsToTxnResponse {
            results_by_topic_v3_and_below: topics.collect(),
            ..Default::default()
        })
    }

    fn throttle_time(response: &mut AddPartitionsToTxnResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

trait Partitions {
    fn partitions(&self) -> impl Iterator<Item = (String, i32)>;
}

impl Partitions for AddPartitionsToTxnRequest {
    fn partitions(&self) -> impl Iterator<Item = (String, i32)> {
        let topics = self.v3_and_below_topics.iter();
        topics.flat_map(|topic| topic.partitions.iter().map(|index| (topic.name.clone(), *index)))
    }
}

enum Failure {
    Request(ErrorCode),
    Partitions(Vec<((String, i32), ErrorCode)>),
}

fn add(request: &AddPartitionsToTxnRequest, context: &mut RequestContext<'_>) -> Result<(), Failure> {
    let id = &request.v3_and_below_transactional_id;
    let failed: Vec<_> = request
        .partitions()
        .filter_map(|(topic, index)| {
            let known = context.state.partition(&topic, index).map(drop);
            let code = context.check_fault(&topic, Some(index)).and(known).err()?;
            Some(((topic, index), code))
        })
        .collect();
    let clock = context.clock;
    context.state.check_coordinator(id, context.broker, clock).map_err(Failure::Request)?;
    let producer = TransactionalProducer {
        transactional_id: id,
        producer: ProducerIdAndEpoch {
            id: request.v3_and_below_producer_id,
            epoch: request.v3_and_below_producer_epoch,
        },
    };
    let version = context.version;
    let current = context.state.current_transaction(producer, clock);
    let transaction = current.map_err(|code| Failure::Request(super::fenced_code(code, version, 2)))?;
    if !failed.is_empty() {
        return Err(Failure::Partitions(failed));
    }
    transaction.add_partitions(request.partitions(), clock);
    context.changed = true;
    Ok(())
}
