//! A tiny client for these tests: one connection, one request at a time, every byte in sight.

#![allow(dead_code, reason = "each test binary uses its part of this")]

use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use ottla_mock::{MockCluster, MockConfig, TopicSpec};
use ottla_protocol::header::{RequestHeader, decode_response_header, request_frame};
use ottla_protocol::messages::fetch::{FetchPartition, FetchRequest, FetchTopic, PartitionData};
use ottla_protocol::messages::produce::{
    PartitionProduceData, PartitionProduceResponse, ProduceRequest, TopicProduceData,
};
use ottla_protocol::wire::{Reader, Uuid};
use ottla_protocol::{Message, Request};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// No answer takes longer than this, or the test has failed.
pub(crate) const SOON: Duration = Duration::from_secs(5);

pub(crate) struct Raw {
    pub(crate) stream: TcpStream,
    correlation: i32,
}

impl Raw {
    pub(crate) async fn connect(cluster: &MockCluster, broker: i32) -> Self {
        let address = cluster.brokers().into_iter().find(|b| b.id == broker).expect("a broker").address;
        Self { stream: TcpStream::connect(address).await.expect("a connection"), correlation: 0 }
    }

    pub(crate) async fn to_leader(cluster: &MockCluster, topic: &str, partition: i32) -> Self {
        Self::connect(cluster, cluster.leader(topic, partition).expect("a leader")).await
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

    /// The next frame; `None` if the connection ends first.
    pub(crate) async fn frame(&mut self) -> Option<Bytes> {
        let mut prefix = [0; 4];
        tokio::time::timeout(SOON, self.stream.read_exact(&mut prefix)).await.expect("in time").ok()?;
        let mut frame = vec![0; usize::try_from(i32::from_be_bytes(prefix)).expect("a length")];
        tokio::time::timeout(SOON, self.stream.read_exact(&mut frame)).await.expect("in time").ok()?;
        Some(Bytes::from(frame))
    }

    pub(crate) async fn try_call<R: Request>(&mut self, request: &R, version: i16) -> Option<R::Response> {
        self.send(request, version).await;
        self.receive::<R>(version).await
    }

    pub(crate) async fn receive<R: Request>(&mut self, version: i16) -> Option<R::Response> {
        let mut reader = Reader::new(self.frame().await?);
        let header_version = R::API.response_header_version(version);
        let correlation = decode_response_header(&mut reader, header_version).expect("a header");
        assert_eq!(correlation, self.correlation);
        Some(R::Response::from_bytes(reader.rest().clone(), version).expect("a response"))
    }

    pub(crate) async fn call<R: Request>(&mut self, request: &R, version: i16) -> R::Response {
        self.try_call(request, version).await.expect("an answer")
    }

    /// Whether the broker ends the connection without another byte.
    pub(crate) async fn is_closed(&mut self) -> bool {
        let mut byte = [0];
        let read = tokio::time::timeout(SOON, self.stream.read(&mut byte)).await.expect("in time");
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
    let base = timestamps[0];
    let mut body = BytesMut::new();
    body.put_i16(0);
    body.put_i32(i32::try_from(timestamps.len()).expect("few") - 1);
    body.put_i64(base);
    body.put_i64(*timestamps.iter().max().expect("one"));
    body.put_i64(-1);
    body.put_i16(-1);
    body.put_i32(-1);
    body.put_i32(i32::try_from(timestamps.len()).expect("few"));
    for (delta, timestamp) in (0..).zip(timestamps) {
        let mut record = BytesMut::new();
        record.put_i8(0);
        varint(&mut record, timestamp - base);
        varint(&mut record, delta);
        varint(&mut record, -1);
        varint(&mut record, i64::try_from(value.len()).expect("small"));
        record.put_slice(value);
        varint(&mut record, 0);
        varint(&mut body, i64::try_from(record.len()).expect("small"));
        body.put_slice(&record);
    }
    let mut whole = BytesMut::new();
    whole.put_i64(0);
    whole.put_i32(i32::try_from(body.len()).expect("small") + 9);
    whole.put_i32(-1);
    whole.put_i8(2);
    whole.put_u32(crc32c::crc32c(&body));
    whole.put_slice(&body);
    whole.freeze()
}

/// The offsets of the whole batches in fetched records, as (base, last).
pub(crate) fn offsets(records: &Bytes) -> Vec<(i64, i64)> {
    let mut found = Vec::new();
    let mut at = 0;
    while records.len() >= at + 61 {
        let field = |from: usize, to: usize| {
            records[at + from..at + to].iter().fold(0_i64, |value, byte| (value << 8) | i64::from(*byte))
        };
        let size = usize::try_from(field(8, 12)).expect("a size") + 12;
        if records.len() < at + size {
            break;
        }
        found.push((field(0, 8), field(0, 8) + field(23, 27)));
        at += size;
    }
    found
}

fn varint(out: &mut BytesMut, value: i64) {
    let mut bits = ((value << 1) ^ (value >> 63)).cast_unsigned();
    while bits >= 0x80 {
        out.put_u8((bits & 0x7f) as u8 | 0x80);
        bits >>= 7;
    }
    out.put_u8(bits as u8);
}
