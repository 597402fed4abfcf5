//! Fetches committed offsets: OffsetFetch in all its versions.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use ottla_protocol::messages::offset_fetch::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
    OffsetFetchResponse, OffsetFetchResponsePartitions,
};
use ottla_protocol::wire::Uuid;
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::time::Duration;

use super::{CommittedOffset, RequestTopics, is_about_member, recover};
use crate::cluster::Client;
use crate::cluster::{Coordinator, CoordinatorKind};
use crate::error::{Error, Kind, Result};
use crate::group_offsets::ConsumerGroupMetadata;
use crate::topic_partition::TopicPartition;

/// The first versions that support KIP-447, several groups with member epochs, and topic ids.
const FIRST_REQUIRE_STABLE: i16 = 7;
const FIRST_WITH_GROUPS: i16 = 8;
/// Returns the committed offset of each partition, `None` without one; or all committed offsets of the
/// group.
///
/// With `require_stable` it waits for transactions that are about to commit offsets (KIP-447), if the
/// broker supports that. The coordinator checks the member's epoch; errors are those of
/// [`commit`](super::commit()).
pub async fn committed(
    client: &Client,
    member: &ConsumerGroupMetadata,
    partitions: Option<Vec<TopicPartition>>,
    require_stable: bool,
    timeout: Duration,
) -> Result<HashMap<TopicPartition, Option<CommittedOffset>>> {
    let mut retry = client.retry(format!("fetching offsets of group {}", member.group_id), timeout);
    let pending = partitions.map(BTreeSet::from_iter);
    let mut fetch = OffsetFetch { member, require_stable, pending, offsets: HashMap::new() };
    while fetch.pending.as_ref().is_none_or(|pending| !pending.is_empty()) {
        let stale = client.snapshot().generation;
        match retry.attempt(fetch.send(client)).await {
            Ok(()) => break,
            Err(error) if retry.repeats(&error) => recover(client, &mut retry, stale, error).await?,
            Err(error) => return Err(error),
        }
    }
    Ok(fetch.offsets)
}

/// The partitions still to fetch, and the offsets found so far.
struct OffsetFetch<'a> {
    member: &'a ConsumerGroupMetadata,
    require_stable: bool,
    /// `None` for all.
    pending: Option<BTreeSet<TopicPartition>>,
    offsets: HashMap<TopicPartition, Option<CommittedOffset>>,
}

impl OffsetFetch<'_> {
    /// One attempt. After a retriable error, call it again.
    async fn send(&mut self, client: &Client) -> Result<()> {
        let coordinator = client.coordinator(CoordinatorKind::Group, &self.member.group_id).await?;
        let coordinator = coordinator.avoid_blocked_connection(client).await;
        let keys: Option<Vec<_>> = self.pending.as_ref().map(|pending| pending.iter().cloned().collect());
        let requested =
            keys.as_ref().map(|keys| RequestTopics::new(&client.snapshot(), keys, &HashMap::new()));
        // A response by id would not reveal the names of topics that were not requested.
        let max = if requested.as_ref().is_some_and(RequestTopics::have_ids) {
            OffsetFetchRequest::FIRST_BY_ID
        } else {
            OffsetFetchRequest::FIRST_BY_ID - 1
        };
        let version = coordinator.version::<OffsetFetchRequest>(max)?;
        let request = self.build_request(requested.as_ref(), version);
        let response = coordinator.request(&request, version).await?;
        coordinator.throttle(response.throttle_time_ms);
        self.process_response(response, version, &coordinator, requested.as_ref())
    }

    fn build_request(&self, requested: Option<&RequestTopics<'_>>, version: i16) -> OffsetFetchRequest {
        let group_id = self.member.group_id.to_string();
        // Older brokers ignore it, as with Java's client.
        let require_stable = self.require_stable && version >= FIRST_REQUIRE_STABLE;
        let topics = || requested.map(|requested| requested.topics.values());
        if version < FIRST_WITH_GROUPS {
            let by_name = |topic: &super::RequestTopic<'_>| OffsetFetchRequestTopic {
                name: topic.name.to_string(),
                partition_indexes: topic.partitions.clone(),
            };
            let topics = topics().map(|topics| topics.map(by_name).collect());
            return OffsetFetchRequest { group_id, topics, require_stable, ..Default::default() };
        }
        let topics = topics().map(|topics| {
            let by_name_and_id = |topic: &super::RequestTopic<'_>| OffsetFetchRequestTopics {
                name: topic.name.to_string(),
                topic_id: topic.id,
                partition_indexes: topic.partitions.clone(),
            };
            topics.map(by_name_and_id).collect()
        });
        // A consumer that was removed from the group may fetch like any other client.
        let is_member = !self.member.member_id.is_empty() && self.member.generation >= 0;
        let group = OffsetFetchRequestGroup {
            group_id,
            member_id: is_member.then(|| self.member.member_id.to_string()),
            member_epoch: if is_member { self.member.generation } else { -1 },
            topics,
        };
        OffsetFetchRequest { groups: vec![group], require_stable, ..Default::default() }
    }

    fn process_response(
        &mut self,
        response: OffsetFetchResponse,
        version: i16,
        coordinator: &Coordinator,
        requested: Option<&RequestTopics<'_>>,
    ) -> Result<()> {
        let refusal = |code: ErrorCode| {
            let group = &self.member.group_id;
            let error = coordinator.refusal(code).lacking(ApiKey::OffsetFetch, group);
            error.prefixed(format_args!("group {group}"))
        };
        ErrorCode::from(response.error_code).ok().map_err(refusal)?;
        let mut retriable = None;
        let Some(topics) = topics(response, &self.member.group_id, version).map_err(refusal)? else {
            return Err(Error::new(Kind::Protocol, "the response lacks the group"));
        };
        for (name, id, partitions) in topics {
            let known = requested.map(|requested| requested.topic(&name, id));
            let topic: Arc<str> = match known {
                None => name.into(),
                Some(Some(topic)) => Arc::clone(topic),
                Some(None) => continue,
            };
            for partition in partitions {
                let code = ErrorCode::from(partition.error_code);
                if is_about_member(code) {
                    return Err(refusal(code));
                }
                if code != ErrorCode::None {
                    let error = coordinator.refusal(code).lacking(ApiKey::OffsetFetch, &topic);
                    let error = error.at(&topic, partition.partition_index);
                    if !error.may_pass() {
                        return Err(error);
                    }
                    retriable = Some(error);
                    continue;
                }
                let key = (Arc::clone(&topic), partition.partition_index);
                if self.pending.as_mut().is_none_or(|pending| pending.remove(&key)) {
                    self.offsets.insert(key, offset(partition));
                }
            }
        }
        if let Some(error) = retriable {
            return Err(error);
        }
        if self.pending.as_ref().is_some_and(|pending| !pending.is_empty()) {
            return Err(Error::new(Kind::Protocol, "the response lacks some of the partitions"));
        }
        Ok(())
    }
}

fn offset(partition: OffsetFetchResponsePartitions) -> Option<CommittedOffset> {
    (partition.committed_offset >= 0).then(|| CommittedOffset {
        offset: partition.committed_offset,
        leader_epoch: (partition.committed_leader_epoch >= 0).then_some(partition.committed_leader_epoch),
        metadata: partition.metadata,
        topic_id: Uuid::ZERO,
    })
}

type Topic = (String, Uuid, Vec<OffsetFetchResponsePartitions>);

/// The topics of a response, in the form of the newest version; `None` if the group is missing.
fn topics(response: OffsetFetchResponse, group: &str, version: i16) -> Result<Option<Vec<Topic>>, ErrorCode> {
    if version >= FIRST_WITH_GROUPS {
        let Some(group) = response.groups.into_iter().find(|it| it.group_id == group) else {
            return Ok(None);
        };
        ErrorCode::from(group.error_code).ok()?;
        let topics = group.topics.into_iter();
        return Ok(Some(topics.map(|topic| (topic.name, topic.topic_id, topic.partitions)).collect()));
    }
    let topics = response.topics.into_iter().map(|topic| {
        let partitions = topic.partitions.into_iter().map(|old| OffsetFetchResponsePartitions {
            partition_index: old.partition_index,
            committed_offset: old.committed_offset,
            committed_leader_epoch: old.committed_leader_epoch,
            metadata: old.metadata,
            error_code: old.error_code,
        });
        (topic.name, Uuid::ZERO, partitions.collect())
    });
    Ok(Some(topics.collect()))
}
