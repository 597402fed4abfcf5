//! Tests records without a key: they are spread over the available partitions, a batch at a time;
//! evenly under even load, less to slow brokers, and within the client's rack if configured.

use std::collections::HashMap;

use crate::support::*;
use ottla_client::producer::Producer;
use ottla_client::producer::partitioner::{
    BrokerAvailability, PartitionLoad, PartitionWeights, StickyPartition,
};
use ottla_mock::{Fault, Match, MockCluster, Reaction};
use ottla_protocol::ApiKey;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tokio::time::Instant;

fn load(partition: i32, queued_batches: usize) -> PartitionLoad {
    PartitionLoad { partition, available: true, in_rack: false, queued_batches }
}

fn picks(weights: &PartitionWeights, seed: u64, times: usize) -> HashMap<i32, usize> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut counts = HashMap::new();
    for _ in 0..times {
        *counts.entry(weights.pick(random.f64()).unwrap()).or_default() += 1;
    }
    counts
}

#[test]
fn under_even_load_the_spread_is_within_five_percent() {
    const RECORD: usize = 100;
    const RECORDS: usize = 6_000_000;
    let weights =
        PartitionWeights::adaptive(&(0..12).map(|partition| load(partition, 0)).collect::<Vec<_>>());
    let mut random = fastrand::Rng::with_seed(7);
    let mut sticky = StickyPartition::default();
    let mut counts = [0_usize; 12];
    let mut open = 0;
    for _ in 0..RECORDS {
        let batch_full = open + RECORD > 1_000;
        let pick = || weights.pick(random.f64());
        let partition = sticky.next(RECORD, 1_000, |_| !batch_full, pick).unwrap();
        open = if batch_full { RECORD } else { open + RECORD };
        counts[usize::try_from(partition).unwrap()] += 1;
    }
    let even = RECORDS / 12;
    assert!(counts.iter().all(|count| count.abs_diff(even) * 20 <= even), "{counts:?}");
}

#[test]
fn the_sticky_partition_changes_when_its_batch_ends_or_after_two_batches() {
    let mut sticky = StickyPartition::default();
    let mut next = |bytes, continues, then| sticky.next(bytes, 100, |_| continues, || Some(then));
    assert_eq!(next(60, false, 1), Some(1));
    assert_eq!(next(60, false, 2), Some(1), "60 bytes are not a batch yet");
    assert_eq!(next(60, true, 3), Some(1), "120 bytes are, but the open batch is not full");
    assert_eq!(next(60, true, 4), Some(1), "180 bytes, and still");
    assert_eq!(next(60, true, 5), Some(5), "240 bytes are enough anyway");
    assert_eq!(next(150, true, 6), Some(5));
    assert_eq!(next(1, false, 7), Some(7), "the batch has ended");
    sticky.give_back(7, 1);
    sticky.give_back(5, 1_000);
    assert_eq!(sticky.next(99, 100, |_| false, || Some(8)), Some(7));
    assert_eq!(
        sticky.next(1, 100, |_| false, || Some(9)),
        Some(7),
        "bytes that were taken back do not count"
    );
    assert_eq!(sticky.next(1, 100, |_| false, || None), None);
    assert_eq!(sticky.next(1, 0, |_| true, || Some(3)), Some(3), "a batch size of 0 counts as 1");
}

#[test]
fn the_weight_falls_with_the_queue_length() {
    // The longest queue plus one is 10: the weights are 10, 9, 5 and 1.
    let weights = PartitionWeights::adaptive(&[load(0, 0), load(1, 1), load(2, 5), load(3, 9)]);
    let counts = picks(&weights, 11, 250_000);
    for (partition, weight) in [(0, 10), (1, 9), (2, 5), (3, 1)] {
        let expected = weight * 10_000;
        assert!(counts[&partition].abs_diff(expected) * 20 <= expected, "{counts:?}");
    }
}

#[test]
fn brokers_are_unavailable_when_batches_have_waited_for_too_long() {
    let (start, limit) = (Instant::now(), ms(100));
    let mut availability = BrokerAvailability::default();
    availability.mark_waiting(1, start);
    availability.mark_waiting(1, start + ms(90));
    assert!(availability.is_available(1, limit, start + ms(100)));
    assert!(!availability.is_available(1, limit, start + ms(101)), "since the first");
    assert!(availability.is_available(2, limit, start + ms(101)), "the others are");
    assert!(availability.is_available(1, ms(0), start + ms(101)), "zero disables the check");
    availability.mark_progress(1);
    assert!(availability.is_available(1, limit, start + ms(500)));
    availability.mark_waiting(1, start + ms(500));
    assert!(availability.is_available(1, limit, start + ms(600)));
}

/// The same cases in each run.
fn seeded() -> ProptestConfig {
    ProptestConfig { rng_seed: RngSeed::Fixed(480), failure_persistence: None, ..Default::default() }
}

proptest! {
    #![proptest_config(seeded())]

    /// Only candidates are chosen, and one always is.
    #[test]
    fn only_available_partitions_are_chosen(
        flags in proptest::collection::vec((any::<bool>(), any::<bool>(), 0_usize..1_000), 1..20),
        random in 0.0_f64..1.0,
    ) {
        let loads: Vec<PartitionLoad> = (0..).zip(&flags).map(|(partition, (available, in_rack, queued_batches))| {
            PartitionLoad { partition, available: *available, in_rack: *in_rack, queued_batches: *queued_batches }
        }).collect();
        for weights in [PartitionWeights::adaptive(&loads), PartitionWeights::uniform(&loads)] {
            let chosen = weights.pick(random).unwrap();
            let chosen = loads[usize::try_from(chosen).unwrap()];
            prop_assert!(chosen.available || loads.iter().all(|load| !load.available));
            prop_assert!(chosen.in_rack || loads.iter().all(|load| !(load.in_rack && load.available)));
        }
    }

    /// Between two switches a partition gets at least one batch, and at most two and a record.
    #[test]
    fn a_partition_gets_between_one_batch_and_two(
        sizes in proptest::collection::vec((1_usize..150, any::<bool>()), 1..300),
    ) {
        let mut sticky = StickyPartition::default();
        let (mut turn, mut bytes, mut last) = (0, 0, 0);
        for (at, (size, continues)) in sizes.into_iter().enumerate() {
            let partition = sticky.next(size, 100, |_| continues, || { turn += 1; Some(turn) }).unwrap();
            prop_assert_eq!(partition, turn, "it is the last pick");
            if partition != last {
                prop_assert!(at == 0 || (100..350).contains(&bytes), "{bytes}");
                bytes = 0;
            }
            bytes += size;
            last = partition;
        }
    }
}

#[test]
fn without_partitions_there_is_no_choice() {
    assert_eq!(PartitionWeights::adaptive(&[]).pick(0.5), None);
}

#[tokio::test(start_paused = true)]
async fn records_without_a_key_fill_batches_and_spread_over_partitions_with_a_leader() {
    let cluster = cluster(4).await;
    let pairs = [("batch.size", "200"), ("linger.ms", "5")];
    let producer = producer(&cluster, &pairs).await;
    let mut partitions: Vec<i32> = Vec::new();
    for _ in 0..2000 {
        let sent = within_deadline(producer.send("t", None, &record(b"0123456789"))).await.unwrap();
        partitions.push(sent.produce_result.partition().1);
    }
    let switches = partitions.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!((100..700).contains(&switches), "{switches}: stays for a batch, then moves on");
    let mut counts: HashMap<i32, usize> = HashMap::new();
    partitions.iter().for_each(|partition| *counts.entry(*partition).or_default() += 1);
    assert!(counts.len() == 4 && counts.values().all(|count| (250..800).contains(count)), "{counts:?}");
    within_deadline(producer.flush(CALL_TIMEOUT)).await.unwrap();
    assert_eq!((0..4).map(|partition| log(&cluster, "t", partition).len()).sum::<usize>(), 2000);
}

/// Sends records without a key at a pace that a healthy broker can follow, and counts them by
/// partition.
async fn paced(producer: &Producer, records: usize) -> HashMap<i32, usize> {
    let mut counts = HashMap::new();
    for n in 0..records {
        let sent = within_deadline(producer.send("t", None, &record(b"0123456789"))).await.unwrap();
        *counts.entry(sent.produce_result.partition().1).or_default() += 1;
        if n % 20 == 0 {
            tokio::time::sleep(ms(1)).await;
        }
    }
    counts
}

/// The partition that a broker leads.
fn led_by(cluster: &MockCluster, broker: i32) -> i32 {
    (0..3).find(|partition| cluster.leader("t", *partition) == Some(broker)).expect("a partition")
}

const PRODUCE: ApiKey = ApiKey::Produce;

#[tokio::test(start_paused = true)]
async fn a_slow_broker_gets_fewer_records() {
    let cluster = cluster(3).await;
    let slow = led_by(&cluster, 2);
    cluster.inject(Fault::new(Match::api(PRODUCE).broker(2), Reaction::Delay(ms(100))));
    let pairs = [("batch.size", "200"), ("linger.ms", "0")];
    let adaptive = producer(&cluster, &pairs).await;
    let counts = paced(&adaptive, 3_000).await;
    let least = counts.iter().filter(|(p, _)| **p != slow).map(|(_, count)| *count).min().unwrap();
    let slows = counts.get(&slow).copied().unwrap_or_default();
    assert!(slows * 2 < least, "{counts:?}, slow is {slow}");

    let even = [("partitioner.adaptive.partitioning.enable", "false"), pairs[0], pairs[1]];
    let even = producer(&cluster, &even).await;
    let counts = paced(&even, 3_000).await;
    assert!(counts.values().all(|count| (600..1_400).contains(count)), "{counts:?}: all the same");
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_accepts_nothing_is_avoided_until_it_does() {
    let cluster = cluster(3).await;
    let stuck = led_by(&cluster, 2);
    cluster.inject(Fault::once(Match::api(PRODUCE).broker(2), Reaction::Delay(ms(4_000))));
    let pairs = [("batch.size", "200"), ("linger.ms", "0"), ("partitioner.availability.timeout.ms", "20")];
    let producer = producer(&cluster, &pairs).await;
    let avoided = async { while paced(&producer, 1_000).await.contains_key(&stuck) {} };
    within_deadline(avoided).await;
    let back = async { while !paced(&producer, 100).await.contains_key(&stuck) {} };
    within_deadline(back).await;
}

#[tokio::test(start_paused = true)]
async fn with_rack_awareness_records_stay_in_the_rack_while_it_has_leaders() {
    let cluster = cluster(3).await;
    let near = led_by(&cluster, 2);
    for adaptive in ["true", "false"] {
        let pairs = [
            ("batch.size", "200"),
            ("client.rack", "rack-b"),
            ("partitioner.rack.aware", "true"),
            ("partitioner.adaptive.partitioning.enable", adaptive),
        ];
        let producer = producer(&cluster, &pairs).await;
        let counts = paced(&producer, 500).await;
        assert_eq!(counts.keys().collect::<Vec<_>>(), [&near], "{counts:?}");
        within_deadline(producer.close(CALL_TIMEOUT)).await.unwrap();
    }
    let elsewhere = [("batch.size", "200"), ("client.rack", "rack-z"), ("partitioner.rack.aware", "true")];
    let producer = producer(&cluster, &elsewhere).await;
    assert_eq!(paced(&producer, 1_000).await.len(), 3, "a rack without brokers does not count");
}
