//! Helpers of the tests of faults: a client that sends single requests, and requests.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use ottla_gateway::Gateway;
use ottla_mock::{Fault, FaultId, Match, MockCluster, Reaction};
use ottla_protocol::header::{self, RequestHeader};
use ottla_protocol::messages::fetch::{FetchPartition, FetchRequest, FetchTopic};
use ottla_protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse};
use ottla_protocol::messages::produce::{
    PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData,
};
use ottla_protocol::records::{BatchBuilder, Compression, Compressor, ProducerState};
use ottla_protocol::wire::{Reader, Uuid};
use ottla_protocol::{ApiKey, ErrorCode, Message, Request};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::support::*;

/// How long a test waits to see that nothing comes.
pub(crate) const QUIET: Duration = Duration::from_millis(100);

/// A connection on which single requests are sent.
pub(crate) struct Raw {
    pub(crate) stream: TcpStream,
    sent: i32,
}

impl Raw {
    /// A connection to the leader of a partition of `t`, through the gateway.
    pub(crate) async fn to_leader(gateway: &Gateway, cluster: &MockCluster, partition: i32) -> Self {
        let leader = cluster.leader("t", partition).unwrap();
        until(|| gateway.brokers().contains_key(&leader)).await;
        Self::connect(gateway.brokers()[&leader].port).await
    }

    pub(crate) async fn connect(port: u16) -> Self {
        let stream = within_deadline(TcpStream::connect(("127.0.0.1", port))).await.unwrap();
        Self { stream, sent: 0 }
    }

    /// Sends a request with the client id `raw`.
    pub(crate) async fn send<R: Request>(&mut self, request: &R, version: i16) {
        self.sent += 1;
        let client_id = Some("raw".to_owned());
        let (api_key, correlation_id) = (R::API as i16, self.sent);
        let header = RequestHeader { api_key, api_version: version, correlation_id, client_id };
        let frame = header::request_frame(&header, R::API.request_header_version(version), request);
        within_deadline(self.stream.write_all(&frame.unwrap().to_bytes())).await.unwrap();
    }

    /// The next response.
    pub(crate) async fn receive<R: Request>(&mut self, version: i16) -> io::Result<R::Response> {
        let length = within_deadline(self.stream.read_i32()).await?;
        let mut frame = vec![0; usize::try_from(length).unwrap()];
        within_deadline(self.stream.read_exact(&mut frame)).await?;
        let mut r = Reader::new(Bytes::from(frame));
        header::decode_response_header(&mut r, R::API.response_header_version(version)).unwrap();
        Ok(R::Response::decode(&mut r, version).unwrap())
    }

    pub(crate) async fn call<R: Request>(&mut self, request: &R, version: i16) -> io::Result<R::Response> {
        self.send(request, version).await;
        self.receive::<R>(version).await
    }

    /// What comes until the connection is closed.
    pub(crate) async fn rest(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        _ = within_deadline(self.stream.read_to_end(&mut all)).await;
        all
    }

    /// Whether neither a byte nor the end comes for a while.
    pub(crate) async fn is_quiet(&mut self) -> bool {
        timeout(QUIET, self.stream.read_u8()).await.is_err()
    }
}

pub(crate) fn batch(value: &[u8]) -> Bytes {
    let mut builder = BatchBuilder::new(1 << 20);
    builder.append(1, None, Some(value), &[]).unwrap();
    let mut compressor = Compressor::new(Compression::None).unwrap();
    builder.finish(&ProducerState::default(), &mut compressor).unwrap()
}

/// A request that writes a record to each of these partitions of `t`.
pub(crate) fn produce(partitions: &[i32]) -> ProduceRequest {
    let data = |index: &i32| PartitionProduceData { index: *index, records: Some(batch(b"v")) };
    ProduceRequest {
        acks: -1,
        timeout_ms: 1000,
        topic_data: vec![TopicProduceData {
            name: "t".to_owned(),
            topic_id: Uuid::ZERO,
            partition_data: partitions.iter().map(data).collect(),
        }],
        ..Default::default()
    }
}

/// A fetch from the start of these partitions of `t`, which does not wait; by id if there is one.
pub(crate) fn fetch(id: Uuid, partitions: &[i32]) -> FetchRequest {
    let at = |partition: &i32| FetchPartition {
        partition: *partition,
        partition_max_bytes: 1 << 20,
        ..FetchPartition::default()
    };
    let topic = if id.is_zero() { "t".to_owned() } else { String::new() };
    let partitions = partitions.iter().map(at).collect();
    FetchRequest { topics: vec![FetchTopic { topic, topic_id: id, partitions }], ..Default::default() }
}

/// A request for the metadata of `t`.
pub(crate) fn metadata() -> MetadataRequest {
    let topic = MetadataRequestTopic { name: Some("t".to_owned()), ..Default::default() };
    MetadataRequest { topics: Some(vec![topic]), ..Default::default() }
}

/// The id of `t`, from its metadata.
pub(crate) fn id_of(metadata: &MetadataResponse) -> Uuid {
    metadata.topics[0].topic_id
}

/// The end of a partition of `t`.
pub(crate) fn end(cluster: &MockCluster, partition: i32) -> i64 {
    cluster.partition_log("t", partition).unwrap().high_watermark
}

/// Injects a fault that hits once.
pub(crate) fn once(gateway: &Gateway, on: Match, then: Reaction) -> FaultId {
    gateway.inject(Fault::once(on, then)).unwrap()
}

/// The codes of the partitions.
pub(crate) fn codes(response: &ProduceResponse) -> Vec<ErrorCode> {
    let partitions = response.responses.iter().flat_map(|topic| &topic.partition_responses);
    partitions.map(|partition| partition.error_code.into()).collect()
}

/// Matches Produce.
pub(crate) fn on_produce() -> Match {
    Match::api(ApiKey::Produce)
}
