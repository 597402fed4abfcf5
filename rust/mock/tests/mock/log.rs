//! Produce, Fetch, ListOffsets and DeleteRecords.

use std::time::{Duration, Instant};

use crate::support::*;
use bytes::{Bytes, BytesMut};
use ottla_mock::{MockCluster, MockConfig, TopicSpec};
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::delete_records::{
    DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic,
};
use ottla_protocol::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsTopic,
};
use ottla_protocol::wire::Uuid;

fn is(code: i16, expected: ErrorCode) {
    assert_eq!(ErrorCode::from(code), expected);
}

#[tokio::test]
async fn produce_and_fetch_in_every_version() {
    let cluster = cluster_with_topic(1).await;
    let id = cluster.topic("t").unwrap().id;
    let mut raw = RawClient::to_leader(&cluster, "t", 0).await;
    for (count, version) in (0..).zip(3..=13) {
        let mut request = produce_request("t", 0, batch(&[10, 11], b"v"));
        request.topic_data[0].topic_id = if version >= 13 { id } else { Uuid::ZERO };
        let response = raw.call(&request, version).await;
        let partition = &response.responses[0].partition_responses[0];
        is(partition.error_code, ErrorCode::None);
        assert_eq!(partition.base_offset, count * 2);
    }
    for version in 4..=18 {
        let mut request = fetch_request("t", 0, 3);
        request.topics[0].topic_id = if version >= 13 { id } else { Uuid::ZERO };
        let response = raw.call(&request, version).await;
        let partition = &response.responses[0].partitions[0];
        is(partition.error_code, ErrorCode::None);
        assert_eq!(partition.high_watermark, 22);
        // The batch with offset 3 starts at 2.
        assert_eq!(offsets(partition.records.as_ref().unwrap()).first(), Some(&(2, 3)));
        assert_eq!(offsets(partition.records.as_ref().unwrap()).last(), Some(&(20, 21)));
    }
}

#[tokio::test]
async fn produce_rejects_what_kafka_rejects() {
    let config = MockConfig { max_message_bytes: 500, ..MockConfig::default() };
    let cluster = MockCluster::start(config).await.unwrap();
    cluster.create_topic(TopicSpec::new("t")).unwrap();
    let spec = TopicSpec::new("strict").replication(2).config("min.insync.replicas", "3");
    cluster.create_topic(spec).unwrap();
    let mut raw = RawClient::to_leader(&cluster, "t", 0).await;

    is(raw.produce("t", 0, batch(&[1], &[0; 600])).await.error_code, ErrorCode::MessageTooLarge);
    let mut damaged = BytesMut::from(&batch(&[1], b"v")[..]);
    *damaged.last_mut().unwrap() ^= 1;
    is(raw.produce("t", 0, damaged.freeze()).await.error_code, ErrorCode::CorruptMessage);
    let two = Bytes::from([batch(&[1], b"v"), batch(&[1], b"v")].concat());
    is(raw.produce("t", 0, two).await.error_code, ErrorCode::InvalidRecord);
    is(raw.produce("t", 0, Bytes::new()).await.error_code, ErrorCode::InvalidRecord);
    is(raw.produce("t", 0, Bytes::from_static(b"nonsense")).await.error_code, ErrorCode::CorruptMessage);
    is(raw.produce("t", 7, batch(&[1], b"v")).await.error_code, ErrorCode::UnknownTopicOrPartition);
    is(raw.produce("u", 0, batch(&[1], b"v")).await.error_code, ErrorCode::UnknownTopicOrPartition);
    let mut request = produce_request("t", 0, batch(&[1], b"v"));
    request.acks = 2;
    let response = raw.call(&request, 9).await;
    is(response.responses[0].partition_responses[0].error_code, ErrorCode::InvalidRequiredAcks);
    request.acks = -1;
    request.topic_data[0].topic_id = Uuid([9; 16]);
    let response = raw.call(&request, 13).await;
    is(response.responses[0].partition_responses[0].error_code, ErrorCode::UnknownTopicId);
    let mut raw = RawClient::to_leader(&cluster, "strict", 0).await;
    // It has two replicas, and needs no more than it has.
    is(raw.produce("strict", 0, batch(&[1], b"v")).await.error_code, ErrorCode::None);
    let leader = cluster.leader("strict", 0);
    let partition = cluster.topic("strict").unwrap().partitions.remove(0);
    let follower = partition.replicas.iter().find(|id| Some(**id) != leader).unwrap();
    cluster.fence_broker(*follower).unwrap();
    is(raw.produce("strict", 0, batch(&[1], b"v")).await.error_code, ErrorCode::NotEnoughReplicas);
    assert_eq!(cluster.partition_log("t", 0).unwrap().high_watermark, 0);
}

#[tokio::test]
async fn acks_0_has_no_response_and_closes_on_an_error() {
    let cluster = cluster_with_topic(1).await;
    let mut raw = RawClient::to_leader(&cluster, "t", 0).await;
    let mut request = produce_request("t", 0, batch(&[1], b"v"));
    request.acks = 0;
    raw.send(&request, 9).await;
    // The next response belongs to the next request.
    assert_eq!(raw.fetch("t", 0, 0).await.high_watermark, 1);
    request.topic_data[0].name = "unknown".to_owned();
    raw.send(&request, 9).await;
    assert!(raw.is_closed().await);
}

#[tokio::test]
async fn fetch_respects_sizes_except_for_the_first_batch() {
    let cluster = cluster_with_topic(2).await;
    cluster.move_leader("t", 1, cluster.leader("t", 0).unwrap()).unwrap();
    let mut raw = RawClient::to_leader(&cluster, "t", 0).await;
    let one = batch(&[1], &[7; 1000]);
    for partition in [0, 0, 1] {
        raw.produce("t", partition, one.clone()).await;
    }
    let mut request = fetch_request("t", 0, 0);
    request.topics[0].partitions[0].partition_max_bytes = 10;
    let mut second = request.topics[0].partitions[0].clone();
    second.partition = 1;
    request.topics[0].partitions.push(second);
    let sizes = |response: &ottla_protocol::messages::fetch::FetchResponse| {
        let partitions = response.responses[0].partitions.iter();
        partitions.map(|p| p.records.as_ref().unwrap().len()).collect::<Vec<_>>()
    };
    assert_eq!(sizes(&raw.call(&request, 12).await), [one.len(), 0]);
    request.topics[0].partitions.iter_mut().for_each(|p| p.partition_max_bytes = 1500);
    // The second batch of partition 0 is cut off, as in Kafka.
    assert_eq!(sizes(&raw.call(&request, 12).await), [1500, one.len()]);
    request.max_bytes = 1600;
    assert_eq!(sizes(&raw.call(&request, 12).await), [1500, 0]);
    request.max_bytes = 0;
    assert_eq!(sizes(&raw.call(&request, 12).await), [one.len(), 0]);
}

#[tokio::test]
async fn fetch_waits_for_an_append_up_to_max_wait() {
    let cluster = cluster_with_topic(1).await;
    let mut reader = RawClient::to_leader(&cluster, "t", 0).await;
    let mut writer = RawClient::to_leader(&cluster, "t", 0).await;
    let mut request = fetch_request("t", 0, 0);
    (request.min_bytes, request.max_wait_ms) = (1, 60);
    let start = Instant::now();
    let response = reader.call(&request, 12).await;
    assert!(start.elapsed() >= Duration::from_millis(60));
    assert!(response.responses[0].partitions[0].records.as_ref().unwrap().is_empty());

    request.max_wait_ms = i32::MAX;
    reader.send(&request, 12).await;
    tokio::time::sleep(Duration::from_millis(30)).await;
    writer.produce("t", 0, batch(&[1], b"v")).await;
    let response = reader.receive::<ottla_protocol::messages::fetch::FetchRequest>(12).await.unwrap();
    assert_eq!(offsets(response.responses[0].partitions[0].records.as_ref().unwrap()), [(0, 0)]);

    // One batch does not reach `min_bytes`: the second completes the fetch.
    request.min_bytes = i32::try_from(2 * batch(&[1], b"v").len()).unwrap();
    reader.send(&request, 12).await;
    writer.produce("t", 0, batch(&[1], b"v")).await;
    let response = reader.receive::<ottla_protocol::messages::fetch::FetchRequest>(12).await.unwrap();
    assert_eq!(offsets(response.responses[0].partitions[0].records.as_ref().unwrap()), [(0, 0), (1, 1)]);
}

#[tokio::test]
async fn a_waiting_fetch_returns_when_the_leader_moves() {
    let cluster = cluster_with_topic(1).await;
    let leader = cluster.leader("t", 0).unwrap();
    let other = cluster.brokers().into_iter().map(|b| b.id).find(|id| *id != leader).unwrap();
    let mut raw = RawClient::connect(&cluster, leader).await;
    let mut request = fetch_request("t", 0, 0);
    (request.min_bytes, request.max_wait_ms) = (1, i32::MAX);
    request.topics[0].topic_id = cluster.topic("t").unwrap().id;
    request.topics[0].partitions[0].current_leader_epoch = 0;
    raw.send(&request, 16).await;
    tokio::time::sleep(Duration::from_millis(30)).await;
    cluster.move_leader("t", 0, other).unwrap();
    let response = raw.receive::<ottla_protocol::messages::fetch::FetchRequest>(16).await.unwrap();
    let partition = &response.responses[0].partitions[0];
    is(partition.error_code, ErrorCode::FencedLeaderEpoch);
    assert_eq!((partition.current_leader.leader_id, partition.current_leader.leader_epoch), (other, 1));
    assert_eq!(response.node_endpoints[0].node_id, other);
}

#[tokio::test]
async fn fetch_checks_offsets_epochs_and_sessions() {
    let cluster = cluster_with_topic(1).await;
    let leader = cluster.leader("t", 0).unwrap();
    let other = cluster.brokers().into_iter().map(|b| b.id).find(|id| *id != leader).unwrap();
    let mut raw = RawClient::connect(&cluster, leader).await;
    raw.produce("t", 0, batch(&[1, 2], b"v")).await;
    is(raw.fetch("t", 0, 3).await.error_code, ErrorCode::OffsetOutOfRange);
    is(raw.fetch("t", 0, -1).await.error_code, ErrorCode::OffsetOutOfRange);
    is(raw.fetch("t", 0, 2).await.error_code, ErrorCode::None);
    is(raw.fetch("t", 5, 0).await.error_code, ErrorCode::UnknownTopicOrPartition);
    let mut request = fetch_request("t", 0, 0);
    request.topics[0].partitions[0].current_leader_epoch = 1;
    let response = raw.call(&request, 12).await;
    is(response.responses[0].partitions[0].error_code, ErrorCode::UnknownLeaderEpoch);
    cluster.move_leader("t", 0, other).unwrap();
    request.topics[0].partitions[0].current_leader_epoch = 0;
    let response = raw.call(&request, 12).await;
    is(response.responses[0].partitions[0].error_code, ErrorCode::FencedLeaderEpoch);
    let mut request = fetch_request("t", 0, 2);
    (request.session_id, request.session_epoch) = (5, 1);
    is(raw.call(&request, 12).await.error_code, ErrorCode::FetchSessionIdNotFound);

    // Epoch 1 began at offset 2: a reader of epoch 0 up to offset 3 has diverged.
    let mut raw = RawClient::connect(&cluster, other).await;
    raw.produce("t", 0, batch(&[1, 2], b"v")).await;
    let mut request = fetch_request("t", 0, 3);
    request.topics[0].partitions[0].last_fetched_epoch = 0;
    let response = raw.call(&request, 12).await;
    let diverging = &response.responses[0].partitions[0].diverging_epoch;
    assert_eq!((diverging.epoch, diverging.end_offset), (0, 2));
}

async fn list(raw: &mut RawClient, timestamp: i64, version: i16) -> ListOffsetsPartitionResponse {
    let partition = ListOffsetsPartition { partition_index: 0, current_leader_epoch: -1, timestamp };
    let request = ListOffsetsRequest {
        replica_id: -1,
        topics: vec![ListOffsetsTopic { name: "t".to_owned(), partitions: vec![partition] }],
        ..ListOffsetsRequest::default()
    };
    raw.call(&request, version).await.topics.remove(0).partitions.remove(0)
}

#[tokio::test]
async fn list_offsets_by_position_and_timestamp() {
    let cluster = cluster_with_topic(1).await;
    let mut raw = RawClient::to_leader(&cluster, "t", 0).await;
    for version in 1..=11 {
        assert_eq!(list(&mut raw, -1, version).await.offset, 0);
        assert_eq!(list(&mut raw, 5, version).await.offset, -1);
    }
    // Timestamps need not ascend across batches.
    for timestamps in [&[100, 110][..], &[300, 350], &[200, 210]] {
        raw.produce("t", 0, batch(timestamps, b"v")).await;
    }
    for version in 1..=11 {
        assert_eq!(list(&mut raw, -1, version).await.offset, 6);
        assert_eq!(list(&mut raw, -2, version).await.offset, 0);
        let found = list(&mut raw, 105, version).await;
        assert_eq!((found.offset, found.timestamp), (1, 110));
        let found = list(&mut raw, 200, version).await;
        assert_eq!((found.offset, found.timestamp), (2, 300));
        assert_eq!(list(&mut raw, 351, version).await.offset, -1);
        let max = list(&mut raw, -3, version).await;
        if version >= 7 {
            assert_eq!((max.offset, max.timestamp), (3, 350));
        } else {
            is(max.error_code, ErrorCode::UnsupportedVersion);
        }
    }
    cluster.delete_records("t", 0, 4).unwrap();
    let found = list(&mut raw, 105, 11).await;
    assert_eq!((found.offset, found.timestamp), (4, 200));
}

#[tokio::test]
async fn delete_records_advances_the_log_start() {
    let cluster = cluster_with_topic(1).await;
    let mut raw = RawClient::to_leader(&cluster, "t", 0).await;
    for _ in 0..3 {
        raw.produce("t", 0, batch(&[1, 2], b"v")).await;
    }
    let delete = |offset| DeleteRecordsRequest {
        topics: vec![DeleteRecordsTopic {
            name: "t".to_owned(),
            partitions: vec![DeleteRecordsPartition { partition_index: 0, offset }],
        }],
        timeout_ms: 1000,
    };
    for version in 0..=2 {
        let response = raw.call(&delete(3), version).await;
        assert_eq!(response.topics[0].partitions[0].low_watermark, 3);
    }
    is(raw.fetch("t", 0, 2).await.error_code, ErrorCode::OffsetOutOfRange);
    let partition = raw.fetch("t", 0, 3).await;
    assert_eq!(partition.log_start_offset, 3);
    // The log starts in the middle of a batch, which is still returned whole.
    assert_eq!(offsets(partition.records.as_ref().unwrap()), [(2, 3), (4, 5)]);
    assert_eq!(list(&mut raw, -2, 5).await.offset, 3);
    is(raw.call(&delete(7), 2).await.topics[0].partitions[0].error_code, ErrorCode::OffsetOutOfRange);
    assert_eq!(raw.call(&delete(-1), 2).await.topics[0].partitions[0].low_watermark, 6);
    assert!(cluster.partition_log("t", 0).unwrap().batches.is_empty());
    assert_eq!(raw.produce("t", 0, batch(&[1], b"v")).await.base_offset, 6);
}

#[tokio::test]
async fn log_append_time_is_set_by_the_broker() {
    let cluster = cluster().await;
    let spec = TopicSpec::new("t").config("message.timestamp.type", "LogAppendTime");
    cluster.create_topic(spec).unwrap();
    let mut raw = RawClient::to_leader(&cluster, "t", 0).await;
    let response = raw.produce("t", 0, batch(&[5], b"v")).await;
    assert!(response.log_append_time_ms > 1_700_000_000_000);
    let stored = cluster.partition_log("t", 0).unwrap().batches.remove(0);
    assert_eq!(stored.max_timestamp, response.log_append_time_ms);
    // The batch with its new timestamp has a valid checksum: it can be produced again.
    is(raw.produce("t", 0, stored.bytes).await.error_code, ErrorCode::None);
}
