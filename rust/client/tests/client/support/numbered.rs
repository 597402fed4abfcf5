//! Helpers of the idempotence tests: one batch per record, and the sequence numbers and values in the
//! log.

use ottla_client::producer::{Delivery, Producer};
use ottla_mock::MockCluster;

use crate::support::{log, send};

/// Configuration for one batch per record.
pub(crate) const SINGLE: [(&str, &str); 2] = [("linger.ms", "0"), ("batch.size", "1")];

pub(crate) async fn send_all(producer: &Producer, values: impl IntoIterator<Item = i32>) -> Vec<Delivery> {
    let mut sent = Vec::new();
    for value in values {
        sent.push(send(producer, 0, &value.to_string()).await);
    }
    sent
}

/// The epoch and first sequence number of each batch in the log.
pub(crate) fn numbers(cluster: &MockCluster) -> Vec<(i16, i32)> {
    let view = cluster.partition_log("t", 0).unwrap();
    view.batches.iter().map(|batch| (batch.producer_epoch, batch.base_sequence)).collect()
}

pub(crate) fn written(cluster: &MockCluster) -> Vec<String> {
    log(cluster, "t", 0).into_iter().map(|(_, value)| value).collect()
}

pub(crate) fn texts(values: impl IntoIterator<Item = i32>) -> Vec<String> {
    values.into_iter().map(|value| value.to_string()).collect()
}
