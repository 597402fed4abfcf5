//! Tests faults: leaders that move, brokers that stop, responses that are lost or late. Acknowledged
//! records are in the log and in order; expired ones fail once, in time and with a reason, and say
//! whether they may have been written.

use crate::support::*;
use ottla_client::Kind;
use ottla_client::producer::Delivery;
use ottla_mock::{Fault, Match, MockCluster, Reaction, TopicSpec, When};
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::time::Instant;

const PRODUCE: ApiKey = ApiKey::Produce;

/// Checks that each record is at its acknowledged offset, and that the offsets increase.
async fn check_acknowledged(cluster: &MockCluster, partition: i32, sent: &[(String, Delivery)]) {
    let mut last = -1;
    let mut found = Vec::new();
    for (value, delivery) in sent {
        let offset = offset_of(delivery).await.expect("written");
        assert!(offset > last, "{value} at {offset} after {last}");
        last = offset;
        found.push((offset, value.clone()));
    }
    let log = log(cluster, "t", partition);
    for record in found {
        assert!(log.contains(&record), "{record:?} is not in the log");
    }
}

#[tokio::test(start_paused = true)]
async fn records_follow_their_leader_in_order() {
    let cluster = cluster(1).await;
    let producer = producer(&cluster, &[("linger.ms", "1"), ("batch.size", "200")]).await;
    let mut sent = Vec::new();
    for n in 0..300 {
        if n % 60 == 30 {
            let leader = cluster.leader("t", 0).unwrap();
            cluster.move_leader("t", 0, leader % 3 + 1).unwrap();
        }
        sent.push((n.to_string(), send(&producer, 0, &n.to_string()).await));
        if n % 10 == 0 {
            tokio::time::sleep(ms(2)).await;
        }
    }
    check_acknowledged(&cluster, 0, &sent).await;
    assert_eq!(
        log(&cluster, "t", 0).len(),
        300,
        "a rejected batch is not written, so there are no duplicates"
    );
}

#[tokio::test(start_paused = true)]
async fn retriable_errors_are_retried_in_order() {
    let cluster = cluster(1).await;
    let producer = producer(&cluster, &[("linger.ms", "0"), ("batch.size", "50")]).await;
    for code in [
        ErrorCode::NotEnoughReplicas,
        ErrorCode::CorruptMessage,
        ErrorCode::LeaderNotAvailable,
        ErrorCode::UnknownTopicOrPartition,
        ErrorCode::UnknownTopicId,
        ErrorCode::NotLeaderOrFollower,
        ErrorCode::RequestTimedOut,
        ErrorCode::KafkaStorageError,
    ] {
        cluster.inject(Fault::once(Match::api(PRODUCE), Reaction::Error(code)));
    }
    let mut sent = Vec::new();
    for n in 0..20 {
        sent.push((n.to_string(), send(&producer, 0, &n.to_string()).await));
    }
    check_acknowledged(&cluster, 0, &sent).await;
    assert_eq!(log(&cluster, "t", 0).len(), 20);
}

#[tokio::test(start_paused = true)]
async fn a_lost_request_or_response_is_written_once() {
    for (when, idempotence, most) in [
        (When::BeforeHandling, "true", 10),
        (When::AfterHandling, "true", 10),
        (When::BeforeHandling, "false", 10),
        // At-least-once delivery.
        (When::AfterHandling, "false", 20),
    ] {
        let cluster = cluster(1).await;
        let producer = producer(&cluster, &[("linger.ms", "5"), ("enable.idempotence", idempotence)]).await;
        cluster.inject(Fault::once(Match::api(PRODUCE), Reaction::Disconnect(when)));
        let mut sent = Vec::new();
        for n in 0..10 {
            sent.push((n.to_string(), send(&producer, 0, &n.to_string()).await));
        }
        check_acknowledged(&cluster, 0, &sent).await;
        assert!((10..=most).contains(&log(&cluster, "t", 0).len()));
    }
}

#[tokio::test(start_paused = true)]
async fn truncated_and_malformed_responses_are_retried() {
    let cluster = cluster(1).await;
    let producer = producer(&cluster, &[("linger.ms", "0")]).await;
    cluster.inject(Fault::once(Match::api(PRODUCE), Reaction::TruncateFrame));
    let junk = bytes::Bytes::from_static(&[0, 0, 0, 5, 0x7f, 1, 2, 3, 4]);
    cluster.inject(Fault::once(Match::api(PRODUCE).skip(1), Reaction::Bytes(junk)));
    for n in 0..3 {
        offset_of(&send(&producer, 0, &n.to_string()).await).await.expect("written");
    }
}

#[tokio::test(start_paused = true)]
async fn a_broker_restart_loses_nothing() {
    let cluster = cluster(3).await;
    let producer = producer(&cluster, &[("linger.ms", "1"), ("batch.size", "200")]).await;
    let mut sent = vec![Vec::new(), Vec::new(), Vec::new()];
    for n in 0..300 {
        if n == 100 {
            cluster.stop_broker(2).await.unwrap();
        }
        if n == 200 {
            cluster.start_broker(2).await.unwrap();
        }
        for partition in 0..3 {
            let value = format!("{partition}-{n}");
            let delivery = send(&producer, partition, &value).await;
            sent[usize::try_from(partition).unwrap()].push((value, delivery));
        }
        if n % 10 == 0 {
            tokio::time::sleep(ms(2)).await;
        }
    }
    for (partition, sent) in (0..).zip(&sent) {
        check_acknowledged(&cluster, partition, sent).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_response_later_than_request_timeout_is_not_waited_for() {
    let cluster = cluster(1).await;
    let pairs = [("linger.ms", "0"), ("request.timeout.ms", "150"), ("delivery.timeout.ms", "60000")];
    let producer = producer(&cluster, &pairs).await;
    cluster.inject(Fault::once(Match::api(PRODUCE), Reaction::Delay(ms(400))));
    let watch = Instant::now();
    offset_of(&send(&producer, 0, "a").await).await.expect("written");
    assert_took(watch, ms(150), ms(2000));
    // The broker processes what it has read, and recognizes the batch when it is sent again.
    tokio::time::sleep(ms(500)).await;
    assert_eq!(log(&cluster, "t", 0).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_throttle_is_honoured_and_an_absurd_one_capped() {
    let cluster = cluster(1).await;
    let producer = producer(&cluster, &[("linger.ms", "0"), ("request.timeout.ms", "400")]).await;
    cluster.inject(Fault::once(Match::api(PRODUCE), Reaction::Throttle(200)));
    cluster.inject(Fault::once(Match::api(PRODUCE), Reaction::Throttle(i32::MAX)));
    cluster.inject(Fault::once(Match::api(PRODUCE), Reaction::Throttle(-5)));
    let mut took = Vec::new();
    for n in 0..4 {
        let started = Instant::now();
        offset_of(&send(&producer, 0, &n.to_string()).await).await.expect("written");
        took.push(started.elapsed());
    }
    assert!(took[0] < ms(150) && (ms(150)..ms(390)).contains(&took[1]), "{took:?}");
    assert!((ms(350)..ms(1000)).contains(&took[2]) && took[3] < ms(150), "{took:?}");
}

/// Regression: a batch in flight exceeded its timeout by a whole request.
#[tokio::test(start_paused = true)]
async fn delivery_timeout_bounds_batches_in_flight() {
    let cluster = cluster(1).await;
    let pairs = [("linger.ms", "0"), ("request.timeout.ms", "600"), ("delivery.timeout.ms", "700")];
    let producer = producer(&cluster, &pairs).await;
    cluster.inject(Fault::once(Match::api(PRODUCE), Reaction::Error(ErrorCode::NotEnoughReplicas)));
    cluster.inject(Fault::new(Match::api(PRODUCE).skip(1), Reaction::Delay(ms(450))));
    cluster.inject(Fault::new(Match::api(PRODUCE).skip(1), Reaction::Disconnect(When::AfterHandling)));
    let started = Instant::now();
    let delivery = send(&producer, 0, "a").await;
    let error = offset_of(&delivery).await.expect_err("too late");
    assert!((ms(690)..ms(850)).contains(&started.elapsed()), "{:?}", started.elapsed());
    assert_eq!(error.kind(), Kind::Timeout);
    assert!(error.message().contains("delivery.timeout.ms (700 ms)"), "{error}");
    assert!(error.to_string().contains("closed the connection"), "the previous error: {error}");
    assert!(error.is_maybe_done(), "the broker has it: {error}");
    assert!(!log(&cluster, "t", 0).is_empty());
    // The memory is released once the connection drops the batch.
    until(|| producer.buffered_bytes() == 0).await;
}

/// Regression: records behind five requests in flight failed a whole request too late, because the
/// sender slept until another partition's deadline.
#[tokio::test(start_paused = true)]
async fn delivery_timeout_bounds_batches_behind_others() {
    let cluster = MockCluster::start(in_memory()).await.unwrap();
    cluster.create_topic(TopicSpec::new("t").partitions(2).replication(1)).unwrap();
    let pairs = [
        ("linger.ms", "0"),
        ("batch.size", "1"),
        ("request.timeout.ms", "1500"),
        ("delivery.timeout.ms", "2000"),
    ];
    let producer = producer(&cluster, &pairs).await;
    for partition in 0..2 {
        offset_of(&send(&producer, partition, "first").await).await.expect("written");
    }
    cluster.inject(Fault::new(Match::api(PRODUCE), Reaction::Silence));
    for _ in 0..5 {
        send(&producer, 0, "in flight").await;
    }
    tokio::time::sleep(ms(100)).await;
    let watch = Instant::now();
    let behind = send(&producer, 0, "behind").await;
    tokio::time::sleep(ms(1700)).await;
    // The first of the five is sent again, until 3 s. This record expires later still.
    send(&producer, 1, "other").await;
    let error = offset_of(&behind).await.expect_err("too late");
    assert_took(watch, ms(1990), ms(2700));
    assert_eq!((error.kind(), error.is_maybe_done()), (Kind::Timeout, false), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_expires_in_its_first_attempt_names_the_broker() {
    let cluster = cluster(1).await;
    let pairs = [("linger.ms", "0"), ("request.timeout.ms", "3000"), ("delivery.timeout.ms", "3000")];
    let producer = producer(&cluster, &pairs).await;
    cluster.inject(Fault::new(Match::api(PRODUCE), Reaction::Delay(ms(12_000))));
    let error = offset_of(&send(&producer, 0, "a").await).await.expect_err("too late");
    assert_eq!(error.kind(), Kind::Timeout, "{error}");
    assert_eq!(error.context().broker, cluster.leader("t", 0), "{error}");
    assert!(error.context().address.is_some(), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_expires_in_the_queue_reports_why_and_that_it_was_not_written() {
    let cluster = MockCluster::start(in_memory()).await.unwrap();
    cluster.create_topic(TopicSpec::new("t").partitions(2).replication(1)).unwrap();
    // Attempts at 0 s and about 2 s, so that nothing is in flight at the timeout.
    let pairs = [
        ("linger.ms", "0"),
        ("retry.backoff.ms", "2000"),
        ("retry.backoff.max.ms", "2000"),
        ("request.timeout.ms", "2000"),
        ("delivery.timeout.ms", "3000"),
    ];
    let producer = producer(&cluster, &pairs).await;
    offset_of(&send(&producer, 0, "a").await).await.expect("written");
    let refused = Match::api(PRODUCE).topic("t").partition(1);
    cluster.inject(Fault::new(refused, Reaction::Error(ErrorCode::NotEnoughReplicas)));
    cluster.stop_broker(cluster.leader("t", 0).unwrap()).await.unwrap();
    let watch = Instant::now();
    let (leaderless, refused) = (send(&producer, 0, "b").await, send(&producer, 1, "c").await);
    let error = offset_of(&leaderless).await.expect_err("no leader");
    assert!(!error.is_maybe_done() && error.kind() == Kind::Timeout, "{error}");
    let error = offset_of(&refused).await.expect_err("refused");
    assert_took(watch, ms(2900), ms(6000));
    assert!(!error.is_maybe_done(), "{error}");
    assert_eq!(error.code(), Some(ErrorCode::NotEnoughReplicas), "{error}");
    assert!(log(&cluster, "t", 1).is_empty());
    // Exactly once: the error does not change any more.
    let message = error.to_string();
    tokio::time::sleep(ms(100)).await;
    assert_eq!(offset_of(&refused).await.expect_err("still").to_string(), message);
}

#[tokio::test(start_paused = true)]
async fn acks_0_records_fail_when_the_connection_closes_before_sending_them() {
    let cluster = cluster(1).await;
    let pairs =
        [("acks", "0"), ("linger.ms", "0"), ("request.timeout.ms", "2500"), ("delivery.timeout.ms", "3000")];
    let producer = producer(&cluster, &pairs).await;
    offset_of(&send(&producer, 0, "a").await).await.expect("sent");
    until(|| log(&cluster, "t", 0).len() == 1).await;
    for broker in 1..=3 {
        cluster.stop_broker(broker).await.unwrap();
    }
    // The first record may go into a socket that nothing reads, as with every Kafka client.
    let _ = offset_of(&send(&producer, 0, "b").await).await;
    let error = offset_of(&send(&producer, 0, "c").await).await.expect_err("no broker is up");
    assert_eq!(error.kind(), Kind::Timeout, "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_recreated_topic_accepts_later_records() {
    let cluster = cluster(1).await;
    let producer = producer(&cluster, &[("linger.ms", "0")]).await;
    offset_of(&send(&producer, 0, "old").await).await.expect("written");
    cluster.delete_topic("t").unwrap();
    cluster.create_topic(TopicSpec::new("t").partitions(1)).unwrap();
    assert_eq!(offset_of(&send(&producer, 0, "new").await).await.expect("written"), 0);
    assert_eq!(log(&cluster, "t", 0), [(0, "new".to_owned())]);
}
