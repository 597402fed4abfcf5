//! Commits offsets: OffsetCommit in all its versions.
//!
//! Invariant: an offset is never committed for a topic that was recreated under the same name, as far as
//! topic ids reveal it. Java's consumer repeats such a commit after UNKNOWN_TOPIC_ID, so that the first
//! records of the new topic are skipped. Offsets of topics that do not exist never hold up the others
//! (`unknown_topics.rs`).

use std::collections::HashMap;
use std::sync::Arc;

use ottla_protocol::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic, OffsetCommitResponse,
};
use ottla_protocol::wire::Uuid;
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::time::Duration;

use super::{
    CommittedOffset, Refusals, RequestTopics, UnknownTopics, add_topic_id, is_about_member, is_unknown_topic,
    recover,
};
use crate::cluster::Client;
use crate::cluster::{Coordinator, CoordinatorKind};
use crate::error::proof::proves_no_commit;
use crate::error::{Error, Kind, Result};
use crate::group_offsets::ConsumerGroupMetadata;
use crate::metadata::Snapshot;
use crate::topic_partition::TopicPartition;

/// The result for each partition.
pub(crate) type CommitResults = HashMap<TopicPartition, Result<()>>;

/// Commits offsets and returns the result for each partition.
///
/// Fails as a whole on an error about the member or the group, such as STALE_MEMBER_EPOCH,
/// REBALANCE_IN_PROGRESS, ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID, or if the timeout
/// passes before any partition has a result. Failed offsets can be committed again, except those of topics
/// that do not exist, which fail at once while the others are committed. Commits of one member must not
/// overlap: a retry of the older one would overwrite the newer one.
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
    let results = CommitResults::with_capacity(offsets.len());
    let mut partitions = Partitions { pending: offsets, results, refusals: Refusals::new() };
    let unknown_topics = UnknownTopics::default();
    let mut retry = client.retry(format!("committing offsets of group {}", member.group_id), timeout);
    let mut sent = false;
    loop {
        let snapshot = client.snapshot();
        let stale = snapshot.generation;
        let ids = partitions.check_ids(&snapshot);
        if partitions.pending.is_empty() {
            return Ok(partitions.results);
        }
        let attempt = async {
            let coordinator = client.coordinator(CoordinatorKind::Group, &member.group_id).await?;
            // A member commits and fetches while it rejoins, which may take minutes.
            let coordinator = coordinator.avoid_blocked_connection(client).await;
            sent = true;
            let keys: Vec<TopicPartition> = partitions.pending.keys().cloned().collect();
            let topics = RequestTopics::new(&snapshot, &keys, &ids);
            send(&coordinator, member, &topics, &mut partitions).await
        };
        let retriable = match retry.attempt(attempt).await {
            Ok(retriable) => retriable,
            // The same commit may be sent twice: commits of a member do not overlap.
            Err(error) if error.may_pass() => Some(error),
            Err(error) => return Err(error),
        };
        let refusals = std::mem::take(&mut partitions.refusals);
        let pending = &partitions.pending;
        let settled = unknown_topics.settle(client, stale, retry.deadline(), refusals, pending).await;
        partitions.fail_each(settled.failed);
        let paused = match (retriable, settled.passing) {
            (None, None) => continue,
            (None, Some(refusal)) => unknown_topics.pause(&mut retry, refusal).await,
            (Some(lasting), _) if !retry.repeats(&lasting) => Err(lasting),
            (Some(retriable), _) => recover(client, &mut retry, stale, retriable).await,
        };
        if let Err(error) = paused {
            let error = if sent { error.maybe_done() } else { error };
            return if partitions.results.is_empty() { Err(error) } else { Ok(partitions.fail(&error)) };
        }
    }
}

/// The partitions of a commit.
struct Partitions {
    /// Those without a result.
    pending: HashMap<TopicPartition, CommittedOffset>,
    results: CommitResults,
    /// The pending ones whose topics the coordinator does not know, as of the last attempt.
    refusals: Refusals,
}

impl Partitions {
    /// Fails the offsets of deleted topics and returns the ids of the others. An offset keeps its topic id
    /// from the first attempt on.
    fn check_ids(&mut self, snapshot: &Snapshot) -> HashMap<Arc<str>, Uuid> {
        let mut ids = HashMap::new();
        self.pending.retain(|partition, committed| {
            match add_topic_id(&mut ids, snapshot, partition, committed) {
                Ok(id) => {
                    committed.topic_id = id;
                    true
                }
                Err(error) => {
                    self.results.insert(partition.clone(), Err(error));
                    false
                }
            }
        });
        ids
    }

    fn fail_each(&mut self, failed: Vec<(TopicPartition, Error)>) {
        for (partition, error) in failed {
            if self.pending.remove(&partition).is_some() {
                self.results.insert(partition, Err(error));
            }
        }
    }

    /// The results; those without one failed with `error`.
    fn fail(mut self, error: &Error) -> CommitResults {
        let unfinished = self.pending.drain().map(|(partition, _)| {
            let error = error.clone().at(&partition.0, partition.1);
            (partition, Err(error))
        });
        self.results.extend(unfinished);
        self.results
    }
}

/// One attempt. Returns why the rest should be retried, apart from
/// partitions with unknown topics.
async fn send(
    coordinator: &Coordinator,
    member: &ConsumerGroupMetadata,
    topics: &RequestTopics<'_>,
    partitions: &mut Partitions,
) -> Result<Option<Error>> {
    let max = if topics.have_ids() {
        OffsetCommitRequest::FIRST_BY_ID
    } else {
        OffsetCommitRequest::FIRST_BY_ID - 1
    };
    let version = coordinator.version::<OffsetCommitRequest>(max)?;
    let request = build_request(member, topics, &partitions.pending);
    let response = coordinator.request(&request, version).await?;
    coordinator.throttle(response.throttle_time_ms);
    process_response(response, coordinator, member, topics, partitions)
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
            committed_metadata: committed.metadata.clone(),
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
    partitions: &mut Partitions,
) -> Result<Option<Error>> {
    let Partitions { pending, results, refusals } = partitions;
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
                    let error = coordinator.refusal(code).lacking(ApiKey::OffsetCommit, topic);
                    let error = error.at(topic, partition.partition_index);
                    Err(if proves_no_commit(code) { error } else { error.maybe_done() })
                }
            };
            match result {
                Err(error) if is_unknown_topic(code) => drop(refusals.insert(key, error)),
                Err(error) if error.may_pass() => retriable = Some(error),
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
        let has_all = pending.keys().all(|partition| refusals.contains_key(partition));
        (!has_all).then(|| Error::new(Kind::Protocol, message))
    }))
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
        // One that left because it did not poll knows that, and sends no commit.
        ErrorCode::UnknownMemberId => (
            Kind::CommitFailed,
            "the group has removed this member, because its session expired (no heartbeat arrived: the \
             network was cut, or the process was stopped) or by command, and other members may own its \
             partitions: the next poll joins again",
        ),
        ErrorCode::IllegalGeneration | ErrorCode::FencedMemberEpoch => (
            Kind::CommitFailed,
            "the group has rebalanced without this member, and other members may own its partitions: the \
             next poll joins again. It must be polled within max.poll.interval.ms during a rebalance, too",
        ),
        _ => {
            let error = coordinator.refusal(code).lacking(ApiKey::OffsetCommit, &member.group_id);
            return error.prefixed(format_args!("group {}", member.group_id));
        }
    };
    coordinator.refusal(code).prefixed(format_args!("group {}: {advice}", member.group_id)).as_kind(kind)
}
