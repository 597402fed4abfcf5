//! Commits a consumer's offsets within the transaction: AddOffsetsToTxn (protocol 1), then TxnOffsetCommit
//! (KIP-447).
//!
//! Invariants: the group's coordinator checks the member's generation or epoch, so a consumer that lost its
//! partitions cannot commit. An offset is never committed for a topic that was recreated under the same name,
//! as far as topic ids reveal it. After any failure the transaction can only be aborted; one that is due to a
//! topic that does not exist any more comes at once.

use std::collections::HashMap;
use std::sync::Arc;

use ottla_protocol::messages::add_offsets_to_txn::AddOffsetsToTxnRequest;
use ottla_protocol::messages::txn_offset_commit::{
    TxnOffsetCommitRequest, TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
};
use ottla_protocol::wire::Uuid;
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::time::Instant;

use super::error_class::{ErrorClass, TransactionRequest};
use super::fencing::{explain, is_ambiguous, with_advice_if_clear};
use super::init_producer_id::with_advice;
use super::partition_results::PartitionResults;
use super::request_attempts::{Attempts, RequestFailure};
use super::{TransactionManager, TransactionProtocol};
use crate::cluster::{Client, Coordinator, CoordinatorKind};
use crate::error::permission::either;
use crate::error::{Error, Kind, Outlook, Result};
use crate::group_offsets::ConsumerGroupMetadata;
use crate::group_offsets::{
    CommittedOffset, Refusals, RequestTopics, UnknownTopics, add_topic_id, is_unknown_topic,
};
use crate::metadata::Snapshot;
use crate::producer::idempotence::ProducerIdAndEpoch;
use crate::topic_partition::TopicPartition;

/// The first version with the member's identity (KIP-447, Kafka 2.5).
const FIRST_WITH_MEMBER: i16 = 3;

/// The offsets of one call.
pub(super) type Offsets = HashMap<TopicPartition, CommittedOffset>;

/// Adds offsets to the transaction.
pub(super) async fn send_offsets(
    client: &Client,
    manager: &TransactionManager,
    producer: ProducerIdAndEpoch,
    member: &ConsumerGroupMetadata,
    offsets: &Offsets,
    deadline: Instant,
) -> Result<(), RequestFailure> {
    let _request = manager.request_lock.lock().await;
    let protocol = manager.protocol();
    let (id, group) = (manager.transactional_id(), &*member.group_id);
    let what = format!("adding offsets of group {group} to the transaction of {id}");
    if protocol == TransactionProtocol::V1 {
        Attempts::new(client, manager, TransactionRequest::AddOffsets, &what)
            .until(deadline)
            .run((CoordinatorKind::Transaction, id), |coordinator| {
                add_group(coordinator, id, producer, group)
            })
            .await?;
    }
    manager.shared.lock().state.start();
    let commit = OffsetCommit {
        transactional_id: id,
        producer,
        protocol,
        member,
        offsets,
        deadline,
        unknown_topics: UnknownTopics::default(),
    };
    let committed = Attempts::new(client, manager, TransactionRequest::OffsetCommit, what)
        .until(deadline)
        .run((CoordinatorKind::Group, group), |coordinator| commit.send(client, coordinator))
        .await;
    match committed {
        Err(failure) if is_ambiguous(&failure.error, protocol) => {
            Err(explain(client, manager, producer, failure.error, Some(deadline)).await.1)
        }
        committed => committed,
    }
}

/// A failure that the state must know: a call that timed out cannot be repeated with other offsets.
pub(super) fn failure_class(failure: &RequestFailure) -> ErrorClass {
    match failure.class {
        ErrorClass::Fatal => ErrorClass::Fatal,
        _ => ErrorClass::Abortable,
    }
}

async fn add_group(
    coordinator: Coordinator,
    id: &str,
    producer: ProducerIdAndEpoch,
    group: &str,
) -> Result<()> {
    let version = coordinator.version::<AddOffsetsToTxnRequest>(i16::MAX)?;
    let request = AddOffsetsToTxnRequest {
        transactional_id: id.to_owned(),
        producer_id: producer.id,
        producer_epoch: producer.epoch,
        group_id: group.to_owned(),
    };
    let response = coordinator.request(&request, version).await?;
    coordinator.throttle(response.throttle_time_ms);
    match ErrorCode::from(response.error_code) {
        ErrorCode::None => Ok(()),
        code => {
            let lacks = if code == ErrorCode::GroupAuthorizationFailed { group } else { id };
            let error = coordinator.refusal(code).lacking(ApiKey::AddOffsetsToTxn, lacks);
            Err(with_advice(error, code))
        }
    }
}

struct OffsetCommit<'a> {
    transactional_id: &'a str,
    producer: ProducerIdAndEpoch,
    protocol: TransactionProtocol,
    member: &'a ConsumerGroupMetadata,
    offsets: &'a Offsets,
    deadline: Instant,
    unknown_topics: UnknownTopics,
}

impl OffsetCommit<'_> {
    async fn send(&self, client: &Client, coordinator: Coordinator) -> Result<()> {
        let snapshot = client.snapshot();
        let ids = self.topic_ids(&snapshot)?;
        let topics = RequestTopics::new(&snapshot, self.offsets.keys(), &ids);
        let max = match self.protocol {
            TransactionProtocol::V1 => TxnOffsetCommitRequest::FIRST_OF_PROTOCOL_2 - 1,
            TransactionProtocol::V2 if topics.have_ids() => TxnOffsetCommitRequest::FIRST_BY_ID,
            TransactionProtocol::V2 => TxnOffsetCommitRequest::FIRST_BY_ID - 1,
        };
        let version = coordinator.version::<TxnOffsetCommitRequest>(max)?;
        if self.protocol == TransactionProtocol::V2 && version < TxnOffsetCommitRequest::FIRST_OF_PROTOCOL_2 {
            let message = "the group's coordinator does not support version 2 of the transaction protocol, which the cluster has finalized";
            return Err(Error::new(Kind::Broker, message).broker(coordinator.broker()));
        }
        if version < FIRST_WITH_MEMBER && !self.member.member_id.is_empty() {
            let message = "these brokers (before Kafka 2.5) do not check the group's generation with the offsets of a transaction, so a consumer that lost its partitions could commit";
            return Err(Error::new(Kind::Broker, message).broker(coordinator.broker()));
        }
        let request = self.build_request(&topics);
        let response = coordinator.request(&request, version).await?;
        coordinator.throttle(response.throttle_time_ms);
        let mut refusals = Refusals::new();
        let result = self.process_response(response, &coordinator, &topics, &mut refusals);
        let unknown_topics = &self.unknown_topics;
        let settled =
            unknown_topics.settle(client, snapshot.generation, self.deadline, refusals, self.offsets).await;
        match settled.failed.into_iter().min_by(|(one, _), (other, _)| one.cmp(other)) {
            Some((_, error)) => Err(final_error(error)),
            None => result,
        }
    }

    /// The topic id of each offset. Fails for a topic that was recreated since the offset was read.
    fn topic_ids(&self, snapshot: &Snapshot) -> Result<HashMap<Arc<str>, Uuid>> {
        let mut ids = HashMap::new();
        for (partition, committed) in self.offsets {
            add_topic_id(&mut ids, snapshot, partition, committed).map_err(final_error)?;
        }
        Ok(ids)
    }

    fn build_request(&self, topics: &RequestTopics<'_>) -> TxnOffsetCommitRequest {
        let partition = |topic: &Arc<str>, index: i32| {
            let committed = self.offsets.get(&(Arc::clone(topic), index))?;
            Some(TxnOffsetCommitRequestPartition {
                partition_index: index,
                committed_offset: committed.offset,
                committed_leader_epoch: committed.leader_epoch.unwrap_or(-1),
                committed_metadata: committed.metadata.clone(),
            })
        };
        let topics = topics.topics.values().map(|topic| TxnOffsetCommitRequestTopic {
            name: topic.name.to_string(),
            topic_id: topic.id,
            partitions: topic.partitions.iter().filter_map(|index| partition(topic.name, *index)).collect(),
        });
        TxnOffsetCommitRequest {
            transactional_id: self.transactional_id.to_owned(),
            group_id: self.member.group_id.to_string(),
            producer_id: self.producer.id,
            producer_epoch: self.producer.epoch,
            generation_id_or_member_epoch: self.member.generation,
            member_id: self.member.member_id.to_string(),
            group_instance_id: self.member.instance_id.as_deref().map(str::to_owned),
            topics: topics.collect(),
        }
    }

    /// Succeeds if every offset was accepted.
    fn process_response(
        &self,
        response: TxnOffsetCommitResponse,
        coordinator: &Coordinator,
        topics: &RequestTopics<'_>,
        refusals: &mut Refusals,
    ) -> Result<()> {
        let mut results = PartitionResults::default();
        for topic in response.topics {
            let Some(name) = topics.topic(&topic.name, topic.topic_id) else { continue };
            for partition in topic.partitions {
                results.add(match ErrorCode::from(partition.error_code) {
                    ErrorCode::None => Ok(()),
                    code => {
                        let other = match code {
                            ErrorCode::TransactionalIdAuthorizationFailed => self.transactional_id,
                            _ => &self.member.group_id,
                        };
                        let lacks = either(code, name, other);
                        let error = coordinator.refusal(code).lacking(ApiKey::TxnOffsetCommit, lacks);
                        let error = offset_error(error, code, self.protocol);
                        let error = error.at(name, partition.partition_index);
                        if is_unknown_topic(code) {
                            let key = (Arc::clone(name), partition.partition_index);
                            refusals.insert(key, error.clone());
                        }
                        Err(error)
                    }
                });
            }
        }
        results.finish(self.offsets.len())
    }
}

/// The error of an offset whose topic does not exist: it is not committed later either. Without it, the
/// transaction would not be exactly the records that were read, so it is not dropped.
fn final_error(error: Error) -> Error {
    error
        .prefixed("abort the transaction, and continue without this partition")
        .as_kind(Kind::TransactionAbortable)
        .with_outlook(Outlook::Permanent)
}

/// The error of one offset, with advice.
fn offset_error(error: Error, code: ErrorCode, protocol: TransactionProtocol) -> Error {
    match code {
        ErrorCode::IllegalGeneration
        | ErrorCode::UnknownMemberId
        | ErrorCode::FencedMemberEpoch
        | ErrorCode::StaleMemberEpoch
        | ErrorCode::RebalanceInProgress => error
            .prefixed("the consumer has lost its place in the group, and other members may own its partitions: abort, then continue from the committed offsets")
            .as_kind(Kind::TransactionAbortable),
        _ => with_advice_if_clear(error, code, protocol),
    }
}
