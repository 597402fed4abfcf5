//! Storing offsets: OffsetCommit in all its versions.
//!
//! Invariant: an offset of a topic is never stored for another one that was made under its name
//! meanwhile, as far as metadata and brokers tell topics by their ids. What Java's consumer commits
//! again after UNKNOWN_TOPIC_ID goes to the new topic, whose first records would then be skipped.

use std::collections::HashMap;
use std::sync::Arc;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic, OffsetCommitResponse,
};
use ottla_protocol::wire::Uuid;
use tokio::time::Duration;

use super::{Committed, Named, is_about_member, recover};
use crate::cluster::Client;
use crate::cluster::{Coordinator, CoordinatorKind};
use crate::consumer::Member;
use crate::error::{Error, Kind, Result};
use crate::metadata::Snapshot;
use crate::topic_partition::TopicPartition;

/// The first version that names topics by their ids.
const BY_ID: i16 = 10;

/// What became of each partition.
pub(crate) type Outcomes = HashMap<TopicPartition, Result<()>>;

/// Stores offsets, and says of each partition what became of it.
///
/// An error of the whole is one about the member or the group, such as STALE_MEMBER_EPOCH,
/// REBALANCE_IN_PROGRESS, ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID, or that the
/// time was over before any partition's turn had come. Whatever failed may be committed again: it is
/// the same offset. Two commits of one member must follow one another, though, or an older one that
/// is tried again undoes a newer one.
pub async fn commit(
    client: &Client,
    member: &Member,
    offsets: HashMap<TopicPartition, Committed>,
    timeout: Duration,
) -> Result<HashMap<TopicPartition, Result<()>>> {
    if let Some(((topic, partition), committed)) = offsets.iter().find(|(_, to)| to.offset < 0) {
        let words = format!("{} is no offset to commit", committed.offset);
        return Err(Error::new(Kind::Config, words).at(topic, *partition));
    }
    let mut waiting = offsets;
    let mut outcomes = Outcomes::with_capacity(waiting.len());
    let mut retry = client.retry(format!("committing offsets of group {}", member.group_id), timeout);
    let mut sent = false;
    loop {
        let snapshot = client.snapshot();
        let stale = snapshot.generation;
        let ids = check_ids(&snapshot, &mut waiting, &mut outcomes);
        if waiting.is_empty() {
            return Ok(outcomes);
        }
        let attempt = async {
            let coordinator = client.coordinator(CoordinatorKind::Group, &member.group_id).await?;
            // A member commits and reads on while it joins again, which may take minutes.
            let coordinator = coordinator.avoid_blocked_connection(client).await;
            sent = true;
            let keys: Vec<TopicPartition> = waiting.keys().cloned().collect();
            let named = Named::new(&snapshot, &keys, &ids);
            send(&coordinator, member, &named, &mut waiting, &mut outcomes).await
        };
        let again = match retry.attempt(attempt).await {
            Ok(None) => continue,
            Ok(Some(error)) => error,
            Err(error) if error.is_transient() => error,
            Err(error) => return Err(error),
        };
        if let Err(error) = recover(client, &mut retry, stale, again).await {
            let error = if sent { error.maybe_done() } else { error };
            if outcomes.is_empty() {
                return Err(error);
            }
            let late = waiting.drain().map(|((topic, partition), _)| {
                let error = error.clone().at(&topic, partition);
                ((topic, partition), Err(error))
            });
            outcomes.extend(late);
        }
    }
}

/// Settles what is of topics that are gone, and gives the ids of the others: once an offset is of a
/// topic by its id it stays that, also while the metadata does not know the topic.
fn check_ids(
    snapshot: &Snapshot,
    waiting: &mut HashMap<TopicPartition, Committed>,
    outcomes: &mut Outcomes,
) -> HashMap<Arc<str>, Uuid> {
    let mut ids: HashMap<Arc<str>, Uuid> = HashMap::new();
    waiting.retain(|(topic, partition), committed| {
        let now = snapshot.topic(topic).map_or(Uuid::ZERO, |topic| topic.id);
        if committed.topic_id.is_zero() {
            committed.topic_id = now;
        }
        let id = committed.topic_id;
        let same = (now.is_zero() || now == id)
            && (id.is_zero() || *ids.entry(Arc::clone(topic)).or_insert(id) == id);
        if !same {
            let words =
                "not committed: the topic was deleted and made again, and the offset is of the first one";
            let error = Error::with_code(ErrorCode::UnknownTopicId, words).at(topic, *partition);
            outcomes.insert((Arc::clone(topic), *partition), Err(error));
        }
        same
    });
    ids
}

/// One attempt. What is settled moves from `waiting` to `outcomes`; returns why the rest is not.
async fn send(
    coordinator: &Coordinator,
    member: &Member,
    named: &Named<'_>,
    waiting: &mut HashMap<TopicPartition, Committed>,
    outcomes: &mut Outcomes,
) -> Result<Option<Error>> {
    let max = if named.have_ids() { BY_ID } else { BY_ID - 1 };
    let version = coordinator.version::<OffsetCommitRequest>(max)?;
    let request = build_request(member, named, waiting);
    let response = coordinator.request(&request, version).await?;
    coordinator.throttle(response.throttle_time_ms);
    process_response(response, coordinator, member, named, waiting, outcomes)
}

fn build_request(
    member: &Member,
    named: &Named<'_>,
    waiting: &HashMap<TopicPartition, Committed>,
) -> OffsetCommitRequest {
    let partition = |topic: &Arc<str>, index: i32| {
        let committed = waiting.get(&(Arc::clone(topic), index))?;
        Some(OffsetCommitRequestPartition {
            partition_index: index,
            committed_offset: committed.offset,
            committed_leader_epoch: committed.leader_epoch.unwrap_or(-1),
            committed_metadata: Some(committed.metadata.clone()),
        })
    };
    let topics = named.topics.values().map(|topic| OffsetCommitRequestTopic {
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
    member: &Member,
    named: &Named<'_>,
    waiting: &mut HashMap<TopicPartition, Committed>,
    outcomes: &mut Outcomes,
) -> Result<Option<Error>> {
    let mut again = None;
    for answer in response.topics {
        let Some(topic) = named.topic(&answer.name, answer.topic_id) else { continue };
        for partition in answer.partitions {
            let key = (Arc::clone(topic), partition.partition_index);
            let code = ErrorCode::from(partition.error_code);
            let outcome = match code {
                ErrorCode::None => Ok(()),
                code if is_about_member(code) => return Err(refused(code, coordinator, member)),
                code => {
                    let error = coordinator.refusal(code).at(topic, partition.partition_index);
                    Err(if is_refusal(code) { error } else { error.maybe_done() })
                }
            };
            match outcome {
                Err(error) if error.is_transient() => again = Some(error),
                outcome => {
                    if waiting.remove(&key).is_some() {
                        outcomes.insert(key, outcome);
                    }
                }
            }
        }
    }
    Ok(again.or_else(|| {
        let words = "the answer leaves out some of the partitions";
        (!waiting.is_empty()).then(|| Error::new(Kind::Protocol, words))
    }))
}

/// Whether a coordinator that answers this for a partition has surely not stored its offset. It looks at
/// these before it writes to its log; whatever else it says may come after that.
fn is_refusal(code: ErrorCode) -> bool {
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

/// What concerns the whole commit, with what to do about it.
fn refused(code: ErrorCode, coordinator: &Coordinator, member: &Member) -> Error {
    let (kind, why) = match code {
        ErrorCode::UnknownMemberId if member.member_id.is_empty() => (
            Kind::Fenced,
            "the group has members, and only these may commit: use another group.id, or subscribe",
        ),
        ErrorCode::RebalanceInProgress => {
            (Kind::CommitFailed, "the group is rebalancing: commit when it has its new assignment")
        }
        ErrorCode::IllegalGeneration | ErrorCode::UnknownMemberId | ErrorCode::FencedMemberEpoch => (
            Kind::CommitFailed,
            "the group has gone on without this member, and its partitions may have other readers: poll \
             more often than max.poll.interval.ms, or take fewer records at a time",
        ),
        _ => return coordinator.refusal(code).prefixed(format_args!("group {}", member.group_id)),
    };
    coordinator.refusal(code).prefixed(format_args!("group {}: {why}", member.group_id)).as_kind(kind)
}
