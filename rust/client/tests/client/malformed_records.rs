//! Proves: the records before a malformed one are delivered, and then its error, whatever the limit of a
//! poll.

use bytes::Bytes;
use ottla_client::consumer::{ArrowLayout, Consumer};
use ottla_client::{Error, Kind};
use ottla_protocol::records::{BatchBuilder, Compression, Compressor, ProducerState};

use crate::support::reader::{consumer, poll};
use crate::support::*;

/// A batch of three records, the last of which announces a value longer than the batch.
fn malformed() -> Bytes {
    let mut builder = BatchBuilder::new(0);
    for value in [&b"first"[..], b"second", b"third"] {
        builder.append(0, None, Some(value), &[]).unwrap();
    }
    let mut compressor = Compressor::new(Compression::None).unwrap();
    let mut bytes = builder.finish(&ProducerState::default(), &mut compressor).unwrap().to_vec();
    let value = bytes.windows(5).position(|window| window == b"third").unwrap();
    bytes[value - 1] = 0x7e;
    bytes.into()
}

async fn poll_until_error(consumer: &Consumer, max_records: usize) -> (Vec<(i32, i64)>, Error) {
    let mut rows = Vec::new();
    within_deadline(async {
        loop {
            match poll(consumer, max_records, CALL_TIMEOUT).await {
                Ok(more) => rows.extend(more),
                Err(error) => return (rows, error),
            }
        }
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn records_before_a_malformed_one_are_delivered() {
    for max_records in [1, 2, 3] {
        let cluster = cluster(1).await;
        cluster.append("t", 0, &[b"before"]).expect("appended");
        cluster.append_raw("t", 0, malformed()).expect("appended");
        // The change above makes the checksum wrong, too.
        let consumer = consumer(&cluster, &[0], &[("check.crcs", "false")]).await;
        let (rows, error) = poll_until_error(&consumer, max_records).await;
        assert_eq!(rows, [(0, 0), (0, 1), (0, 2)], "{max_records} per poll");
        assert_eq!((error.kind(), error.context().partition), (Kind::Protocol, Some(0)), "{error}");
        assert_eq!(
            within_deadline(consumer.position(&("t".into(), 0), CALL_TIMEOUT)).await.expect("a position"),
            3
        );
        // Nothing is skipped: the error stays until the application seeks.
        assert!(poll_until_error(&consumer, max_records).await.0.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn arrow_rows_before_a_malformed_record_are_delivered() {
    let cluster = cluster(1).await;
    cluster.append("t", 0, &[b"before"]).expect("appended");
    cluster.append_raw("t", 0, malformed()).expect("appended");
    let consumer = consumer(&cluster, &[0], &[("check.crcs", "false")]).await;
    let layout = ArrowLayout::default();
    let mut rows = 0;
    let error = within_deadline(async {
        loop {
            match consumer.poll_arrow(CALL_TIMEOUT, &layout).await {
                Ok(batch) => rows += batch.map_or(0, |batch| batch.num_rows()),
                Err(error) => return error,
            }
        }
    })
    .await;
    assert_eq!((rows, error.kind(), error.context().partition), (3, Kind::Protocol, Some(0)), "{error}");
    assert_eq!(
        within_deadline(consumer.position(&("t".into(), 0), CALL_TIMEOUT)).await.expect("a position"),
        3
    );
}
