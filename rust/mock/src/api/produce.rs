//! Produce (0), versions 3–13: append one batch per partition.
//!
//! Topics by id from version 13. With `acks=0` there is no response, and an error closes the connection. From
//! version 10, NOT_LEADER_OR_FOLLOWER names the new leader and its address (KIP-951).

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::produce::{
    LeaderIdAndEpoch, NodeEndpoint, PartitionProduceResponse, ProduceRequest, ProduceResponse,
    TopicProduceResponse,
};

use super::node_endpoints::NodeEndpoints;
use super::{HandlerResult, RequestContext, RequestHandler};
use crate::fault::FaultTarget;
use crate::log::{self, AppendError, AppendInfo, AppendRules, ValidatedBatch};
use crate::state::ClusterState;
use crate::transaction::{ProducerIdAndEpoch, TransactionalProducer};

/// The first version of version 2 of the transaction protocol.
const TRANSACTION_V2: i16 = 12;
const CURRENT_LEADER: i16 = 10;

impl RequestHandler for ProduceRequest {
    fn targets(&self, version: i16, state: &ClusterState) -> Vec<FaultTarget> {
        let mut targets = Vec::new();
        for topic in &self.topic_data {
            let Ok(name) =
                state.topic_name(&topic.name, topic.topic_id, version >= ProduceRequest::FIRST_BY_ID)
            else {
                continue;
            };
            let partitions = topic.partition_data.iter().map(|p| Some(p.index));
            targets.extend(partitions.map(|partition| FaultTarget { topic: name.clone(), partition }));
        }
        targets
    }

    fn validate_records(&self, version: i16) -> Vec<Result<ValidatedBatch, AppendError>> {
        let partitions = self.topic_data.iter().flat_map(|topic| &topic.partition_data);
        partitions.map(|data| log::validate(data.records.as_ref(), version)).collect()
    }

    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<ProduceResponse> {
        let mut node_endpoints = NodeEndpoints::default();
        let mut failed = false;
        let mut response = ProduceResponse::default();
        let mut checked = context.validated.iter();
        for topic in &self.topic_data {
            let name = context.state.topic_name(
                &topic.name,
                topic.topic_id,
                context.version >= ProduceRequest::FIRST_BY_ID,
            );
            let mut responses = Vec::with_capacity(topic.partition_data.len());
            for data in &topic.partition_data {
                let outcome = match (&name, checked.next()) {
                    (Ok(name), Some(checked)) => append(context, self, name, data.index, checked),
                    (Ok(_), None) => Err((ErrorCode::UnknownServerError, "")),
                    (Err(code), _) => Err((*code, "")),
                };
                let mut response = build_partition(data.index, outcome);
                failed |= outcome.is_err();
                if let (Ok(name), Err((ErrorCode::NotLeaderOrFollower, _))) = (&name, outcome)
                    && context.version >= CURRENT_LEADER
                    && let Some((leader_id, leader_epoch)) =
                        node_endpoints.current_leader(context.state, name, data.index)
                {
                    response.current_leader = LeaderIdAndEpoch { leader_id, leader_epoch };
                }
                responses.push(response);
            }
            response.responses.push(TopicProduceResponse {
                name: topic.name.clone(),
                topic_id: topic.topic_id,
                partition_responses: responses,
            });
        }
        response.node_endpoints = node_endpoints.into_response(|node_id, host, port, rack| NodeEndpoint {
            node_id,
            host,
            port,
            rack,
        });
        match self.acks {
            0 if failed => HandlerResult::Close,
            0 => HandlerResult::NoResponse,
            _ => HandlerResult::Response(response),
        }
    }

    fn throttle_time(response: &mut ProduceResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn append(
    context: &mut RequestContext<'_>,
    request: &ProduceRequest,
    topic: &str,
    index: i32,
    checked: &Result<ValidatedBatch, AppendError>,
) -> Result<AppendInfo, AppendError> {
    let acks = request.acks;
    let plain = |code: ErrorCode| (code, "");
    context.check_fault(topic, Some(index)).map_err(plain)?;
    if !(-1..=1).contains(&acks) {
        return Err(plain(ErrorCode::InvalidRequiredAcks));
    }
    let checked = checked.as_ref().map_err(|rejected| *rejected)?;
    let state = &*context.state;
    let Some(settings) = state.topic(topic).map(|topic| state.topic_settings(&topic.config, context.broker))
    else {
        return Err(plain(ErrorCode::UnknownTopicOrPartition));
    };
    let mut rules = AppendRules {
        max_message_bytes: settings.max_message_bytes,
        leader_epoch: -1,
        requires_keys: settings.is_compacted,
        append_time: settings.log_append_time.then_some(context.now),
    };
    let partition = context.state.partition_mut(topic, index).map_err(plain)?;
    partition.check_leader(context.broker, -1).map_err(plain)?;
    // No partition needs more replicas than it has.
    if acks == -1 && partition.isr.len() < settings.min_insync.min(partition.replicas.len()) {
        return Err(plain(ErrorCode::NotEnoughReplicas));
    }
    rules.leader_epoch = partition.leader_epoch;
    if checked.batch.is_transactional() {
        add_to_transaction(context, request.transactional_id.as_deref(), topic, index, checked)
            .map_err(plain)?;
    }
    let partition = context.state.partition_mut(topic, index).map_err(plain)?;
    let appended = partition.log.append(checked, rules)?;
    context.changed = true;
    context.check_fault_after_handling(topic, Some(index)).map_err(plain)?;
    Ok(appended)
}

/// Verifies that a partition belongs to the producer's open transaction; from version 12, adds it (KIP-890).
fn add_to_transaction(
    context: &mut RequestContext<'_>,
    transactional_id: Option<&str>,
    topic: &str,
    index: i32,
    checked: &ValidatedBatch,
) -> Result<(), ErrorCode> {
    let id = transactional_id.ok_or(ErrorCode::InvalidRequest)?;
    let batch = &checked.batch;
    let producer = ProducerIdAndEpoch { id: batch.producer_id(), epoch: batch.producer_epoch() };
    let (clock, version) = (context.clock, context.version);
    // A partition asks the coordinator only if it knows of no open transaction; this one may have ended.
    if context.state.partition_mut(topic, index)?.log.has_open_transaction(producer) {
        return Ok(());
    }
    let current = TransactionalProducer { transactional_id: id, producer };
    let transaction = context.state.current_transaction(current, clock).map_err(|code| match code {
        ErrorCode::ProducerFenced => ErrorCode::InvalidProducerEpoch,
        ErrorCode::ConcurrentTransactions if version < TRANSACTION_V2 => ErrorCode::NotEnoughReplicas,
        code => code,
    })?;
    let partition = (topic.to_owned(), index);
    if version >= TRANSACTION_V2 {
        transaction.add_partitions([partition], clock);
    } else if !transaction.partitions().contains(&partition) {
        return Err(ErrorCode::InvalidTxnState);
    }
    Ok(())
}

fn build_partition(index: i32, outcome: Result<AppendInfo, AppendError>) -> PartitionProduceResponse {
    match outcome {
        Ok(appended) => PartitionProduceResponse {
            index,
            base_offset: appended.base_offset,
            log_append_time_ms: appended.append_time,
            log_start_offset: appended.start_offset,
            ..PartitionProduceResponse::default()
        },
        Err((code, message)) => PartitionProduceResponse {
            index,
            error_code: code.code(),
            base_offset: -1,
            error_message: (!message.is_empty()).then(|| message.to_owned()),
            ..PartitionProduceResponse::default()
        },
    }
}
