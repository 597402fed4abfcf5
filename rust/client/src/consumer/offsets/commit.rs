//! Commits offsets: OffsetCommit in all its versions.
//!
//! Invariant: an offset is never committed for a topic that was recreated under the same name, as far as
//! topic ids reveal it. Java's consumer repeats such a commit after UNKNOWN_TOPIC_ID, so that the first
//! records of the new topic are skipped.

use std::collections::HashMap;
use std::sync::Arc;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic, OffsetCommitResponse,
};
use ottla_protocol::wire::Uuid;
use tokio::time::Duration;

use super::{CommittedOffset, RequestTopics, add_topic_id, is_about_member, recover};
use crate::cluster::Client;
use crate::cluster::{Coordinator, CoordinatorKind};
use crate::consumer::ConsumerGroupMetadata;
use crate::error::{Error, Kind, Result};
use crate::metadata::Snapshot;
use crate::topic_partition::TopicPartition;

/// The first version that names topics by id.
const FIRST_BY_ID: i16 = 10;

/// The result for each partition.
pub(crate) type CommitResults = HashMap<TopicPartition, Result<()>>;

/// Commits offsets and returns the result for each partition.
///
/// Fails as a whole on an error about the member or the group, such as STALE_MEMBER_EPOCH,
/// REBALANCE_IN_PROGRESS, ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID, or if the timeout
/// passes before any partition has a result. Failed offsets can be committed again. Commits of one member
/// must not overlap: a retry of the older one would overwrite the newer one.
pub async fn commit(
    client: &Client,
    member: &ConsumerGroupMetadata,
    offsets: HashMap<TopicPartition, CommittedOffset>,
    timeout: Duration,
) -> Result<HashMap<TopicPartition, Result<()>>> {
    if let Some(((topic, partition), committed)) = offsets.iter().find(|(_, to)| to.offset < 0) {
        let message = format!("cannot commit the invalid offset {}", committed.offset);
        return Err(Error::new(Kind::Config, message).at(topic, *partition));
    }
    let mut pending = offsets;
    let mut results = CommitResults::with_capacity(pending.len());
    let mut retry = client.retry(format!("committing offsets of group {}", member.group_id), timeout);
    let mut sent = false;
    loop {
        let snapshot = client.snapshot();
        let stale = snapshot.generation;
        let ids = check_ids(&snapshot, &mut pending, &mut results);
        if pending.is_empty() {
            return Ok(results);
        }
        let attempt = async {
            let coordinator = client.coordinator(CoordinatorKind::Group, &member.group_id).await?;
            // A member commits and fetches while it rejoins, which may take minutes.
            let coordinator = coordinator.avoid_blocked_connection(client).await;
            sent = true;
            let keys: Vec<TopicPartition> = pending.keys().cloned().collect();
            let topics = RequestTopics::new(&snapshot, &keys, &ids);
            send(&coordinator, member, &topics, &mut pending, &mut results).await
        };
        let retriable = match retry.attempt(attempt).await {
            Ok(None) => continue,
            Ok(Some(error)) => error,
            Err(error) if error.is_transient() => error,
            Err(error) => return Err(error),
        };
        if let Err(error) = recover(client, &mut retry, stale, retriable).await {
            let error = if sent { error.maybe_done() } else { error };
            if results.is_empty() {
                return Err(error);
            }
            let unfinished = pending.drain().map(|((topic, partition), _)| {
                let error = error.clone().at(&topic, partition);
                ((topic, partition), Err(error))
            });
            results.extend(unfinished);
        }
    }
}

/// Fails the offsets of deleted topics and returns the ids of the others. An offset keeps its topic id
/// from the first attempt on.
fn check_ids(
    snapshot: &Snapshot,
    pending: &mut HashMap<TopicPartition, CommittedOffset>,
    results: &mut CommitResults,
) -> HashMap<Arc<str>, Uuid> {
    let mut ids = HashMap::new();
    pending.retain(|partition, committed| match add_topic_id(&mut ids, snapshot, partition, committed) {
        Ok(id) => {
            committed.topic_id = id;
            true
        }
        Err(error) => {
            results.insert(partition.clone(), Err(error));
            false
        }
    });
    ids
}

/// One attempt. Moves results from `pending` to `results`; returns why the rest should be retried.
async fn send(
    coordinator: &Coordinator,
    member: &ConsumerGroupMetadata,
    topics: &RequestTopics<'_>,
    pending: &mut HashMap<TopicPartition, CommittedOffset>,
    results: &mut CommitResults,
) -> Result<Option<Error>> {
    let max = if topics.have_ids() { FIRST_BY_ID } else { FIRST_BY_ID - 1 };
    let version = coordinator.version::<OffsetCommitRequest>(max)?;
    let request = build_request(member, topics, pending);
    let response = coordinator.request(&request, version).await?;
    coordinator.throttle(response.throttle_time_ms);
    process_response(response, coordinator, member, topics, pending, results)
}

fn build_request(
    member: &ConsumerGroupMetadata,
    topics: &RequestTopics<'_>,
    pending: &HashMap<TopicPartition, CommittedOffset>,
) -> OffsetCommitRequest {
    let partition = |topic: &Arc<str>, index: i32| {
        let committed = pending.get(&(Arc::clone(topic), index))?;
        Some(OffsetCommitRequestPartition {
            partition_index: index,
            committed_offset: committed.offset,
            committed_leader_epoch: committed.leader_epoch.unwrap_or(-1),
            committed_metadata: Some(committed.metadata.clone()),
        })
    };
    let topics = topics.topics.values().map(|topic| OffsetCommitRequestTopic {
        name: topic.name.to_string(),
        topic_id: topic.id,
        partitions: topic.partitions.iter().filter_map(|index| partition(topic.name, *index)).collect(),
    });
    OffsetCommitRequest {
        group_id: member.group_id.to_string(),
        generation_id_or_member_epoch: member.generation,
        member_id: member.member_id.to_string(),
        group_instance_id: member.instance_id.as_deref().map(str::to_owned),
        topics: topics.collect(),
        ..Default::default()
    }
}

fn process_response(
    response: OffsetCommitResponse,
    coordinator: &Coordinator,
    member: &ConsumerGroupMetadata,
    topics: &RequestTopics<'_>,
    pending: &mut HashMap<TopicPartition, CommittedOffset>,
    results: &mut CommitResults,
) -> Result<Option<Error>> {
    let mut retriable = None;
    for topic_result in response.topics {
        let Some(topic) = topics.topic(&topic_result.name, topic_result.topic_id) else { continue };
        for partition in topic_result.partitions {
            let key = (Arc::clone(topic), partition.partition_index);
            let code = ErrorCode::from(partition.error_code);
            let result = match code {
                ErrorCode::None => Ok(()),
                code if is_about_member(code) => return Err(commit_error(code, coordinator, member)),
                code => {
                    let error = coordinator.refusal(code).at(topic, partition.partition_index);
                    Err(if is_rejected_before_write(code) { error } else { error.maybe_done() })
                }
            };
            match result {
                Err(error) if error.is_transient() => retriable = Some(error),
                result => {
                    if pending.remove(&key).is_some() {
                        results.insert(key, result);
                    }
                }
            }
        }
    }
    Ok(retriable.or_else(|| {
        let message = "the response lacks some of the partitions";
        (!pending.is_empty()).then(|| Error::new(Kind::Protocol, message))
    }))
}

/// Whether this error code proves that the coordinator did not commit the offset: it checks these
/// conditions before it writes to its log, and may return any other code after the write.
fn is_rejected_before_write(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::TopicAuthorizationFailed
            | ErrorCode::UnknownTopicOrPartition
            | ErrorCode::UnknownTopicId
            | ErrorCode::OffsetMetadataTooLarge
            | ErrorCode::InvalidCommitOffsetSize
            | ErrorCode::CoordinatorLoadInProgress
            | ErrorCode::InvalidRequest
    )
}

/// The error of the whole commit, with advice.
fn commit_error(code: ErrorCode, coordinator: &Coordinator, member: &ConsumerGroupMetadata) -> Error {
    let (kind, advice) = match code {
        ErrorCode::UnknownMemberId if member.member_id.is_empty() => (
            Kind::Fenced,
            "the group has active members, and only they may commit: use another group.id, or subscribe",
        ),
        ErrorCode::RebalanceInProgress => {
            (Kind::CommitFailed, "the group is rebalancing: commit again after it")
        }
        ErrorCode::IllegalGeneration | ErrorCode::UnknownMemberId | ErrorCode::FencedMemberEpoch => (
            Kind::CommitFailed,
            "this member was removed from the group, and other members may own its partitions: poll \
             more often than max.poll.interval.ms, or process fewer records per poll",
        ),
        _ => return coordinator.refusal(code).prefixed(format_args!("group {}", member.group_id)),
    };
    coordinator.refusal(code).prefixed(format_args!("group {}: {advice}", member.group_id)).as_kind(kind)
}
