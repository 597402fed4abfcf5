//! Proves when a consumer sends fetches: none waits at a broker for new records while another partition of
//! that broker has no room, and none follows an empty response at once.

use crate::support::reader::{consumer, poll, read, rows, tp, write};
use crate::support::*;
use ottla_mock::{Fault, Match, MockCluster, MockConfig, Reaction, TopicSpec};
use ottla_protocol::{ApiKey, ErrorCode};

/// A broker waits this long for new records: a test that depends on it takes minutes.
const LONG_POLL: (&str, &str) = ("fetch.max.wait.ms", "60000");
const SMALL_FETCHES: (&str, &str) = ("max.partition.fetch.bytes", "20000");

/// One broker that leads all partitions of `t`.
async fn one_broker(partitions: i32) -> MockCluster {
    let cluster = MockCluster::start(MockConfig { brokers: 1, ..in_memory() }).await.unwrap();
    cluster.create_topic(TopicSpec::new("t").partitions(partitions)).unwrap();
    cluster
}

/// Appends batches of ten records of 100 bytes.
fn write_batches(cluster: &MockCluster, partition: i32, batches: usize) {
    let values = [&[b'x'; 100][..]; 10];
    for _ in 0..batches {
        cluster.append("t", partition, &values).unwrap();
    }
}

fn fetches(cluster: &MockCluster) -> u64 {
    cluster.request_count(None, ApiKey::Fetch)
}

/// Regression: while one partition was excluded because its records were still buffered, the fetch for the
/// others waited for new records, and the partition waited with it.
#[tokio::test(start_paused = true)]
async fn a_backlog_is_read_without_waiting_for_new_records() {
    for record_at_a_time in [false, true] {
        let cluster = one_broker(6).await;
        for partition in 0..6 {
            // They reach their ends one after the other.
            write_batches(&cluster, partition, 10 + 40 * usize::try_from(partition).unwrap());
        }
        let consumer = consumer(&cluster, &[0, 1, 2, 3, 4, 5], &[LONG_POLL, SMALL_FETCHES]).await;
        let started = Instant::now();
        let mut all = Vec::new();
        within_deadline(async {
            while all.len() < 6_600 {
                let max_records = if record_at_a_time { 1 } else { 500 };
                all.extend(poll(&consumer, max_records, ms(500)).await.expect("records"));
            }
        })
        .await;
        assert!(started.elapsed() < ms(1000), "{:?}", started.elapsed());
        all.sort_unstable();
        let expected = (0..6).flat_map(|partition| rows(partition, 0..100 + 400 * i64::from(partition)));
        assert_eq!(all, expected.collect::<Vec<_>>());
    }
}

/// Regression: the same delayed a partition that had just received records.
#[tokio::test(start_paused = true)]
async fn new_records_arrive_while_another_partitions_buffer_is_full() {
    let cluster = one_broker(2).await;
    write_batches(&cluster, 0, 100);
    let consumer = consumer(&cluster, &[0, 1], &[LONG_POLL, SMALL_FETCHES]).await;
    // One record at a time leaves the buffer of partition 0 full.
    assert_eq!(poll(&consumer, 1, CALL_TIMEOUT).await.unwrap(), rows(0, 0..1));
    tokio::time::sleep(ms(1000)).await;
    let before = fetches(&cluster);
    tokio::time::sleep(ms(10_000)).await;
    let sent = fetches(&cluster) - before;
    assert!((100..=600).contains(&sent), "{sent} fetches in 10 s");
    write(&cluster, 1, 1);
    tokio::time::sleep(ms(100)).await;
    // It is in the buffer: no fetch is needed.
    let fault = cluster.inject(Fault::new(Match::api(ApiKey::Fetch), Reaction::Silence));
    let mut all = Vec::new();
    within_deadline(async {
        while !all.contains(&(1, 0)) {
            all.extend(poll(&consumer, 500, ms(500)).await.expect("records"));
        }
    })
    .await;
    cluster.remove_fault(fault);
}

/// Regression: the first fetch reserved most of `prefetch.max.bytes` and the second the rest, so that the broker with the
/// records was asked once one of the others had waited for new ones.
#[tokio::test(start_paused = true)]
async fn a_broker_that_is_asked_last_does_not_wait_for_the_others() {
    const BROKERS: i32 = 12;
    for last in [Match::api(ApiKey::ListOffsets), Match::api(ApiKey::OffsetForLeaderEpoch)] {
        let brokers = usize::try_from(BROKERS).unwrap();
        let cluster = MockCluster::start(MockConfig { brokers, ..in_memory() }).await.unwrap();
        cluster.create_topic(TopicSpec::new("t").partitions(BROKERS)).unwrap();
        // Each has its position later than the one before.
        for partition in 0..BROKERS {
            let leader = cluster.leader("t", partition).expect("a leader");
            let delay = ms(10 * u64::try_from(partition).unwrap());
            cluster.inject(Fault::new(last.clone().broker(leader), Reaction::Delay(delay)));
        }
        write(&cluster, BROKERS - 1, 1);
        let all: Vec<i32> = (0..BROKERS).collect();
        let consumer = consumer(&cluster, &all, &[LONG_POLL]).await;
        let started = Instant::now();
        assert_eq!(read(&consumer, 1).await, rows(BROKERS - 1, 0..1));
        assert!(started.elapsed() < ms(1_000), "{:?}", started.elapsed());
    }
}

/// The same for a partition that is assigned while the others wait.
#[tokio::test(start_paused = true)]
async fn a_broker_that_nobody_expected_does_not_wait_for_the_others() {
    let cluster = MockCluster::start(MockConfig { brokers: 3, ..in_memory() }).await.unwrap();
    cluster.create_topic(TopicSpec::new("t").partitions(3)).unwrap();
    write(&cluster, 2, 1);
    let consumer = consumer(&cluster, &[0, 1], &[LONG_POLL]).await;
    assert_eq!(poll(&consumer, 500, ms(500)).await.expect("nothing"), []);
    consumer.assign(vec![tp(0), tp(1), tp(2)]).expect("assigned");
    let started = Instant::now();
    assert_eq!(read(&consumer, 1).await, rows(2, 0..1));
    assert!(started.elapsed() < ms(1_000), "{:?}", started.elapsed());
}

/// Of what is fetched while it is busy, an application sees nothing before it polls again.
#[tokio::test(start_paused = true)]
async fn a_trickle_is_fetched_shortly_before_the_application_polls() {
    let cluster = one_broker(2).await;
    let consumer = consumer(&cluster, &[0, 1], &[LONG_POLL]).await;
    write(&cluster, 0, 1);
    assert_eq!(read(&consumer, 1).await, rows(0, 0..1));
    let (mut written, mut oldest) = (Vec::new(), ms(0));
    let (mut seen, mut before) = (0, 0);
    for turn in 0..105 {
        if turn == 5 {
            // It has learnt how long the application is busy.
            before = fetches(&cluster);
        }
        for _ in 0..20 {
            write(&cluster, 1, 1);
            written.push(Instant::now());
            tokio::time::sleep(ms(1)).await;
        }
        for (_, offset) in poll(&consumer, 500, ms(0)).await.unwrap() {
            assert_eq!(offset, seen);
            if turn >= 5 {
                oldest = oldest.max(written[usize::try_from(seen).unwrap()].elapsed());
            }
            seen += 1;
        }
    }
    let sent = fetches(&cluster) - before;
    assert!((90..=110).contains(&sent), "{sent} fetches for 100 polls");
    assert!(oldest <= ms(24), "a record was {oldest:?} old when it was polled");
    // While the application waits, a record is there at once.
    read(&consumer, written.len() - usize::try_from(seen).unwrap()).await;
    let writer = async {
        tokio::time::sleep(ms(100)).await;
        write(&cluster, 0, 1);
        Instant::now()
    };
    let (written, read) = tokio::join!(writer, async { (read(&consumer, 1).await, Instant::now()) });
    assert_eq!(read.0, rows(0, 1..2));
    assert!(read.1.saturating_duration_since(written) < ms(5));
}

/// A poll that took what the first broker has returned left the records of the others for the next one.
#[tokio::test(start_paused = true)]
async fn a_poll_returns_the_trickle_of_all_brokers() {
    let cluster = MockCluster::start(MockConfig { brokers: 2, ..in_memory() }).await.unwrap();
    cluster.create_topic(TopicSpec::new("t").partitions(2)).unwrap();
    let consumer = consumer(&cluster, &[0, 1], &[LONG_POLL]).await;
    let slow = Match::api(ApiKey::Fetch).broker(cluster.leader("t", 1).unwrap());
    cluster.inject(Fault::new(slow, Reaction::Delay(ms(3))));
    let mut written: [Vec<Instant>; 2] = Default::default();
    let mut oldest = ms(0);
    for turn in 0..50 {
        for _ in 0..20 {
            for partition in [0, 1] {
                write(&cluster, partition, 1);
                written[usize::try_from(partition).unwrap()].push(Instant::now());
            }
            tokio::time::sleep(ms(1)).await;
        }
        let polled = poll(&consumer, 500, CALL_TIMEOUT).await.unwrap();
        if turn < 5 {
            // It has yet to learn how long the application is busy.
            continue;
        }
        for partition in [0, 1] {
            let count = polled.iter().filter(|(of, _)| *of == partition).count();
            assert!(count >= 15, "{count} records of partition {partition}");
        }
        for (partition, offset) in polled {
            let at = written[usize::try_from(partition).unwrap()][usize::try_from(offset).unwrap()];
            oldest = oldest.max(at.elapsed());
        }
    }
    assert!(oldest <= ms(28), "a record was {oldest:?} old when it was polled");
}

/// A paused partition does not count, however many of its records are buffered.
#[tokio::test(start_paused = true)]
async fn paused_partitions_shorten_no_long_poll() {
    let cluster = one_broker(2).await;
    write_batches(&cluster, 0, 100);
    let consumer = consumer(&cluster, &[0, 1], &[LONG_POLL, SMALL_FETCHES]).await;
    assert_eq!(poll(&consumer, 1, CALL_TIMEOUT).await.unwrap(), rows(0, 0..1));
    consumer.pause(&[tp(0)], true).unwrap();
    tokio::time::sleep(ms(1000)).await;
    let before = fetches(&cluster);
    tokio::time::sleep(ms(30_000)).await;
    assert_eq!(fetches(&cluster), before, "the broker got another fetch instead of waiting");
    write(&cluster, 1, 1);
    let started = Instant::now();
    assert_eq!(read(&consumer, 1).await, rows(1, 0..1));
    assert!(started.elapsed() < ms(100));
}

/// Regression: a partition in backoff waited for the end of the others' long poll.
#[tokio::test(start_paused = true)]
async fn a_partition_is_fetched_when_its_backoff_ends() {
    let cluster = one_broker(2).await;
    write(&cluster, 0, 5);
    let of = Match::api(ApiKey::Fetch).topic("t").partition(0);
    cluster.inject(Fault::once(of, Reaction::Error(ErrorCode::KafkaStorageError)));
    let consumer = consumer(&cluster, &[0, 1], &[LONG_POLL]).await;
    let started = Instant::now();
    assert_eq!(read(&consumer, 5).await, rows(0, 0..5));
    assert!(started.elapsed() < ms(2000));
}

/// Regression: a broker that rejects every session got 25,000 requests a second.
#[tokio::test(start_paused = true)]
async fn rejected_sessions_start_anew_at_once_and_then_with_backoff() {
    for code in [ErrorCode::FetchSessionIdNotFound, ErrorCode::InvalidFetchSessionEpoch] {
        let cluster = one_broker(1).await;
        write(&cluster, 0, 5);
        let fault = cluster.inject(Fault::new(Match::api(ApiKey::Fetch), Reaction::Error(code)));
        let pairs = [LONG_POLL, ("retry.backoff.ms", "100"), ("retry.backoff.max.ms", "1000")];
        let consumer = consumer(&cluster, &[0], &pairs).await;
        assert_eq!(poll(&consumer, 500, ms(10_000)).await.unwrap(), []);
        let sent = fetches(&cluster);
        assert!((8..30).contains(&sent), "{code:?}: {sent} fetches in 10 s");
        cluster.remove_fault(fault);
        assert_eq!(read(&consumer, 5).await, rows(0, 0..5));
    }
}

/// A broker that may not wait gets its next request after a pause all the same.
#[tokio::test(start_paused = true)]
async fn without_a_long_poll_fetches_are_milliseconds_apart() {
    let cluster = one_broker(1).await;
    let consumer = consumer(&cluster, &[0], &[("fetch.max.wait.ms", "0")]).await;
    assert_eq!(poll(&consumer, 500, ms(1000)).await.unwrap(), []);
    let sent = fetches(&cluster);
    assert!((50..=201).contains(&sent), "{sent} fetches in a second");
    write(&cluster, 0, 1);
    let started = Instant::now();
    assert_eq!(read(&consumer, 1).await, rows(0, 0..1));
    assert!(started.elapsed() < ms(50));
}
