//! Proves: a fault acts on requests that have no response, and waits, and is used up only by what it did.

use std::time::Duration;

use bytes::Bytes;
use ottla_mock::{Match, Reaction, When};
use ottla_protocol::messages::api_versions::ApiVersionsRequest;
use ottla_protocol::messages::produce::ProduceRequest;
use ottla_protocol::{ApiKey, ErrorCode};

use crate::fault_support::*;
use crate::support::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delayed_request_does_not_meet_what_was_removed_meanwhile() {
    let cluster = cluster().await;
    let gateway = gateway(&cluster).await;
    once(&gateway, on_produce(), Reaction::Delay(Duration::from_secs(3600)));
    once(&gateway, on_produce(), Reaction::Disconnect(When::BeforeHandling));
    let mut raw = Raw::to_leader(&gateway, &cluster, 0).await;
    raw.send(&produce(&[0]), 9).await;
    until(|| gateway.totals().counts.faults.contains_key("delay")).await;
    assert_eq!((raw.is_quiet().await, gateway.clear_faults()), (true, Ok(2)));
    assert_eq!(codes(&raw.receive::<ProduceRequest>(9).await.unwrap()), [ErrorCode::None]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_is_lost_after_a_request_without_a_response() {
    let cluster = cluster().await;
    let gateway = gateway(&cluster).await;
    let mut small = produce(&[0]);
    small.acks = 0;
    // One that needs several reads.
    let mut large = small.clone();
    large.topic_data[0].partition_data[0].records = Some(batch(&vec![0; 300_000]));
    for (request, written) in [(&small, 1), (&large, 2)] {
        let id = once(&gateway, on_produce(), Reaction::Disconnect(When::AfterHandling));
        let mut raw = Raw::to_leader(&gateway, &cluster, 0).await;
        raw.call(&metadata(), 9).await.unwrap();
        raw.send(request, 9).await;
        assert_eq!(raw.rest().await, b"");
        until(|| end(&cluster, 0) == written).await;
        assert_eq!(gateway.fault_hits(id), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unsupported_version_is_answered_so_that_every_client_reads_it() {
    let cluster = cluster().await;
    let gateway = gateway(&cluster).await;
    let unsupported = Reaction::Error(ErrorCode::UnsupportedVersion);
    once(&gateway, Match::api(ApiKey::ApiVersions), unsupported);
    let mut raw = Raw::to_leader(&gateway, &cluster, 0).await;
    let request = ApiVersionsRequest {
        client_software_name: "raw".to_owned(),
        client_software_version: "1".to_owned(),
        ..Default::default()
    };
    raw.send(&request, 3).await;
    let response = raw.receive::<ApiVersionsRequest>(0).await.unwrap();
    assert_eq!(ErrorCode::from(response.error_code), ErrorCode::UnsupportedVersion);
    assert!(response.api_keys.iter().any(|api| api.api_key == ApiKey::ApiVersions as i16));
    let response = raw.call(&request, 3).await.unwrap();
    assert_eq!(ErrorCode::from(response.error_code), ErrorCode::None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn faults_that_did_nothing_are_not_used_up() {
    let cluster = cluster().await;
    let gateway = gateway(&cluster).await;
    let throttle = once(&gateway, on_produce(), Reaction::Throttle(1234));
    for when in [When::BeforeHandling, When::AfterHandling] {
        let lost = once(&gateway, on_produce(), Reaction::Disconnect(when));
        let mut raw = Raw::to_leader(&gateway, &cluster, 0).await;
        raw.send(&produce(&[0]), 9).await;
        assert_eq!(raw.rest().await, b"");
        assert_eq!((gateway.fault_hits(lost), gateway.fault_hits(throttle)), (1, 0));
    }
    let replaced = once(&gateway, on_produce(), Reaction::Error(ErrorCode::NotEnoughReplicas));
    let bytes = once(&gateway, on_produce(), Reaction::Bytes(Bytes::from_static(b"?")));
    let mut raw = Raw::to_leader(&gateway, &cluster, 0).await;
    raw.send(&produce(&[0]), 9).await;
    let found = within_deadline(tokio::io::AsyncReadExt::read_u8(&mut raw.stream)).await.unwrap();
    let hits = [bytes, throttle, replaced].map(|id| gateway.fault_hits(id));
    assert_eq!((found, hits), (b'?', [1, 0, 0]));
    let response = raw.call(&produce(&[0]), 9).await.unwrap();
    assert_eq!((response.throttle_time_ms, codes(&response)), (1234, vec![ErrorCode::NotEnoughReplicas]));
}
