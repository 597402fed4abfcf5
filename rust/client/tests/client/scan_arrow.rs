//! Proves: a scan as Arrow batches has the rows of its ranges, each once and in order, without aborted
//! records. A scan that follows the log returns the available records; an error stays the result.

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use ottla_client::consumer::{ArrowLayout, FOLLOW, Gap, Range, Scan, ScanOptions};
use ottla_client::{Client, Error, Kind};
use ottla_mock::MockCluster;

use crate::support::reader::write;
use crate::support::*;

const OPTIONS: ScanOptions = ScanOptions {
    fail_on_data_loss: true,
    read_committed: false,
    max_bytes: 1 << 20,
    timeout: std::time::Duration::from_secs(20),
};

fn range(partition: i32, start: i64, end: i64) -> Range {
    Range { partition: ("t".into(), partition), start, end }
}

fn rows(batch: &RecordBatch) -> Vec<(i32, i64)> {
    let partitions = batch.column_by_name("partition").expect("a column").as_primitive::<Int32Type>();
    let offsets = batch.column_by_name("offset").expect("a column").as_primitive::<Int64Type>();
    partitions.values().iter().copied().zip(offsets.values().iter().copied()).collect()
}

fn scan(client: &Client, ranges: Vec<Range>, options: ScanOptions, max_rows: usize) -> Scan {
    let layout = ArrowLayout { max_rows, ..ArrowLayout::default() };
    Scan::start(client.clone(), ranges, options, &layout)
}

async fn read(mut scan: Scan) -> Result<Vec<(i32, i64)>, Error> {
    let mut all = Vec::new();
    while let Some(batch) = within_deadline(scan.next_batch()).await? {
        assert_eq!(batch.schema(), scan.schema());
        all.extend(rows(&batch));
    }
    Ok(all)
}

async fn filled(partitions: i32, count: usize) -> (MockCluster, Client) {
    let cluster = cluster(partitions).await;
    (0..partitions).for_each(|partition| write(&cluster, partition, count));
    let client = client(&cluster, &[]).await;
    (cluster, client)
}

#[tokio::test(start_paused = true)]
async fn batches_have_each_row_of_the_ranges_once() {
    let (_cluster, client) = filled(3, 40).await;
    let ranges = vec![range(0, 0, 40), range(1, 5, 30), range(2, 39, 40)];
    let mut all = read(scan(&client, ranges, OPTIONS, 7)).await.unwrap();
    all.sort_unstable();
    let expected = (0..40).map(|n| (0, n)).chain((5..30).map(|n| (1, n))).chain([(2, 39)]);
    assert_eq!(all, expected.collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn read_committed_skips_aborted_records_and_markers() {
    let (cluster, client) = filled(1, 2).await;
    for (producer, commit) in [(1, false), (2, true)] {
        cluster.append_in_transaction("t", 0, producer, &[b"v"]).unwrap();
        cluster.end_transaction("t", 0, producer, commit).unwrap();
    }
    let committed = ScanOptions { read_committed: true, ..OPTIONS };
    let found = read(scan(&client, vec![range(0, 0, 6)], committed, 100)).await.unwrap();
    assert_eq!(found, [(0, 0), (0, 1), (0, 4)]);
    let found = read(scan(&client, vec![range(0, 0, 6)], OPTIONS, 100)).await.unwrap();
    assert_eq!(found, [(0, 0), (0, 1), (0, 2), (0, 4)]);
}

#[tokio::test(start_paused = true)]
async fn following_returns_what_there_is_before_it_waits() {
    let (cluster, client) = filled(1, 3).await;
    let mut following = scan(&client, vec![range(0, 0, FOLLOW)], OPTIONS, 1_000);
    let mut seen = Vec::new();
    for (more, total) in [(0, 3), (2, 5), (4, 9)] {
        write(&cluster, 0, more);
        while seen.len() < total {
            let batch = within_deadline(following.next_batch()).await.unwrap().expect("rows");
            seen.extend(rows(&batch));
        }
    }
    assert_eq!(seen, (0..9).map(|n| (0, n)).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn an_error_stays_the_result_and_gaps_are_reported() {
    let (cluster, client) = filled(1, 20).await;
    cluster.delete_records("t", 0, 10).unwrap();
    let mut failing = scan(&client, vec![range(0, 5, 20)], OPTIONS, 1_000);
    for _ in 0..2 {
        assert_eq!(within_deadline(failing.next_batch()).await.expect_err("lost").kind(), Kind::DataLoss);
    }
    let lenient = ScanOptions { fail_on_data_loss: false, ..OPTIONS };
    let mut lenient = scan(&client, vec![range(0, 5, 20)], lenient, 1_000);
    let batch = within_deadline(lenient.next_batch()).await.unwrap().expect("rows");
    assert_eq!(rows(&batch).first(), Some(&(0, 10)));
    assert_eq!(lenient.take_gaps(), [Gap { partition: ("t".into(), 0), from: 5, to: 10 }]);
}
