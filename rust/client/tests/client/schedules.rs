//! Proves, for random schedules of sends and faults (errors, also after the append, lost requests and
//! responses, delays, leaders that move, brokers that stop): every acknowledged record is in the log at
//! the reported offset, in order per partition; a record that failed without `maybe_done` is not in the
//! log; with idempotence no record is in the log twice or before an earlier one; every delivery
//! completes. A failure prints its seed: `OTTLA_SEED=n cargo test -p ottla-client --test client
//! schedules::`.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::*;
use ottla_client::producer::Delivery;
use ottla_mock::{Fault, Match, MockCluster, Reaction, When};
use ottla_protocol::{ApiKey, ErrorCode};

const PARTITIONS: i32 = 4;
const SEEDS: u64 = 24;
const STEPS: usize = 400;

const CODES: [ErrorCode; 9] = [
    ErrorCode::MessageTooLarge,
    ErrorCode::NotLeaderOrFollower,
    ErrorCode::UnknownTopicOrPartition,
    ErrorCode::LeaderNotAvailable,
    ErrorCode::NotEnoughReplicas,
    ErrorCode::RequestTimedOut,
    ErrorCode::CorruptMessage,
    ErrorCode::InvalidRecord,
    ErrorCode::TopicAuthorizationFailed,
];

/// Error codes that a leader may return after it has appended.
const AFTER_APPEND: [ErrorCode; 3] = [
    ErrorCode::NotLeaderOrFollower,
    ErrorCode::UnknownTopicOrPartition,
    ErrorCode::NotEnoughReplicasAfterAppend,
];

fn fault(random: &mut fastrand::Rng) -> Fault {
    let produce = Match::api(ApiKey::Produce).skip(random.u64(..3));
    let partial = produce.clone().topic("t").partition(random.i32(0..PARTITIONS));
    match random.u8(..10) {
        0..3 => Fault::once(partial, Reaction::Error(CODES[random.usize(..CODES.len())])),
        3 => Fault::once(produce, Reaction::Disconnect(When::BeforeHandling)),
        4 => Fault::once(produce, Reaction::Disconnect(When::AfterHandling)),
        5 => Fault::once(produce, Reaction::Delay(ms(random.u64(1..400)))),
        6 => Fault::once(produce, Reaction::TruncateFrame),
        7 | 8 => Fault::once(partial, Reaction::ErrorAfterHandling(AFTER_APPEND[random.usize(..3)])),
        _ => Fault::once(Match::api(ApiKey::Metadata), Reaction::Delay(ms(random.u64(1..100)))),
    }
}

/// Faults of the producer's other requests, applied or not.
fn fault_of_another_api(random: &mut fastrand::Rng) -> Fault {
    let apis = [ApiKey::InitProducerId, ApiKey::Metadata, ApiKey::FindCoordinator];
    let on = Match::api(apis[random.usize(..apis.len())]);
    match random.u8(..3) {
        0 => Fault::once(on, Reaction::Disconnect(When::AfterHandling)),
        1 => Fault::once(on, Reaction::ErrorAfterHandling(ErrorCode::CoordinatorLoadInProgress)),
        _ => Fault::once(on, Reaction::ErrorAfterHandling(ErrorCode::LeaderNotAvailable)),
    }
}

/// Makes a random change to the cluster. At most one broker is down.
async fn disturb(cluster: &MockCluster, random: &mut fastrand::Rng, down: &mut Option<i32>) {
    match random.u8(..6) {
        0 | 1 => drop(cluster.inject(fault(random))),
        5 => drop(cluster.inject(fault_of_another_api(random))),
        // A broker that is not in sync cannot become the leader: then nothing happens.
        2 => drop(cluster.move_leader("t", random.i32(0..PARTITIONS), random.i32(1..=3))),
        // Of older batches, brokers know only that they are out of order.
        3 => cluster.forget_producers("t", random.i32(0..PARTITIONS), true).unwrap(),
        _ => match down.take() {
            Some(broker) => cluster.start_broker(broker).await.unwrap(),
            None => {
                let broker = random.i32(1..=3);
                cluster.stop_broker(broker).await.unwrap();
                *down = Some(broker);
            }
        },
    }
}

async fn check(cluster: &MockCluster, partition: i32, sent: &[(String, Delivery)], idempotent: bool) {
    let log = log(cluster, "t", partition);
    if idempotent {
        let mut last = -1;
        for (offset, value) in &log {
            let place = sent.iter().position(|(sent, _)| sent == value).expect("a value that was sent");
            let place = i64::try_from(place).unwrap();
            assert!(place > last, "{value} at {offset} is there twice, or too late");
            last = place;
        }
    }
    let by_offset: HashMap<i64, &String> = log.iter().map(|(offset, value)| (*offset, value)).collect();
    let mut last = -1;
    for (value, delivery) in sent {
        let result = delivery.result().expect("after a flush every promise has ended");
        match result.map(|written| written.offset) {
            // An earlier attempt succeeded, at an unknown offset.
            Ok(-1) => assert!(log.iter().any(|(_, found)| found == value), "{value} is not in the log"),
            Ok(offset) => {
                assert_eq!(by_offset.get(&offset), Some(&value), "{value} acknowledged at {offset}");
                assert!(offset > last, "{value} at {offset} is before {last}");
                last = offset;
            }
            Err(error) if error.is_maybe_done() => {}
            Err(error) => {
                assert!(log.iter().all(|(_, found)| found != value), "{value} is in the log: {error}");
            }
        }
    }
}

/// Returns how many records were acknowledged.
async fn run(seed: u64) -> usize {
    let mut random = fastrand::Rng::with_seed(seed);
    let cluster = cluster(PARTITIONS).await;
    let idempotent = random.u8(..4) > 0;
    // As documented, several batches in flight may be reordered without idempotence.
    let in_flight = if idempotent { ["1", "5"][random.usize(..2)] } else { "1" };
    let pairs = [
        ("enable.idempotence", if idempotent { "true" } else { "false" }),
        ("linger.ms", ["0", "1", "5"][random.usize(..3)]),
        ("batch.size", ["60", "500", "16384"][random.usize(..3)]),
        ("compression.type", ["none", "lz4", "zstd"][random.usize(..3)]),
        ("max.in.flight.requests.per.connection", in_flight),
        ("buffer.memory", ["4000", "33554432"][random.usize(..2)]),
        ("request.timeout.ms", "250"),
        ("delivery.timeout.ms", "700"),
    ];
    let producer = producer(&cluster, &pairs).await;
    let mut sent: Vec<Vec<(String, Delivery)>> = (0..PARTITIONS).map(|_| Vec::new()).collect();
    let mut down = None;
    for n in 0..STEPS {
        let partition = random.usize(..sent.len());
        let value = format!("{partition}-{n}");
        let delivery = send(&producer, i32::try_from(partition).unwrap(), &value).await;
        sent[partition].push((value, delivery));
        match random.u8(..100) {
            0..6 => disturb(&cluster, &mut random, &mut down).await,
            6..20 => tokio::time::sleep(ms(random.u64(1..6))).await,
            20 => within_deadline(producer.flush(CALL_TIMEOUT)).await.expect("flushed"),
            _ => {}
        }
    }
    within_deadline(producer.flush(CALL_TIMEOUT)).await.expect("every promise ends");
    // Requests that were given up may still be with the brokers.
    tokio::time::sleep(ms(450)).await;
    for (partition, sent) in (0..).zip(&sent) {
        check(&cluster, partition, sent, idempotent).await;
    }
    until(|| producer.buffered_bytes() == 0).await;
    sent.iter().flatten().filter(|(_, d)| matches!(d.result(), Some(Ok(_)))).count()
}

#[tokio::test(start_paused = true)]
async fn random_schedules_keep_all_guarantees() {
    let (runs, written) = (AtomicUsize::new(0), AtomicUsize::new(0));
    every_seed(SEEDS, async |seed| {
        written.fetch_add(run(seed).await, Ordering::Relaxed);
        runs.fetch_add(1, Ordering::Relaxed);
    })
    .await;
    let (runs, written) = (runs.into_inner(), written.into_inner());
    // A single run may have only failures; all runs together may not.
    assert!(runs < 10 || written > runs * STEPS / 4, "only {written} of {runs} x {STEPS} were written");
}
