//! ListOffsets: where partitions start and end, and where a timestamp lies in them.
//!
//! Requests go to the leaders, one per broker; what fails for single partitions is tried again
//! with fresh metadata until the deadline. No partition is left out of the result.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTopic,
};
use tokio::task::JoinSet;
use tokio::time::Duration;

use crate::cluster::{Client, Route};
use crate::error::{Error, Kind, Result};
use crate::metadata::Want;
use crate::topics::no_leader;

/// On the wire, the record with the largest timestamp, and the version that first knows it.
const MAX_TIMESTAMP: i64 = -3;
const MAX_TIMESTAMP_SINCE: i16 = 7;

/// A partition of a topic.
pub type TopicPartition = (Arc<str>, i32);

/// Which offset is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OffsetSpec {
    /// The first record that is there.
    Earliest,
    /// The end: where the next record will be.
    Latest,
    /// The record with the largest timestamp (KIP-734).
    MaxTimestamp,
    /// The first record at or after this time, in milliseconds since 1970.
    Timestamp(i64),
}

impl OffsetSpec {
    fn on_the_wire(self) -> i64 {
        match self {
            Self::Latest => -1,
            Self::Earliest => -2,
            Self::MaxTimestamp => MAX_TIMESTAMP,
            Self::Timestamp(millis) => millis,
        }
    }
}

/// An offset as the leader told it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedOffset {
    /// The offset; -1 if no record has such a timestamp.
    pub offset: i64,
    /// The record's timestamp in milliseconds; -1 where none was asked for.
    pub timestamp: i64,
    /// The leader epoch of the record; -1 if unknown.
    pub leader_epoch: i32,
}

type Wanted = BTreeMap<TopicPartition, OffsetSpec>;

impl Client {
    /// The offsets of partitions. `read_committed` has `Latest` mean the last stable offset.
    pub async fn list_offsets(
        &self,
        wanted: impl IntoIterator<Item = (TopicPartition, OffsetSpec)>,
        read_committed: bool,
        timeout: Duration,
    ) -> Result<HashMap<TopicPartition, ListedOffset>> {
        let mut wanted: Wanted = wanted.into_iter().collect();
        let mut found = HashMap::with_capacity(wanted.len());
        let mut retry = self.retry("listing offsets", timeout);
        let topics: Vec<Arc<str>> = {
            let mut topics: Vec<Arc<str>> = wanted.keys().map(|(topic, _)| Arc::clone(topic)).collect();
            topics.dedup();
            topics
        };
        if topics.iter().any(|topic| self.inner.metadata.peek().topic(topic).is_none()) {
            self.topics(&topics, false, timeout).await?;
        }
        loop {
            let snapshot = self.snapshot();
            let mut last = None;
            let mut by_leader: BTreeMap<i32, Wanted> = BTreeMap::new();
            for ((topic, partition), spec) in &wanted {
                match snapshot.leader(topic, *partition) {
                    Some(leader) => {
                        by_leader
                            .entry(leader.id)
                            .or_default()
                            .insert((Arc::clone(topic), *partition), *spec);
                    }
                    None => match no_leader(&snapshot, topic, *partition) {
                        error if error.may_pass() => last = Some(error),
                        error => return Err(error),
                    },
                }
            }
            let mut requests = JoinSet::new();
            for (broker, part) in by_leader {
                let client = self.clone();
                let epochs =
                    |topic: &str, index| snapshot.partition(topic, index).map_or(-1, |p| p.leader_epoch);
                let request = build_request(&part, read_committed, epochs);
                requests.spawn(async move { (broker, send_request(&client, broker, &request).await) });
            }
            while let Some(joined) = retry.attempt(async { Ok(requests.join_next().await) }).await? {
                let Ok((broker, answer)) = joined else { continue };
                match answer {
                    Ok(response) => process_response(response, broker, &mut wanted, &mut found, &mut last)?,
                    Err(error) if error.may_pass() => last = Some(error),
                    Err(error) => return Err(error),
                }
            }
            if wanted.is_empty() {
                return Ok(found);
            }
            let error = last.unwrap_or_else(|| Error::from_code(ErrorCode::LeaderNotAvailable));
            retry.pause(error).await?;
            if let Err(error) = retry.attempt(self.refresh(snapshot.generation, Want::Known)).await {
                retry.pause(error).await?;
            }
        }
    }
}

async fn send_request(
    client: &Client,
    broker: i32,
    request: &ListOffsetsRequest,
) -> Result<ListOffsetsResponse> {
    let connection = client.connection(Route::Broker(broker)).await?;
    let version = connection.version::<ListOffsetsRequest>(10)?;
    let mut partitions = request.topics.iter().flat_map(|topic| &topic.partitions);
    if version < MAX_TIMESTAMP_SINCE && partitions.any(|p| p.timestamp == MAX_TIMESTAMP) {
        let words = format!(
            "the broker speaks ListOffsets up to {version}; the largest timestamp needs {MAX_TIMESTAMP_SINCE} (Kafka 3.0)"
        );
        return Err(Error::new(Kind::Broker, words).broker(broker).address(connection.address()));
    }
    let response = connection.request(request, version).await.map_err(|error| error.broker(broker))?;
    connection.throttle(response.throttle_time_ms);
    Ok(response)
}

fn build_request(
    part: &Wanted,
    read_committed: bool,
    epoch: impl Fn(&str, i32) -> i32,
) -> ListOffsetsRequest {
    let mut topics: Vec<ListOffsetsTopic> = Vec::new();
    for ((topic, partition), spec) in part {
        if topics.last().is_none_or(|last| *last.name != **topic) {
            topics.push(ListOffsetsTopic { name: topic.to_string(), ..Default::default() });
        }
        if let Some(last) = topics.last_mut() {
            last.partitions.push(ListOffsetsPartition {
                partition_index: *partition,
                current_leader_epoch: epoch(topic, *partition),
                timestamp: spec.on_the_wire(),
            });
        }
    }
    ListOffsetsRequest {
        replica_id: -1,
        isolation_level: i8::from(read_committed),
        topics,
        ..Default::default()
    }
}

/// Moves what was answered from `wanted` to `found`; what may succeed later stays in `wanted`.
fn process_response(
    response: ListOffsetsResponse,
    broker: i32,
    wanted: &mut Wanted,
    found: &mut HashMap<TopicPartition, ListedOffset>,
    last: &mut Option<Error>,
) -> Result<()> {
    for topic in response.topics {
        let name: Arc<str> = topic.name.into();
        for answer in topic.partitions {
            let key = (Arc::clone(&name), answer.partition_index);
            let code = ErrorCode::from(answer.error_code);
            if code == ErrorCode::None {
                let offset = ListedOffset {
                    offset: answer.offset,
                    timestamp: answer.timestamp,
                    leader_epoch: answer.leader_epoch,
                };
                if wanted.remove(&key).is_some() {
                    found.insert(key, offset);
                }
                continue;
            }
            let error = Error::from_code(code).at(&name, answer.partition_index).broker(broker);
            if !error.may_pass() {
                return Err(error);
            }
            *last = Some(error);
        }
    }
    Ok(())
}
