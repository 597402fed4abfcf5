//! Reading committed offsets: OffsetFetch in all its versions.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::offset_fetch::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
    OffsetFetchResponse, OffsetFetchResponsePartitions,
};
use ottla_protocol::wire::Uuid;
use tokio::time::Duration;

use super::{Committed, Named, is_about_member, recover};
use crate::cluster::Client;
use crate::cluster::{Coordinator, CoordinatorKind};
use crate::consumer::Member;
use crate::error::{Error, Kind, Result};
use crate::topic_partition::TopicPartition;

/// The first versions that can wait for transactions, name several groups and who asks, and name
/// topics by their ids.
const STABLE: i16 = 7;
const GROUPS: i16 = 8;
const BY_ID: i16 = 10;

/// The offsets that a group has committed of partitions, `None` where it has not; or of all that it
/// has committed any of.
///
/// With `require_stable` an offset that a transaction is about to commit is waited for (KIP-447), as
/// far as the broker can do that. A member is believed only in the epoch that it names; otherwise
/// the error is as in [`commit`](super::commit).
pub async fn committed(
    client: &Client,
    member: &Member,
    partitions: Option<Vec<TopicPartition>>,
    require_stable: bool,
    timeout: Duration,
) -> Result<HashMap<TopicPartition, Option<Committed>>> {
    let mut retry = client.retry(format!("fetching offsets of group {}", member.group_id), timeout);
    let waiting = partitions.map(BTreeSet::from_iter);
    let mut asked = Asked { member, require_stable, waiting, found: HashMap::new() };
    while asked.waiting.as_ref().is_none_or(|waiting| !waiting.is_empty()) {
        let stale = client.snapshot().generation;
        match retry.attempt(asked.send(client)).await {
            Ok(()) => break,
            Err(error) if error.is_transient() => recover(client, &mut retry, stale, error).await?,
            Err(error) => return Err(error),
        }
    }
    Ok(asked.found)
}

/// What is asked, and what of it is known.
struct Asked<'a> {
    member: &'a Member,
    require_stable: bool,
    /// `None` for all.
    waiting: Option<BTreeSet<TopicPartition>>,
    found: HashMap<TopicPartition, Option<Committed>>,
}

impl Asked<'_> {
    /// One attempt. An error says why it is not the last one.
    async fn send(&mut self, client: &Client) -> Result<()> {
        let coordinator = client.coordinator(CoordinatorKind::Group, &self.member.group_id).await?;
        let coordinator = coordinator.avoid_blocked_connection(client).await;
        let keys: Option<Vec<_>> = self.waiting.as_ref().map(|waiting| waiting.iter().cloned().collect());
        let named = keys.as_ref().map(|keys| Named::new(&client.snapshot(), keys, &HashMap::new()));
        // Of topics that were not asked about, an answer by ids would not tell the names.
        let max = if named.as_ref().is_some_and(Named::have_ids) { BY_ID } else { BY_ID - 1 };
        let version = coordinator.version::<OffsetFetchRequest>(max)?;
        let request = self.build_request(named.as_ref(), version);
        let response = coordinator.request(&request, version).await?;
        coordinator.throttle(response.throttle_time_ms);
        self.process_response(response, version, &coordinator, named.as_ref())
    }

    fn build_request(&self, named: Option<&Named<'_>>, version: i16) -> OffsetFetchRequest {
        let group_id = self.member.group_id.to_string();
        // What an older broker cannot do is done without, as Java does.
        let require_stable = self.require_stable && version >= STABLE;
        let topics = || named.map(|named| named.topics.values());
        if version < GROUPS {
            let by_name = |topic: &super::NamedTopic<'_>| OffsetFetchRequestTopic {
                name: topic.name.to_string(),
                partition_indexes: topic.partitions.clone(),
            };
            let topics = topics().map(|topics| topics.map(by_name).collect());
            return OffsetFetchRequest { group_id, topics, require_stable, ..Default::default() };
        }
        let topics = topics().map(|topics| {
            let by_either = |topic: &super::NamedTopic<'_>| OffsetFetchRequestTopics {
                name: topic.name.to_string(),
                topic_id: topic.id,
                partition_indexes: topic.partitions.clone(),
            };
            topics.map(by_either).collect()
        });
        // Who is out of the group may ask as anybody may.
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
        named: Option<&Named<'_>>,
    ) -> Result<()> {
        let refusal = |code: ErrorCode| {
            coordinator.refusal(code).prefixed(format_args!("group {}", self.member.group_id))
        };
        ErrorCode::from(response.error_code).ok().map_err(refusal)?;
        let mut again = None;
        let Some(topics) = topics(response, &self.member.group_id, version).map_err(refusal)? else {
            return Err(Error::new(Kind::Protocol, "the answer leaves the group out"));
        };
        for (name, id, partitions) in topics {
            let known = named.map(|named| named.topic(&name, id));
            let topic: Arc<str> = match known {
                None => name.into(),
                Some(Some(topic)) => Arc::clone(topic),
                Some(None) => continue,
            };
            for answer in partitions {
                let code = ErrorCode::from(answer.error_code);
                if is_about_member(code) {
                    return Err(refusal(code));
                }
                if code != ErrorCode::None {
                    let error = coordinator.refusal(code).at(&topic, answer.partition_index);
                    if !error.is_transient() {
                        return Err(error);
                    }
                    again = Some(error);
                    continue;
                }
                let key = (Arc::clone(&topic), answer.partition_index);
                if self.waiting.as_mut().is_none_or(|waiting| waiting.remove(&key)) {
                    self.found.insert(key, offset(answer));
                }
            }
        }
        if let Some(error) = again {
            return Err(error);
        }
        if self.waiting.as_ref().is_some_and(|waiting| !waiting.is_empty()) {
            return Err(Error::new(Kind::Protocol, "the answer leaves out some of the partitions"));
        }
        Ok(())
    }
}

fn offset(answer: OffsetFetchResponsePartitions) -> Option<Committed> {
    (answer.committed_offset >= 0).then(|| Committed {
        offset: answer.committed_offset,
        leader_epoch: (answer.committed_leader_epoch >= 0).then_some(answer.committed_leader_epoch),
        metadata: answer.metadata.unwrap_or_default(),
        topic_id: Uuid::ZERO,
    })
}

type Topic = (String, Uuid, Vec<OffsetFetchResponsePartitions>);

/// The topics of an answer in the form of its newest version; `None` if it is not about the group.
fn topics(response: OffsetFetchResponse, group: &str, version: i16) -> Result<Option<Vec<Topic>>, ErrorCode> {
    if version >= GROUPS {
        let Some(found) = response.groups.into_iter().find(|found| found.group_id == group) else {
            return Ok(None);
        };
        ErrorCode::from(found.error_code).ok()?;
        let topics = found.topics.into_iter();
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
