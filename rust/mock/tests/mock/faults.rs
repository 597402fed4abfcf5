//! The reactions of faults, and which requests a fault hits.

use std::time::{Duration, Instant};

use crate::support::*;
use bytes::Bytes;
use ottla_mock::{Fault, Match, MockCluster, Reaction, When};
use ottla_protocol::messages::fetch::FetchRequest;
use ottla_protocol::messages::init_producer_id::InitProducerIdRequest;
use ottla_protocol::messages::metadata::MetadataRequest;
use ottla_protocol::messages::produce::PartitionProduceData;
use ottla_protocol::records::Batches;
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::io::AsyncReadExt;

fn is(code: i16, expected: ErrorCode) {
    assert_eq!(ErrorCode::from(code), expected);
}

fn high_watermark(cluster: &MockCluster, partition: i32) -> i64 {
    cluster.partition_log("t", partition).unwrap().high_watermark
}

#[tokio::test]
async fn an_error_for_one_partition_leaves_the_others_alone() {
    let cluster = cluster_with_topic(2).await;
    cluster.move_leader("t", 1, cluster.leader("t", 0).unwrap()).unwrap();
    let mut raw = RawClient::to_leader(&cluster, "t", 0).await;
    let on = Match::api(ApiKey::Produce).topic("t").partition(1);
    let id = cluster.inject(Fault::once(on, Reaction::Error(ErrorCode::NotEnoughReplicas)));
    let mut request = produce_request("t", 0, batch(&[1], b"v"));
    let second = PartitionProduceData { index: 1, records: Some(batch(&[1], b"v")) };
    request.topic_data[0].partition_data.push(second);
    let response = raw.call(&request, 9).await;
    let codes: Vec<_> = response.responses[0].partition_responses.iter().map(|p| p.error_code).collect();
    assert_eq!(codes, [0, ErrorCode::NotEnoughReplicas.code()]);
    assert_eq!((high_watermark(&cluster, 0), high_watermark(&cluster, 1)), (1, 0));
    let response = raw.call(&request, 9).await;
    is(response.responses[0].partition_responses[1].error_code, ErrorCode::None);
    assert_eq!(cluster.fault_hits(id), 1);
}

#[tokio::test]
async fn each_request_meets_one_error() {
    let cluster = cluster_with_topic(1).await;
    let mut raw = RawClient::to_leader(&cluster, "t", 0).await;
    for code in [ErrorCode::RequestTimedOut, ErrorCode::LeaderNotAvailable] {
        cluster.inject(Fault::once(Match::api(ApiKey::Produce).skip(1), Reaction::Error(code)));
    }
    let mut codes = Vec::new();
    for _ in 0..4 {
        codes.push(ErrorCode::from(raw.produce("t", 0, batch(&[1], b"v")).await.error_code));
    }
    // Both skip one request; the second skips one more, which met the first.
    use ErrorCode::{LeaderNotAvailable, None, RequestTimedOut};
    assert!(codes == [None, RequestTimedOut, LeaderNotAvailable, None]);
}

#[tokio::test]
async fn errors_appear_where_the_api_has_them() {
    let cluster = cluster_with_topic(1).await;
    let mut raw = RawClient::to_leader(&cluster, "t", 0).await;
    cluster.inject(Fault::new(Match::any(), Reaction::Error(ErrorCode::ClusterAuthorizationFailed)));
    let expected = ErrorCode::ClusterAuthorizationFailed;
    is(raw.call(&InitProducerIdRequest::default(), 2).await.error_code, expected);
    let all = MetadataRequest { topics: None, ..MetadataRequest::default() };
    is(raw.call(&all, 9).await.topics[0].error_code, expected);
    is(raw.fetch("t", 0, 0).await.error_code, expected);
    cluster.clear_faults();
    let on = Match::api(ApiKey::Fetch);
    cluster.inject(Fault::once(on, Reaction::Error(ErrorCode::InvalidFetchSessionEpoch)));
    let response = raw.call(&fetch_request("t", 0, 0), 12).await;
    is(response.error_code, ErrorCode::InvalidFetchSessionEpoch);
    is(raw.fetch("t", 0, 0).await.error_code, ErrorCode::None);
}

#[tokio::test]
async fn matching_looks_at_broker_version_and_topic() {
    let cluster = cluster_with_topic(1).await;
    let leader = cluster.leader("t", 0).unwrap();
    let error = Reaction::Error(ErrorCode::UnknownServerError);
    let never = [
        Match::any().broker(if leader == 1 { 2 } else { 1 }),
        Match::any().versions(0..=11),
        Match::any().topic("u"),
        Match::any().partition(3),
        Match { client_id: Some("other".to_owned()), ..Match::default() },
    ];
    let ids = never.map(|on| cluster.inject(Fault::new(on, error.clone())));
    let mut raw = RawClient::connect(&cluster, leader).await;
    is(raw.fetch("t", 0, 0).await.error_code, ErrorCode::None);
    assert!(ids.iter().all(|id| cluster.fault_hits(*id) == 0));
    let id = cluster.inject(Fault::new(Match::any().broker(leader).versions(12..=12).topic("t"), error));
    is(raw.fetch("t", 0, 0).await.error_code, ErrorCode::UnknownServerError);
    cluster.remove_fault(id);
    is(raw.fetch("t", 0, 0).await.error_code, ErrorCode::None);
}

#[tokio::test]
async fn a_request_with_a_lost_response_is_applied() {
    let cluster = cluster_with_topic(1).await;
    for (when, expected) in [(When::BeforeHandling, 0), (When::AfterHandling, 1)] {
        cluster.inject(Fault::once(Match::api(ApiKey::Produce), Reaction::Disconnect(when)));
        let mut raw = RawClient::to_leader(&cluster, "t", 0).await;
        let request = produce_request("t", 0, batch(&[1], b"v"));
        assert!(raw.try_call(&request, 9).await.is_none());
        assert_eq!(high_watermark(&cluster, 0), expected);
    }
}

#[tokio::test]
async fn delay_postpones_the_request_and_throttle_sets_throttle_time() {
    let cluster = cluster_with_topic(1).await;
    let mut raw = RawClient::to_leader(&cluster, "t", 0).await;
    cluster.inject(Fault::once(Match::any(), Reaction::Delay(Duration::from_millis(80))));
    cluster.inject(Fault::once(Match::any(), Reaction::Throttle(1234)));
    let start = Instant::now();
    let request = produce_request("t", 0, batch(&[1], b"v"));
    assert_eq!(raw.call(&request, 9).await.throttle_time_ms, 1234);
    assert!(start.elapsed() >= Duration::from_millis(80));
    assert_eq!(raw.call(&request, 9).await.throttle_time_ms, 0);
}

#[tokio::test]
async fn a_request_of_a_disconnected_client_is_applied() {
    let cluster = cluster_with_topic(1).await;
    let mut raw = RawClient::to_leader(&cluster, "t", 0).await;
    let on = Match::api(ApiKey::Produce);
    cluster.inject(Fault::once(on, Reaction::Delay(Duration::from_millis(50))));
    raw.send(&produce_request("t", 0, batch(&[1], b"v")), 9).await;
    drop(raw);
    let mut other = RawClient::to_leader(&cluster, "t", 0).await;
    let mut request = fetch_request("t", 0, 0);
    (request.min_bytes, request.max_wait_ms) = (1, 5000);
    let response = other.call(&request, 12).await;
    assert_eq!(response.responses[0].partitions[0].high_watermark, 1);
}

#[tokio::test]
async fn silence_affects_one_connection() {
    let cluster = cluster_with_topic(1).await;
    let mut raw = RawClient::to_leader(&cluster, "t", 0).await;
    cluster.inject(Fault::once(Match::api(ApiKey::Produce), Reaction::Silence));
    raw.send(&produce_request("t", 0, batch(&[1], b"v")), 9).await;
    raw.send(&fetch_request("t", 0, 0), 12).await;
    let mut byte = [0];
    let read = tokio::time::timeout(Duration::from_millis(100), raw.stream.read(&mut byte)).await;
    assert!(read.is_err(), "neither a response nor a closed connection");
    let mut other = RawClient::to_leader(&cluster, "t", 0).await;
    assert_eq!(other.fetch("t", 0, 0).await.high_watermark, 0);
}

#[tokio::test]
async fn move_leader_runs_before_the_request() {
    let cluster = cluster_with_topic(1).await;
    let leader = cluster.leader("t", 0).unwrap();
    let to = if leader == 1 { 2 } else { 1 };
    let mut raw = RawClient::connect(&cluster, leader).await;
    cluster.inject(Fault::once(Match::api(ApiKey::Produce).topic("t"), Reaction::MoveLeader { to }));
    let response = raw.call(&produce_request("t", 0, batch(&[1], b"v")), 10).await;
    let partition = &response.responses[0].partition_responses[0];
    is(partition.error_code, ErrorCode::NotLeaderOrFollower);
    assert_eq!((partition.current_leader.leader_id, partition.current_leader.leader_epoch), (to, 1));
    assert_eq!(response.node_endpoints[0].node_id, to);
    // Versions below 10 have no `node_endpoints`.
    let response = raw.call(&produce_request("t", 0, batch(&[1], b"v")), 9).await;
    assert!(response.node_endpoints.is_empty());
    assert_eq!(cluster.leader("t", 0), Some(to));
}

#[tokio::test]
async fn bytes_replace_the_response() {
    let cluster = cluster_with_topic(1).await;
    let mut raw = RawClient::to_leader(&cluster, "t", 0).await;
    let bytes = Bytes::from_static(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    cluster.inject(Fault::once(Match::any(), Reaction::Bytes(bytes.clone())));
    raw.send(&fetch_request("t", 0, 0), 12).await;
    let mut read = vec![0; bytes.len()];
    raw.stream.read_exact(&mut read).await.unwrap();
    assert_eq!(read, bytes);
}

#[tokio::test]
async fn truncate_frame_sends_half_a_response() {
    let cluster = cluster_with_topic(1).await;
    let mut raw = RawClient::to_leader(&cluster, "t", 0).await;
    cluster.inject(Fault::once(Match::any(), Reaction::TruncateFrame));
    raw.send(&fetch_request("t", 0, 0), 12).await;
    let mut read = Vec::new();
    tokio::time::timeout(TEST_TIMEOUT, raw.stream.read_to_end(&mut read)).await.unwrap().unwrap();
    let announced = usize::try_from(i32::from_be_bytes(read[..4].try_into().unwrap())).unwrap();
    assert!(!read[4..].is_empty() && read[4..].len() < announced);
}

#[tokio::test]
async fn records_are_corrupted_once_and_only_if_there_are_any() {
    let cluster = cluster_with_topic(1).await;
    let mut raw = RawClient::to_leader(&cluster, "t", 0).await;
    let id = cluster.inject(Fault::once(Match::api(ApiKey::Fetch), Reaction::CorruptRecords));
    // An empty response, immediate or after a wait, does not count as a hit.
    raw.fetch("t", 0, 0).await;
    let mut waiting = fetch_request("t", 0, 0);
    (waiting.min_bytes, waiting.max_wait_ms) = (1, 20);
    raw.send(&waiting, 12).await;
    raw.receive::<FetchRequest>(12).await.unwrap();
    assert_eq!(cluster.fault_hits(id), 0);
    raw.produce("t", 0, batch(&[1], b"v")).await;
    let is_valid = |records: Bytes| Batches::new(records).next().unwrap().is_ok();
    assert!(!is_valid(raw.fetch("t", 0, 0).await.records.unwrap()));
    assert!(is_valid(raw.fetch("t", 0, 0).await.records.unwrap()));
    assert_eq!(cluster.fault_hits(id), 1);
}
