//! Proves: what a poll or a scan takes of memory is bounded by decompressed bytes: by one batch and one result,
//! whatever else was fetched. A record may exceed a result's target, a second one does not follow it.

use std::pin::Pin;
use std::task::{Context, Poll};

use arrow_array::RecordBatch;
use bytes::Bytes;
use ottla_client::Client;
use ottla_client::consumer::{ArrowLayout, Consumer, Range, Scan, ScanOptions};
use ottla_mock::MockCluster;
use ottla_protocol::records::{BatchBuilder, Compression, Compressor, ProducerState};
use tokio::time::Duration;

use crate::support::reader::consumer;
use crate::support::share::{share_cluster, share_member};
use crate::support::*;

const MIB: usize = 1 << 20;
/// The size of a large record: above every target.
const LARGE: usize = 20 * MIB;
const LARGE_RECORDS: usize = 6;
/// A decompressed batch, its copy in a result, and a little of everything else.
const ONE_BATCH: usize = 2 * LARGE + 4 * MIB;
/// The target of a poll of records.
const POLL_TARGET: usize = 16 * MIB;

/// A future whose memory is measured while it runs.
struct Measured<F> {
    future: Pin<Box<F>>,
    current: i64,
    most: i64,
}

impl<F: Future> Future for Measured<F> {
    type Output = (F::Output, usize);

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut result = Poll::Pending;
        let used = allocation_counter::measure(|| result = self.future.as_mut().poll(context));
        self.most = self.most.max(self.current + i64::try_from(used.bytes_max).unwrap());
        self.current += used.bytes_current;
        result.map(|output| (output, usize::try_from(self.most).unwrap()))
    }
}

/// Returns the result of a future, and the most memory that it took in addition to that at its start.
fn measured<F: Future>(future: F) -> Measured<F> {
    Measured { future: Box::pin(future), current: 0, most: 0 }
}

/// A batch of records that compress to nearly nothing.
fn batch(codec: Compression, sizes: &[usize]) -> Bytes {
    let zeros = vec![0; sizes.iter().copied().max().unwrap_or(0)];
    let mut builder = BatchBuilder::new(0);
    for size in sizes {
        builder.append(0, None, Some(&zeros[..*size]), &[]).unwrap();
    }
    builder.finish(&ProducerState::default(), &mut Compressor::new(codec).unwrap()).unwrap()
}

/// Appends large records, each in a batch of its own.
fn append_large(cluster: &MockCluster) {
    let large = batch(Compression::Zstd, &[LARGE]);
    for _ in 0..LARGE_RECORDS {
        cluster.append_raw("t", 0, large.clone()).expect("appended");
    }
}

async fn columns(consumer: &Consumer, layout: &ArrowLayout) -> (RecordBatch, usize) {
    let (batch, most) = measured(async {
        loop {
            if let Some(batch) = consumer.poll_arrow(CALL_TIMEOUT, layout).await.expect("a batch") {
                return batch;
            }
        }
    })
    .await;
    (batch, most)
}

fn scan(client: &Client, layout: &ArrowLayout) -> Scan {
    let options = ScanOptions {
        fail_on_data_loss: true,
        read_committed: false,
        max_bytes: 1 << 20,
        timeout: Duration::from_secs(20),
    };
    let range = Range { partition: ("t".into(), 0), start: 0, end: i64::try_from(LARGE_RECORDS).unwrap() };
    Scan::start(client.clone(), vec![range], options, layout)
}

fn layouts() -> [ArrowLayout; 2] {
    [ArrowLayout::default(), ArrowLayout { max_rows: 1, ..ArrowLayout::default() }]
}

#[tokio::test(start_paused = true)]
async fn a_poll_of_columns_takes_one_batch_and_its_result() {
    for layout in layouts() {
        let cluster = cluster(1).await;
        append_large(&cluster);
        let consumer = consumer(&cluster, &[0], &[]).await;
        for _ in 0..LARGE_RECORDS {
            let (batch, most) = columns(&consumer, &layout).await;
            assert_eq!(batch.num_rows(), 1);
            assert!(most <= ONE_BATCH, "{} MiB", most / MIB);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_scan_takes_one_batch_and_its_result() {
    for layout in layouts() {
        let cluster = cluster(1).await;
        append_large(&cluster);
        let client = client(&cluster, &[]).await;
        let mut scan = scan(&client, &layout);
        for _ in 0..LARGE_RECORDS {
            let (batch, most) = measured(within_deadline(scan.next_batch())).await;
            assert_eq!(batch.expect("a batch").expect("rows").num_rows(), 1);
            assert!(most <= ONE_BATCH, "{} MiB", most / MIB);
        }
        assert!(within_deadline(scan.next_batch()).await.expect("the end").is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn a_poll_of_records_takes_one_batch() {
    let cluster = cluster(1).await;
    append_large(&cluster);
    let consumer = consumer(&cluster, &[0], &[]).await;
    for offset in 0..LARGE_RECORDS {
        let (sets, most) = measured(within_deadline(consumer.poll(CALL_TIMEOUT, 500))).await;
        let sets = sets.expect("records");
        let offsets: Vec<_> = sets.iter().flat_map(|set| &set.entries).map(|entry| entry.offset).collect();
        assert_eq!(offsets, [i64::try_from(offset).unwrap()]);
        assert!(most <= ONE_BATCH, "{} MiB", most / MIB);
    }
}

#[tokio::test(start_paused = true)]
async fn a_poll_of_a_share_consumer_takes_one_batch_and_its_result() {
    let cluster = share_cluster(0).await;
    append_large(&cluster);
    let consumer = share_member(&cluster, &[]).await;
    for offset in 0..LARGE_RECORDS {
        let (records, most) = measured(within_deadline(consumer.poll(CALL_TIMEOUT, 500))).await;
        let offsets: Vec<_> = records.expect("records").iter().map(|record| record.offset).collect();
        assert_eq!(offsets, [i64::try_from(offset).unwrap()]);
        assert!(most <= ONE_BATCH, "{} MiB", most / MIB);
    }
    within_deadline(consumer.close(CALL_TIMEOUT)).await.expect("closed");
}

#[tokio::test(start_paused = true)]
async fn a_poll_of_columns_of_a_share_consumer_takes_one_batch_and_its_result() {
    for layout in layouts() {
        let cluster = share_cluster(0).await;
        append_large(&cluster);
        let consumer = share_member(&cluster, &[]).await;
        for _ in 0..LARGE_RECORDS {
            consumer.begin_poll().expect("begun");
            let deadline = Instant::now() + CALL_TIMEOUT;
            assert!(within_deadline(consumer.wait_until_ready(deadline)).await.expect("ready"));
            let mut batch = None;
            let used = allocation_counter::measure(|| batch = consumer.pop_batch(&layout).expect("a batch"));
            assert_eq!(batch.expect("rows").num_rows(), 1);
            assert!(used.bytes_max <= ONE_BATCH as u64, "{} MiB", used.bytes_max / MIB as u64);
        }
        within_deadline(consumer.close(CALL_TIMEOUT)).await.expect("closed");
    }
}

/// The rows of a large batch are split over several results, and it is decompressed once.
#[tokio::test(start_paused = true)]
async fn a_batch_of_many_records_is_decoded_in_steps() {
    const RECORDS: usize = 40;
    let cluster = cluster(1).await;
    cluster.append_raw("t", 0, batch(Compression::Zstd, &[MIB; RECORDS])).expect("appended");
    let layout = ArrowLayout::default();
    let by_columns = consumer(&cluster, &[0], &[]).await;
    let (mut rows, mut total) = (0, 0);
    while rows < RECORDS {
        let (batch, most) = columns(&by_columns, &layout).await;
        assert!(batch.num_rows() <= 5, "{} rows of 1 MiB", batch.num_rows());
        assert!(most <= (RECORDS + 12) * MIB, "{} MiB", most / MIB);
        (rows, total) = (rows + batch.num_rows(), total + most);
    }
    // Were it decompressed for each result, that would be 40 MiB each time.
    assert!(total <= (3 * RECORDS + 20) * MIB, "{} MiB in all", total / MIB);
    let by_records = consumer(&cluster, &[0], &[]).await;
    let mut read = 0;
    while read < RECORDS {
        let sets = within_deadline(by_records.poll(CALL_TIMEOUT, 500)).await.expect("records");
        let bytes: usize = sets.iter().map(|set| set.entries.len() * MIB).sum();
        assert!((1..=POLL_TARGET + MIB).contains(&bytes), "{} MiB", bytes / MIB);
        read += bytes / MIB;
    }
}

/// Regression: the entries of all records of a batch were made at once, 20 times the bytes of small ones.
#[tokio::test(start_paused = true)]
async fn a_poll_of_one_record_does_not_read_the_whole_batch() {
    const RECORDS: usize = 500_000;
    let cluster = cluster(1).await;
    cluster.append_raw("t", 0, batch(Compression::Zstd, &[0; RECORDS])).expect("appended");
    let consumer = consumer(&cluster, &[0], &[]).await;
    for _ in 0..2 {
        let (sets, most) = measured(within_deadline(consumer.poll(CALL_TIMEOUT, 1))).await;
        assert_eq!(sets.expect("a record").len(), 1);
        // Each of them takes about 10 bytes in the batch.
        assert!(most <= 20 * RECORDS, "{} MiB", most / MIB);
    }
    let (sets, _) = measured(within_deadline(consumer.poll(CALL_TIMEOUT, usize::MAX))).await;
    let records: usize = sets.expect("records").iter().map(|set| set.entries.len()).sum();
    assert!((1_000..=POLL_TARGET / 50).contains(&records), "{records} records");
}

/// An open batch waits only for the next poll: a paused partition does not keep it.
#[tokio::test(start_paused = true)]
async fn a_paused_partition_keeps_no_decompressed_batch() {
    let cluster = cluster(1).await;
    cluster.append_raw("t", 0, batch(Compression::Zstd, &[MIB; 20])).expect("appended");
    let consumer = consumer(&cluster, &[0], &[]).await;
    within_deadline(consumer.poll(CALL_TIMEOUT, 1)).await.expect("a record");
    let used = allocation_counter::measure(|| consumer.pause(&[("t".into(), 0)], true).expect("paused"));
    assert!(used.bytes_current <= -(20 * MIB as i64), "{} bytes", used.bytes_current);
    consumer.pause(&[("t".into(), 0)], false).expect("resumed");
    let sets = within_deadline(consumer.poll(CALL_TIMEOUT, 1)).await.expect("a record");
    assert_eq!(sets.first().and_then(|set| set.entries.first()).map(|entry| entry.offset), Some(1));
}
