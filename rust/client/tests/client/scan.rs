//! Proves: a scan returns each record of its ranges once and in order, with any codec and number of ranges.
//! It survives moving leaders, stopping brokers and corrupt bytes; records that are gone or never come end
//! it with a typed error in time; a slow caller bounds memory.

use crate::support::*;
use ottla_client::consumer::{ChunkScan, Gap, Range, ScanOptions};
use ottla_client::{Client, Error, IfMissing, Kind};
use ottla_mock::{Fault, Match, MockCluster, Reaction, TopicSpec};
use ottla_protocol::{ApiKey, ErrorCode};

const FETCH: ApiKey = ApiKey::Fetch;

const OPTIONS: ScanOptions = ScanOptions {
    fail_on_data_loss: true,
    read_committed: false,
    max_bytes: 1 << 20,
    timeout: std::time::Duration::from_secs(20),
};

fn range(partition: i32, start: i64, end: i64) -> Range {
    Range { partition: ("t".into(), partition), start, end }
}

/// Writes `count` values to a partition, in batches of one request each.
async fn fill(cluster: &MockCluster, partition: i32, count: i64, pairs: &[(&str, &str)]) {
    let producer = producer(cluster, pairs).await;
    for n in 0..count {
        send(&producer, partition, &n.to_string()).await;
        if n % 10 == 9 {
            within_deadline(producer.flush(CALL_TIMEOUT)).await.expect("written");
        }
    }
    within_deadline(producer.close(CALL_TIMEOUT)).await.expect("written");
}

/// The records of a chunk that lie in its range.
fn wanted(chunk: &ottla_client::consumer::Chunk) -> Vec<(i32, i64, String)> {
    let inside = |(offset, _): &(i64, String)| (chunk.start..chunk.end).contains(offset);
    let found = values(&chunk.records).into_iter().filter(inside);
    found.map(|(offset, value)| (chunk.partition.1, offset, value)).collect()
}

async fn read(
    client: &Client,
    ranges: Vec<Range>,
    options: ScanOptions,
) -> Result<Vec<(i32, i64, String)>, Error> {
    let mut scan = ChunkScan::start(client.clone(), ranges, options);
    let mut all = Vec::new();
    while let Some(chunk) = within_deadline(scan.next()).await {
        all.extend(wanted(&chunk?));
    }
    Ok(all)
}

fn expected(partition: i32, offsets: std::ops::Range<i64>) -> Vec<(i32, i64, String)> {
    offsets.map(|n| (partition, n, n.to_string())).collect()
}

fn of(partition: i32, all: &[(i32, i64, String)]) -> Vec<(i32, i64, String)> {
    all.iter().filter(|record| record.0 == partition).cloned().collect()
}

#[tokio::test(start_paused = true)]
async fn every_codec_and_many_partitions() {
    let cluster = cluster(5).await;
    for (partition, codec) in (0..).zip(["none", "gzip", "snappy", "lz4", "zstd"]) {
        fill(&cluster, partition, 100, &[("compression.type", codec)]).await;
    }
    let client = client(&cluster, &[]).await;
    let ranges = (0..5).map(|partition| range(partition, 0, 100)).collect();
    let all = read(&client, ranges, OPTIONS).await.expect("read");
    for partition in 0..5 {
        assert_eq!(of(partition, &all), expected(partition, 0..100));
    }
}

#[tokio::test(start_paused = true)]
async fn parts_of_a_log_empty_ranges_and_several_of_one_partition() {
    let cluster = cluster(1).await;
    fill(&cluster, 0, 100, &[]).await;
    let client = client(&cluster, &[]).await;
    let ranges = vec![range(0, 3, 17), range(0, 17, 17), range(0, 95, 100), range(0, 40, 55), range(0, 9, 2)];
    let mut all = read(&client, ranges, OPTIONS).await.expect("read");
    all.sort_by_key(|record| record.1);
    assert_eq!(all, [expected(0, 3..17), expected(0, 40..55), expected(0, 95..100)].concat());
    assert!(read(&client, Vec::new(), OPTIONS).await.expect("nothing").is_empty());
}

#[tokio::test(start_paused = true)]
async fn moving_leaders_and_stopping_brokers_lose_nothing() {
    let cluster = cluster(3).await;
    for partition in 0..3 {
        fill(&cluster, partition, 200, &[]).await;
    }
    // Small responses, so that the scan takes several.
    let client = client(&cluster, &[]).await;
    let options = ScanOptions { max_bytes: 500, ..OPTIONS };
    let mut scan = ChunkScan::start(client, (0..3).map(|p| range(p, 0, 200)).collect(), options);
    let (mut all, mut chunks) = (Vec::new(), 0);
    while let Some(chunk) = within_deadline(scan.next()).await {
        all.extend(wanted(&chunk.expect("read")));
        chunks += 1;
        match chunks {
            5 => {
                let leader = cluster.leader("t", 0).unwrap();
                cluster.move_leader("t", 0, leader % 3 + 1).unwrap();
            }
            10 => cluster.stop_broker(cluster.leader("t", 1).unwrap()).await.unwrap(),
            _ => {}
        }
    }
    for partition in 0..3 {
        assert_eq!(of(partition, &all), expected(partition, 0..200));
    }
}

/// Regression: the new leader was not looked up while other partitions of the same broker progressed.
#[tokio::test(start_paused = true)]
async fn a_moved_partition_is_found_while_others_progress() {
    let cluster = cluster(4).await;
    let limits = cluster.leader("t", 0).unwrap();
    assert_eq!(cluster.leader("t", 3), Some(limits), "both on one broker");
    fill(&cluster, 0, 100, &[]).await;
    fill(&cluster, 3, 100, &[]).await;
    let client = client(&cluster, &[]).await;
    within_deadline(client.topics(&["t".into()], IfMissing::Wait, CALL_TIMEOUT)).await.unwrap();
    let old = Match::api(FETCH).broker(limits).topic("t").partition(0);
    cluster.inject(Fault::new(old, Reaction::Error(ErrorCode::LeaderNotAvailable)));
    cluster.move_leader("t", 0, limits % 3 + 1).unwrap();
    let options = ScanOptions { max_bytes: 300, ..OPTIONS };
    let mut scan = ChunkScan::start(client, vec![range(0, 0, 100), range(3, 0, 100)], options);
    let mut seen = Vec::new();
    while let Some(chunk) = within_deadline(scan.next()).await {
        seen.push(chunk.expect("read").partition.1);
    }
    let first = seen.iter().position(|partition| *partition == 0).unwrap();
    assert!(first < seen.len() / 2, "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn bytes_corrupted_in_transit_are_fetched_again() {
    let cluster = cluster(1).await;
    fill(&cluster, 0, 50, &[]).await;
    let client = client(&cluster, &[]).await;
    let twice = Fault { times: Some(2), ..Fault::new(Match::api(FETCH), Reaction::CorruptRecords) };
    let fault = cluster.inject(twice);
    assert_eq!(read(&client, vec![range(0, 0, 50)], OPTIONS).await.expect("read"), expected(0, 0..50));
    assert_eq!(cluster.fault_hits(fault), 2);
    for reaction in [Reaction::TruncateFrame, Reaction::Disconnect(ottla_mock::When::AfterHandling)] {
        cluster.inject(Fault::once(Match::api(FETCH), reaction));
        assert_eq!(read(&client, vec![range(0, 0, 50)], OPTIONS).await.expect("read"), expected(0, 0..50));
    }
}

#[tokio::test(start_paused = true)]
async fn a_corrupt_log_is_an_error_with_partition_and_offset() {
    let cluster = cluster(1).await;
    fill(&cluster, 0, 50, &[]).await;
    let client = client(&cluster, &[]).await;
    cluster.inject(Fault::new(Match::api(FETCH), Reaction::CorruptRecords));
    let error = read(&client, vec![range(0, 12, 50)], OPTIONS).await.expect_err("corrupt");
    assert_eq!(error.kind(), Kind::Protocol, "{error}");
    assert_eq!((error.context().topic.as_deref(), error.context().partition), (Some("t"), Some(0)));
    assert!(error.message().contains("offset 12"), "{error}");
    // Without CRC checks the records are returned as they are.
    let unchecked = crate::support::client(&cluster, &[("check.crcs", "false")]).await;
    let mut scan = ChunkScan::start(unchecked, vec![range(0, 12, 50)], OPTIONS);
    within_deadline(scan.next()).await.expect("a chunk").expect("unchecked");
}

#[tokio::test(start_paused = true)]
async fn missing_records_end_the_scan_or_are_skipped_as_configured() {
    let cluster = cluster(1).await;
    fill(&cluster, 0, 50, &[]).await;
    cluster.delete_records("t", 0, 30).unwrap();
    let client = client(&cluster, &[]).await;
    let error = read(&client, vec![range(0, 10, 50)], OPTIONS).await.expect_err("gone");
    assert_eq!(error.kind(), Kind::DataLoss, "{error}");
    assert!(error.message().contains("from offset 10 to 30"), "{error}");
    let lenient = ScanOptions { fail_on_data_loss: false, ..OPTIONS };
    let rest = read(&client, vec![range(0, 10, 50), range(0, 0, 20)], lenient).await.expect("the rest");
    assert_eq!(rest, expected(0, 30..50));
    // Beyond the end: the topic may have been recreated.
    let error = read(&client, vec![range(0, 70, 90)], OPTIONS).await.expect_err("beyond the end");
    assert_eq!(error.kind(), Kind::DataLoss, "{error}");
    assert!(read(&client, vec![range(0, 70, 90)], lenient).await.expect("nothing").is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_deleted_topic_fails_the_scan_only_if_configured() {
    let cluster = cluster(1).await;
    let create = || cluster.create_topic(TopicSpec::new("deleted")).unwrap();
    create();
    fill(&cluster, 0, 10, &[]).await;
    let client = client(&cluster, &[("fetch.max.wait.ms", "50")]).await;
    let deleted_range = || Range { partition: ("deleted".into(), 0), start: 0, end: 4 };
    let lenient = ScanOptions { fail_on_data_loss: false, ..OPTIONS };
    let gap = Gap { partition: ("deleted".into(), 0), from: 0, to: 4 };

    // Started, without a result yet.
    let mut scan = ChunkScan::start(client.clone(), vec![deleted_range(), range(0, 0, 10)], lenient);
    assert_eq!(wanted(&within_deadline(scan.next()).await.unwrap().expect("what is there")).len(), 10);
    cluster.delete_topic("deleted").unwrap();
    assert!(within_deadline(scan.next()).await.is_none());
    assert_eq!(scan.take_gaps(), std::slice::from_ref(&gap));

    // Deleted before the scan, with a client that remembers the topic and one that never knew it.
    create();
    within_deadline(client.topics(&["deleted".into()], IfMissing::Wait, CALL_TIMEOUT)).await.expect("known");
    cluster.delete_topic("deleted").unwrap();
    for client in [client.clone(), crate::support::client(&cluster, &[]).await] {
        let mut scan = ChunkScan::start(client, vec![deleted_range(), range(0, 0, 10)], lenient);
        assert_eq!(wanted(&within_deadline(scan.next()).await.unwrap().expect("what is there")).len(), 10);
        assert!(within_deadline(scan.next()).await.is_none());
        assert_eq!(scan.take_gaps(), std::slice::from_ref(&gap));
    }

    let short = ScanOptions { timeout: ms(3000), ..OPTIONS };
    let error = read(&client, vec![deleted_range(), range(0, 0, 10)], short).await.expect_err("gone");
    assert_eq!(error.kind(), Kind::UnknownTopic, "{error}");
}

#[tokio::test(start_paused = true)]
async fn records_that_never_come_end_the_scan_in_time_and_late_ones_are_read() {
    let cluster = cluster(1).await;
    fill(&cluster, 0, 10, &[]).await;
    let client = client(&cluster, &[("fetch.max.wait.ms", "50")]).await;
    let short = ScanOptions { timeout: ms(3000), ..OPTIONS };
    let mut scan = ChunkScan::start(client.clone(), vec![range(0, 0, 20)], short);
    assert_eq!(wanted(&within_deadline(scan.next()).await.unwrap().expect("what is there")).len(), 10);
    let started = Instant::now();
    let error = within_deadline(scan.next()).await.unwrap().expect_err("the rest never comes");
    assert_eq!(error.kind(), Kind::Timeout, "{error}");
    assert!(error.message().contains("the log ends at 10"), "{error}");
    assert!(started.elapsed() < ms(4000));
    let again = within_deadline(scan.next()).await.unwrap().expect_err("it has failed");
    assert_eq!(again.to_string(), error.to_string());

    let mut scan = ChunkScan::start(client, vec![range(0, 10, 20)], OPTIONS);
    tokio::time::sleep(ms(50)).await;
    fill(&cluster, 0, 10, &[]).await;
    let mut late = 0;
    while let Some(chunk) = within_deadline(scan.next()).await {
        late += wanted(&chunk.expect("late but there")).len();
    }
    assert_eq!(late, 10);
}

#[tokio::test(start_paused = true)]
async fn unknown_topics_and_partitions_and_missing_rights_are_errors() {
    let cluster = cluster(1).await;
    let client = client(&cluster, &[]).await;
    let short = ScanOptions { timeout: ms(3000), ..OPTIONS };
    for (topic, partition) in [("nope", 0), ("t", 7)] {
        let ranges = vec![Range { partition: (topic.into(), partition), start: 0, end: 1 }];
        let error = read(&client, ranges, short).await.expect_err("unknown");
        assert_eq!(error.kind(), Kind::UnknownTopic, "{error}");
    }
    let denied = Reaction::Error(ErrorCode::TopicAuthorizationFailed);
    cluster.inject(Fault::new(Match::api(FETCH), denied));
    let error = read(&client, vec![range(0, 0, 1)], OPTIONS).await.expect_err("denied");
    assert_eq!(error.kind(), Kind::Authorization, "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_slow_caller_pauses_fetching_and_dropping_ends_the_task() {
    let cluster = cluster(1).await;
    fill(&cluster, 0, 300, &[]).await;
    let client = client(&cluster, &[]).await;
    cluster.clear_requests();
    let options = ScanOptions { max_bytes: 100, timeout: ms(2500), ..OPTIONS };
    let mut scan = ChunkScan::start(client, vec![range(0, 0, 300)], options);
    within_deadline(scan.next()).await.unwrap().expect("read");
    // Longer than the timeout: waiting for the caller does not count as lack of progress.
    tokio::time::sleep(ms(3000)).await;
    let fetches = cluster.request_count(None, FETCH);
    assert!(fetches <= 6, "{fetches} fetches for one chunk that was read");
    within_deadline(scan.next()).await.unwrap().expect("still alive");
    drop(scan);
    quiet(&cluster, ms(200)).await;
}

#[tokio::test(start_paused = true)]
async fn a_batch_larger_than_the_limit_is_returned() {
    let cluster = cluster(2).await;
    for partition in 0..2 {
        fill(&cluster, partition, 10, &[]).await;
    }
    let client = client(&cluster, &[]).await;
    let tiny = ScanOptions { max_bytes: 1, ..OPTIONS };
    let all = read(&client, vec![range(0, 0, 10), range(1, 0, 10)], tiny).await.expect("read");
    assert_eq!((of(0, &all), of(1, &all)), (expected(0, 0..10), expected(1, 0..10)));
}
