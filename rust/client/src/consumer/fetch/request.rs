//! One Fetch request to one broker: building it, and judging what came back per partition.
//!
//! Invariant: from version 13 on topics are named by id alone, so these versions are used only if
//! every topic of the request and of its session has one.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::fetch::{
    FetchPartition, FetchRequest, FetchResponse, FetchTopic, ForgottenTopic, PartitionData,
};
use ottla_protocol::records::AbortedTransaction;
use ottla_protocol::wire::Uuid;
use tokio::time::Duration;

use crate::cluster::{Client, Route};
use crate::error::{Error, Result};
use crate::metadata::{NewLeader, Snapshot, brokers};
use crate::topic_partition::TopicPartition;

/// The last version that names topics by their names.
const BY_NAME: i16 = 12;

/// Where to read on in a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) partition: TopicPartition,
    /// Zero if the topic has none.
    pub(crate) topic_id: Uuid,
    pub(crate) offset: i64,
    pub(crate) leader_epoch: i32,
}

impl Position {
    /// With the topic's id and the leader's epoch as a snapshot has them.
    pub(crate) fn new(snapshot: &Snapshot, partition: &TopicPartition, offset: i64) -> Self {
        let topic = snapshot.topic(&partition.0);
        let leader_epoch =
            topic.and_then(|topic| topic.partition(partition.1)).map_or(-1, |p| p.leader_epoch);
        let topic_id = topic.map(|topic| topic.id).unwrap_or_default();
        Self { partition: partition.clone(), topic_id, offset, leader_epoch }
    }
}

/// What one request asks for.
#[derive(Debug, Default)]
pub(crate) struct Ask {
    /// The fetch session; 0 for none.
    pub(crate) session_id: i32,
    /// Its epoch: -1 without a session, 0 to begin one.
    pub(crate) session_epoch: i32,
    /// In a session, only what has changed.
    pub(crate) positions: Vec<Position>,
    /// What the session is to leave out from now on.
    pub(crate) forgotten: Vec<(TopicPartition, Uuid)>,
    /// Whether all topics of the session have ids.
    pub(crate) by_id: bool,
}

impl Ask {
    /// A request without a session.
    pub(crate) fn alone(positions: Vec<Position>) -> Self {
        let by_id = positions.iter().all(|position| !position.topic_id.is_zero());
        Self { session_epoch: -1, positions, by_id, ..Self::default() }
    }
}

/// Bounds of one request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) max_wait: Duration,
    pub(crate) min_bytes: i32,
    pub(crate) max_bytes: i32,
    pub(crate) partition_max_bytes: i32,
    pub(crate) read_committed: bool,
}

/// What a broker answered for one partition.
#[derive(Debug)]
pub(crate) struct Fetched {
    pub(crate) error: ErrorCode,
    pub(crate) high_watermark: i64,
    pub(crate) last_stable: i64,
    /// A replica to read from instead; -1 for none.
    pub(crate) preferred_replica: i32,
    pub(crate) aborted: Vec<AbortedTransaction>,
    pub(crate) records: Bytes,
}

/// A broker's answer.
#[derive(Debug)]
pub(crate) struct Answer {
    /// What went wrong with the request as a whole.
    pub(crate) error: ErrorCode,
    pub(crate) session_id: i32,
    partitions: HashMap<TopicPartition, Fetched>,
}

impl Answer {
    /// What was answered for each partition; those that the answer leaves out are missing.
    pub(crate) fn partitions(self, broker: i32) -> Result<HashMap<TopicPartition, Fetched>> {
        match self.error {
            ErrorCode::None => Ok(self.partitions),
            code => Err(Error::from_code(code).broker(broker)),
        }
    }
}

/// Whoever gets a response without records asks again this much after the request at the earliest; a broker
/// that waits for new records as long as it was asked to has waited longer.
pub(crate) fn min_interval(max_wait: Duration) -> Duration {
    max_wait.clamp(Duration::from_millis(5), Duration::from_millis(20))
}

/// Fetches from `broker`.
pub(crate) async fn fetch(client: &Client, broker: i32, ask: &Ask, limits: Limits) -> Result<Answer> {
    let connection = client.connection(Route::Broker(broker)).await?;
    let version = connection.version::<FetchRequest>(if ask.by_id { i16::MAX } else { BY_NAME })?;
    let request = build_request(ask, limits, &client.config().client_rack);
    let timeout = client.config().request_timeout + limits.max_wait;
    let response =
        connection.request_within(&request, version, timeout).await.map_err(|error| error.broker(broker))?;
    connection.throttle(response.throttle_time_ms);
    Ok(process_response(client, response))
}

fn build_request(ask: &Ask, limits: Limits, rack: &str) -> FetchRequest {
    let mut topics: Vec<FetchTopic> = Vec::new();
    // Where each topic is in the list: there may be a hundred thousand of them.
    let mut places: HashMap<&str, usize> = HashMap::new();
    for position in &ask.positions {
        let (topic, partition) = &position.partition;
        let entry = FetchPartition {
            partition: *partition,
            current_leader_epoch: position.leader_epoch,
            fetch_offset: position.offset,
            partition_max_bytes: limits.partition_max_bytes,
            ..Default::default()
        };
        let place = *places.entry(topic).or_insert(topics.len());
        match topics.get_mut(place) {
            Some(known) => known.partitions.push(entry),
            None => topics.push(FetchTopic {
                topic: topic.to_string(),
                topic_id: position.topic_id,
                partitions: vec![entry],
            }),
        }
    }
    places.clear();
    let mut forgotten: Vec<ForgottenTopic> = Vec::new();
    for ((topic, partition), topic_id) in &ask.forgotten {
        let place = *places.entry(topic).or_insert(forgotten.len());
        match forgotten.get_mut(place) {
            Some(known) => known.partitions.push(*partition),
            None => forgotten.push(ForgottenTopic {
                topic: topic.to_string(),
                topic_id: *topic_id,
                partitions: vec![*partition],
            }),
        }
    }
    FetchRequest {
        max_wait_ms: i32::try_from(limits.max_wait.as_millis()).unwrap_or(i32::MAX),
        min_bytes: limits.min_bytes,
        max_bytes: limits.max_bytes,
        isolation_level: i8::from(limits.read_committed),
        session_id: ask.session_id,
        session_epoch: ask.session_epoch,
        topics,
        forgotten_topics_data: forgotten,
        rack_id: rack.to_owned(),
        ..Default::default()
    }
}

fn process_response(client: &Client, response: FetchResponse) -> Answer {
    let snapshot = client.snapshot();
    let named = response.node_endpoints.into_iter().map(|n| (n.node_id, n.host, n.port, n.rack));
    let endpoints = brokers(named);
    let mut partitions = HashMap::new();
    let mut moved = Vec::new();
    for topic in response.responses {
        let name = match snapshot.topic_name(topic.topic_id) {
            Some(name) => Arc::clone(name),
            None => topic.topic.into(),
        };
        for answer in topic.partitions {
            let leader = &answer.current_leader;
            if leader.leader_id >= 0 {
                moved.push(NewLeader {
                    topic: Arc::clone(&name),
                    partition: answer.partition_index,
                    leader: leader.leader_id,
                    leader_epoch: leader.leader_epoch,
                });
            }
            partitions.insert((Arc::clone(&name), answer.partition_index), Fetched::from(answer));
        }
    }
    client.inner.metadata.process_leaders(&moved, &endpoints);
    let error = ErrorCode::from(response.error_code);
    Answer { error, session_id: response.session_id, partitions }
}

impl Fetched {
    /// Whether it brings neither records nor an error; it may name a replica to read from.
    pub(crate) fn is_empty(&self) -> bool {
        self.error == ErrorCode::None && self.records.is_empty()
    }
}

impl From<PartitionData> for Fetched {
    fn from(answer: PartitionData) -> Self {
        let aborted = answer.aborted_transactions.unwrap_or_default().into_iter();
        let aborted =
            aborted.map(|a| AbortedTransaction { producer_id: a.producer_id, first_offset: a.first_offset });
        Self {
            error: ErrorCode::from(answer.error_code),
            high_watermark: answer.high_watermark,
            last_stable: answer.last_stable_offset,
            preferred_replica: answer.preferred_read_replica,
            aborted: aborted.collect(),
            records: answer.records.unwrap_or_default(),
        }
    }
}
