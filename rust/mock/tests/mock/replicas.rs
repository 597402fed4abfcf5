//! Followers that serve consumers (KIP-392), and leader epochs by which clients find out that a log was
//! truncated (KIP-320).

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
async fn led_by_one(config: MockConfig) -> MockCluster {
    let cluster = MockCluster::start(config).await.unwrap();
    cluster.create_topic(TopicSpec::new("t")).unwrap();
    // So that there was an epoch before this one.
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
    let mut raw = Raw::connect(cluster, broker).await;
    raw.call(&request, version).await.responses.remove(0).partitions.remove(0)
}

#[tokio::test]
async fn a_consumer_is_sent_to_the_replica_in_its_rack() {
    let cluster = led_by_one(MockConfig::default()).await;
    let data = fetch(&cluster, 1, "rack-b", 0, 12).await;
    assert_eq!((data.preferred_read_replica, data.records.unwrap().len()), (2, 0));
    assert_eq!(data.high_watermark, 5);
    let data = fetch(&cluster, 2, "rack-b", 3, 12).await;
    assert_eq!((data.preferred_read_replica, data.high_watermark), (-1, 5));
    assert_eq!(offsets(&data.records.unwrap()), [(3, 3), (4, 4)]);
    // Not from the leader's own rack, nor from one without a replica, nor without one.
    for rack in ["rack-a", "rack-z", ""] {
        assert_eq!(fetch(&cluster, 1, rack, 0, 12).await.preferred_read_replica, -1);
    }
    // Older consumers read from leaders only.
    assert_eq!(fetch(&cluster, 1, "", 0, 10).await.preferred_read_replica, -1);
    is(fetch(&cluster, 2, "", 0, 10).await.error_code, ErrorCode::NotLeaderOrFollower);
    // A broker that is down is no replica to read from.
    cluster.stop_broker(2).await.unwrap();
    assert_eq!(fetch(&cluster, 1, "rack-b", 0, 12).await.preferred_read_replica, -1);
}

#[tokio::test]
async fn a_broker_without_a_selector_sends_nobody_away() {
    let cluster = led_by_one(MockConfig { rack_aware_reads: false, ..MockConfig::default() }).await;
    assert_eq!(fetch(&cluster, 1, "rack-b", 0, 12).await.preferred_read_replica, -1);
}

#[tokio::test]
async fn a_lagging_follower_has_no_more_than_it_has() {
    let cluster = led_by_one(MockConfig::default()).await;
    cluster.lag_replica("t", 0, 2, Some(3)).unwrap();
    let data = fetch(&cluster, 2, "rack-b", 2, 12).await;
    assert_eq!((data.high_watermark, offsets(&data.records.unwrap())), (3, vec![(2, 2)]));
    is(fetch(&cluster, 2, "rack-b", 4, 12).await.error_code, ErrorCode::OffsetOutOfRange);
    // Nor is anybody sent to it for what it has not.
    assert_eq!(fetch(&cluster, 1, "rack-b", 4, 12).await.preferred_read_replica, -1);
    assert_eq!(fetch(&cluster, 1, "rack-b", 3, 12).await.preferred_read_replica, 2);
    cluster.lag_replica("t", 0, 2, None).unwrap();
    assert_eq!(offsets(&fetch(&cluster, 2, "rack-b", 4, 12).await.records.unwrap()), [(4, 4)]);
    assert_eq!(cluster.lag_replica("t", 0, 1, Some(1)).unwrap_err().code, ErrorCode::ReplicaNotAvailable);
}

#[tokio::test]
async fn a_follower_checks_epochs_as_its_leader_does() {
    let cluster = led_by_one(MockConfig::default()).await;
    let epoch = cluster.topic("t").unwrap().partitions[0].leader_epoch;
    let mut raw = Raw::connect(&cluster, 2).await;
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

async fn end_of(cluster: &MockCluster, epoch: i32, current: i32, version: i16) -> EpochEndOffset {
    let mut raw = Raw::to_leader(cluster, "t", 0).await;
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
    // An epoch in which nothing was written leaves no trace.
    cluster.move_leader("t", 0, first).unwrap();
    cluster.move_leader("t", 0, first % 3 + 1).unwrap();
    cluster.append("t", 0, &[b"d"]).unwrap();
    for version in 2..=4 {
        for (epoch, expected) in [(0, (0, 2)), (1, (1, 3)), (2, (1, 3)), (3, (3, 4)), (4, (-1, -1))] {
            let end = end_of(&cluster, epoch, -1, version).await;
            is(end.error_code, ErrorCode::None);
            assert_eq!((end.leader_epoch, end.end_offset), expected, "epoch {epoch}");
        }
    }
    is(end_of(&cluster, 0, 2, 4).await.error_code, ErrorCode::FencedLeaderEpoch);
    is(end_of(&cluster, 0, 4, 4).await.error_code, ErrorCode::UnknownLeaderEpoch);
    let on = Match::api(ApiKey::OffsetForLeaderEpoch).topic("t").partition(0);
    cluster.inject(Fault::once(on, Reaction::Error(ErrorCode::TopicAuthorizationFailed)));
    is(end_of(&cluster, 0, 3, 4).await.error_code, ErrorCode::TopicAuthorizationFailed);
    is(end_of(&cluster, 0, 3, 4).await.error_code, ErrorCode::None);
}

#[tokio::test]
async fn who_has_read_what_was_lost_has_diverged() {
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
    let mut raw = Raw::to_leader(&cluster, "t", 0).await;
    let mut request = fetch_request("t", 0, 10);
    request.topics[0].partitions[0].last_fetched_epoch = 0;
    request.topics[0].partitions[0].current_leader_epoch = 1;
    let data = raw.call(&request, 12).await.responses.remove(0).partitions.remove(0);
    assert_eq!((data.diverging_epoch.epoch, data.diverging_epoch.end_offset), (0, 6));
    assert!(data.records.unwrap().is_empty());
    let end = end_of(&cluster, 0, 1, 4).await;
    assert_eq!((end.leader_epoch, end.end_offset), (0, 6));
    // From there on it goes on.
    request.topics[0].partitions[0].fetch_offset = 6;
    let data = raw.call(&request, 12).await.responses.remove(0).partitions.remove(0);
    assert_eq!((data.diverging_epoch.epoch, offsets(&data.records.unwrap())[0]), (-1, (6, 6)));
}
