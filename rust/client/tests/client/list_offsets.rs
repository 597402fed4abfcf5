//! Proves: ListOffsets returns starts, ends and offsets by timestamp, with one request per leader; it
//! follows leaders that move, retries transient errors and reports permanent ones.

use std::collections::HashMap;
use std::time::Duration;

use crate::support::*;
use ottla_client::{Client, Error, Kind, ListedOffset, OffsetSpec, TopicPartition};
use ottla_mock::{ApiLimit, Fault, Match, MockCluster, MockConfig, Reaction, TopicSpec};
use ottla_protocol::{ApiKey, ErrorCode};

const API: ApiKey = ApiKey::ListOffsets;

async fn list(
    client: &Client,
    partitions: std::ops::Range<i32>,
    spec: OffsetSpec,
    timeout: Duration,
) -> Result<HashMap<TopicPartition, ListedOffset>, Error> {
    let wanted: Vec<_> = partitions.map(|partition| (("t".into(), partition), spec)).collect();
    within_deadline(client.list_offsets(wanted, false, timeout)).await
}

async fn one(client: &Client, spec: OffsetSpec) -> (i64, i64) {
    let found = list(client, 0..1, spec, CALL_TIMEOUT).await.expect("an offset");
    let found = found[&("t".into(), 0)];
    (found.offset, found.timestamp)
}

#[tokio::test(start_paused = true)]
async fn starts_ends_and_timestamps() {
    let cluster = cluster(1).await;
    let producer = producer(&cluster, &[]).await;
    for timestamp in [100, 300, 200, 400, 400] {
        let mut record = record(b"x");
        record.timestamp = timestamp;
        within_deadline(producer.send("t", Some(0), &record)).await.unwrap();
    }
    within_deadline(producer.flush(CALL_TIMEOUT)).await.unwrap();
    let client = producer.client();
    assert_eq!(one(client, OffsetSpec::Earliest).await, (0, -1));
    assert_eq!(one(client, OffsetSpec::Latest).await, (5, -1));
    assert_eq!(one(client, OffsetSpec::MaxTimestamp).await, (3, 400));
    assert_eq!(one(client, OffsetSpec::Timestamp(150)).await, (1, 300));
    assert_eq!(one(client, OffsetSpec::Timestamp(401)).await, (-1, -1));
    cluster.delete_records("t", 0, 2).unwrap();
    assert_eq!(one(client, OffsetSpec::Earliest).await, (2, -1));
}

#[tokio::test(start_paused = true)]
async fn many_partitions_take_one_request_per_leader() {
    let cluster = cluster(60).await;
    let client = client(&cluster, &[]).await;
    let found = list(&client, 0..60, OffsetSpec::Latest, CALL_TIMEOUT).await.expect("offsets");
    assert_eq!(found.len(), 60);
    assert_eq!(cluster.request_count(None, API), 3);
    for broker in 1..=3 {
        assert_eq!(cluster.connections(broker), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn moved_leaders_and_transient_errors() {
    let cluster = cluster(6).await;
    let client = client(&cluster, &[]).await;
    list(&client, 0..6, OffsetSpec::Latest, CALL_TIMEOUT).await.expect("offsets");
    cluster.move_leader("t", 0, cluster.leader("t", 1).unwrap()).unwrap();
    let bad = Match::api(API).topic("t").partition(4);
    cluster.inject(Fault::once(bad, Reaction::Error(ErrorCode::OffsetNotAvailable)));
    cluster.inject(Fault::once(Match::api(API), Reaction::TruncateFrame));
    // Regression: a malformed response failed the whole call.
    let junk = bytes::Bytes::from_static(&[0, 0, 0, 5, 0x7f, 1, 2, 3, 4]);
    cluster.inject(Fault::once(Match::api(API).skip(2), Reaction::Bytes(junk)));
    assert_eq!(list(&client, 0..6, OffsetSpec::Latest, CALL_TIMEOUT).await.expect("offsets").len(), 6);
    cluster.stop_broker(2).await.unwrap();
    assert_eq!(list(&client, 0..6, OffsetSpec::Latest, CALL_TIMEOUT).await.expect("offsets").len(), 6);
}

#[tokio::test(start_paused = true)]
async fn permanent_errors_are_reported_at_once_and_missing_partitions_in_time() {
    let cluster = cluster(1).await;
    let client = client(&cluster, &[]).await;
    let error = list(&client, 7..8, OffsetSpec::Latest, ms(3000)).await.expect_err("no partition 7");
    assert_eq!((error.kind(), error.context().partition), (Kind::UnknownTopic, Some(7)), "{error}");
    let denied = Reaction::Error(ErrorCode::TopicAuthorizationFailed);
    cluster.inject(Fault::once(Match::api(API), denied.clone()));
    let started = Instant::now();
    let error = list(&client, 0..1, OffsetSpec::Latest, CALL_TIMEOUT).await.expect_err("denied");
    assert_eq!(error.kind(), Kind::Authorization, "{error}");
    // Regression: a topic with an error in the metadata was retried until the timeout.
    cluster.inject(Fault::new(Match::api(ApiKey::Metadata).topic("t"), denied));
    within_deadline(
        client.refresh(client.snapshot().generation, ottla_client::metadata::TopicSelector::Tracked),
    )
    .await
    .unwrap();
    let error = list(&client, 0..1, OffsetSpec::Latest, CALL_TIMEOUT).await.expect_err("denied");
    assert_eq!(error.kind(), Kind::Authorization, "{error}");
    assert!(started.elapsed() < ms(2000));
}

/// Regression: an old broker took the value for the largest timestamp for a time.
#[tokio::test(start_paused = true)]
async fn an_old_broker_is_not_sent_the_largest_timestamp() {
    let api_limits = [(API, ApiLimit::Max(5))].into();
    let cluster = MockCluster::start(MockConfig { api_limits, ..in_memory() }).await.unwrap();
    cluster.create_topic(TopicSpec::new("t").partitions(1)).unwrap();
    let client = client(&cluster, &[]).await;
    let error = list(&client, 0..1, OffsetSpec::MaxTimestamp, CALL_TIMEOUT).await.expect_err("too old");
    assert!(error.message().contains("ListOffsets up to version 5"), "{error}");
    assert_eq!(one(&client, OffsetSpec::Latest).await, (0, -1));
}

#[tokio::test(start_paused = true)]
async fn each_partition_has_its_own_error() {
    let cluster = cluster(3).await;
    cluster.create_topic(TopicSpec::new("other").partitions(1)).unwrap();
    let client = client(&cluster, &[]).await;
    let denied = Match::api(API).topic("t").partition(1);
    cluster.inject(Fault::new(denied, Reaction::Error(ErrorCode::TopicAuthorizationFailed)));
    let late = Match::api(API).topic("t").partition(2);
    cluster.inject(Fault::new(late, Reaction::Error(ErrorCode::OffsetNotAvailable)));
    let wanted = [("t", 0), ("t", 1), ("t", 2), ("t", 9), ("other", 0), ("none", 0), ("nowhere", 0)]
        .map(|(topic, partition)| ((topic.into(), partition), OffsetSpec::Latest));
    let found = within_deadline(client.list_offsets_each(wanted, false, ms(8_000))).await;
    let codes: Vec<_> = found
        .iter()
        .map(|((topic, partition), result)| {
            if let Err(error) = result {
                let context = error.context();
                assert_eq!((context.topic.as_deref(), context.partition), (Some(&**topic), Some(*partition)));
            }
            (&**topic, *partition, result.as_ref().err().and_then(Error::code))
        })
        .collect();
    let unknown = Some(ErrorCode::UnknownTopicOrPartition);
    assert_eq!(
        codes,
        [
            ("none", 0, unknown),
            ("nowhere", 0, unknown),
            ("other", 0, None),
            ("t", 0, None),
            ("t", 1, Some(ErrorCode::TopicAuthorizationFailed)),
            ("t", 2, Some(ErrorCode::OffsetNotAvailable)),
            ("t", 9, unknown),
        ]
    );
    assert!(found[&("other".into(), 0)].is_ok() && found[&("t".into(), 0)].is_ok());
    assert_eq!(found[&("t".into(), 2)].as_ref().expect_err("late").kind(), Kind::Timeout);
}

#[tokio::test(start_paused = true)]
async fn an_offset_that_the_broker_does_not_know_fails_alone() {
    let api_limits = [(API, ApiLimit::Max(8))].into();
    let cluster = MockCluster::start(MockConfig { api_limits, ..in_memory() }).await.unwrap();
    cluster.create_topic(TopicSpec::new("t").partitions(2)).unwrap();
    let client = client(&cluster, &[]).await;
    let specs = [OffsetSpec::EarliestLocal, OffsetSpec::LatestTiered];
    let wanted = specs.into_iter().zip(0..).map(|(spec, partition)| (("t".into(), partition), spec));
    let found = within_deadline(client.list_offsets_each(wanted, false, CALL_TIMEOUT)).await;
    assert!(found[&("t".into(), 0)].is_ok());
    let error = found[&("t".into(), 1)].as_ref().expect_err("unsupported");
    assert_eq!(error.code(), Some(ErrorCode::UnsupportedVersion));
    assert!(error.message().contains("latest_tiered needs version 9"), "{error}");
}
