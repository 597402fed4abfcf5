//! Brokers that stop, start and end; connection counts; invalid frames.

use std::time::Duration;

use crate::support::*;
use ottla_mock::{MockCluster, MockConfig, TopicSpec};
use ottla_protocol::messages::metadata::MetadataRequest;
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

fn all_topics() -> MetadataRequest {
    MetadataRequest { topics: None, ..MetadataRequest::default() }
}

async fn wait_until(condition: impl Fn() -> bool) {
    let polling = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(TEST_TIMEOUT, polling).await.expect("in time");
}

#[tokio::test]
async fn a_stopped_broker_loses_its_leaders_and_comes_back_on_its_port() {
    let cluster = cluster_with_topic(3).await;
    let leader = cluster.leader("t", 0).unwrap();
    let address = cluster.brokers().into_iter().find(|b| b.id == leader).unwrap().address;
    let mut raw = RawClient::connect(&cluster, leader).await;
    raw.produce("t", 0, batch(&[1], b"v")).await;
    cluster.stop_broker(leader).await.unwrap();
    assert!(raw.is_closed().await);
    assert!(TcpStream::connect(address).await.is_err());
    assert_eq!(cluster.connections(leader), 0);

    let partition = cluster.topic("t").unwrap().partitions.remove(0);
    let next = partition.leader.unwrap();
    assert_ne!(next, leader);
    assert_eq!((partition.leader_epoch, partition.isr.len()), (1, 2));
    assert!(!partition.isr.contains(&leader));
    let mut raw = RawClient::connect(&cluster, next).await;
    assert_eq!(raw.produce("t", 0, batch(&[1], b"v")).await.base_offset, 1);
    let metadata = raw.call(&all_topics(), 9).await;
    assert!(metadata.brokers.iter().all(|b| b.node_id != leader));
    assert_eq!(metadata.topics[0].partitions[0].offline_replicas, [leader]);
    assert_ne!(metadata.controller_id, leader);

    cluster.start_broker(leader).await.unwrap();
    let mut raw = RawClient::connect(&cluster, leader).await;
    // It is a follower until it is made the leader again.
    assert_eq!(raw.fetch("t", 0, 0).await.high_watermark, 2);
    let error_code = raw.produce("t", 0, batch(&[1], b"v")).await.error_code;
    assert_eq!(error_code, ErrorCode::NotLeaderOrFollower.code());
    cluster.move_leader("t", 0, leader).unwrap();
    assert_eq!(raw.produce("t", 0, batch(&[1], b"v")).await.base_offset, 2);
    assert_eq!(cluster.topic("t").unwrap().partitions[0].leader_epoch, 2);
    // Starting a running broker has no effect.
    cluster.start_broker(leader).await.unwrap();
    assert!(cluster.stop_broker(77).await.is_err());
}

#[tokio::test]
async fn a_partition_without_live_replicas_has_no_leader() {
    let cluster = cluster().await;
    cluster.create_topic(TopicSpec::new("t").replication(1)).unwrap();
    let leader = cluster.leader("t", 0).unwrap();
    cluster.stop_broker(leader).await.unwrap();
    assert_eq!(cluster.leader("t", 0), None);
    let other = cluster.brokers().into_iter().find(|b| b.alive).unwrap().id;
    let mut raw = RawClient::connect(&cluster, other).await;
    let metadata = raw.call(&all_topics(), 9).await;
    let partition = &metadata.topics[0].partitions[0];
    assert_eq!((partition.leader_id, partition.error_code), (-1, ErrorCode::LeaderNotAvailable.code()));
    cluster.start_broker(leader).await.unwrap();
    assert_eq!(cluster.leader("t", 0), Some(leader));
    assert!(cluster.move_leader("t", 0, other).is_err());
}

#[tokio::test]
async fn all_brokers_stop_and_start() {
    let cluster = cluster_with_topic(3).await;
    for id in 1..=3 {
        cluster.stop_broker(id).await.unwrap();
    }
    assert_eq!(cluster.controller(), -1);
    for id in 1..=3 {
        cluster.start_broker(id).await.unwrap();
    }
    assert!((0..3).all(|partition| cluster.leader("t", partition).is_some()));
    assert!(cluster.topic("t").unwrap().partitions.iter().all(|p| p.isr.len() == 3));
}

#[tokio::test]
async fn connections_and_requests_are_counted() {
    let config = MockConfig { request_log: 2, ..MockConfig::default() };
    let cluster = MockCluster::start(config).await.unwrap();
    let mut raw = RawClient::connect(&cluster, 1).await;
    for _ in 0..3 {
        raw.call(&all_topics(), 9).await;
    }
    assert_eq!(cluster.connections(1), 1);
    assert_eq!(cluster.request_count(None, ApiKey::Metadata), 3);
    assert_eq!(cluster.request_count(Some(2), ApiKey::Metadata), 0);
    let seen = cluster.requests();
    assert_eq!(seen.iter().map(|r| r.correlation_id).collect::<Vec<_>>(), [2, 3]);
    assert_eq!((seen[0].api, seen[0].version), (Some(ApiKey::Metadata), 9));
    assert_eq!(seen[0].client_id.as_deref(), Some("raw"));
    drop(raw);
    wait_until(|| cluster.connections(1) == 0).await;
    cluster.clear_requests();
    assert!(cluster.requests().is_empty());
}

#[tokio::test]
async fn a_client_that_disconnects_during_a_long_poll_is_detected() {
    let cluster = cluster_with_topic(1).await;
    let leader = cluster.leader("t", 0).unwrap();
    let mut raw = RawClient::connect(&cluster, leader).await;
    let mut request = fetch_request("t", 0, 0);
    (request.min_bytes, request.max_wait_ms) = (1, i32::MAX);
    raw.send(&request, 12).await;
    wait_until(|| cluster.request_count(None, ApiKey::Fetch) == 1).await;
    drop(raw);
    wait_until(|| cluster.connections(leader) == 0).await;
}

#[tokio::test]
async fn a_waiting_fetch_blocks_what_follows_on_its_connection() {
    let cluster = cluster_with_topic(1).await;
    let mut raw = RawClient::to_leader(&cluster, "t", 0).await;
    let mut request = fetch_request("t", 0, 0);
    (request.min_bytes, request.max_wait_ms) = (1, 80);
    raw.send(&request, 12).await;
    raw.send(&all_topics(), 9).await;
    let first = raw.read_frame().await.unwrap();
    let second = raw.read_frame().await.unwrap();
    assert_eq!((&first[..4], &second[..4]), (&[0, 0, 0, 1][..], &[0, 0, 0, 2][..]));
}

#[tokio::test]
async fn invalid_frames_close_only_their_connection() {
    let cluster = cluster_with_topic(1).await;
    let length = |n: i32| n.to_be_bytes().to_vec();
    let framed = |body: &[u8]| [&length(i32::try_from(body.len()).unwrap())[..], body].concat();
    let bad = [
        length(-1),
        length(0),
        length(i32::MAX),
        length(100 * 1024 * 1024 + 1),
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        framed(&[0, 1, 0, 12]),
        // An unknown API, an API that clients may not use, unknown versions.
        framed(&[0x7f, 0xff, 0, 0, 0, 0, 0, 1, 0xff, 0xff]),
        framed(&[0, 4, 0, 0, 0, 0, 0, 1, 0xff, 0xff]),
        framed(&[0, 3, 0x7f, 0xff, 0, 0, 0, 1, 0xff, 0xff, 0]),
        framed(&[0, 3, 0xff, 0xff, 0, 0, 0, 1, 0xff, 0xff]),
        // Metadata 1 with a list of two billion topics.
        framed(&[0, 3, 0, 1, 0, 0, 0, 1, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff]),
    ];
    for bytes in bad {
        let mut raw = RawClient::connect(&cluster, 1).await;
        raw.stream.write_all(&bytes).await.unwrap();
        assert!(raw.is_closed().await, "{bytes:?}");
    }
    // Trailing bytes do not close the connection: librdkafka sends some.
    let mut raw = RawClient::connect(&cluster, 1).await;
    let bytes = framed(&[0, 3, 0, 1, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0]);
    raw.stream.write_all(&bytes).await.unwrap();
    assert!(raw.read_frame().await.is_some());
    drop(raw);
    // A truncated frame with a large announced length costs no memory and does not harm the broker.
    let mut raw = RawClient::connect(&cluster, 1).await;
    raw.stream.write_all(&[&length(100 * 1024 * 1024)[..], b"short"].concat()).await.unwrap();
    drop(raw);
    wait_until(|| cluster.connections(1) == 0).await;
    RawClient::connect(&cluster, 1).await.call(&all_topics(), 9).await;
}

/// A cluster whose brokers listen on a loopback address that no other test uses. On a shared one, the port of a
/// broker that has stopped may be given to another cluster at once, or to the connection that looks for it.
fn on_address_of_its_own(host: &str) -> MockConfig {
    MockConfig { host: host.to_owned(), ..MockConfig::default() }
}

#[test]
fn dropping_the_cluster_ends_every_task_and_socket() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let config = on_address_of_its_own("127.0.0.2");
    let cluster = MockCluster::start_on(config, runtime.handle()).unwrap();
    cluster.create_topic(TopicSpec::new("t")).unwrap();
    let address = cluster.brokers()[0].address;
    let mut raw = runtime.block_on(async {
        let mut raw = RawClient::to_leader(&cluster, "t", 0).await;
        raw.produce("t", 0, batch(&[1], b"v")).await;
        raw
    });
    drop(cluster);
    assert!(runtime.block_on(raw.is_closed()));
    let metrics = runtime.metrics();
    runtime.block_on(wait_until(|| metrics.num_alive_tasks() == 0));
    assert!(runtime.block_on(TcpStream::connect(address)).is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn after_close_no_port_listens() {
    for _ in 0..50 {
        let cluster = MockCluster::start(on_address_of_its_own("127.0.0.3")).await.unwrap();
        let addresses = cluster.brokers();
        cluster.close().await;
        for broker in addresses {
            let refused = TcpStream::connect(broker.address).await.unwrap_err();
            assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
        }
    }
}

#[tokio::test]
async fn advertised_addresses_may_differ_from_where_brokers_listen() {
    let config = MockConfig { advertised_host: Some("broker.internal".to_owned()), ..MockConfig::default() };
    let cluster = MockCluster::start(config).await.unwrap();
    assert!(cluster.bootstrap().starts_with("127.0.0.1:"));
    let metadata = RawClient::connect(&cluster, 1).await.call(&all_topics(), 9).await;
    assert!(metadata.brokers.iter().all(|b| b.host == "broker.internal"));
}
