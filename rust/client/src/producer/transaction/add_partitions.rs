//! AddPartitionsToTxn: registers partitions with the coordinator before the first write (protocol 1).
//!
//! Invariant: a partition is written to only after the coordinator knows that the transaction contains it.

use std::collections::BTreeMap;
use std::sync::Arc;

use ottla_protocol::messages::add_partitions_to_txn::{
    AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, AddPartitionsToTxnTopic,
};
use ottla_protocol::{ApiKey, ErrorCode};

use super::TransactionManager;
use super::error_class::TransactionRequest;
use super::init_producer_id::with_advice;
use super::partition_results::PartitionResults;
use super::request_attempts::{Attempts, RequestFailure};
use crate::cluster::{Coordinator, CoordinatorKind};
use crate::error::Result;
use crate::error::permission::either;
use crate::producer::idempotence::ProducerIdAndEpoch;
use crate::producer::inner::ProducerInner;
use crate::topic_partition::TopicPartition;

/// The newest version for clients; later ones are for brokers (KIP-890).
const MAX_VERSION: i16 = 3;

/// Registers partitions, and lets the sender write to them.
pub(super) async fn register(
    inner: &ProducerInner,
    manager: &TransactionManager,
    partitions: Vec<TopicPartition>,
) {
    let _request = manager.request_lock.lock().await;
    let (number, producer) = {
        let shared = manager.shared.lock();
        // The records of a transaction that is being committed still need their partitions.
        match (shared.state.abort_reason(), shared.state.current()) {
            (None, Some(current)) => current,
            _ => return,
        }
    };
    let id = manager.transactional_id();
    let request = build_request(id, producer, &partitions);
    let what = format!("adding partitions to the transaction of {id}");
    let added = Attempts::new(&inner.client, manager, TransactionRequest::AddPartitions, what)
        .run((CoordinatorKind::Transaction, id), |coordinator| send(coordinator, &request))
        .await;
    match added {
        Ok(()) => {
            manager.shared.lock().state.start();
            for (topic, partition) in &partitions {
                let queue = inner.accumulator.queue(topic, *partition);
                queue.state.lock().transaction.set_registered(number);
            }
        }
        Err(RequestFailure { class, error }) => manager.request_failed(class, &error),
    }
}

fn build_request(
    id: &str,
    producer: ProducerIdAndEpoch,
    partitions: &[TopicPartition],
) -> AddPartitionsToTxnRequest {
    let mut topics: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
    for (topic, partition) in partitions {
        topics.entry(topic).or_default().push(*partition);
    }
    let topic =
        |(name, partitions): (&str, Vec<i32>)| AddPartitionsToTxnTopic { name: name.to_owned(), partitions };
    AddPartitionsToTxnRequest {
        v3_and_below_transactional_id: id.to_owned(),
        v3_and_below_producer_id: producer.id,
        v3_and_below_producer_epoch: producer.epoch,
        v3_and_below_topics: topics.into_iter().map(topic).collect(),
        ..Default::default()
    }
}

async fn send(coordinator: Coordinator, request: &AddPartitionsToTxnRequest) -> Result<()> {
    let version = coordinator.version::<AddPartitionsToTxnRequest>(MAX_VERSION)?;
    let response = coordinator.request(request, version).await?;
    coordinator.throttle(response.throttle_time_ms);
    process_response(response, &coordinator, request)
}

/// Succeeds if every partition was added.
fn process_response(
    response: AddPartitionsToTxnResponse,
    coordinator: &Coordinator,
    request: &AddPartitionsToTxnRequest,
) -> Result<()> {
    let requested: usize = request.v3_and_below_topics.iter().map(|topic| topic.partitions.len()).sum();
    let mut results = PartitionResults::default();
    for topic in response.results_by_topic_v3_and_below {
        let name: Arc<str> = topic.name.into();
        for partition in topic.results_by_partition {
            results.add(match ErrorCode::from(partition.partition_error_code) {
                // Another partition's error is why this one was not attempted.
                ErrorCode::None | ErrorCode::OperationNotAttempted => Ok(()),
                code => {
                    let lacks = either(code, &name, request.v3_and_below_transactional_id.as_str());
                    let error = coordinator.refusal(code).lacking(ApiKey::AddPartitionsToTxn, lacks);
                    let error = with_advice(error, code);
                    Err(error.at(&name, partition.partition_index))
                }
            });
        }
    }
    results.finish(requested)
}
