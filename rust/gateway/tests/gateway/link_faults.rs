//! Proves: a connection is cut, slow or frozen as long as the fault says, and works again once it is removed.

use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use ottla_gateway::{Gateway, GatewayConfig, Limits};
use ottla_mock::{Fault, Match, Reaction};
use ottla_protocol::ApiKey;
use ottla_protocol::messages::metadata::MetadataRequest;
use ottla_protocol::messages::produce::ProduceRequest;
use ottla_protocol::wire::Uuid;

use crate::fault_support::*;
use crate::support::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_is_cut_after_some_bytes_of_responses() {
    let cluster = cluster().await;
    let gateway = gateway(&cluster).await;
    let mut raw = Raw::to_leader(&gateway, &cluster, 0).await;
    let mut large = produce(&[0]);
    large.topic_data[0].partition_data[0].records = Some(batch(&vec![7; 300_000]));
    raw.call(&large, 9).await.unwrap();
    for after in [0, 1, 100_000] {
        let id = once(&gateway, Match::api(ApiKey::Fetch), Reaction::Cut(after));
        let mut raw = Raw::to_leader(&gateway, &cluster, 0).await;
        raw.call(&metadata(), 9).await.unwrap();
        raw.send(&fetch(Uuid::ZERO, &[0]), 12).await;
        assert_eq!(raw.rest().await.len() as u64, after);
        assert_eq!(gateway.fault_hits(id), 1);
    }
    let mut raw = Raw::to_leader(&gateway, &cluster, 0).await;
    raw.call(&fetch(Uuid::ZERO, &[0]), 12).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_link_is_slow_both_ways_until_the_fault_is_removed() {
    let cluster = cluster().await;
    let gateway = gateway(&cluster).await;
    let rate = NonZeroU64::new(20_000).unwrap();
    let on = Match::api(ApiKey::Metadata).client_id("raw");
    let id = gateway.inject(Fault::new(on, Reaction::Slow(rate))).unwrap();
    let mut raw = Raw::to_leader(&gateway, &cluster, 0).await;
    raw.call(&metadata(), 9).await.unwrap();
    let mut request = produce(&[0]);
    request.topic_data[0].partition_data[0].records = Some(batch(&vec![7; 10_000]));
    let start = Instant::now();
    raw.call(&request, 9).await.unwrap();
    assert!(start.elapsed() >= Duration::from_millis(450), "{:?}", start.elapsed());
    let start = Instant::now();
    raw.call(&fetch(Uuid::ZERO, &[0]), 12).await.unwrap();
    assert!(start.elapsed() >= Duration::from_millis(450), "{:?}", start.elapsed());
    // A connection has it once, however many requests it makes.
    raw.call(&metadata(), 9).await.unwrap();
    assert_eq!(gateway.fault_hits(id), 1);
    // Others are not slow.
    let mut other = Raw::to_leader(&gateway, &cluster, 0).await;
    other.call(&request, 9).await.unwrap();

    assert_eq!(gateway.remove_fault(id), Ok(true));
    let mut large = produce(&[0]);
    large.topic_data[0].partition_data[0].records = Some(batch(&vec![7; 900_000]));
    let start = Instant::now();
    raw.call(&large, 9).await.unwrap();
    // It would take 45 seconds.
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frozen_broker_moves_no_byte_until_the_fault_is_removed() {
    let cluster = cluster().await;
    // Shorter than the freeze, which is none of a client's faults.
    let limits = Limits { setup: Duration::from_millis(50), idle: QUIET, ..Limits::default() };
    let config = GatewayConfig { limits, ..gateway_config(&cluster.bootstrap()) };
    let gateway = Gateway::start(config, Default::default()).await.unwrap();
    let leader = cluster.leader("t", 0).unwrap();
    let mut existing = Raw::to_leader(&gateway, &cluster, 0).await;
    existing.call(&metadata(), 9).await.unwrap();
    let id = gateway.inject(Fault::new(Match::any().broker(leader), Reaction::Freeze)).unwrap();
    existing.send(&produce(&[0]), 9).await;
    let mut new = Raw::to_leader(&gateway, &cluster, 0).await;
    new.send(&metadata(), 9).await;
    assert!(existing.is_quiet().await && new.is_quiet().await);
    assert!(existing.is_quiet().await && new.is_quiet().await);
    assert_eq!((end(&cluster, 0), gateway.fault_hits(id)), (0, 1));
    // Other brokers are not frozen.
    let another = (0..6).find(|n| cluster.leader("t", *n) != Some(leader)).unwrap();
    let mut other = Raw::to_leader(&gateway, &cluster, another).await;
    other.call(&metadata(), 9).await.unwrap();

    gateway.clear_faults().unwrap();
    existing.receive::<ProduceRequest>(9).await.unwrap();
    new.receive::<MetadataRequest>(9).await.unwrap();
    assert_eq!(end(&cluster, 0), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bytes_that_wait_move_at_once_when_their_fault_is_removed() {
    let cluster = cluster().await;
    let gateway = gateway(&cluster).await;
    let mut raw = Raw::to_leader(&gateway, &cluster, 0).await;
    raw.call(&metadata(), 9).await.unwrap();
    // At this rate, a request takes longer than a minute, and a delay an hour.
    let slow = Reaction::Slow(NonZeroU64::MIN);
    for then in [slow, Reaction::Delay(Duration::from_secs(3600))] {
        let name = then.name();
        let id = gateway.inject(Fault::new(Match::api(ApiKey::Metadata), then)).unwrap();
        raw.send(&metadata(), 9).await;
        until(|| gateway.totals().counts.faults.contains_key(name)).await;
        assert!(raw.is_quiet().await);
        raw.send(&produce(&[0]), 9).await;
        assert!(raw.is_quiet().await);
        assert_eq!(gateway.remove_fault(id), Ok(true));
        let start = Instant::now();
        raw.receive::<MetadataRequest>(9).await.unwrap();
        raw.receive::<ProduceRequest>(9).await.unwrap();
        assert!(start.elapsed() < Duration::from_secs(5), "{name}: {:?}", start.elapsed());
    }
    assert_eq!(end(&cluster, 0), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_stops_at_once_whatever_faults_hold_up() {
    let cluster = cluster().await;
    for then in
        [Reaction::Freeze, Reaction::Slow(NonZeroU64::MIN), Reaction::Delay(Duration::from_secs(3600))]
    {
        let gateway = gateway(&cluster).await;
        let mut raw = Raw::to_leader(&gateway, &cluster, 0).await;
        raw.call(&metadata(), 9).await.unwrap();
        gateway.inject(Fault::new(Match::any(), then.clone())).unwrap();
        raw.send(&metadata(), 9).await;
        let _new = Raw::to_leader(&gateway, &cluster, 0).await;
        until(|| gateway.totals().counts.faults.contains_key(then.name())).await;
        assert!(raw.is_quiet().await);
        let start = Instant::now();
        assert_eq!(within_deadline(gateway.drain(Duration::from_secs(30))).await, 0);
        assert!(start.elapsed() < Duration::from_secs(5), "{}: {:?}", then.name(), start.elapsed());
        // The request that was in flight has its response.
        raw.receive::<MetadataRequest>(9).await.unwrap();
        assert_eq!(raw.rest().await, b"");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_leave_a_frozen_broker_leave_no_sessions() {
    let cluster = cluster().await;
    let gateway = gateway(&cluster).await;
    let mut existing = Vec::new();
    for _ in 0..3 {
        let mut raw = Raw::to_leader(&gateway, &cluster, 0).await;
        raw.call(&metadata(), 9).await.unwrap();
        existing.push(raw);
    }
    gateway.inject(Fault::new(Match::any(), Reaction::Freeze)).unwrap();
    // The first one sends nothing more, and neither does a new one.
    for raw in &mut existing[1..] {
        raw.send(&metadata(), 9).await;
        raw.send(&produce(&[0]), 9).await;
    }
    existing.push(Raw::to_leader(&gateway, &cluster, 0).await);
    for _ in 0..3 {
        let mut new = Raw::to_leader(&gateway, &cluster, 0).await;
        new.send(&metadata(), 9).await;
        existing.push(new);
    }
    until(|| gateway.sessions().len() == 7).await;
    let mut stays = existing.pop().unwrap();
    assert!(stays.is_quiet().await);
    drop(existing);
    until(|| gateway.sessions().len() == 1).await;
    gateway.clear_faults().unwrap();
    stays.receive::<MetadataRequest>(9).await.unwrap();
    assert_eq!(end(&cluster, 0), 0);
}
