//! Fetching from followers (KIP-392), and leader epochs by which clients detect a truncated log (KIP-320).

use crate::support::*;
use ottla_mock::{Fault, Match, MockCluster, MockConfig, Reaction, TopicSpec};
use ottla_protocol::messages::fetch::{FetchRequest, PartitionData};
use ottla_protocol::messages::offset_for_leader_epoch::{
    EpochEndOffset, OffsetForLeaderEpochRequest, OffsetForLeaderPartition, OffsetForLeaderTopic,
};
use ottla_protocol::{ApiKey, ErrorCode};

fn is(code: i16, expected: ErrorCode) {
    assert_eq!(ErrorCode::from(code), expected);
}

/// Five records in `t`, with broker 1 (rack-a) as leader.
async fn led_by_broker_1(config: MockConfig) -> MockCluster {
    let cluster = MockCluster::start(config).await.unwrap();
    cluster.create_topic(TopicSpec::new("t")).unwrap();
    // Creates earlier leader epochs.
    [2, 3, 1].into_iter().for_each(|broker| cluster.move_leader("t", 0, broker).unwrap());
    for _ in 0..5 {
        cluster.append("t", 0, &[b"v"]).unwrap();
    }
    cluster
}

async fn fetch(cluster: &MockCluster, broker: i32, rack: &str, offset: i64, version: i16) -> PartitionData {
    let mut request = fetch_request("t", 0, offset);
    request.rack_id = rack.to_owned();
    (request.min_bytes, request.max_wait_ms) = (1, 60_000);
    let mut raw = RawClient::connect(cluster, broker).await;
    raw.call(&request, version).await.responses.remove(0).partitions.remove(0)
}

#[tokio::test]
async fn leaders_name_the_replica_in_the_consumers_rack() {
    let cluster = led_by_broker_1(MockConfig::default()).await;
    let data = fetch(&cluster, 1, "rack-b", 0, 12).await;
    assert_eq!((data.preferred_read_replica, data.records.unwrap().len()), (2, 0));
    assert_eq!(data.high_watermark, 5);
    let data = fetch(&cluster, 2, "rack-b", 3, 12).await;
    assert_eq!((data.preferred_read_replica, data.high_watermark), (-1, 5));
    assert_eq!(offsets(&data.records.unwrap()), [(3, 3), (4, 4)]);
    // Not for the leader's own rack, a rack without a replica, or no rack.
    for rack in ["rack-a", "rack-z", ""] {
        assert_eq!(fetch(&cluster, 1, rack, 0, 12).await.preferred_read_replica, -1);
    }
    // Older consumers fetch only from leaders.
    assert_eq!(fetch(&cluster, 1, "", 0, 10).await.preferred_read_replica, -1);
    is(fetch(&cluster, 2, "", 0, 10).await.error_code, ErrorCode::NotLeaderOrFollower);
    // A stopped broker is not a preferred replica.
    cluster.stop_broker(2).await.unwrap();
    assert_eq!(fetch(&cluster, 1, "rack-b", 0, 12).await.preferred_read_replica, -1);
}

#[tokio::test]
async fn without_a_replica_selector_there_is_no_preferred_replica() {
    let cluster = led_by_broker_1(MockConfig { rack_aware_reads: false, ..MockConfig::default() }).await;
    assert_eq!(fetch(&cluster, 1, "rack-b", 0, 12).await.preferred_read_replica, -1);
}

#[tokio::test]
async fn a_lagging_follower_returns_only_what_it_has() {
    let cluster = led_by_broker_1(MockConfig::default()).await;
    cluster.lag_replica("t", 0, 2, Some(3)).unwrap();
    let data = fetch(&cluster, 2, "rack-b", 2, 12).await;
    assert_eq!((data.high_watermark, offsets(&data.records.unwrap())), (3, vec![(2, 2)]));
    is(fetch(&cluster, 2, "rack-b", 4, 12).await.error_code, ErrorCode::OffsetOutOfRange);
    // Nor is it preferred for offsets that it lacks.
    assert_eq!(fetch(&cluster, 1, "rack-b", 4, 12).await.preferred_read_replica, -1);
    assert_eq!(fetch(&cluster, 1, "rack-b", 3, 12).await.preferred_read_replica, 2);
    cluster.lag_replica("t", 0, 2, None).unwrap();
    assert_eq!(offsets(&fetch(&cluster, 2, "rack-b", 4, 12).await.records.unwrap()), [(4, 4)]);
    assert_eq!(cluster.lag_replica("t", 0, 1, Some(1)).unwrap_err().code, ErrorCode::ReplicaNotAvailable);
}

#[tokio::test]
async fn a_follower_checks_epochs_as_its_leader_does() {
    let cluster = led_by_broker_1(MockConfig::default()).await;
    let epoch = cluster.topic("t").unwrap().partitions[0].leader_epoch;
    let mut raw = RawClient::connect(&cluster, 2).await;
    let mut request: FetchRequest = fetch_request("t", 0, 0);
    let cases = [
        (epoch, ErrorCode::None),
        (epoch + 1, ErrorCode::UnknownLeaderEpoch),
        (epoch - 1, ErrorCode::FencedLeaderEpoch),
    ];
    for (known, expected) in cases {
        request.topics[0].partitions[0].current_leader_epoch = known;
        let response = raw.call(&request, 12).await;
        is(response.responses[0].partitions[0].error_code, expected);
    }
}

async fn end_of_epoch(cluster: &MockCluster, epoch: i32, current: i32, version: i16) -> EpochEndOffset {
    let mut raw = RawClient::to_leader(cluster, "t", 0).await;
    let partition =
        OffsetForLeaderPartition { partition: 0, current_leader_epoch: current, leader_epoch: epoch };
    let request = OffsetForLeaderEpochRequest {
        topics: vec![OffsetForLeaderTopic { topic: "t".to_owned(), partitions: vec![partition] }],
        ..OffsetForLeaderEpochRequest::default()
    };
    raw.call(&request, version).await.topics.remove(0).partitions.remove(0)
}

#[tokio::test]
async fn epochs_end_where_the_next_one_begins() {
    let cluster = cluster_with_topic(1).await;
    let first = cluster.leader("t", 0).unwrap();
    cluster.append("t", 0, &[b"a", b"b"]).unwrap();
    cluster.move_leader("t", 0, first % 3 + 1).unwrap();
    cluster.append("t", 0, &[b"c"]).unwrap();
    // An epoch without appends leaves no trace.
    cluster.move_leader("t", 0, first).unwrap();
    cluster.move_leader("t", 0, first % 3 + 1).unwrap();
    cluster.append("t", 0, &[b"d"]).unwrap();
    for version in 2..=4 {
        for (epoch, expected) in [(0, (0, 2)), (1, (1, 3)), (2, (1, 3)), (3, (3, 4)), (4, (-1, -1))] {
            let end = end_of_epoch(&cluster, epoch, -1, version).await;
            is(end.error_code, ErrorCode::None);
            assert_eq!((end.leader_epoch, end.end_offset), expected, "epoch {epoch}");
        }
    }
    is(end_of_epoch(&cluster, 0, 2, 4).await.error_code, ErrorCode::FencedLeaderEpoch);
    is(end_of_epoch(&cluster, 0, 4, 4).await.error_code, ErrorCode::UnknownLeaderEpoch);
    let on = Match::api(ApiKey::OffsetForLeaderEpoch).topic("t").partition(0);
    cluster.inject(Fault::once(on, Reaction::Error(ErrorCode::TopicAuthorizationFailed)));
    is(end_of_epoch(&cluster, 0, 3, 4).await.error_code, ErrorCode::TopicAuthorizationFailed);
    is(end_of_epoch(&cluster, 0, 3, 4).await.error_code, ErrorCode::None);
}

#[tokio::test]
async fn a_reader_of_truncated_records_has_diverged() {
    let cluster = cluster_with_topic(1).await;
    let first = cluster.leader("t", 0).unwrap();
    for _ in 0..10 {
        cluster.append("t", 0, &[b"v"]).unwrap();
    }
    cluster.truncate("t", 0, 6).unwrap();
    cluster.move_leader("t", 0, first % 3 + 1).unwrap();
    for _ in 0..10 {
        cluster.append("t", 0, &[b"w"]).unwrap();
    }
    let mut raw = RawClient::to_leader(&cluster, "t", 0).await;
    let mut request = fetch_request("t", 0, 10);
    request.topics[0].partitions[0].last_fetched_epoch = 0;
    request.topics[0].partitions[0].current_leader_epoch = 1;
    let data = raw.call(&request, 12).await.responses.remove(0).partitions.remove(0);
    assert_eq!((data.diverging_epoch.epoch, data.diverging_epoch.end_offset), (0, 6));
    assert!(data.records.unwrap().is_empty());
    let end = end_of_epoch(&cluster, 0, 1, 4).await;
    assert_eq!((end.leader_epoch, end.end_offset), (0, 6));
    // It continues from the truncation offset.
    request.topics[0].partitions[0].fetch_offset = 6;
    let data = raw.call(&request, 12).await.responses.remove(0).partitions.remove(0);
    assert_eq!((data.diverging_epoch.epoch, offsets(&data.records.unwrap())[0]), (-1, (6, 6)));
}
