//! Proves: records of 200 MB, compressed or not, are read with memory of about their size, which is
//! freed afterwards; exceeding a limit is an error that names the limit to raise.

use bytes::Bytes;
use ottla_client::Kind;
use ottla_client::consumer::{ChunkScan, Consumer, PollOutcome, Range, ScanOptions};
use ottla_mock::MockCluster;
use ottla_protocol::records::{BatchBuilder, Compression, Compressor, ProducerState};
use tokio::time::Instant;

use crate::support::reader::{consumer, poll, read, rows};
use crate::support::*;

const HUGE: usize = 200_000_000;
const LARGER_RESPONSES: (&str, &str) = ("receive.message.max.bytes", "300000000");

fn batch(codec: Compression, value: &[u8]) -> Bytes {
    let mut builder = BatchBuilder::new(value.len() + 100);
    builder.append(0, Some(b"key"), Some(value), &[]).unwrap();
    builder.finish(&ProducerState::default(), &mut Compressor::new(codec).unwrap()).unwrap()
}

fn append(cluster: &MockCluster, codec: Compression, size: usize) {
    cluster.append_raw("t", 0, batch(codec, &vec![b'v'; size])).unwrap();
}

/// Reads the huge record. Returns the peak memory of that, and the memory still in use afterwards.
async fn read_huge(consumer: &Consumer) -> (u64, i64) {
    let ready =
        within_deadline(consumer.wait_until_ready(Instant::now() + CALL_TIMEOUT)).await.expect("records");
    assert!(matches!(ready, PollOutcome::Ready));
    let mut sets = Vec::new();
    let took = allocation_counter::measure(|| sets = consumer.take_records(500));
    let [set] = sets.as_slice() else { panic!("{} sets", sets.len()) };
    let [entry] = set.entries.as_slice() else { panic!("{} records", set.entries.len()) };
    assert_eq!(set.key(entry), Some(b"key".as_slice()));
    let value = set.value(entry).unwrap();
    assert_eq!((value.len(), value.first(), value.last()), (HUGE, Some(&b'v'), Some(&b'v')));
    let dropped = allocation_counter::measure(|| drop(sets));
    (took.bytes_max, took.bytes_current + dropped.bytes_current)
}

#[tokio::test]
async fn a_compressed_record_of_200_mb_takes_memory_of_its_size() {
    let cluster = cluster(1).await;
    append(&cluster, Compression::Zstd, HUGE);
    let (most, left) = read_huge(&consumer(&cluster, &[0], &[]).await).await;
    assert!(most <= HUGE as u64 / 4 * 5, "{most} bytes");
    assert!(left <= 1 << 20, "{left} bytes are kept");
}

#[tokio::test]
async fn an_uncompressed_record_of_200_mb_is_read_if_responses_may_be_that_large() {
    let cluster = cluster(1).await;
    append(&cluster, Compression::None, HUGE);
    let (most, _) = read_huge(&consumer(&cluster, &[0], &[LARGER_RESPONSES]).await).await;
    assert!(most <= 1 << 20, "{most} bytes");
}

#[tokio::test(start_paused = true)]
async fn a_response_that_is_too_large_is_an_error_that_names_the_limit() {
    let cluster = cluster(1).await;
    append(&cluster, Compression::None, 3_000_000);
    let limit = ("receive.message.max.bytes", "2000000");
    let small = consumer(&cluster, &[0], &[limit]).await;
    // On every attempt, and without losing records.
    for _ in 0..2 {
        let error = within_deadline(poll(&small, 500, CALL_TIMEOUT)).await.expect_err("too large");
        assert_eq!((error.kind(), error.context().partition), (Kind::Config, Some(0)), "{error}");
        assert!(error.to_string().contains("receive.message.max.bytes=2000000: raise it"), "{error}");
    }
    let options = ScanOptions {
        fail_on_data_loss: true,
        read_committed: false,
        max_bytes: 1 << 20,
        timeout: CALL_TIMEOUT,
    };
    let range = Range { partition: ("t".into(), 0), start: 0, end: 1 };
    let mut scan = ChunkScan::start(small.client().clone(), vec![range], options);
    let error = within_deadline(scan.next()).await.expect("an error").expect_err("too large");
    assert_eq!(error.kind(), Kind::Config, "{error}");
    assert_eq!(read(&consumer(&cluster, &[0], &[]).await, 1).await, rows(0, 0..1));
}

#[tokio::test(start_paused = true)]
async fn a_batch_above_the_limit_is_an_error_that_names_the_setting() {
    for codec in [Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd] {
        let cluster = cluster(1).await;
        append(&cluster, codec, 99_000);
        append(&cluster, codec, 101_000);
        let limited = consumer(&cluster, &[0], &[("decompressed.batch.max.bytes", "100000")]).await;
        assert_eq!(read(&limited, 1).await, rows(0, 0..1));
        let error = within_deadline(poll(&limited, 500, CALL_TIMEOUT)).await.expect_err("too large");
        assert_eq!((error.kind(), error.context().partition), (Kind::Config, Some(0)), "{error}");
        let message = error.to_string();
        let says = format!("batch at offset 1: {codec} data decompresses to more than 100000 bytes");
        for part in [&says, "raise decompressed.batch.max.bytes", "t-0"] {
            assert!(message.contains(part), "{message}");
        }
        assert_eq!(read(&consumer(&cluster, &[0], &[]).await, 2).await, rows(0, 0..2));
    }
}
