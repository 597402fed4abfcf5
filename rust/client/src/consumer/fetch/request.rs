//! One Fetch request: building it and parsing the response per partition.
//!
//! Invariant: versions from 13 on name topics by id only, so they are used only if every topic of the
//! request and its session has an id.

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

use super::completed_fetches::{CompletedFetches, FetchNumber, UndecodedResponse};
use crate::cluster::{Client, Route};
use crate::connection::{Connection, Responder};
use crate::error::{Error, Result};
use crate::metadata::{LeaderHints, Snapshot};
use crate::tasks::panics::catch_now;
use crate::topic_partition::TopicPartition;

/// A partition of a Fetch request and the offset to read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestedPartition {
    pub(crate) partition: TopicPartition,
    /// Zero if the topic has none.
    pub(crate) topic_id: Uuid,
    pub(crate) offset: i64,
    pub(crate) leader_epoch: i32,
}

impl RequestedPartition {
    /// Takes the topic id and the leader epoch from the metadata.
    pub(crate) fn new(snapshot: &Snapshot, partition: &TopicPartition, offset: i64) -> Self {
        let topic = snapshot.topic(&partition.0);
        let leader_epoch =
            topic.and_then(|topic| topic.partition(partition.1)).map_or(-1, |p| p.leader_epoch);
        let topic_id = topic.map(|topic| topic.id).unwrap_or_default();
        Self { partition: partition.clone(), topic_id, offset, leader_epoch }
    }
}

/// The contents of a Fetch request, without its limits.
#[derive(Debug, Default)]
pub(crate) struct FetchRequestData {
    /// The fetch session; 0 for none.
    pub(crate) session_id: i32,
    /// The session epoch: -1 without a session, 0 to start one.
    pub(crate) session_epoch: i32,
    /// The partitions to fetch; in a session, only those that have changed.
    pub(crate) partitions: Vec<RequestedPartition>,
    /// The partitions to remove from the session.
    pub(crate) forgotten: Vec<(TopicPartition, Uuid)>,
    /// Whether all topics of the session have ids.
    pub(crate) by_id: bool,
}

impl FetchRequestData {
    /// A request without a session.
    pub(crate) fn sessionless(partitions: Vec<RequestedPartition>) -> Self {
        let by_id = partitions.iter().all(|requested| !requested.topic_id.is_zero());
        Self { session_epoch: -1, partitions, by_id, ..Self::default() }
    }
}

/// The limits of one request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) max_wait: Duration,
    pub(crate) min_bytes: i32,
    pub(crate) max_bytes: i32,
    pub(crate) partition_max_bytes: i32,
    pub(crate) read_committed: bool,
}

/// The response for one partition.
#[derive(Debug)]
pub(crate) struct PartitionResponse {
    pub(crate) error: ErrorCode,
    pub(crate) high_watermark: i64,
    pub(crate) last_stable: i64,
    /// The first offset of the log; -1 if the broker does not report it.
    pub(crate) log_start: i64,
    /// The preferred read replica; -1 for none.
    pub(crate) preferred_replica: i32,
    pub(crate) aborted: Vec<AbortedTransaction>,
    pub(crate) records: Bytes,
}

/// A parsed Fetch response.
#[derive(Debug)]
pub(crate) struct BrokerResponse {
    /// The error of the whole request.
    pub(crate) error: ErrorCode,
    pub(crate) session_id: i32,
    partitions: HashMap<TopicPartition, PartitionResponse>,
}

impl BrokerResponse {
    /// The response for each partition; some may be missing.
    pub(crate) fn into_partitions(self, broker: i32) -> Result<HashMap<TopicPartition, PartitionResponse>> {
        match self.error {
            ErrorCode::None => Ok(self.partitions),
            code => Err(Error::from_code(code).broker(broker)),
        }
    }
}

/// The shortest interval between requests while responses are empty. A broker that waits for records takes
/// longer anyway.
pub(crate) fn min_interval(max_wait: Duration) -> Duration {
    max_wait.clamp(Duration::from_millis(5), Duration::from_millis(20))
}

/// Sends a Fetch request to `broker`.
pub(crate) async fn fetch(
    client: &Client,
    broker: i32,
    data: &FetchRequestData,
    limits: Limits,
) -> Result<BrokerResponse> {
    let connection = client.connection(Route::Broker(broker)).await?;
    let version = version(&connection, data)?;
    let request = build_request(data, limits, &client.config().client_rack);
    let timeout = client.config().request_timeout + limits.max_wait;
    let response =
        connection.request_within(&request, version, timeout).await.map_err(|error| error.broker(broker))?;
    connection.throttle(response.throttle_time_ms);
    Ok(read_response(client, response))
}

/// Decodes a response; a malformed one closes the connection.
pub(crate) fn decode(client: &Client, response: UndecodedResponse) -> Result<BrokerResponse> {
    let UndecodedResponse { connection, version, bytes } = response;
    catch_now("decoding a response to Fetch", || {
        let response = connection.decode::<FetchRequest>(bytes, version)?;
        connection.throttle(response.throttle_time_ms);
        Ok(read_response(client, response))
    })?
}

/// Sends a Fetch request to a broker if that takes no waiting: for a connection or for earlier requests. Returns false,
/// and sends nothing, otherwise. `completed` gets the response, or why nothing was sent.
pub(crate) fn fetch_at_once(
    client: &Client,
    number: FetchNumber,
    data: &FetchRequestData,
    limits: Limits,
    completed: &Arc<CompletedFetches>,
) -> bool {
    let Some(connection) = client.open_connection(number.0) else { return false };
    let Some(permit) = connection.try_permit() else { return false };
    let sent = catch_now("sending a fetch", || {
        let version = version(&connection, data)?;
        let request = build_request(data, limits, &client.config().client_rack);
        let timeout = client.config().request_timeout + limits.max_wait;
        let (completed, of) = (Arc::clone(completed), Arc::clone(&connection));
        let responder = Responder::Call(Box::new(move |bytes| {
            let response = bytes.map(|bytes| UndecodedResponse { connection: of, version, bytes });
            completed.add(number, response);
        }));
        connection.enqueue_for(responder, permit, &request, version, timeout)
    });
    if let Err(error) = sent.and_then(|sent| sent) {
        completed.add(number, Err(error));
    }
    true
}

/// The highest version to use: those from 13 on need topic ids.
fn version(connection: &Connection, data: &FetchRequestData) -> Result<i16> {
    let max = if data.by_id { i16::MAX } else { FetchRequest::FIRST_BY_ID - 1 };
    connection.version::<FetchRequest>(max)
}

fn build_request(data: &FetchRequestData, limits: Limits, rack: &str) -> FetchRequest {
    let mut topics: Vec<FetchTopic> = Vec::new();
    // Indexes into the list: there may be a hundred thousand topics.
    let mut indexes: HashMap<&str, usize> = HashMap::new();
    for requested in &data.partitions {
        let (topic, partition) = &requested.partition;
        let entry = FetchPartition {
            partition: *partition,
            current_leader_epoch: requested.leader_epoch,
            fetch_offset: requested.offset,
            partition_max_bytes: limits.partition_max_bytes,
            ..Default::default()
        };
        let index = *indexes.entry(topic).or_insert(topics.len());
        match topics.get_mut(index) {
            Some(known) => known.partitions.push(entry),
            None => topics.push(FetchTopic {
                topic: topic.to_string(),
                topic_id: requested.topic_id,
                partitions: vec![entry],
            }),
        }
    }
    indexes.clear();
    let mut forgotten: Vec<ForgottenTopic> = Vec::new();
    for ((topic, partition), topic_id) in &data.forgotten {
        let index = *indexes.entry(topic).or_insert(forgotten.len());
        match forgotten.get_mut(index) {
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
        session_id: data.session_id,
        session_epoch: data.session_epoch,
        topics,
        forgotten_topics_data: forgotten,
        rack_id: rack.to_owned(),
        ..Default::default()
    }
}

/// The response for each partition; takes the leaders that it names.
fn read_response(client: &Client, response: FetchResponse) -> BrokerResponse {
    let snapshot = client.snapshot();
    let endpoints = response.node_endpoints.into_iter().map(|n| (n.node_id, n.host, n.port, n.rack));
    let mut partitions = HashMap::new();
    let mut hints = LeaderHints::default();
    for topic in response.responses {
        let name = match snapshot.topic_name(topic.topic_id) {
            Some(name) => Arc::clone(name),
            None => topic.topic.into(),
        };
        for data in topic.partitions {
            let leader = (data.current_leader.leader_id, data.current_leader.leader_epoch);
            hints.add(&name, data.partition_index, ErrorCode::from(data.error_code), leader);
            partitions.insert((Arc::clone(&name), data.partition_index), PartitionResponse::from(data));
        }
    }
    hints.apply(&client.inner.metadata, endpoints);
    let error = ErrorCode::from(response.error_code);
    BrokerResponse { error, session_id: response.session_id, partitions }
}

impl PartitionResponse {
    /// Whether it has neither records nor an error; it may name a preferred read replica.
    pub(crate) fn is_empty(&self) -> bool {
        self.error == ErrorCode::None && self.records.is_empty()
    }
}

impl From<PartitionData> for PartitionResponse {
    fn from(data: PartitionData) -> Self {
        let aborted = data.aborted_transactions.unwrap_or_default().into_iter();
        let aborted =
            aborted.map(|a| AbortedTransaction { producer_id: a.producer_id, first_offset: a.first_offset });
        Self {
            error: ErrorCode::from(data.error_code),
            high_watermark: data.high_watermark,
            last_stable: data.last_stable_offset,
            log_start: data.log_start_offset,
            preferred_replica: data.preferred_read_replica,
            aborted: aborted.collect(),
            records: data.records.unwrap_or_default(),
        }
    }
}
