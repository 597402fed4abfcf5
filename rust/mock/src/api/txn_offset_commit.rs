//! TxnOffsetCommit (28), versions 0–6: offsets of a group that become committed with a transaction.
//!
//! The member's identity from version 3 (KIP-447), topics by id from version 6. From version 5, the group's
//! coordinator adds the group to the transaction (KIP-890).

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::txn_offset_commit::{
    TxnOffsetCommitRequest, TxnOffsetCommitRequestPartition, TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic,
};

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::fault::FaultTarget;
use crate::group::{CommittedOffset, MemberIdentity};
use crate::state::ClusterState;
use crate::transaction::{ProducerIdAndEpoch, TransactionalProducer};

impl RequestHandler for TxnOffsetCommitRequest {
    fn targets(&self, version: i16, state: &ClusterState) -> Vec<FaultTarget> {
        let topics = self.topics.iter().flat_map(|topic| {
            let partitions = topic.partitions.iter().map(|partition| partition.partition_index);
            state.fault_targets(
                (&topic.name, topic.topic_id, version >= TxnOffsetCommitRequest::FIRST_BY_ID),
                partitions,
            )
        });
        topics.collect()
    }

    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<TxnOffsetCommitResponse> {
        let checked = check(self, context);
        let mut response = TxnOffsetCommitResponse::default();
        for topic in &self.topics {
            let name = context.state.topic_name(
                &topic.name,
                topic.topic_id,
                context.version >= TxnOffsetCommitRequest::FIRST_BY_ID,
            );
            let partitions = topic.partitions.iter().map(|requested| {
                let stored = name.as_deref().map_err(|code| *code).and_then(|name| {
                    context.check_fault(name, Some(requested.partition_index))?;
                    checked?;
                    store(self, name, requested, context)
                });
                TxnOffsetCommitResponsePartition {
                    partition_index: requested.partition_index,
                    error_code: stored.err().unwrap_or(ErrorCode::None).code(),
                }
            });
            let partitions = partitions.collect();
            let (name, topic_id) = (topic.name.clone(), topic.topic_id);
            response.topics.push(TxnOffsetCommitResponseTopic { name, topic_id, partitions });
        }
        HandlerResult::Response(response)
    }

    fn throttle_time(response: &mut TxnOffsetCommitResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn check(request: &TxnOffsetCommitRequest, context: &mut RequestContext<'_>) -> Result<(), ErrorCode> {
    context.check_request_fault()?;
    context.enter_group(&request.group_id)?;
    let clock = context.clock;
    let epoch = request.generation_id_or_member_epoch;
    let is_member = epoch >= 0 || !request.member_id.is_empty();
    let groups = &mut context.state.groups;
    let group = match groups.get_mut(&request.group_id) {
        Some(group) => group,
        None if !is_member => groups.get_or_create(&request.group_id),
        None => return Err(ErrorCode::IllegalGeneration),
    };
    // A producer without the consumer's identity is not checked, as before KIP-447.
    if is_member {
        let instance_id = request.group_instance_id.as_deref();
        let member = MemberIdentity { member_id: &request.member_id, instance_id, epoch };
        // Every version with a member's identity accepts an epoch.
        let checked = group.check_commit(member, i16::MAX, clock);
        // As Kafka does: transactional producers know no member epochs.
        checked.map_err(|code| match code {
            ErrorCode::StaleMemberEpoch => ErrorCode::IllegalGeneration,
            code => code,
        })?;
    }
    let producer = TransactionalProducer {
        transactional_id: &request.transactional_id,
        producer: ProducerIdAndEpoch { id: request.producer_id, epoch: request.producer_epoch },
    };
    let version = context.version;
    let current = context.state.current_transaction(producer, clock);
    let transaction = current
        .map_err(|code| super::fenced_code(code, version, TxnOffsetCommitRequest::FIRST_OF_PROTOCOL_2))?;
    if version >= TxnOffsetCommitRequest::FIRST_OF_PROTOCOL_2 {
        transaction.add_group(&request.group_id, clock);
    } else if !transaction.groups().contains(&request.group_id) {
        return Err(ErrorCode::InvalidTxnState);
    }
    Ok(())
}

fn store(
    request: &TxnOffsetCommitRequest,
    topic: &str,
    requested: &TxnOffsetCommitRequestPartition,
    context: &mut RequestContext<'_>,
) -> Result<(), ErrorCode> {
    context.state.partition(topic, requested.partition_index)?;
    let offset = CommittedOffset {
        offset: requested.committed_offset,
        leader_epoch: requested.committed_leader_epoch,
        metadata: requested.committed_metadata.clone().unwrap_or_default(),
    };
    context.state.groups.check_metadata(&offset)?;
    let group = context.state.groups.get_mut(&request.group_id).ok_or(ErrorCode::GroupIdNotFound)?;
    group.offsets.commit_in_transaction(request.producer_id, topic, requested.partition_index, offset);
    context.changed = true;
    context.check_fault_after_handling(topic, Some(requested.partition_index))
}
