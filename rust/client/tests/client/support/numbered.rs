//! What tests of idempotence share: a batch for each record, and the log's numbers and values.

use ottla_client::producer::{Delivery, Producer};
use ottla_mock::MockCluster;

use crate::support::{log, send};

/// A batch for each record.
pub(crate) const SINGLE: [(&str, &str); 2] = [("linger.ms", "0"), ("batch.size", "1")];

pub(crate) async fn send_all(producer: &Producer, values: impl IntoIterator<Item = i32>) -> Vec<Delivery> {
    let mut sent = Vec::new();
    for value in values {
        sent.push(send(producer, 0, &value.to_string()).await);
    }
    sent
}

/// Epoch and first number of each batch of the log.
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
