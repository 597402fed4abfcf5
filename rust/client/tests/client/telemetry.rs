//! Client telemetry (KIP-714) on the mock: subscriptions, pushes, deltas, errors and closing.

use crate::support::*;
use ottla_client::consumer::Consumer;
use ottla_client::producer::Producer;
use ottla_client::{Client, Kind};
use ottla_mock::{Fault, Match, MockCluster, MockConfig, PushedMetrics, Reaction, TopicSpec};
use ottla_protocol::records::Compression;
use ottla_protocol::{ApiKey, ErrorCode};

const SENT: &str = "org.apache.kafka.producer.record.send.total";

async fn telemetry_cluster() -> MockCluster {
    let config = MockConfig { client_telemetry: true, ..in_memory() };
    let cluster = MockCluster::start(config).await.expect("a cluster");
    cluster.create_topic(TopicSpec::new("t").partitions(1)).expect("a topic");
    cluster
}

fn subscribe(cluster: &MockCluster, metrics: &str) {
    let configs = [("interval.ms", "1000"), ("metrics", metrics)];
    cluster.subscribe_to_metrics("s", &configs).expect("a subscription");
}

fn count(cluster: &MockCluster, api: ApiKey) -> usize {
    cluster.requests().iter().filter(|request| request.api == Some(api)).count()
}

async fn send_all(producer: &Producer, records: usize) {
    for _ in 0..records {
        let delivery = send(producer, 0, "v").await;
        offset_of(&delivery).await.expect("written");
    }
}

fn sum(pushes: &[PushedMetrics], name: &str) -> f64 {
    pushes.iter().flat_map(PushedMetrics::values).filter(|(found, ..)| *found == name).map(|(.., v)| v).sum()
}

#[tokio::test(start_paused = true)]
async fn a_producer_pushes_deltas_that_sum_to_its_totals_and_a_last_push_on_close() {
    let cluster = telemetry_cluster().await;
    subscribe(&cluster, "org.apache.kafka.producer.");
    let client = client(&cluster, &[]).await;
    let producer = Producer::new(client.clone()).expect("a producer");
    let id = producer.client_instance_id(CALL_TIMEOUT).await.expect("an id");
    send_all(&producer, 3).await;
    until(|| cluster.pushed_metrics().len() >= 2).await;
    send_all(&producer, 2).await;
    until(|| cluster.pushed_metrics().len() >= 4).await;
    send_all(&producer, 4).await;
    producer.close(CALL_TIMEOUT).await.expect("closed");
    let pushes = cluster.pushed_metrics();
    assert!(pushes.iter().all(|push| push.client_instance_id == id && push.compression == Compression::Zstd));
    let last: Vec<bool> = pushes.iter().map(|push| push.terminating).collect();
    assert_eq!(last.iter().position(|terminating| *terminating), Some(pushes.len() - 1));
    assert!((sum(&pushes, SENT) - 9.0).abs() < 1e-9, "{}", sum(&pushes, SENT));
    let names: Vec<_> = pushes[0].values().map(|(name, ..)| name.to_owned()).collect();
    for name in ["connection.creation.total", "node.request.latency.avg", "record.queue.time.max"] {
        assert!(names.iter().any(|found| *found == format!("org.apache.kafka.producer.{name}")), "{names:?}");
    }
    let nodes: Vec<_> =
        pushes[0].values().filter(|(name, ..)| name.ends_with("node.request.latency.avg")).collect();
    assert!(nodes.iter().all(
        |(_, attributes, _)| matches!(attributes[..], [("node_id", node)] if node.starts_with("node-"))
    ));
    client.close();
}

#[tokio::test(start_paused = true)]
async fn a_failed_push_loses_nothing_and_an_outdated_subscription_is_renewed() {
    let cluster = telemetry_cluster().await;
    subscribe(&cluster, "*");
    let producer = Producer::new(client(&cluster, &[]).await).expect("a producer");
    let id = producer.client_instance_id(CALL_TIMEOUT).await.expect("an id");
    send_all(&producer, 3).await;
    let lost = Fault {
        times: Some(2),
        ..Fault::new(Match::api(ApiKey::PushTelemetry), Reaction::Error(ErrorCode::UnknownSubscriptionId))
    };
    cluster.inject(lost);
    until(|| !cluster.pushed_metrics().is_empty()).await;
    assert!(count(&cluster, ApiKey::GetTelemetrySubscriptions) >= 3);
    subscribe(&cluster, SENT);
    send_all(&producer, 1).await;
    until(|| cluster.pushed_metrics().last().is_some_and(|push| push.values().count() == 1)).await;
    producer.close(CALL_TIMEOUT).await.expect("closed");
    let pushes = cluster.pushed_metrics();
    assert!((sum(&pushes, SENT) - 4.0).abs() < 1e-9);
    assert!(pushes.iter().all(|push| push.client_instance_id == id));
}

#[tokio::test(start_paused = true)]
async fn a_rejection_that_a_retry_cannot_mend_ends_the_pushes_and_disturbs_nothing() {
    let cluster = telemetry_cluster().await;
    subscribe(&cluster, "*");
    cluster.inject(Fault::new(Match::api(ApiKey::PushTelemetry), Reaction::Error(ErrorCode::InvalidRecord)));
    let producer = Producer::new(client(&cluster, &[]).await).expect("a producer");
    producer.client_instance_id(CALL_TIMEOUT).await.expect("an id");
    until(|| count(&cluster, ApiKey::PushTelemetry) == 1).await;
    let before = count(&cluster, ApiKey::GetTelemetrySubscriptions);
    tokio::time::sleep(ms(600_000)).await;
    send_all(&producer, 1).await;
    producer.close(CALL_TIMEOUT).await.expect("closed");
    assert_eq!(count(&cluster, ApiKey::PushTelemetry), 1);
    assert_eq!(count(&cluster, ApiKey::GetTelemetrySubscriptions), before);
}

#[tokio::test(start_paused = true)]
async fn without_a_subscription_only_the_subscription_is_requested_at_the_interval() {
    let cluster = telemetry_cluster().await;
    let producer = Producer::new(client(&cluster, &[]).await).expect("a producer");
    send_all(&producer, 1).await;
    tokio::time::sleep(ms(320_000)).await;
    assert_eq!(count(&cluster, ApiKey::GetTelemetrySubscriptions), 2);
    producer.close(CALL_TIMEOUT).await.expect("closed");
    assert_eq!(count(&cluster, ApiKey::PushTelemetry), 0);
}

#[tokio::test(start_paused = true)]
async fn brokers_without_telemetry_get_no_request_and_the_id_is_a_clear_error() {
    let cluster = cluster(1).await;
    let client = client(&cluster, &[]).await;
    let producer = Producer::new(client.clone()).expect("a producer");
    send_all(&producer, 1).await;
    for error in [
        producer.client_instance_id(CALL_TIMEOUT).await.expect_err("unsupported"),
        client.client_instance_id(CALL_TIMEOUT).await.expect_err("unsupported"),
        Consumer::new(client.clone()).client_instance_id(CALL_TIMEOUT).await.expect_err("unsupported"),
    ] {
        assert_eq!(error.code(), Some(ErrorCode::UnsupportedVersion), "{error}");
        assert!(error.message().contains("metric.reporters"), "{error}");
    }
    assert_eq!(count(&cluster, ApiKey::GetTelemetrySubscriptions), 0);
}

#[tokio::test(start_paused = true)]
async fn telemetry_that_is_off_requests_nothing() {
    let cluster = telemetry_cluster().await;
    subscribe(&cluster, "*");
    let client = client(&cluster, &[("enable.metrics.push", "false")]).await;
    let producer = Producer::new(client.clone()).expect("a producer");
    send_all(&producer, 1).await;
    tokio::time::sleep(ms(10_000)).await;
    let error = producer.client_instance_id(CALL_TIMEOUT).await.expect_err("off");
    assert_eq!(error.kind(), Kind::Config);
    assert_eq!(client.client_instance_id(CALL_TIMEOUT).await.expect_err("off").kind(), Kind::Config);
    producer.close(CALL_TIMEOUT).await.expect("closed");
    assert_eq!(count(&cluster, ApiKey::GetTelemetrySubscriptions), 0);
}

#[tokio::test(start_paused = true)]
async fn an_unresponsive_broker_delays_closing_by_a_second_at_most() {
    let cluster = telemetry_cluster().await;
    subscribe(&cluster, "*");
    let producer = Producer::new(client(&cluster, &[]).await).expect("a producer");
    producer.client_instance_id(CALL_TIMEOUT).await.expect("an id");
    cluster.inject(Fault::new(Match::api(ApiKey::PushTelemetry), Reaction::Delay(ms(20_000))));
    let began = Instant::now();
    producer.close(CALL_TIMEOUT).await.expect("closed");
    assert_took(began, ms(900), ms(1_500));
}

#[tokio::test(start_paused = true)]
async fn pushes_are_no_larger_than_the_brokers_accept() {
    let cluster = telemetry_cluster().await;
    cluster.set_telemetry_max_bytes(300);
    subscribe(&cluster, "*");
    let producer = Producer::new(client(&cluster, &[]).await).expect("a producer");
    send_all(&producer, 1).await;
    until(|| cluster.pushed_metrics().len() == 2).await;
    assert!(cluster.pushed_metrics().iter().all(|push| (1..40).contains(&push.values().count())));
}

#[tokio::test(start_paused = true)]
async fn a_client_pushes_from_the_first_request_for_its_id() {
    let cluster = telemetry_cluster().await;
    subscribe(&cluster, "*");
    let client: Client = client(&cluster, &[]).await;
    tokio::time::sleep(ms(5_000)).await;
    assert_eq!(count(&cluster, ApiKey::GetTelemetrySubscriptions), 0);
    let id = client.client_instance_id(CALL_TIMEOUT).await.expect("an id");
    assert_eq!(client.client_instance_id(CALL_TIMEOUT).await.expect("an id"), id);
    until(|| !cluster.pushed_metrics().is_empty()).await;
    client.close_telemetry(CALL_TIMEOUT).await;
    let pushes = cluster.pushed_metrics();
    assert!(pushes.last().is_some_and(|push| push.terminating && push.client_instance_id == id));
    assert!(
        pushes[0]
            .values()
            .any(|(name, ..)| name == "org.apache.kafka.admin.client.connection.creation.total")
    );
}
