//! A minimal client for these tests: one connection, one request at a time, raw protocol messages.

pub(crate) mod classic_member;
pub(crate) mod configs;
pub(crate) mod consumer_member;
pub(crate) mod registry;
pub(crate) mod sasl_client;
pub(crate) mod share_member;

use std::time::Duration;

use bytes::Bytes;
use ottla_mock::{MockCluster, MockConfig, TopicSpec};
use ottla_protocol::header::{RequestHeader, decode_response_header, request_frame};
use ottla_protocol::messages::fetch::{FetchPartition, FetchRequest, FetchTopic, PartitionData};
use ottla_protocol::messages::produce::{
    PartitionProduceData, PartitionProduceResponse, ProduceRequest, TopicProduceData,
};
use ottla_protocol::records::{BatchBuilder, Batches, Compression, Compressor, ProducerState};
use ottla_protocol::wire::{Reader, Uuid};
use ottla_protocol::{Message, Request};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A test that waits longer than this has failed.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) struct RawClient {
    pub(crate) stream: TcpStream,
    correlation: i32,
}

impl RawClient {
    pub(crate) async fn connect(cluster: &MockCluster, broker: i32) -> Self {
        let address = cluster.brokers().into_iter().find(|b| b.id == broker).expect("a broker").address;
        Self { stream: TcpStream::connect(address).await.expect("a connection"), correlation: 0 }
    }

    pub(crate) async fn to_leader(cluster: &MockCluster, topic: &str, partition: i32) -> Self {
        Self::connect(cluster, cluster.leader(topic, partition).expect("a leader")).await
    }

    pub(crate) async fn to_coordinator(cluster: &MockCluster, group: &str) -> Self {
        Self::connect(cluster, cluster.coordinator(group).expect("a coordinator")).await
    }

    pub(crate) async fn send<R: Request>(&mut self, request: &R, version: i16) {
        self.correlation += 1;
        let header = RequestHeader {
            api_key: R::API as i16,
            api_version: version,
            correlation_id: self.correlation,
            client_id: Some("raw".to_owned()),
        };
        let frame = request_frame(&header, R::API.request_header_version(version), request).expect("a frame");
        self.stream.write_all(&frame.to_bytes()).await.expect("written");
    }

    /// Reads the next frame; `None` if the connection is closed first.
    pub(crate) async fn read_frame(&mut self) -> Option<Bytes> {
        let mut prefix = [0; 4];
        tokio::time::timeout(TEST_TIMEOUT, self.stream.read_exact(&mut prefix))
            .await
            .expect("in time")
            .ok()?;
        let mut frame = vec![0; usize::try_from(i32::from_be_bytes(prefix)).expect("a length")];
        tokio::time::timeout(TEST_TIMEOUT, self.stream.read_exact(&mut frame))
            .await
            .expect("in time")
            .ok()?;
        Some(Bytes::from(frame))
    }

    pub(crate) async fn try_call<R: Request>(&mut self, request: &R, version: i16) -> Option<R::Response> {
        self.send(request, version).await;
        self.receive::<R>(version).await
    }

    pub(crate) async fn receive<R: Request>(&mut self, version: i16) -> Option<R::Response> {
        let mut reader = Reader::new(self.read_frame().await?);
        let header_version = R::API.response_header_version(version);
        let correlation = decode_response_header(&mut reader, header_version).expect("a header");
        assert_eq!(correlation, self.correlation);
        Some(R::Response::from_bytes(reader.rest().clone(), version).expect("a response"))
    }

    pub(crate) async fn call<R: Request>(&mut self, request: &R, version: i16) -> R::Response {
        self.try_call(request, version).await.expect("a response")
    }

    /// Whether the broker closes the connection without sending another byte.
    pub(crate) async fn is_closed(&mut self) -> bool {
        let mut byte = [0];
        let read = tokio::time::timeout(TEST_TIMEOUT, self.stream.read(&mut byte)).await.expect("in time");
        matches!(read, Ok(0) | Err(_))
    }

    pub(crate) async fn produce(
        &mut self,
        topic: &str,
        partition: i32,
        records: Bytes,
    ) -> PartitionProduceResponse {
        let request = produce_request(topic, partition, records);
        let mut response = self.call(&request, 12).await;
        response.responses.remove(0).partition_responses.remove(0)
    }

    pub(crate) async fn fetch(&mut self, topic: &str, partition: i32, offset: i64) -> PartitionData {
        let mut response = self.call(&fetch_request(topic, partition, offset), 12).await;
        response.responses.remove(0).partitions.remove(0)
    }
}

pub(crate) async fn cluster() -> MockCluster {
    MockCluster::start(MockConfig::default()).await.expect("a cluster")
}

pub(crate) async fn cluster_with_topic(partitions: i32) -> MockCluster {
    let cluster = cluster().await;
    cluster.create_topic(TopicSpec::new("t").partitions(partitions)).expect("a topic");
    cluster
}

pub(crate) fn produce_request(topic: &str, partition: i32, records: Bytes) -> ProduceRequest {
    ProduceRequest {
        transactional_id: None,
        acks: -1,
        timeout_ms: 1000,
        topic_data: vec![TopicProduceData {
            name: topic.to_owned(),
            topic_id: Uuid::ZERO,
            partition_data: vec![PartitionProduceData { index: partition, records: Some(records) }],
        }],
    }
}

/// A fetch that does not wait.
pub(crate) fn fetch_request(topic: &str, partition: i32, offset: i64) -> FetchRequest {
    let partition = FetchPartition {
        partition,
        fetch_offset: offset,
        partition_max_bytes: 1 << 20,
        ..FetchPartition::default()
    };
    FetchRequest {
        topics: vec![FetchTopic {
            topic: topic.to_owned(),
            topic_id: Uuid::ZERO,
            partitions: vec![partition],
        }],
        ..FetchRequest::default()
    }
}

/// One batch: a record with this value for each timestamp.
pub(crate) fn batch(timestamps: &[i64], value: &[u8]) -> Bytes {
    batch_with(timestamps, value, Compression::None)
}

/// Like [`batch`], compressed.
pub(crate) fn batch_with(timestamps: &[i64], value: &[u8], codec: Compression) -> Bytes {
    let mut builder = BatchBuilder::new(1 << 20);
    for timestamp in timestamps {
        builder.append(*timestamp, None, Some(value), &[]).expect("room");
    }
    builder.finish(&ProducerState::default(), &mut Compressor::new(codec).expect("a codec")).expect("a batch")
}

/// The first and last offset of each complete batch in fetched records.
pub(crate) fn offsets(records: &Bytes) -> Vec<(i64, i64)> {
    let batches = Batches::new(records.clone()).map(|batch| batch.expect("a valid batch"));
    batches.map(|batch| (batch.base_offset(), batch.last_offset())).collect()
}
