//! Proves: when a topic is deleted and recreated during a scan, no record of the new topic passes for one
//! of the old: the unread records are gone, which is an error or a gap.

use crate::support::*;
use ottla_client::consumer::{ChunkScan, FOLLOW, Gap, Range, ScanOptions};
use ottla_client::{Error, Kind};
use ottla_mock::{MockCluster, TopicSpec};

const OPTIONS: ScanOptions = ScanOptions {
    fail_on_data_loss: true,
    read_committed: false,
    // A few batches at a time, so that a scan takes many requests.
    max_bytes: 1000,
    timeout: std::time::Duration::from_secs(20),
};

fn fill(cluster: &MockCluster, count: i64, value: &str) {
    for _ in 0..count {
        cluster.append("t", 0, &[value.as_bytes()]).expect("appended");
    }
}

/// Scans 200 old records of a topic that is recreated after the first chunk; returns the numbers of old and
/// new records, the result and the gaps. A scan without an end is dropped after 300 new records.
async fn read(end: i64, options: ScanOptions) -> (i64, i64, Result<(), Error>, Vec<Gap>) {
    let cluster = cluster(1).await;
    fill(&cluster, 200, "old");
    let range = Range { partition: ("t".into(), 0), start: 0, end };
    let mut scan = ChunkScan::start(client(&cluster, &[]).await, vec![range], options);
    let (mut old, mut new, mut ended) = (0, 0, Ok(()));
    while let Some(chunk) = within_deadline(scan.next()).await {
        let chunk = match chunk {
            Ok(chunk) => chunk,
            Err(error) => {
                ended = Err(error);
                break;
            }
        };
        if old == 0 {
            cluster.delete_topic("t").expect("deleted");
            cluster.create_topic(TopicSpec::new("t").partitions(1)).expect("made");
            fill(&cluster, 300, "new");
        }
        for (offset, value) in values(&chunk.records) {
            let count = if value == "old" { &mut old } else { &mut new };
            assert_eq!(offset, *count, "{value}");
            *count += 1;
        }
        if new == 300 {
            break;
        }
    }
    (old, new, ended, scan.take_gaps())
}

/// Regression: a scan continued in the new topic at the offset of the old one, as if nothing had happened.
#[tokio::test(start_paused = true)]
async fn a_recreated_topic_ends_a_scan_of_the_old_one() {
    let (old, new, ended, gaps) = read(200, OPTIONS).await;
    assert!(old < 200 && new == 0 && gaps.is_empty(), "{old} {new} {gaps:?}");
    let error = ended.expect_err("another topic");
    assert_eq!((error.kind(), error.context().partition), (Kind::DataLoss, Some(0)), "{error}");
    assert!(error.to_string().contains(&format!("offset {old} on")), "{error}");
}

/// Regression: the same, with losses recorded as gaps.
#[tokio::test(start_paused = true)]
async fn unread_records_of_the_old_topic_are_a_gap_if_losses_are_skipped() {
    let options = ScanOptions { fail_on_data_loss: false, ..OPTIONS };
    let (old, new, ended, gaps) = read(200, options).await;
    ended.expect("passed over");
    assert!(old < 200 && new == 0, "{old} {new}");
    assert_eq!(gaps, [Gap { partition: ("t".into(), 0), from: old, to: 200 }]);
}

/// Regression: the same, with a followed log, which continues at the start of the new topic.
#[tokio::test(start_paused = true)]
async fn a_followed_log_continues_at_the_start_of_the_recreated_topic() {
    let options = ScanOptions { fail_on_data_loss: false, ..OPTIONS };
    let (old, new, ended, gaps) = read(FOLLOW, options).await;
    ended.expect("passed over");
    assert!(old < 200 && new == 300, "{old} {new}");
    assert_eq!(gaps, [Gap { partition: ("t".into(), 0), from: old, to: 0 }]);
}

/// Regression: a client that knew the old topic from an earlier scan took the new one's records for gone,
/// although the range was planned for the new topic.
#[tokio::test(start_paused = true)]
async fn a_client_that_knew_the_old_topic_reads_a_range_of_the_new_one() {
    for fail_on_data_loss in [true, false] {
        let options = ScanOptions { fail_on_data_loss, ..OPTIONS };
        let cluster = cluster(1).await;
        fill(&cluster, 3, "old");
        let client = client(&cluster, &[]).await;
        let range = Range { partition: ("t".into(), 0), start: 0, end: 3 };
        let mut scan = ChunkScan::start(client.clone(), vec![range.clone()], options);
        while let Some(chunk) = within_deadline(scan.next()).await {
            chunk.expect("the old records");
        }
        cluster.delete_topic("t").expect("deleted");
        cluster.create_topic(TopicSpec::new("t").partitions(1)).expect("made");
        fill(&cluster, 3, "new");
        let mut scan = ChunkScan::start(client, vec![range], options);
        let mut read = Vec::new();
        while let Some(chunk) = within_deadline(scan.next()).await {
            read.extend(values(&chunk.expect("the new records").records));
        }
        assert_eq!(scan.take_gaps(), []);
        let expected: Vec<(i64, String)> = (0..3).map(|offset| (offset, "new".to_owned())).collect();
        assert_eq!(read, expected);
    }
}
