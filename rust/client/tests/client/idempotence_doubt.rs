//! Tests batches that may be in the log although a response reports an error: they fail as possibly
//! written, their sequence numbers are never reused, and their fate is determined where possible. A
//! leader that loses its leadership while it waits for followers has already appended.

use crate::support::numbered::*;
use crate::support::*;
use ottla_client::Kind;
use ottla_mock::{Fault, Match, MockCluster, Reaction, TopicSpec, When};
use ottla_protocol::{ApiKey, ErrorCode};

const AFTERWARDS: [ErrorCode; 3] = [
    ErrorCode::NotLeaderOrFollower,
    ErrorCode::UnknownTopicOrPartition,
    ErrorCode::NotEnoughReplicasAfterAppend,
];

fn always(reaction: Reaction) -> Fault {
    Fault::new(Match::api(ApiKey::Produce), reaction)
}

/// Regression: the sequence number was reused for the next record, which the broker took for a
/// duplicate: it was acknowledged and lost.
#[tokio::test(start_paused = true)]
async fn a_sequence_number_that_was_appended_is_not_reused() {
    for code in AFTERWARDS {
        let cluster = cluster(1).await;
        let pairs = [("linger.ms", "0"), ("batch.size", "1"), ("retries", "1")];
        let producer = producer(&cluster, &pairs).await;
        offset_of(&send(&producer, 0, "0").await).await.expect("written");
        let fault = cluster.inject(always(Reaction::ErrorAfterHandling(code)));
        let error = offset_of(&send(&producer, 0, "1").await).await.expect_err("failed");
        assert_eq!((error.code(), error.is_maybe_done()), (Some(code), true), "{error}");
        cluster.remove_fault(fault);
        for (n, offset) in [(2, 2), (3, 3)] {
            let written_at = offset_of(&send(&producer, 0, &n.to_string()).await).await.expect("written");
            assert_eq!(written_at, offset, "{code:?}");
        }
        assert_eq!(written(&cluster), texts(0..4), "{code:?}");
        assert_eq!(numbers(&cluster), [(0, 0), (0, 1), (1, 0), (1, 1)], "{code:?}: past the gap");
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_expires_after_such_a_response_keeps_its_sequence_number() {
    let cluster = cluster(1).await;
    let pairs = [("linger.ms", "0"), ("request.timeout.ms", "1000"), ("delivery.timeout.ms", "1000")];
    let producer = producer(&cluster, &pairs).await;
    offset_of(&send(&producer, 0, "0").await).await.expect("written");
    let fault = cluster.inject(always(Reaction::ErrorAfterHandling(ErrorCode::NotLeaderOrFollower)));
    let error = offset_of(&send(&producer, 0, "1").await).await.expect_err("too late");
    assert!(error.is_maybe_done() && error.kind() == Kind::Timeout, "{error}");
    cluster.remove_fault(fault);
    assert_eq!(offset_of(&send(&producer, 0, "2").await).await.expect("written"), 2);
    assert_eq!(written(&cluster), texts(0..3));
}

/// A new leader may know only the last batch of a producer: earlier ones are rejected as out of order
/// although they are in the log, since the last one is.
#[tokio::test(start_paused = true)]
async fn batches_appended_before_the_last_one_are_not_written_again() {
    let cluster = cluster(1).await;
    let pairs = [SINGLE[0], SINGLE[1], ("retry.backoff.ms", "400"), ("retry.backoff.max.ms", "400")];
    let producer = producer(&cluster, &pairs).await;
    offset_of(&send(&producer, 0, "0").await).await.expect("written");
    let late = Reaction::ErrorAfterHandling(ErrorCode::NotLeaderOrFollower);
    let three = Fault { times: Some(3), ..always(late) };
    let fault = cluster.inject(three);
    cluster.inject(Fault { times: Some(3), ..always(Reaction::Delay(ms(60))) });
    let sent = send_all(&producer, 1..4).await;
    until(|| cluster.fault_hits(fault) == 3).await;
    until(|| written(&cluster).len() == 4).await;
    cluster.forget_producers("t", 0, true).unwrap();
    for delivery in &sent {
        offset_of(delivery).await.expect("written");
    }
    offset_of(&send(&producer, 0, "4").await).await.expect("written");
    assert_eq!(written(&cluster), texts(0..5), "once each, and in order");
}

/// With `acks=1`, the leader responds when it has appended: such an error means that nothing was
/// written.
#[tokio::test(start_paused = true)]
async fn with_acks_1_a_leadership_error_means_not_written() {
    for (acks, maybe) in [("1", false), ("all", true)] {
        let cluster = cluster(1).await;
        let pairs = [("linger.ms", "0"), ("retries", "0"), ("acks", acks), ("enable.idempotence", "false")];
        let producer = producer(&cluster, &pairs).await;
        cluster.inject(always(Reaction::Error(ErrorCode::NotLeaderOrFollower)));
        let error = offset_of(&send(&producer, 0, "0").await).await.expect_err("no retries");
        assert_eq!(error.is_maybe_done(), maybe, "acks={acks}: {error}");
    }
}

async fn small_batches_only() -> MockCluster {
    let cluster = MockCluster::start(in_memory()).await.unwrap();
    cluster.create_topic(TopicSpec::new("t").partitions(1).config("max.message.bytes", "400")).unwrap();
    cluster
}

/// Regression: a batch whose first attempt was lost failed as a whole when it was too large.
#[tokio::test(start_paused = true)]
async fn a_batch_that_is_too_large_is_split_after_a_lost_attempt_too() {
    for idempotence in ["true", "false"] {
        let cluster = small_batches_only().await;
        let pairs = [
            ("linger.ms", "50"),
            ("enable.idempotence", idempotence),
            ("max.in.flight.requests.per.connection", "1"),
        ];
        let producer = producer(&cluster, &pairs).await;
        let lost = Reaction::Disconnect(When::BeforeHandling);
        cluster.inject(Fault { times: Some(1), ..always(lost) });
        let values: Vec<String> = (0..20).map(|n| format!("{n}-{}", "x".repeat(40))).collect();
        let mut sent = Vec::new();
        for value in &values {
            sent.push(send(&producer, 0, value).await);
        }
        for delivery in &sent {
            offset_of(delivery).await.expect("written");
        }
        assert_eq!(written(&cluster), values);
        until(|| producer.buffered_bytes() == 0).await;
    }
}

/// The first attempt was written and its response lost, and then the limit was lowered: the parts are
/// rejected, because their sequence numbers are in the log, and are not written again under others.
#[tokio::test(start_paused = true)]
async fn parts_of_a_batch_that_was_written_are_not_written_again() {
    let cluster = cluster(1).await;
    let producer = producer(&cluster, &[("linger.ms", "50")]).await;
    cluster.inject(Fault { times: Some(1), ..always(Reaction::Disconnect(When::AfterHandling)) });
    let refused = Match::api(ApiKey::Produce).skip(1);
    cluster.inject(Fault::once(refused, Reaction::Error(ErrorCode::MessageTooLarge)));
    let sent = send_all(&producer, 0..10).await;
    for delivery in &sent {
        let error = offset_of(delivery).await.expect_err("it is unknown");
        assert!(error.is_maybe_done(), "{error}");
    }
    offset_of(&send(&producer, 0, "10").await).await.expect("written");
    assert_eq!(written(&cluster), texts(0..11));
}

/// Regression: when one partition's epoch was rejected and no new id was available, partitions with a
/// valid one failed too.
#[tokio::test(start_paused = true)]
async fn a_partition_with_a_valid_id_needs_no_other() {
    let cluster = cluster(2).await;
    let producer = producer(&cluster, &[("linger.ms", "300")]).await;
    for partition in 0..2 {
        offset_of(&send(&producer, partition, "0").await).await.expect("written");
    }
    let epoch = Reaction::Error(ErrorCode::InvalidProducerEpoch);
    cluster.inject(Fault::once(Match::api(ApiKey::Produce).topic("t").partition(0), epoch));
    let refusal = Reaction::Error(ErrorCode::ClusterAuthorizationFailed);
    let refused = cluster.inject(Fault::once(Match::api(ApiKey::InitProducerId), refusal));
    let without = send(&producer, 0, "1").await;
    until(|| cluster.request_count(None, ApiKey::Produce) >= 3).await;
    let with = send(&producer, 1, "1").await;
    until(|| cluster.fault_hits(refused) == 1).await;
    let error = offset_of(&without).await.expect_err("no id");
    assert_eq!(error.kind(), Kind::Authorization, "{error}");
    offset_of(&with).await.expect("it has a producer id");
}
