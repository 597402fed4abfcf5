//! ShareFetch and ShareAcknowledge (KIP-932): sessions, acquisitions, locks, leaders and faults.

use std::time::Duration;

use crate::support::classic_member::GROUP;
use crate::support::configs;
use crate::support::share_member::*;
use crate::support::*;
use ottla_mock::{Fault, GroupConfig, Match, MockCluster, MockConfig, Reaction, ShareGroupConfig, TopicSpec};
use ottla_protocol::messages::share_fetch::ForgottenTopic;
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::time::Instant;

/// A cluster with ten records in a batch in topic `t`, which groups read from the start.
async fn cluster_with(share: ShareGroupConfig) -> MockCluster {
    let share = ShareGroupConfig { auto_offset_reset: "earliest".to_owned(), ..share };
    let groups = GroupConfig { share, ..GroupConfig::default() };
    let cluster = MockCluster::start(MockConfig { groups, ..MockConfig::default() }).await.unwrap();
    cluster.create_topic(TopicSpec::new("t")).unwrap();
    cluster.append("t", 0, &[b"value".as_slice(); 10]).unwrap();
    cluster
}

async fn filled() -> MockCluster {
    cluster_with(ShareGroupConfig::default()).await
}

#[tokio::test]
async fn records_are_acquired_and_acknowledged() {
    let cluster = filled().await;
    let (mut a, mut b) = (ShareMember::new(&cluster, "a").await, ShareMember::new(&cluster, "b").await);
    let request = a.fetch_request();
    let response = a.send_fetch(&request).await;
    assert_eq!((response.acquisition_lock_timeout_ms, acquired(&response)), (30_000, vec![(0, 9, 1)]));
    assert_eq!(offsets(first(&response).unwrap().records.as_ref().unwrap()), [(0, 9)]);
    assert_eq!(b.fetch().await, []);
    assert_eq!(b.acknowledge(&[(0, 0, ACCEPT)]).await, ErrorCode::InvalidRecordState);
    assert_eq!(a.acknowledge(&[(0, 3, ACCEPT), (4, 5, RELEASE), (6, 6, REJECT)]).await, ErrorCode::None);
    assert_eq!(b.fetch().await, [(4, 5, 2)]);
    assert_eq!(a.acknowledge(&[(7, 9, ACCEPT)]).await, ErrorCode::None);
    assert_eq!(a.acknowledge(&[(9, 10, ACCEPT)]).await, ErrorCode::InvalidRequest);
    assert_eq!(a.acknowledge(&[(5, 4, ACCEPT)]).await, ErrorCode::InvalidRequest);
    assert_eq!(a.acknowledge(&[(4, 4, 9)]).await, ErrorCode::InvalidRequest);
    // Acknowledgements may come with the next fetch.
    let mut request = b.fetch_request();
    request.topics[0].partitions[0].acknowledgement_batches = vec![fetch_batch(4, 5, ACCEPT)];
    cluster.append("t", 0, &[b"more"]).unwrap();
    let response = b.send_fetch(&request).await;
    assert_eq!(
        (first(&response).unwrap().acknowledge_error_code, acquired(&response)),
        (0, vec![(10, 10, 1)])
    );
    request.share_session_epoch = b.epoch;
    let response = b.send_fetch(&request).await;
    assert_eq!(first(&response).unwrap().acknowledge_error_code, 0);
    assert_eq!(acquired(&response), []);
}

#[tokio::test]
async fn sessions_have_epochs() {
    let cluster = filled().await;
    let mut a = ShareMember::new(&cluster, "a").await;
    let code = |response: ottla_protocol::messages::share_fetch::ShareFetchResponse| {
        ErrorCode::from(response.error_code)
    };
    a.epoch = 1;
    let unknown = a.fetch_request();
    assert_eq!(code(a.send_fetch(&unknown).await), ErrorCode::ShareSessionNotFound);
    assert_eq!(a.close().await, ErrorCode::ShareSessionNotFound);
    a.epoch = 0;
    let mut early = a.fetch_request();
    early.topics[0].partitions[0].acknowledgement_batches = vec![fetch_batch(0, 0, ACCEPT)];
    assert_eq!(code(a.send_fetch(&early).await), ErrorCode::InvalidRequest);
    let early = a.acknowledge_request(&[(0, 0, ACCEPT)]);
    let response = a.send_acknowledge(&early).await;
    assert_eq!(ErrorCode::from(response.error_code), ErrorCode::InvalidShareSessionEpoch);
    let mut nobody = a.fetch_request();
    nobody.member_id = Some(String::new());
    assert_eq!(code(a.send_fetch(&nobody).await), ErrorCode::InvalidRequest);
    assert_eq!(a.fetch().await, [(0, 9, 1)]);
    a.epoch = 3;
    let wrong = a.fetch_request();
    assert_eq!(code(a.send_fetch(&wrong).await), ErrorCode::InvalidShareSessionEpoch);
    // A partition that is forgotten is not read.
    a.epoch = 1;
    let mut forget = a.fetch_request();
    forget.topics.clear();
    forget.forgotten_topics_data = vec![ForgottenTopic { topic_id: a.topic, partitions: vec![0] }];
    cluster.append("t", 0, &[b"more"]).unwrap();
    assert_eq!(acquired(&a.send_fetch(&forget).await), []);
    assert_eq!(a.fetch().await, [(10, 10, 1)]);
    // The end of a session releases the records of its partitions.
    assert_eq!(a.close().await, ErrorCode::None);
    let mut b = ShareMember::new(&cluster, "b").await;
    assert_eq!(b.fetch().await, [(0, 10, 2)]);
    // So does the end of its connection.
    drop(b);
    let mut c = ShareMember::new(&cluster, "c").await;
    let mut request = c.fetch_request();
    request.max_wait_ms = 60_000;
    request.min_bytes = 1;
    assert_eq!(acquired(&c.send_fetch(&request).await), [(0, 10, 3)]);
}

#[tokio::test]
async fn sessions_are_limited() {
    let cluster = cluster_with(ShareGroupConfig { max_sessions: 1, ..ShareGroupConfig::default() }).await;
    let (mut a, mut b) = (ShareMember::new(&cluster, "a").await, ShareMember::new(&cluster, "b").await);
    a.fetch().await;
    let request = b.fetch_request();
    let code = ErrorCode::from(b.send_fetch(&request).await.error_code);
    assert_eq!(code, ErrorCode::ShareSessionLimitReached);
    a.close().await;
    assert_eq!(b.fetch().await, [(0, 9, 2)]);
}

#[tokio::test]
async fn a_fetch_waits_for_records() {
    let cluster = cluster_with_topic(1).await;
    let mut a = ShareMember::new(&cluster, "a").await;
    let mut request = a.fetch_request();
    request.max_wait_ms = 60_000;
    request.min_bytes = 1;
    a.raw.send(&request, 2).await;
    // The session is open as soon as the request was handled; the group begins at the end.
    while cluster.share_sessions(cluster.leader("t", 0).unwrap()) == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    cluster.append("t", 0, &[b"new"]).unwrap();
    let response =
        a.raw.receive::<ottla_protocol::messages::share_fetch::ShareFetchRequest>(2).await.unwrap();
    assert_eq!(acquired(&response), [(0, 0, 1)]);
}

#[tokio::test]
async fn a_strict_limit_of_records_splits_batches() {
    let cluster = filled().await;
    let mut a = ShareMember::new(&cluster, "a").await;
    let mut request = a.fetch_request();
    (request.max_records, request.share_acquire_mode) = (3, 1);
    assert_eq!(acquired(&a.send_fetch(&request).await), [(0, 2, 1)]);
    (request.share_session_epoch, request.share_acquire_mode) = (1, 0);
    assert_eq!(acquired(&a.send_fetch(&request).await), [(3, 9, 1)]);
}

#[tokio::test]
async fn locks_time_out_unless_they_are_renewed() {
    let lock = Duration::from_secs(2);
    let share = ShareGroupConfig { record_lock_duration: lock, ..ShareGroupConfig::default() };
    let cluster = cluster_with(share).await;
    let (mut a, mut b) = (ShareMember::new(&cluster, "a").await, ShareMember::new(&cluster, "b").await);
    let started = Instant::now();
    assert_eq!(a.fetch().await, [(0, 9, 1)]);
    let mut request = b.fetch_request();
    (request.max_wait_ms, request.min_bytes) = (60_000, 1);
    assert_eq!(acquired(&b.send_fetch(&request).await), [(0, 9, 2)]);
    assert!(started.elapsed() >= lock);
    assert_eq!(a.acknowledge(&[(0, 9, ACCEPT)]).await, ErrorCode::InvalidRecordState);
    // A renewal must be announced, and a fetch with one fetches nothing.
    let mut silent = b.acknowledge_request(&[(0, 9, RENEW)]);
    silent.is_renew_ack = false;
    let response = b.send_acknowledge(&silent).await;
    assert_eq!(ErrorCode::from(response.responses[0].partitions[0].error_code), ErrorCode::InvalidRequest);
    let request = b.acknowledge_request(&[(0, 9, RENEW)]);
    assert_eq!(b.send_acknowledge(&request).await.acquisition_lock_timeout_ms, 2_000);
    let mut renew = b.fetch_request();
    renew.is_renew_ack = true;
    let code = ErrorCode::from(b.send_fetch(&renew).await.error_code);
    assert_eq!(code, ErrorCode::InvalidRequest);
    (renew.max_records, renew.max_bytes) = (0, 0);
    renew.topics[0].partitions[0].acknowledgement_batches = vec![fetch_batch(0, 9, RENEW)];
    let response = b.send_fetch(&renew).await;
    assert_eq!((first(&response).unwrap().acknowledge_error_code, acquired(&response)), (0, vec![]));
}

#[tokio::test]
async fn a_new_leader_makes_acquired_records_available() {
    let cluster = filled().await;
    let mut a = ShareMember::new(&cluster, "a").await;
    assert_eq!(a.fetch().await, [(0, 9, 1)]);
    assert_eq!(a.acknowledge(&[(0, 2, ACCEPT), (3, 4, RELEASE)]).await, ErrorCode::None);
    let old = cluster.leader("t", 0).unwrap();
    let new = cluster.topic("t").unwrap().partitions[0].isr.iter().copied().find(|id| *id != old).unwrap();
    cluster.move_leader("t", 0, new).unwrap();
    let request = a.fetch_request();
    let response = a.send_fetch(&request).await;
    let data = first(&response).unwrap();
    assert_eq!(ErrorCode::from(data.error_code), ErrorCode::NotLeaderOrFollower);
    assert_eq!((data.current_leader.leader_id, data.current_leader.leader_epoch), (new, 1));
    assert_eq!(response.node_endpoints[0].node_id, new);
    let request = a.acknowledge_request(&[(5, 9, ACCEPT)]);
    let response = a.send_acknowledge(&request).await;
    let data = &response.responses[0].partitions[0];
    assert_eq!(ErrorCode::from(data.error_code), ErrorCode::NotLeaderOrFollower);
    assert_eq!(data.current_leader.leader_id, new);
    let mut b = ShareMember::new(&cluster, "b").await;
    assert_eq!(b.fetch().await, [(3, 4, 2), (5, 9, 1)]);
}

/// A broker that does not lead the partition any more has nothing to release.
#[tokio::test]
async fn the_end_of_a_session_with_an_old_leader_releases_nothing() {
    let cluster = filled().await;
    let mut old = ShareMember::new(&cluster, "a").await;
    assert_eq!(old.fetch().await, [(0, 9, 1)]);
    let leader = cluster.leader("t", 0).unwrap();
    let isr = cluster.topic("t").unwrap().partitions[0].isr.clone();
    cluster.move_leader("t", 0, isr.into_iter().find(|id| *id != leader).unwrap()).unwrap();
    let mut new = ShareMember::new(&cluster, "a").await;
    assert_eq!(new.fetch().await, [(0, 9, 1)]);
    assert_eq!(old.close().await, ErrorCode::None);
    assert_eq!(new.acknowledge(&[(0, 9, ACCEPT)]).await, ErrorCode::None);
}

#[tokio::test]
async fn groups_have_their_own_configuration() {
    let cluster = cluster_with_topic(1).await;
    cluster.append("t", 0, &[b"value".as_slice(); 4]).unwrap();
    let mut raw = RawClient::connect(&cluster, 1).await;
    let changes = [
        ("share.auto.offset.reset", configs::SET, Some("earliest")),
        ("share.isolation.level", configs::SET, Some("read_committed")),
        ("share.record.lock.duration.ms", configs::SET, Some("20000")),
    ];
    let altered = configs::alter_one(&mut raw, configs::GROUP, GROUP, &changes).await;
    assert_eq!(altered.0, ErrorCode::None, "{}", altered.1);
    cluster.append_in_transaction("t", 0, 7, &[b"aborted".as_slice(); 2]).unwrap();
    cluster.append("t", 0, &[b"value"]).unwrap();
    let mut a = ShareMember::new(&cluster, "a").await;
    let request = a.fetch_request();
    let response = a.send_fetch(&request).await;
    assert_eq!((response.acquisition_lock_timeout_ms, acquired(&response)), (20_000, vec![(0, 3, 1)]));
    cluster.end_transaction("t", 0, 7, false).unwrap();
    cluster.append("t", 0, &[b"value"]).unwrap();
    // The aborted records and their marker are skipped.
    assert_eq!(a.fetch().await, [(6, 6, 1), (8, 8, 1)]);
}

#[tokio::test]
async fn faults_hit_requests_and_partitions() {
    let cluster = filled().await;
    let mut a = ShareMember::new(&cluster, "a").await;
    let fetch = || Match::api(ApiKey::ShareFetch);
    cluster.inject(Fault::once(fetch(), Reaction::Error(ErrorCode::ShareSessionNotFound)));
    let request = a.fetch_request();
    let code = ErrorCode::from(a.send_fetch(&request).await.error_code);
    assert_eq!(code, ErrorCode::ShareSessionNotFound);
    cluster.inject(Fault::once(fetch().topic("t"), Reaction::Error(ErrorCode::UnknownServerError)));
    let response = a.send_fetch(&request).await;
    let code = ErrorCode::from(first(&response).unwrap().error_code);
    assert_eq!(code, ErrorCode::UnknownServerError);
    cluster.inject(Fault::once(fetch(), Reaction::CorruptRecords));
    let request = a.fetch_request();
    let response = a.send_fetch(&request).await;
    let records = first(&response).unwrap().records.clone().unwrap();
    assert!(ottla_protocol::records::Batches::new(records).any(|batch| batch.is_err()));
    let acknowledge = Match::api(ApiKey::ShareAcknowledge).topic("t");
    let lost = Reaction::ErrorAfterHandling(ErrorCode::CoordinatorNotAvailable);
    cluster.inject(Fault::once(acknowledge, lost));
    assert_eq!(a.acknowledge(&[(0, 9, ACCEPT)]).await, ErrorCode::CoordinatorNotAvailable);
    assert_eq!(a.acknowledge(&[(0, 9, ACCEPT)]).await, ErrorCode::None);
    assert_eq!(a.fetch().await, []);
}
