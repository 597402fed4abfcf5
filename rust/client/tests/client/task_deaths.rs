//! Proves: a task that panics is an error for all its waiters, and leaks nothing: no permit, no memory,
//! no other partition.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::panics::{panic_at, panic_at_request};
use crate::support::reader::{consumer, poll, read, rows, write};
use crate::support::*;
use ottla_client::consumer::group::Subscription;
use ottla_client::consumer::{ChunkScan, Consumer, Range, ScanOptions};
use ottla_client::environment::{BoxFuture, Environment, Network, SocketOptions, Stream};
use ottla_client::producer::Producer;
use ottla_client::{Client, Error, Kind};
use ottla_mock::{Fault, Match, MockCluster, Reaction, When};
use ottla_protocol::{ApiKey, ErrorCode};

async fn polled_error(consumer: &Consumer) -> Error {
    within_deadline(async {
        loop {
            if let Err(error) = poll(consumer, 500, ms(500)).await {
                return error;
            }
        }
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn a_fetch_that_panics_fails_the_poll_and_loses_no_record() {
    let cluster = cluster(2).await;
    write(&cluster, 0, 10);
    write(&cluster, 1, 10);
    let guard = panic_at_request("Fetch", 1);
    let consumer = consumer(&cluster, &[0, 1], &[]).await;
    let error = polled_error(&consumer).await;
    assert_eq!(error.kind(), Kind::Internal, "{error}");
    assert!(error.to_string().contains("on purpose"), "{error}");
    let mut all = read(&consumer, 20).await;
    all.sort_unstable();
    assert_eq!(all, [rows(0, 0..10), rows(1, 0..10)].concat());
    drop(guard);
}

/// Regression: after the lookup of a position panicked, polls returned nothing for ever.
#[tokio::test(start_paused = true)]
async fn every_poll_fails_after_the_fetcher_panicked() {
    let cluster = cluster(1).await;
    write(&cluster, 0, 10);
    for at in [" api=ListOffsets ", "message=fetch failed"] {
        let refused = Reaction::Disconnect(When::BeforeHandling);
        let fault = cluster.inject(Fault::new(Match::api(ApiKey::Fetch), refused));
        let guard = panic_at(at, 1);
        let consumer = consumer(&cluster, &[0], &[]).await;
        for _ in 0..3 {
            assert_eq!(polled_error(&consumer).await.kind(), Kind::Internal, "{at}");
        }
        drop(guard);
        cluster.remove_fault(fault);
    }
}

async fn scan(cluster: &MockCluster) -> ChunkScan {
    let options = ScanOptions {
        fail_on_data_loss: true,
        read_committed: false,
        max_bytes: 1 << 20,
        timeout: CALL_TIMEOUT,
    };
    let range = Range { partition: ("t".into(), 0), start: 0, end: 10 };
    ChunkScan::start(client(cluster, &[]).await, vec![range], options)
}

/// Regression: a scan whose task had panicked looked like one that had read everything.
#[tokio::test(start_paused = true)]
async fn a_scan_that_panics_fails_for_good() {
    let cluster = cluster(1).await;
    write(&cluster, 0, 10);
    for at in [" api=Fetch ", "message=fetch failed"] {
        let lost = Reaction::Disconnect(When::BeforeHandling);
        let fault = cluster.inject(Fault::once(Match::api(ApiKey::Fetch), lost));
        let guard = panic_at(at, 1);
        let mut scan = scan(&cluster).await;
        for _ in 0..3 {
            let error = within_deadline(scan.next()).await.expect("an end that is none").expect_err(at);
            assert_eq!(error.kind(), Kind::Internal, "{at}: {error}");
        }
        drop(guard);
        cluster.remove_fault(fault);
    }
}

/// Regression: a scan that was continued after an error went on behind the records that it had lost.
#[tokio::test(start_paused = true)]
async fn a_failed_scan_fails_each_time() {
    let cluster = cluster(1).await;
    write(&cluster, 0, 10);
    let refused = Reaction::Error(ErrorCode::TopicAuthorizationFailed);
    cluster.inject(Fault::once(Match::api(ApiKey::Fetch), refused));
    let mut scan = scan(&cluster).await;
    for _ in 0..3 {
        let error = within_deadline(scan.next()).await.expect("an end that is none").expect_err("an error");
        assert_eq!(error.kind(), Kind::Authorization, "{error}");
    }
}

/// Regression: a Produce request whose task panicked kept its permit and its memory, and its partition
/// waited for it for ever.
#[tokio::test(start_paused = true)]
async fn a_produce_request_that_panics_fails_its_records_and_leaks_nothing() {
    for idempotence in ["true", "false"] {
        let cluster = cluster(1).await;
        let pairs = [("enable.idempotence", idempotence), ("max.in.flight.requests.per.connection", "1")];
        let producer = producer(&cluster, &pairs).await;
        offset_of(&send(&producer, 0, "before").await).await.expect("written");
        let guard = panic_at_request("Produce", 1);
        let error = offset_of(&send(&producer, 0, "lost").await).await.expect_err("an error");
        drop(guard);
        assert_eq!(error.kind(), Kind::Internal, "{error}");
        assert!(error.is_maybe_done(), "it was handed to the connection: {error}");
        offset_of(&send(&producer, 0, "after").await).await.expect("written");
        assert_eq!(producer.buffered_bytes(), 0);
        within_deadline(producer.flush(CALL_TIMEOUT)).await.expect("flushed");
    }
}

/// Regression: after the sender's task panicked, records waited for ever and nothing expired.
#[tokio::test(start_paused = true)]
async fn all_records_fail_after_the_sender_panicked() {
    let cluster = cluster(2).await;
    let producer = producer(&cluster, &[]).await;
    let again = Reaction::Error(ErrorCode::NotLeaderOrFollower);
    cluster.inject(Fault::new(Match::api(ApiKey::Produce).partition(0), again));
    cluster.inject(Fault::new(Match::api(ApiKey::Produce).partition(1), Reaction::Delay(ms(5000))));
    let _guard = panic_at("message=batch is sent again", 1);
    let sent = [send(&producer, 1, "waits").await, send(&producer, 0, "x").await];
    for delivery in &sent {
        offset_of(delivery).await.expect_err("an error");
    }
    let refused = within_deadline(producer.send("t", Some(0), &record(b"later"))).await.map(|_| ());
    assert_eq!(refused.map_err(|error| error.kind()), Err(Kind::Internal));
    within_deadline(producer.flush(CALL_TIMEOUT)).await.expect("nothing is left to wait for");
}

#[tokio::test(start_paused = true)]
async fn a_panicking_request_for_a_producer_id_fails_its_waiters() {
    let cluster = cluster(1).await;
    let guard = panic_at_request("InitProducerId", 1);
    let producer = producer(&cluster, &[]).await;
    let error = offset_of(&send(&producer, 0, "x").await).await.expect_err("an error");
    drop(guard);
    assert_eq!(error.kind(), Kind::Internal, "{error}");
    offset_of(&send(&producer, 0, "y").await).await.expect("written");
}

/// A network that panics when it is asked to connect.
#[derive(Debug, Default)]
struct Deadly {
    memory: Memory,
    on: AtomicBool,
}

impl Network for Deadly {
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
        self.memory.resolve(host, port)
    }

    fn connect(
        &self,
        address: SocketAddr,
        options: SocketOptions,
    ) -> BoxFuture<'_, io::Result<Box<dyn Stream>>> {
        assert!(!self.on.load(Ordering::Acquire), "on purpose");
        self.memory.connect(address, options)
    }
}

/// Regression: after an attempt to connect panicked, its broker was unreachable for ever, and all
/// waiters were told that its address had changed.
#[tokio::test(start_paused = true)]
async fn an_attempt_to_connect_that_panics_is_an_error_and_the_next_one_works() {
    // One of the leaders is the bootstrap server, which stays connected; the others are not connected
    // yet.
    let cluster = cluster(3).await;
    let network = Arc::new(Deadly::default());
    let environment = Environment::new(Arc::clone(&network) as Arc<dyn Network>, fastrand::Rng::with_seed(1));
    let servers = cluster.bootstrap();
    let client = within_deadline(Client::connect(config(&servers, &[]), environment, CALL_TIMEOUT))
        .await
        .expect("a client");
    let producer = Producer::new(client).expect("a producer");
    network.on.store(true, Ordering::Release);
    let mut failed = Vec::new();
    for partition in 0..3 {
        failed.extend(offset_of(&send(&producer, partition, "x").await).await.err());
    }
    assert!(failed.len() >= 2, "{failed:?}");
    assert!(failed.iter().all(|error| error.kind() == Kind::Internal), "{failed:?}");
    network.on.store(false, Ordering::Release);
    for partition in 0..3 {
        offset_of(&send(&producer, partition, "y").await).await.expect("written");
    }
}

#[tokio::test(start_paused = true)]
async fn a_member_s_request_that_panics_fails_the_poll() {
    for (protocol, api) in [("classic", "JoinGroup"), ("consumer", "ConsumerGroupHeartbeat")] {
        let cluster = cluster(1).await;
        write(&cluster, 0, 5);
        let pairs = [("group.id", "g"), ("group.protocol", protocol), ("auto.offset.reset", "earliest")];
        let consumer = Consumer::new(client(&cluster, &pairs).await);
        let topics = ["t".into()].into_iter().collect();
        consumer.subscribe(Subscription::Topics(topics)).expect("subscribed");
        let guard = panic_at_request(api, 1);
        let mut seen = Vec::new();
        within_deadline(async {
            let mut read = 0;
            while read < 5 || seen.is_empty() {
                match consumer.wait_until_ready(Instant::now() + ms(500)).await {
                    Ok(ottla_client::consumer::PollOutcome::Rebalance(change)) => {
                        consumer.prepare_rebalance(&change).await;
                        seen.extend(consumer.complete_rebalance(&change).err());
                    }
                    Ok(_) => {
                        read += consumer.take_records(500).iter().map(|set| set.entries.len()).sum::<usize>()
                    }
                    Err(error) => seen.push(error),
                }
            }
        })
        .await;
        drop(guard);
        assert!(seen.iter().any(|error| error.kind() == Kind::Internal), "{protocol}: {seen:?}");
    }
}
