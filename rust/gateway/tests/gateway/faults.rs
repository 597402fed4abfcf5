//! Proves: an injected fault hits the requests that meet its condition, does what the same fault does at a mock cluster,
//! and leaves other requests and connections alone.

use std::time::{Duration, Instant};

use bytes::Bytes;
use ottla_gateway::{EventKind, FaultError, Gateway, GatewayConfig};
use ottla_mock::{Fault, Match, Reaction, When};
use ottla_protocol::messages::fetch::FetchRequest;
use ottla_protocol::messages::heartbeat::HeartbeatRequest;
use ottla_protocol::messages::list_offsets::{ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic};
use ottla_protocol::messages::produce::ProduceRequest;
use ottla_protocol::records::Batches;
use ottla_protocol::wire::Uuid;
use ottla_protocol::{ApiKey, ErrorCode};

use crate::fault_support::*;
use crate::support::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_is_lost_before_it_is_handled_or_its_response_after() {
    let cluster = cluster().await;
    let gateway = gateway(&cluster).await;
    for (when, written) in [(When::BeforeHandling, 0), (When::AfterHandling, 1)] {
        let id = once(&gateway, on_produce(), Reaction::Disconnect(when));
        let mut raw = Raw::to_leader(&gateway, &cluster, 0).await;
        raw.send(&produce(&[0]), 9).await;
        assert_eq!(raw.rest().await, b"");
        assert_eq!((end(&cluster, 0), gateway.fault_hits(id)), (written, 1));
    }
    let mut raw = Raw::to_leader(&gateway, &cluster, 0).await;
    assert_eq!(codes(&raw.call(&produce(&[0]), 9).await.unwrap()), [ErrorCode::None]);
    let faults = gateway.totals().counts.faults;
    assert_eq!(faults.into_iter().collect::<Vec<_>>(), [("disconnect", 2)]);
    let kinds: Vec<_> = gateway.events(0).into_iter().map(|event| event.kind).collect();
    assert!(kinds.contains(&EventKind::FaultInjected) && kinds.contains(&EventKind::FaultHit));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn responses_before_a_lost_connection_arrive() {
    let cluster = cluster().await;
    let gateway = gateway(&cluster).await;
    once(&gateway, on_produce().skip(2), Reaction::Disconnect(When::BeforeHandling));
    let mut raw = Raw::to_leader(&gateway, &cluster, 0).await;
    for _ in 0..4 {
        raw.send(&produce(&[0]), 9).await;
    }
    for _ in 0..2 {
        assert_eq!(codes(&raw.receive::<ProduceRequest>(9).await.unwrap()), [ErrorCode::None]);
    }
    assert_eq!(raw.rest().await, b"");
    assert_eq!(end(&cluster, 0), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delayed_request_holds_up_its_connection_alone() {
    let cluster = cluster().await;
    let gateway = gateway(&cluster).await;
    let (mut raw, mut other) =
        (Raw::to_leader(&gateway, &cluster, 0).await, Raw::to_leader(&gateway, &cluster, 0).await);
    let delay = Duration::from_millis(300);
    once(&gateway, on_produce(), Reaction::Delay(delay));
    let start = Instant::now();
    raw.send(&produce(&[0]), 9).await;
    raw.send(&metadata(), 9).await;
    until(|| gateway.totals().counts.faults.contains_key("delay")).await;
    other.call(&metadata(), 9).await.unwrap();
    assert_eq!(end(&cluster, 0), 0);
    assert_eq!(codes(&raw.receive::<ProduceRequest>(9).await.unwrap()), [ErrorCode::None]);
    assert!(start.elapsed() >= delay);
    raw.receive::<ottla_protocol::messages::metadata::MetadataRequest>(9).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_connection_stays_open_and_nothing_passes() {
    let cluster = cluster().await;
    let gateway = gateway(&cluster).await;
    once(&gateway, on_produce(), Reaction::Silence);
    let mut raw = Raw::to_leader(&gateway, &cluster, 0).await;
    raw.send(&produce(&[0]), 9).await;
    raw.send(&metadata(), 9).await;
    assert!(raw.is_quiet().await);
    assert_eq!(end(&cluster, 0), 0);
    let mut other = Raw::to_leader(&gateway, &cluster, 0).await;
    other.call(&metadata(), 9).await.unwrap();
    drop(other);
    until(|| gateway.sessions().len() == 1).await;
    let last_error = gateway.sessions()[0].last_error.unwrap();
    assert_eq!((last_error.api, last_error.code), (ApiKey::Produce, ErrorCode::RequestTimedOut.code()));
    // It does not hold up a gateway that stops.
    let start = Instant::now();
    assert_eq!(within_deadline(gateway.drain(Duration::from_secs(30))).await, 0);
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_leaves_ends_a_silent_connection() {
    let cluster = cluster().await;
    let gateway = gateway(&cluster).await;
    once(&gateway, on_produce(), Reaction::Silence);
    let mut raw = Raw::to_leader(&gateway, &cluster, 0).await;
    raw.send(&produce(&[0]), 9).await;
    until(|| gateway.totals().counts.faults.contains_key("silence")).await;
    drop(raw);
    until(|| gateway.sessions().is_empty()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_of_a_write_applies_nothing_and_blames_what_the_condition_covers() {
    let cluster = cluster().await;
    cluster.move_leader("t", 1, cluster.leader("t", 0).unwrap()).unwrap();
    let gateway = gateway(&cluster).await;
    let then = || Reaction::Error(ErrorCode::NotEnoughReplicas);
    once(&gateway, on_produce().topic("t").partition(1), then());
    once(&gateway, on_produce().topic("other"), then());
    let mut raw = Raw::to_leader(&gateway, &cluster, 0).await;
    // Nothing is known of the other partition, so that clients must send it again.
    let response = raw.call(&produce(&[0, 1]), 9).await.unwrap();
    assert_eq!(codes(&response), [ErrorCode::NotLeaderOrFollower, ErrorCode::NotEnoughReplicas]);
    assert_eq!((end(&cluster, 0), end(&cluster, 1)), (0, 0));
    let response = raw.call(&produce(&[0, 1]), 9).await.unwrap();
    assert_eq!(codes(&response), [ErrorCode::None, ErrorCode::None]);
    // One that needs several reads.
    let mut large = produce(&[1]);
    large.topic_data[0].partition_data[0].records = Some(batch(&vec![0; 300_000]));
    once(&gateway, on_produce().partition(1), then());
    let response = raw.call(&large, 9).await.unwrap();
    assert_eq!((codes(&response), end(&cluster, 1)), (vec![ErrorCode::NotEnoughReplicas], 1));
    assert_eq!(gateway.totals().counts.errors[&(ApiKey::Produce, ErrorCode::NotEnoughReplicas.code())], 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_after_handling_is_set_in_the_response() {
    let cluster = cluster().await;
    let gateway = gateway(&cluster).await;
    let then = Reaction::ErrorAfterHandling(ErrorCode::NotLeaderOrFollower);
    once(&gateway, on_produce().topic("t"), then);
    let mut raw = Raw::to_leader(&gateway, &cluster, 0).await;
    for expected in [ErrorCode::NotLeaderOrFollower, ErrorCode::None] {
        assert_eq!(codes(&raw.call(&produce(&[0]), 9).await.unwrap()), [expected]);
    }
    assert_eq!(end(&cluster, 0), 2);
    let then = Reaction::Error(ErrorCode::UnknownMemberId);
    once(&gateway, Match::api(ApiKey::Heartbeat), then);
    let response = raw.call(&HeartbeatRequest::default(), 4).await.unwrap();
    assert_eq!(ErrorCode::from(response.error_code), ErrorCode::UnknownMemberId);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_fail_for_the_topics_and_partitions_of_the_condition() {
    let cluster = cluster().await;
    cluster.move_leader("t", 1, cluster.leader("t", 0).unwrap()).unwrap();
    let gateway = gateway(&cluster).await;
    let mut raw = Raw::to_leader(&gateway, &cluster, 0).await;
    raw.call(&produce(&[0, 1]), 9).await.unwrap();
    let id = id_of(&raw.call(&metadata(), 12).await.unwrap());
    let then = || Reaction::Error(ErrorCode::OffsetOutOfRange);
    let on = Match::api(ApiKey::Fetch).topic("t").partition(1);
    for (id, version) in [(Uuid::ZERO, 12), (id, 16)] {
        let fault = once(&gateway, on.clone(), then());
        for expected in [[ErrorCode::None, ErrorCode::OffsetOutOfRange], [ErrorCode::None; 2]] {
            let response = raw.call(&fetch(id, &[0, 1]), version).await.unwrap();
            let partitions = &response.responses[0].partitions;
            assert_eq!([0, 1].map(|at: usize| ErrorCode::from(partitions[at].error_code)), expected);
            assert!(partitions[0].records.as_ref().is_some_and(|records| !records.is_empty()));
        }
        assert_eq!(gateway.fault_hits(fault), 1);
    }
    // Of a session, whose later requests name nothing: a response without the partition is none that it could hit.
    let session = raw.call(&fetch_in_session(id, 0, 0), 16).await.unwrap();
    let fault = once(&gateway, on, Reaction::Disconnect(When::AfterHandling));
    raw.send(&fetch_in_session(id, session.session_id, 1), 16).await;
    assert_eq!(raw.rest().await, b"");
    assert_eq!(gateway.fault_hits(fault), 1);
}

/// A fetch that begins a session with partition 1, or continues it.
fn fetch_in_session(id: Uuid, session_id: i32, session_epoch: i32) -> FetchRequest {
    let whole = fetch(id, &[1]);
    let topics = if session_epoch == 0 { whole.topics } else { Vec::new() };
    FetchRequest { session_id, session_epoch, topics, ..Default::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn errors_of_requests_topics_and_sessions_are_where_clients_look() {
    let cluster = cluster().await;
    let gateway = gateway(&cluster).await;
    let mut raw = Raw::to_leader(&gateway, &cluster, 0).await;
    let unknown = || Reaction::Error(ErrorCode::UnknownTopicOrPartition);
    once(&gateway, Match::api(ApiKey::Metadata).topic("t"), unknown());
    let response = raw.call(&metadata(), 9).await.unwrap();
    assert_eq!(ErrorCode::from(response.topics[0].error_code), ErrorCode::UnknownTopicOrPartition);
    assert!(response.topics[0].partitions.iter().all(|partition| partition.error_code == 0));
    once(&gateway, Match::api(ApiKey::Fetch), Reaction::Error(ErrorCode::FetchSessionIdNotFound));
    let response = raw.call(&fetch(Uuid::ZERO, &[0]), 12).await.unwrap();
    assert_eq!(ErrorCode::from(response.error_code), ErrorCode::FetchSessionIdNotFound);
    assert_eq!(response.responses[0].partitions[0].error_code, 0);
    once(&gateway, Match::api(ApiKey::ListOffsets), Reaction::Error(ErrorCode::LeaderNotAvailable));
    let partitions = vec![ListOffsetsPartition { timestamp: -1, ..Default::default() }];
    let topics = vec![ListOffsetsTopic { name: "t".to_owned(), partitions }];
    let request = ListOffsetsRequest { replica_id: -1, topics, ..Default::default() };
    let response = raw.call(&request, 5).await.unwrap();
    assert_eq!(ErrorCode::from(response.topics[0].partitions[0].error_code), ErrorCode::LeaderNotAvailable);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn responses_are_changed_cut_in_half_or_replaced() {
    let cluster = cluster().await;
    let gateway = gateway(&cluster).await;
    let mut raw = Raw::to_leader(&gateway, &cluster, 0).await;
    once(&gateway, on_produce(), Reaction::Throttle(1234));
    let response = raw.call(&produce(&[0]), 9).await.unwrap();
    assert_eq!((response.throttle_time_ms, codes(&response)), (1234, vec![ErrorCode::None]));
    assert_eq!(gateway.totals().counts.throttled, Duration::from_millis(1234));

    let corrupt = once(&gateway, Match::api(ApiKey::Fetch), Reaction::CorruptRecords);
    // Nothing to corrupt there is no hit.
    raw.call(&metadata(), 9).await.unwrap();
    assert_eq!(gateway.fault_hits(corrupt), 0);
    for is_valid in [false, true] {
        let response = raw.call(&fetch(Uuid::ZERO, &[0]), 12).await.unwrap();
        let records = response.responses[0].partitions[0].records.clone().unwrap();
        assert_eq!(Batches::new(records).all(|batch| batch.is_ok()), is_valid);
    }

    once(&gateway, on_produce(), Reaction::TruncateFrame);
    raw.send(&produce(&[0]), 9).await;
    let half = raw.rest().await;
    let length = u32::from_be_bytes(*half.first_chunk().unwrap());
    assert_eq!(half.len(), (4 + usize::try_from(length).unwrap()) / 2);
    assert_eq!(end(&cluster, 0), 2);

    let mut raw = Raw::to_leader(&gateway, &cluster, 0).await;
    once(&gateway, on_produce(), Reaction::Bytes(Bytes::from_static(b"HTTP/1.1 400 Bad Request")));
    raw.send(&produce(&[0]), 9).await;
    let mut found = [0; 24];
    within_deadline(tokio::io::AsyncReadExt::read_exact(&mut raw.stream, &mut found)).await.unwrap();
    assert_eq!((&found[..], end(&cluster, 0)), (&b"HTTP/1.1 400 Bad Request"[..], 2));
    // The connection goes on.
    raw.call(&metadata(), 9).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conditions_choose_the_broker_and_the_client() {
    let cluster = cluster().await;
    let gateway = gateway(&cluster).await;
    let leader = cluster.leader("t", 0).unwrap();
    let throttle = |ms| Reaction::Throttle(ms);
    gateway.inject(Fault::new(on_produce().broker(leader + 100), throttle(1))).unwrap();
    gateway.inject(Fault::new(on_produce().client_id("another"), throttle(2))).unwrap();
    gateway.inject(Fault::new(on_produce().versions(10..=12), throttle(3))).unwrap();
    gateway.inject(Fault::new(on_produce().broker(leader).client_id("raw"), throttle(4))).unwrap();
    let mut raw = Raw::to_leader(&gateway, &cluster, 0).await;
    assert_eq!(raw.call(&produce(&[0]), 9).await.unwrap().throttle_time_ms, 4);
    assert_eq!(gateway.clear_faults(), Ok(4));
    assert_eq!(raw.call(&produce(&[0]), 9).await.unwrap().throttle_time_ms, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_gateway_cannot_do_is_an_error() {
    let cluster = cluster().await;
    let gateway = gateway(&cluster).await;
    let refused = |then| gateway.inject(Fault::new(Match::any(), then)).unwrap_err();
    assert_eq!(refused(Reaction::MoveLeader { to: 1 }), FaultError::OfACluster("move_leader"));
    assert_eq!(refused(Reaction::OmitPartition(0)), FaultError::OfACluster("omit_partition"));
    let on_api = gateway.inject(Fault::new(on_produce(), Reaction::Freeze));
    assert_eq!(on_api, Err(FaultError::FreezeWithCondition));
    let config = GatewayConfig { allow_faults: false, ..gateway_config(&cluster.bootstrap()) };
    let without = Gateway::start(config, Default::default()).await.unwrap();
    let error = without.inject(Fault::new(Match::any(), Reaction::Silence)).unwrap_err();
    assert!(error == FaultError::NotAllowed && error.to_string().contains("--allow-faults"));
}
