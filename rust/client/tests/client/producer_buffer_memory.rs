//! Tests `buffer.memory`: a full buffer blocks for `max.block.ms` and no longer, reserves nothing, and serves
//! the longest waiter first; nothing lingers while a sender waits.

use std::sync::Arc;

use crate::support::*;
use ottla_client::Kind;
use ottla_client::producer::{Producer, SendResult};
use ottla_mock::{Fault, Match, Reaction};
use ottla_protocol::ApiKey;
use tokio::time::Instant;

const PRODUCE: ApiKey = ApiKey::Produce;

#[tokio::test(start_paused = true)]
async fn a_full_buffer_blocks_for_max_block_and_reserves_nothing() {
    let cluster = cluster(1).await;
    let pairs = [("buffer.memory", "3000"), ("max.block.ms", "2500"), ("linger.ms", "0")];
    let producer = producer(&cluster, &pairs).await;
    let slow = cluster.inject(Fault::new(Match::api(PRODUCE), Reaction::Delay(ms(7_000))));
    let value = "x".repeat(900);
    let mut sent = Vec::new();
    for _ in 0..3 {
        sent.push(send(&producer, 0, &value).await);
    }
    let watch = Instant::now();
    let error =
        within_deadline(producer.send("t", Some(0), &record(value.as_bytes()))).await.expect_err("full");
    assert_eq!(error.kind(), Kind::Timeout);
    assert!(error.message().contains("buffer.memory"), "{error}");
    assert_took(watch, ms(2490), ms(2800));
    // Waits that are cancelled, over and over, reserve nothing.
    for _ in 0..20 {
        let record = record(value.as_bytes());
        let waiting = producer.send("t", Some(0), &record);
        assert!(tokio::time::timeout(ms(5), waiting).await.is_err());
    }
    cluster.remove_fault(slow);
    within_deadline(producer.flush(CALL_TIMEOUT)).await.expect("flushed");
    assert_eq!(producer.buffered_bytes(), 0);
    for delivery in &sent {
        offset_of(delivery).await.expect("written");
    }
    assert_eq!(log(&cluster, "t", 0).len(), 3);
}

/// Regression: senders waited for memory that lingering batches had reserved.
#[tokio::test(start_paused = true)]
async fn nothing_lingers_while_a_sender_waits_for_memory() {
    let cluster = cluster(2).await;
    let pairs = [("buffer.memory", "2500"), ("linger.ms", "60000"), ("max.block.ms", "15000")];
    let producer = producer(&cluster, &pairs).await;
    let value = "x".repeat(900);
    for n in 0..8 {
        send(&producer, n % 2, &value).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_longest_waiter_for_memory_is_served_first() {
    let cluster = cluster(1).await;
    let pairs = [("linger.ms", "0"), ("buffer.memory", "100000"), ("max.block.ms", "60000")];
    let producer = Arc::new(producer(&cluster, &pairs).await);
    offset_of(&send(&producer, 0, "first").await).await.expect("written");
    cluster.inject(Fault::new(Match::api(PRODUCE), Reaction::Delay(ms(20))));
    let small = |producer: Arc<Producer>| async move {
        loop {
            producer.send("t", Some(0), &record(&[0; 1_000])).await.expect("memory, before long");
        }
    };
    let senders: Vec<_> = (0..8).map(|_| tokio::spawn(small(Arc::clone(&producer)))).collect();
    until(|| producer.buffered_bytes() > 95_000).await;
    let large = [1; 80_000];
    // A cancelled wait leaves its memory to the other waiters.
    let given_up = tokio::time::timeout(ms(1), producer.send("t", Some(0), &record(&large))).await;
    assert!(given_up.is_err(), "there was memory at once");
    for _ in 0..3 {
        let sent = tokio::time::timeout(ms(10_000), producer.send("t", Some(0), &record(&large))).await;
        offset_of(&sent.expect("served in order").expect("accepted")).await.expect("written");
    }
    for sender in senders {
        sender.abort();
        assert!(sender.await.expect_err("it runs for ever").is_cancelled());
    }
    within_deadline(producer.flush(CALL_TIMEOUT)).await.expect("flushed");
    assert_eq!(producer.buffered_bytes(), 0);
}

/// Regression: a newly added partition was rejected until the next metadata refresh.
#[tokio::test(start_paused = true)]
async fn try_send_reports_a_full_buffer_without_waiting() {
    let cluster = cluster(1).await;
    let producer = producer(&cluster, &[("buffer.memory", "1000"), ("linger.ms", "0")]).await;
    cluster.inject(Fault::new(Match::api(PRODUCE), Reaction::Delay(ms(3_000))));
    let writer = within_deadline(producer.topic_writer("t", producer.max_block_deadline())).await.unwrap();
    let value = [b'x'; 700];
    assert!(matches!(producer.try_send(&writer, None, &record(&value), None), Ok(SendResult::Accepted(_))));
    let Ok(SendResult::BufferFull(bytes)) = producer.try_send(&writer, None, &record(&value), None) else {
        panic!("full")
    };
    let error = within_deadline(producer.reserve_buffer(bytes, Instant::now()))
        .await
        .expect_err("the deadline has passed");
    assert_eq!(error.kind(), Kind::Timeout);
    within_deadline(producer.reserve_buffer(bytes, producer.max_block_deadline()))
        .await
        .expect("memory after the first is written");
    assert!(matches!(producer.try_send(&writer, None, &record(&value), None), Ok(SendResult::Accepted(_))));
}
