//! Transactions in a log: last stable offsets and aborted transactions.

use crate::support::*;
use ottla_mock::MockCluster;
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::fetch::PartitionData;
use ottla_protocol::records::{AbortedTransaction, AbortedTransactions, Batches, Decompressor};

async fn fetch(cluster: &MockCluster, offset: i64, committed: bool) -> PartitionData {
    let mut request = fetch_request("t", 0, offset);
    request.isolation_level = i8::from(committed);
    let mut raw = RawClient::to_leader(cluster, "t", 0).await;
    raw.call(&request, 12).await.responses.remove(0).partitions.remove(0)
}

fn aborted(data: &PartitionData) -> Vec<(i64, i64)> {
    let list = data.aborted_transactions.iter().flatten();
    list.map(|aborted| (aborted.producer_id, aborted.first_offset)).collect()
}

/// The offsets of the records that a read_committed consumer returns.
fn visible(data: &PartitionData) -> Vec<i64> {
    let list = aborted(data).into_iter();
    let mut filter = AbortedTransactions::new(
        list.map(|(producer_id, first_offset)| AbortedTransaction { first_offset, producer_id }),
    );
    let (mut seen, mut decompressor) = (Vec::new(), Decompressor::new());
    for batch in Batches::new(data.records.clone().unwrap()) {
        let batch = batch.unwrap();
        if filter.admits(&batch, &mut decompressor).unwrap() {
            seen.extend(batch.records(&mut decompressor).unwrap().map(|record| record.unwrap().offset));
        }
    }
    seen
}

#[tokio::test]
async fn read_committed_sees_only_committed_records() {
    let cluster = cluster_with_topic(1).await;
    assert_eq!(cluster.append("t", 0, &[b"plain"]).unwrap(), 0);
    assert_eq!(cluster.append_in_transaction("t", 0, 7, &[b"a", b"b"]).unwrap(), 1);
    assert_eq!(cluster.append_in_transaction("t", 0, 8, &[b"c"]).unwrap(), 3);
    assert_eq!(cluster.append("t", 0, &[b"plain"]).unwrap(), 4);
    // Only records before the first open transaction.
    let data = fetch(&cluster, 0, true).await;
    assert_eq!((data.last_stable_offset, data.high_watermark), (1, 5));
    assert_eq!((visible(&data), aborted(&data)), (vec![0], vec![]));
    let all = fetch(&cluster, 0, false).await;
    assert_eq!((all.aborted_transactions, offsets(&all.records.unwrap()).len()), (None, 4));
    assert_eq!(cluster.end_transaction("t", 0, 7, false).unwrap(), 5);
    let data = fetch(&cluster, 0, true).await;
    assert_eq!((data.last_stable_offset, visible(&data), aborted(&data)), (3, vec![0], vec![(7, 1)]));
    assert_eq!(cluster.end_transaction("t", 0, 8, true).unwrap(), 6);
    let data = fetch(&cluster, 0, true).await;
    assert_eq!((data.last_stable_offset, visible(&data)), (7, vec![0, 3, 4]));
    // After its marker, an aborted transaction is not listed.
    assert_eq!(aborted(&fetch(&cluster, 5, true).await), [(7, 1)]);
    assert_eq!(aborted(&fetch(&cluster, 6, true).await), []);
    // The producer continues with the next sequence numbers, in a new transaction.
    cluster.append_in_transaction("t", 0, 7, &[b"d"]).unwrap();
    let log = cluster.partition_log("t", 0).unwrap();
    assert_eq!((log.batches.last().unwrap().base_sequence, log.last_stable_offset), (2, 7));
    cluster.truncate("t", 0, 5).unwrap();
    let log = cluster.partition_log("t", 0).unwrap();
    assert_eq!((log.high_watermark, log.last_stable_offset), (5, 1));
}

#[tokio::test]
async fn raw_batches_are_appended_unchanged() {
    let cluster = cluster_with_topic(1).await;
    assert_eq!(cluster.append_raw("t", 0, batch(&[5, 6], b"v")).unwrap(), 0);
    assert_eq!(cluster.append_raw("t", 0, batch(&[7], b"v")).unwrap(), 2);
    assert_eq!(offsets(&fetch(&cluster, 0, false).await.records.unwrap()), [(0, 1), (2, 2)]);
    let error = cluster.append_raw("t", 0, bytes::Bytes::from_static(b"nonsense")).unwrap_err();
    assert_eq!(error.code, ErrorCode::CorruptMessage);
}
