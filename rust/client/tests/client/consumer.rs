//! Proves: a consumer delivers each record of its partitions once and in order, and its position follows
//! the delivered records. Seeks, pauses and new assignments take effect at once, whatever is in flight. It
//! survives moving leaders, stopping brokers, forgotten sessions and corrupt bytes, and prefetches within
//! its bound.

use crate::support::*;
use ottla_client::consumer::Consumer;
use ottla_client::{Error, Kind, OffsetSpec, TopicPartition};
use ottla_mock::{Fault, Match, MockCluster, Reaction, When};
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::time::{Duration, Instant};

const EARLIEST: (&str, &str) = ("auto.offset.reset", "earliest");

fn tp(partition: i32) -> TopicPartition {
    ("t".into(), partition)
}

/// Writes `count` values to a partition, ten per batch.
async fn fill(cluster: &MockCluster, partition: i32, numbers: std::ops::Range<i64>, pairs: &[(&str, &str)]) {
    let producer = producer(cluster, pairs).await;
    for n in numbers {
        send(&producer, partition, &n.to_string()).await;
        if n % 10 == 9 {
            within_deadline(producer.flush(CALL_TIMEOUT)).await.expect("written");
        }
    }
    within_deadline(producer.close(CALL_TIMEOUT)).await.expect("written");
}

async fn consumer(cluster: &MockCluster, partitions: &[i32], pairs: &[(&str, &str)]) -> Consumer {
    let pairs: Vec<_> = [EARLIEST].iter().chain(pairs).copied().collect();
    let consumer = Consumer::new(client(cluster, &pairs).await);
    consumer.assign(partitions.iter().map(|p| tp(*p)).collect()).expect("assigned");
    consumer
}

type Row = (i32, i64, String);

/// The records of one poll, at most `max_records`.
async fn poll(consumer: &Consumer, max_records: usize, wait: Duration) -> Result<Vec<Row>, Error> {
    let mut rows = Vec::new();
    for set in consumer.poll(wait, max_records).await? {
        for entry in &set.entries {
            let value = String::from_utf8_lossy(set.value(entry).unwrap_or_default()).into_owned();
            rows.push((set.partition.1, entry.offset, value));
        }
    }
    Ok(rows)
}

/// Polls until `count` records were read.
async fn read(consumer: &Consumer, count: usize) -> Vec<Row> {
    let mut all = Vec::new();
    within_deadline(async {
        while all.len() < count {
            all.extend(poll(consumer, 500, ms(1_000)).await.expect("records"));
        }
    })
    .await;
    all
}

fn expected(partition: i32, offsets: std::ops::Range<i64>) -> Vec<Row> {
    offsets.map(|n| (partition, n, n.to_string())).collect()
}

fn of(partition: i32, all: &[Row]) -> Vec<Row> {
    all.iter().filter(|row| row.0 == partition).cloned().collect()
}

#[tokio::test(start_paused = true)]
async fn every_codec_and_many_partitions() {
    let cluster = cluster(5).await;
    for (partition, codec) in (0..).zip(["none", "gzip", "snappy", "lz4", "zstd"]) {
        fill(&cluster, partition, 0..100, &[("compression.type", codec)]).await;
    }
    let consumer = consumer(&cluster, &[0, 1, 2, 3, 4], &[]).await;
    let all = read(&consumer, 500).await;
    for partition in 0..5 {
        assert_eq!(of(partition, &all), expected(partition, 0..100));
        assert_eq!(consumer.position(&tp(partition), CALL_TIMEOUT).await.unwrap(), 100);
    }
    assert!(consumer.lag().iter().all(|(_, lag)| *lag == Some(0)), "{:?}", consumer.lag());
    // Records that are written later are read as well.
    fill(&cluster, 2, 100..120, &[]).await;
    assert_eq!(read(&consumer, 20).await, expected(2, 100..120));
}

#[tokio::test(start_paused = true)]
async fn a_poll_delivers_at_most_the_requested_records_and_the_position_follows() {
    let cluster = cluster(1).await;
    fill(&cluster, 0, 0..30, &[("compression.type", "lz4")]).await;
    let consumer = consumer(&cluster, &[0], &[]).await;
    let mut next = 0;
    while next < 30 {
        let rows = within_deadline(poll(&consumer, 7, CALL_TIMEOUT)).await.expect("records");
        assert!(rows.len() <= 7);
        let end = next + i64::try_from(rows.len()).unwrap();
        assert_eq!(rows, expected(0, next..end));
        assert_eq!(consumer.position(&tp(0), CALL_TIMEOUT).await.unwrap(), end);
        next = end;
    }
}

#[tokio::test(start_paused = true)]
async fn collected_records_that_were_not_delivered_are_fetched_again() {
    let cluster = cluster(1).await;
    fill(&cluster, 0, 0..30, &[]).await;
    let consumer = consumer(&cluster, &[0], &[]).await;
    within_deadline(consumer.wait_until_ready(Instant::now() + CALL_TIMEOUT)).await.expect("ready");
    let version = consumer.version();
    assert!(!consumer.take_records(5).is_empty());
    assert_eq!(consumer.position(&tp(0), CALL_TIMEOUT).await.unwrap(), 0);
    consumer.discard_undelivered();
    assert_ne!(consumer.version(), version);
    assert_eq!(read(&consumer, 30).await, expected(0, 0..30));
}

#[tokio::test(start_paused = true)]
async fn a_seek_during_a_fetch_delivers_no_stale_record() {
    let cluster = cluster(1).await;
    fill(&cluster, 0, 0..100, &[]).await;
    let consumer = consumer(&cluster, &[0], &[]).await;
    for round in 0..20 {
        let to = (round * 37) % 100;
        consumer.seek(&tp(0), to, None).expect("assigned");
        assert_eq!(consumer.position(&tp(0), CALL_TIMEOUT).await.unwrap(), to);
        let rows = loop {
            let rows = within_deadline(poll(&consumer, 3, CALL_TIMEOUT)).await.expect("records");
            if !rows.is_empty() {
                break rows;
            }
        };
        let end = to + i64::try_from(rows.len()).unwrap();
        assert_eq!(rows, expected(0, to..end));
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_lookup_does_not_undo_a_seek() {
    let cluster = cluster(1).await;
    fill(&cluster, 0, 0..50, &[]).await;
    let slow = Match::api(ApiKey::ListOffsets);
    cluster.inject(Fault::once(slow, Reaction::Delay(ms(300))));
    let consumer = consumer(&cluster, &[0], &[]).await;
    until(|| cluster.request_count(None, ApiKey::ListOffsets) > 0).await;
    consumer.seek(&tp(0), 40, None).expect("assigned");
    assert_eq!(read(&consumer, 10).await, expected(0, 40..50));
    tokio::time::sleep(ms(400)).await;
    assert_eq!(consumer.position(&tp(0), CALL_TIMEOUT).await.unwrap(), 50);
}

#[tokio::test(start_paused = true)]
async fn seeking_to_the_ends_and_by_time() {
    let cluster = cluster(2).await;
    for partition in 0..2 {
        fill(&cluster, partition, 0..20, &[]).await;
    }
    let consumer = consumer(&cluster, &[0, 1], &[]).await;
    consumer.seek_to(&[], OffsetSpec::Latest).expect("assigned");
    assert_eq!(consumer.position(&tp(0), CALL_TIMEOUT).await.unwrap(), 20);
    assert_eq!(consumer.position(&tp(1), CALL_TIMEOUT).await.unwrap(), 20);
    consumer.seek_to(&[tp(1)], OffsetSpec::Earliest).expect("assigned");
    assert_eq!(read(&consumer, 20).await, expected(1, 0..20));
    let unassigned = consumer.seek_to(&[tp(7)], OffsetSpec::Earliest).expect_err("not assigned");
    assert_eq!(unassigned.kind(), Kind::State);
    assert_eq!(consumer.seek(&tp(0), -1, None).expect_err("no offset").kind(), Kind::Config);
}

#[tokio::test(start_paused = true)]
async fn a_paused_partition_resumes_at_its_position() {
    let cluster = cluster(2).await;
    for partition in 0..2 {
        fill(&cluster, partition, 0..40, &[]).await;
    }
    let consumer = consumer(&cluster, &[0, 1], &[]).await;
    within_deadline(async { while poll(&consumer, 5, CALL_TIMEOUT).await.expect("records").is_empty() {} })
        .await;
    consumer.pause(&[tp(0), tp(1)], true).expect("assigned");
    assert_eq!(consumer.paused(), [tp(0), tp(1)]);
    assert!(poll(&consumer, 500, ms(300)).await.expect("nothing").is_empty());
    consumer.pause(&[tp(1)], false).expect("assigned");
    let from = consumer.position(&tp(1), CALL_TIMEOUT).await.unwrap();
    let rest = read(&consumer, usize::try_from(40 - from).unwrap()).await;
    assert_eq!(rest, expected(1, from..40));
    consumer.pause(&[tp(0)], false).expect("assigned");
    let from = consumer.position(&tp(0), CALL_TIMEOUT).await.unwrap();
    assert_eq!(read(&consumer, usize::try_from(40 - from).unwrap()).await, expected(0, from..40));
}

#[tokio::test(start_paused = true)]
async fn a_new_assignment_keeps_the_positions_of_remaining_partitions() {
    let cluster = cluster(2).await;
    for partition in 0..2 {
        fill(&cluster, partition, 0..20, &[]).await;
    }
    let consumer = consumer(&cluster, &[0], &[]).await;
    assert_eq!(read(&consumer, 20).await, expected(0, 0..20));
    consumer.assign(vec![tp(0), tp(1)]).expect("assigned");
    assert_eq!(read(&consumer, 20).await, expected(1, 0..20));
    consumer.assign(vec![tp(1)]).expect("assigned");
    fill(&cluster, 0, 20..30, &[]).await;
    assert!(poll(&consumer, 500, ms(200)).await.expect("nothing").is_empty());
    assert_eq!(consumer.assignment(), [tp(1)]);
}

#[tokio::test(start_paused = true)]
async fn moving_leaders_and_stopping_brokers_lose_nothing() {
    let cluster = cluster(3).await;
    for partition in 0..3 {
        fill(&cluster, partition, 0..300, &[]).await;
    }
    let small = [("max.partition.fetch.bytes", "300"), ("fetch.max.bytes", "600")];
    let consumer = consumer(&cluster, &[0, 1, 2], &small).await;
    let (mut all, mut polls) = (Vec::new(), 0);
    within_deadline(async {
        while all.len() < 900 {
            all.extend(poll(&consumer, 20, ms(1_000)).await.expect("records"));
            polls += 1;
            match polls {
                5 => {
                    let leader = cluster.leader("t", 0).unwrap();
                    cluster.move_leader("t", 0, leader % 3 + 1).unwrap();
                }
                12 => cluster.stop_broker(cluster.leader("t", 1).unwrap()).await.unwrap(),
                _ => {}
            }
        }
    })
    .await;
    for partition in 0..3 {
        assert_eq!(of(partition, &all), expected(partition, 0..300));
    }
}

#[tokio::test(start_paused = true)]
async fn each_retriable_partition_error_is_retried_without_losing_records() {
    let codes = [
        ErrorCode::NotLeaderOrFollower,
        ErrorCode::FencedLeaderEpoch,
        ErrorCode::UnknownLeaderEpoch,
        ErrorCode::UnknownTopicOrPartition,
        ErrorCode::UnknownTopicId,
        ErrorCode::LeaderNotAvailable,
        ErrorCode::ReplicaNotAvailable,
        ErrorCode::KafkaStorageError,
        ErrorCode::OffsetNotAvailable,
        ErrorCode::CorruptMessage,
    ];
    let cluster = cluster(1).await;
    fill(&cluster, 0, 0..20, &[]).await;
    for code in codes {
        let fault = cluster
            .inject(Fault::once(Match::api(ApiKey::Fetch).topic("t").partition(0), Reaction::Error(code)));
        let consumer = consumer(&cluster, &[0], &[]).await;
        assert_eq!(read(&consumer, 20).await, expected(0, 0..20), "{code:?}");
        assert_eq!(cluster.fault_hits(fault), 1, "{code:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_unauthorized_topic_is_reported_and_the_others_are_read() {
    let cluster = cluster(2).await;
    for partition in 0..2 {
        fill(&cluster, partition, 0..20, &[]).await;
    }
    let code = ErrorCode::TopicAuthorizationFailed;
    cluster.inject(Fault::once(Match::api(ApiKey::Fetch).topic("t").partition(0), Reaction::Error(code)));
    let consumer = consumer(&cluster, &[0, 1], &[]).await;
    let (mut all, mut errors) = (Vec::new(), Vec::new());
    within_deadline(async {
        while all.len() < 40 {
            match poll(&consumer, 500, ms(500)).await {
                Ok(rows) => all.extend(rows),
                Err(error) => errors.push(error),
            }
        }
    })
    .await;
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!((errors[0].kind(), errors[0].context().partition), (Kind::Authorization, Some(0)));
    assert_eq!((of(0, &all), of(1, &all)), (expected(0, 0..20), expected(1, 0..20)));
}

#[tokio::test(start_paused = true)]
async fn a_position_outside_of_the_log_is_reset_as_configured() {
    let cluster = cluster(1).await;
    fill(&cluster, 0, 0..50, &[]).await;
    cluster.delete_records("t", 0, 30).unwrap();
    let earliest = consumer(&cluster, &[0], &[]).await;
    earliest.seek(&tp(0), 3, None).expect("assigned");
    assert_eq!(read(&earliest, 20).await, expected(0, 30..50));
    let none = consumer(&cluster, &[0], &[("auto.offset.reset", "none")]).await;
    let error = within_deadline(poll(&none, 500, CALL_TIMEOUT)).await.expect_err("no offset");
    assert_eq!(error.kind(), Kind::Offset, "{error}");
    none.seek(&tp(0), 3, None).expect("assigned");
    for _ in 0..2 {
        // The error stays until the application seeks.
        let error = within_deadline(poll(&none, 500, CALL_TIMEOUT)).await.expect_err("out of range");
        assert_eq!((error.kind(), error.code()), (Kind::Offset, Some(ErrorCode::OffsetOutOfRange)));
        assert!(error.to_string().contains("position 3") && error.to_string().contains("t-0"), "{error}");
    }
    none.seek(&tp(0), 45, None).expect("assigned");
    assert_eq!(read(&none, 5).await, expected(0, 45..50));
}

#[tokio::test(start_paused = true)]
async fn a_failing_network_resets_no_position() {
    let cluster = cluster(1).await;
    fill(&cluster, 0, 0..50, &[]).await;
    let consumer = consumer(&cluster, &[0], &[("auto.offset.reset", "latest")]).await;
    consumer.seek(&tp(0), 10, None).expect("assigned");
    for _ in 0..3 {
        cluster.inject(Fault::once(Match::api(ApiKey::Fetch), Reaction::Disconnect(When::AfterHandling)));
    }
    assert_eq!(read(&consumer, 40).await, expected(0, 10..50));
}

#[tokio::test(start_paused = true)]
async fn corrupt_bytes_are_fetched_again_and_then_reported() {
    let cluster = cluster(1).await;
    fill(&cluster, 0, 0..20, &[]).await;
    let fetch = || Match::api(ApiKey::Fetch);
    cluster.inject(Fault::once(fetch(), Reaction::CorruptRecords));
    let once = consumer(&cluster, &[0], &[]).await;
    assert_eq!(read(&once, 20).await, expected(0, 0..20));
    let fault = cluster.inject(Fault::new(fetch(), Reaction::CorruptRecords));
    let always = consumer(&cluster, &[0], &[]).await;
    let error = within_deadline(poll(&always, 500, CALL_TIMEOUT)).await.expect_err("corrupt");
    assert_eq!((error.kind(), error.context().partition), (Kind::Protocol, Some(0)), "{error}");
    assert!(error.to_string().contains("after offset 0"), "{error}");
    cluster.remove_fault(fault);
    assert_eq!(read(&always, 20).await, expected(0, 0..20));
}

#[tokio::test(start_paused = true)]
async fn prefetched_bytes_are_bounded() {
    let cluster = cluster(4).await;
    let value = "x".repeat(1_000);
    let producer = producer(&cluster, &[("batch.size", "16384")]).await;
    for n in 0..2_000 {
        send(&producer, n % 4, &value).await;
    }
    within_deadline(producer.close(CALL_TIMEOUT)).await.expect("written");
    let bounds = [("prefetch.max.bytes", "300000"), ("max.partition.fetch.bytes", "100000")];
    let consumer = consumer(&cluster, &[0, 1, 2, 3], &bounds).await;
    within_deadline(consumer.wait_until_ready(Instant::now() + CALL_TIMEOUT)).await.expect("ready");
    // A slow application: no fetch exceeds the bound.
    quiet(&cluster, ms(300)).await;
    let fetches = consumer.take_fetches(usize::MAX);
    let bytes: usize = fetches.iter().map(|fetch| fetch.records.len()).sum();
    // A broker may return a batch of up to 16 KB more than requested.
    assert!((100_000..=400_000).contains(&bytes), "{bytes}");
    consumer.discard_undelivered();
    assert_eq!(read(&consumer, 2_000).await.len(), 2_000);
}

#[tokio::test(start_paused = true)]
async fn a_wakeup_ends_the_current_or_the_next_poll() {
    let cluster = cluster(1).await;
    let consumer = std::sync::Arc::new(consumer(&cluster, &[0], &[]).await);
    let waiting = tokio::spawn({
        let consumer = std::sync::Arc::clone(&consumer);
        async move { consumer.wait_until_ready(Instant::now() + CALL_TIMEOUT).await }
    });
    tokio::time::sleep(ms(50)).await;
    consumer.wakeup();
    assert_eq!(within_deadline(waiting).await.unwrap().expect_err("woken").kind(), Kind::Wakeup);
    consumer.wakeup();
    assert_eq!(poll(&consumer, 1, ms(1)).await.expect_err("woken").kind(), Kind::Wakeup);
    assert!(poll(&consumer, 1, ms(1)).await.expect("nothing").is_empty());
}

#[tokio::test(start_paused = true)]
async fn invalid_calls_return_errors() {
    let cluster = cluster(1).await;
    let idle = Consumer::new(client(&cluster, &[]).await);
    assert_eq!(idle.wait_until_ready(Instant::now()).await.expect_err("nothing to poll").kind(), Kind::State);
    assert_eq!(idle.commit(None, CALL_TIMEOUT).await.expect_err("no group").kind(), Kind::Config);
    idle.end_close(CALL_TIMEOUT).await.expect("closed");
    assert_eq!(idle.wait_until_ready(Instant::now()).await.expect_err("closed").kind(), Kind::Closed);
}
