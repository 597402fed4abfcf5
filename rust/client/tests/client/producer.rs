//! Tests the producer: what `acks`, `linger.ms` and `batch.size` promise; back-pressure within
//! `max.block.ms`; an error of one partition does not affect others; `flush` waits for exactly what
//! was sent before it; `close` and drop complete every record; callbacks of a batch are called.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::*;
use ottla_client::producer::Producer;
use ottla_client::{Kind, Route};
use ottla_mock::{Fault, Match, MockCluster, MockConfig, Reaction, TopicSpec};
use ottla_protocol::messages::create_partitions::{CreatePartitionsRequest, CreatePartitionsTopic};
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::time::Instant;

const PRODUCE: ApiKey = ApiKey::Produce;

#[tokio::test(start_paused = true)]
async fn every_acks_setting_writes_and_reports_the_offset() {
    let cluster = cluster(1).await;
    for (acks, offset) in [("all", 0), ("1", 1), ("0", -1)] {
        let producer = producer(&cluster, &[("acks", acks)]).await;
        assert_eq!(offset_of(&send(&producer, 0, acks).await).await.expect("written"), offset);
        until(|| log(&cluster, "t", 0).iter().any(|(_, value)| value == acks)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn linger_collects_records_and_batch_size_closes_batches() {
    let cluster = cluster(1).await;
    let lingering = producer(&cluster, &[("linger.ms", "3000")]).await;
    let started = Instant::now();
    let mut sent = Vec::new();
    for n in 0..50 {
        sent.push(send(&lingering, 0, &n.to_string()).await);
    }
    for (n, delivery) in (0..).zip(&sent) {
        assert_eq!(offset_of(delivery).await.expect("written"), n);
    }
    assert!(started.elapsed() >= ms(2900), "{:?}", started.elapsed());
    assert_eq!(cluster.request_count(None, PRODUCE), 1);

    cluster.clear_requests();
    let cutting = producer(
        &cluster,
        &[("linger.ms", "60000"), ("batch.size", "1000"), ("delivery.timeout.ms", "120000")],
    )
    .await;
    let value = "x".repeat(400);
    // Two records fit into a batch: the third closes it.
    for _ in 0..5 {
        sent.push(send(&cutting, 0, &value).await);
    }
    for delivery in &sent[50..54] {
        offset_of(delivery).await.expect("written");
    }
    assert_eq!(cluster.request_count(None, PRODUCE), 2);
    assert!(sent[54].result().is_none(), "the last one lingers");
}

#[tokio::test(start_paused = true)]
async fn batches_of_many_partitions_share_requests() {
    let cluster = cluster(30).await;
    let producer = producer(&cluster, &[("linger.ms", "100")]).await;
    let mut sent = Vec::new();
    for partition in 0..30 {
        sent.push(send(&producer, partition, "x").await);
    }
    for delivery in &sent {
        assert_eq!(offset_of(delivery).await.expect("written"), 0);
    }
    assert!(cluster.request_count(None, PRODUCE) <= 6, "{}", cluster.request_count(None, PRODUCE));
}

#[tokio::test(start_paused = true)]
async fn an_error_of_one_partition_does_not_affect_others() {
    let cluster = cluster(6).await;
    let producer = producer(&cluster, &[("linger.ms", "20")]).await;
    let bad = Match::api(PRODUCE).topic("t").partition(3);
    cluster.inject(Fault::new(bad, Reaction::Error(ErrorCode::TopicAuthorizationFailed)));
    let twice = Fault {
        times: Some(2),
        ..Fault::new(
            Match::api(PRODUCE).topic("t").partition(4),
            Reaction::Error(ErrorCode::NotLeaderOrFollower),
        )
    };
    cluster.inject(twice);
    let mut sent = Vec::new();
    for partition in 0..6 {
        sent.push(send(&producer, partition, "x").await);
    }
    for (partition, delivery) in (0..).zip(&sent) {
        match (partition, offset_of(delivery).await) {
            (3, Err(error)) => {
                assert_eq!((error.kind(), error.is_maybe_done()), (Kind::Authorization, false), "{error}");
                assert_eq!(error.context().partition, Some(3));
            }
            (3, Ok(_)) => panic!("partition 3 was rejected"),
            (_, written) => assert_eq!(written.expect("written"), 0),
        }
        assert_eq!(log(&cluster, "t", partition).len(), usize::from(partition != 3));
    }
}

#[tokio::test(start_paused = true)]
async fn unknown_topics_and_partitions_fail_within_max_block() {
    let config = MockConfig { auto_create_topics: false, ..in_memory() };
    let cluster = MockCluster::start(config).await.unwrap();
    cluster.create_topic(TopicSpec::new("t").partitions(2)).unwrap();
    let producer = producer(&cluster, &[("max.block.ms", "3000")]).await;
    let watch = Instant::now();
    let error = within_deadline(producer.send("nope", None, &record(b"x"))).await.expect_err("no topic");
    assert_eq!(error.kind(), Kind::UnknownTopic, "{error}");
    assert_took(watch, ms(0), ms(3500));
    let error = within_deadline(producer.send("t", Some(2), &record(b"x"))).await.expect_err("no partition");
    assert!(error.message().contains("partition 2 does not exist"), "{error}");
    let error =
        within_deadline(producer.send("bad name!", None, &record(b"x"))).await.expect_err("not a name");
    assert!(error.to_string().contains("bad name!"), "{error}");
}

/// Regression: small records took all released memory, and a large one got none within
/// `max.block.ms`.
#[tokio::test(start_paused = true)]
async fn a_newly_added_partition_is_written_to() {
    let cluster = cluster(1).await;
    let producer = producer(&cluster, &[("linger.ms", "0")]).await;
    offset_of(&send(&producer, 0, "a").await).await.expect("written");
    let topic = CreatePartitionsTopic { name: "t".to_owned(), count: 3, assignments: None };
    let request = CreatePartitionsRequest { topics: vec![topic], ..Default::default() };
    within_deadline(producer.client().send(Route::Broker(cluster.controller()), &request, 3))
        .await
        .expect("added");
    offset_of(&send(&producer, 2, "b").await).await.expect("written");
    assert_eq!(log(&cluster, "t", 2), [(0, "b".to_owned())]);
    // A partition that does not exist is not looked up for each record.
    let before = cluster.request_count(None, ApiKey::Metadata);
    for _ in 0..20 {
        let error =
            within_deadline(producer.send("t", Some(3), &record(b"x"))).await.expect_err("no partition");
        assert!(error.message().contains("partition 3 does not exist"), "{error}");
    }
    assert!(cluster.request_count(None, ApiKey::Metadata) <= before + 2);
}

#[tokio::test(start_paused = true)]
async fn a_record_that_is_too_large_fails_alone() {
    let cluster = cluster(1).await;
    let producer = producer(&cluster, &[("max.request.size", "1000"), ("linger.ms", "0")]).await;
    let large =
        within_deadline(producer.send("t", Some(0), &record(&[0; 2000]))).await.expect_err("too large");
    assert_eq!((large.kind(), producer.buffered_bytes()), (Kind::RecordTooLarge, 0), "{large}");
    offset_of(&send(&producer, 0, "small").await).await.expect("written");
    // The topic's own limit is checked by the broker.
    cluster.create_topic(TopicSpec::new("u").config("max.message.bytes", "300")).unwrap();
    let delivery = within_deadline(producer.send("u", Some(0), &record(&[0; 500]))).await.expect("accepted");
    let error = offset_of(&delivery).await.expect_err("too large");
    assert_eq!((error.code(), error.is_maybe_done()), (Some(ErrorCode::MessageTooLarge), false));
    assert_eq!(producer.buffered_bytes(), 0);
}

#[tokio::test(start_paused = true)]
async fn flush_waits_for_exactly_what_was_sent_before() {
    let cluster = cluster(1).await;
    let producer = std::sync::Arc::new(producer(&cluster, &[("linger.ms", "60000")]).await);
    cluster.inject(Fault::once(Match::api(PRODUCE), Reaction::Delay(ms(200))));
    cluster.inject(Fault::new(Match::api(PRODUCE).skip(1), Reaction::Silence));
    let before = send(&producer, 0, "before").await;
    let flushing = std::sync::Arc::clone(&producer);
    let flushing = tokio::spawn(async move { flushing.flush(CALL_TIMEOUT).await });
    until(|| cluster.request_count(None, PRODUCE) == 1).await;
    let after = send(&producer, 0, "after").await;
    within_deadline(flushing).await.unwrap().expect("flushed, although later records are not written");
    assert!(before.result().is_some() && after.result().is_none());
    let error = within_deadline(producer.flush(ms(100))).await.expect_err("the broker is silent");
    assert_eq!(error.kind(), Kind::Timeout);
    assert!(error.message().contains("unacknowledged"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn close_writes_what_it_can_and_fails_the_rest_with_a_reason() {
    let cluster = cluster(2).await;
    let producer = producer(&cluster, &[("linger.ms", "60000")]).await;
    let good = send(&producer, 0, "good").await;
    let leaderless = Match::api(PRODUCE).topic("t").partition(1);
    cluster.inject(Fault::new(leaderless, Reaction::Error(ErrorCode::NotEnoughReplicas)));
    let bad = send(&producer, 1, "bad").await;
    let error = within_deadline(producer.close(ms(300))).await.expect_err("one record cannot be written");
    assert_eq!(error.kind(), Kind::Timeout);
    assert_eq!(good.result().expect("known").expect("written").offset, 0);
    let error = bad.result().expect("known when close returns").expect_err("not written");
    assert!(!error.is_maybe_done() || log(&cluster, "t", 1).is_empty(), "{error}");
    let writer = producer.cached_topic_writer("t").unwrap();
    let late = producer.try_send(&writer, Some(0), &record(b"late"), None).expect_err("closed");
    assert_eq!(late.kind(), Kind::Closed);
    within_deadline(producer.flush(CALL_TIMEOUT)).await.expect("nothing to wait for");
    within_deadline(producer.close(CALL_TIMEOUT)).await.expect("again");
}

#[tokio::test(start_paused = true)]
async fn dropping_a_producer_completes_every_record() {
    let cluster = cluster(2).await;
    let producer = producer(&cluster, &[("linger.ms", "0")]).await;
    cluster.inject(Fault::new(Match::api(PRODUCE), Reaction::Silence));
    let in_flight = send(&producer, 0, "in flight").await;
    until(|| cluster.request_count(None, PRODUCE) == 1).await;
    let waiting = send(&producer, 0, "waiting").await;
    drop(producer);
    let in_flight = offset_of(&in_flight).await.expect_err("no response");
    assert!(in_flight.is_maybe_done() && in_flight.kind() == Kind::Closed, "{in_flight}");
    let waiting = offset_of(&waiting).await.expect_err("never sent");
    assert!(!waiting.is_maybe_done() && waiting.kind() == Kind::Closed, "{waiting}");
}

/// Regression: requests that `close` had aborted failed their records shortly after it returned.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_record_is_complete_when_close_returns() {
    let cluster = cluster(6).await;
    cluster.inject(Fault::new(Match::api(PRODUCE), Reaction::Silence));
    for _ in 0..100 {
        cluster.clear_requests();
        let producer = producer(&cluster, &[("linger.ms", "0")]).await;
        let mut sent = Vec::new();
        for partition in 0..6 {
            sent.push(send(&producer, partition, "x").await);
        }
        until(|| cluster.request_count(None, PRODUCE) > 0).await;
        within_deadline(producer.close(ms(0))).await.expect_err("not written");
        for delivery in &sent {
            let error = delivery.result().expect("ended").expect_err("not acknowledged");
            assert_eq!(error.kind(), Kind::Closed, "{error}");
        }
    }
}

/// CVE-2026-35554: bytes handed to a connection cannot change, even if their batch has expired and
/// the memory is needed for others.
#[tokio::test(start_paused = true)]
async fn bytes_of_an_expired_batch_are_not_reused_while_the_socket_has_them() {
    let cluster = cluster(1).await;
    let pairs = [
        ("linger.ms", "0"),
        ("request.timeout.ms", "4500"),
        ("delivery.timeout.ms", "4500"),
        ("batch.size", "4000000"),
        ("max.request.size", "4000000"),
        ("send.buffer.bytes", "4096"),
        ("buffer.memory", "4000000"),
    ];
    let producer = producer(&cluster, &pairs).await;
    // The broker stops reading, so the socket blocks in the middle of the batch.
    let slow = cluster.inject(Fault::new(Match::api(PRODUCE), Reaction::Delay(ms(5100))));
    send(&producer, 0, "first").await;
    until(|| cluster.request_count(None, PRODUCE) == 1).await;
    let large = "y".repeat(900_000);
    let expired = send(&producer, 0, &large).await;
    let error = offset_of(&expired).await.expect_err("expired");
    assert_eq!(error.kind(), Kind::Timeout);
    cluster.remove_fault(slow);
    let next = send(&producer, 0, &"z".repeat(900_000)).await;
    offset_of(&next).await.expect("written");
    for (_, value) in log(&cluster, "t", 0) {
        let first = value.chars().next().unwrap();
        assert!(value == "first" || value.chars().all(|c| c == first), "two batches are mixed");
    }
}

#[tokio::test(start_paused = true)]
async fn an_idle_or_leaderless_producer_sends_few_requests() {
    let cluster = MockCluster::start(in_memory()).await.unwrap();
    cluster.create_topic(TopicSpec::new("t").partitions(1).replication(1)).unwrap();
    let producer: Producer = producer(&cluster, &[("linger.ms", "0"), ("retry.backoff.ms", "100")]).await;
    offset_of(&send(&producer, 0, "a").await).await.expect("written");
    let leader = cluster.leader("t", 0).unwrap();
    cluster.stop_broker(leader).await.unwrap();
    cluster.clear_requests();
    let delivery = send(&producer, 0, "b").await;
    tokio::time::sleep(ms(600)).await;
    // Regression: a partition without a leader caused metadata requests without a pause.
    let requests = cluster.request_count(None, ApiKey::Metadata);
    assert!((1..=15).contains(&requests), "{requests} requests for metadata in 600 ms");
    cluster.start_broker(leader).await.unwrap();
    assert_eq!(offset_of(&delivery).await.expect("written"), 1);
    // With nothing to do, no requests.
    quiet(&cluster, ms(300)).await;
}

#[tokio::test(start_paused = true)]
async fn callbacks_of_a_batch_are_called_once_before_waiters_wake() {
    let cluster = cluster(1).await;
    let producer = producer(&cluster, &[("linger.ms", "0")]).await;
    let delivery = within_deadline(producer.send("t", None, &record(b"v"))).await.unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let (watched, counted) = (Arc::clone(&delivery.produce_result), Arc::clone(&calls));
    delivery.produce_result.on_done(move || {
        assert_eq!(watched.final_result(0).expect("known by now").offset, 0);
        counted.fetch_add(1, Ordering::Relaxed);
    });
    within_deadline(delivery.wait()).await.expect("written");
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    let counted = Arc::clone(&calls);
    delivery.produce_result.on_done(move || {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    assert_eq!(calls.load(Ordering::Relaxed), 2, "a late callback is called at once");
}
