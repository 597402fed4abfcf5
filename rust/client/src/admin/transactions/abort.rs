//! WriteTxnMarkers by an operator: aborts a hanging transaction, which no coordinator will end.
//!
//! Invariant: a transaction that its coordinator knows is never ended behind its back: the coordinator could
//! still commit the rest of it.

use std::sync::Arc;

use ottla_protocol::messages::write_txn_markers::{
    WritableTxnMarker, WritableTxnMarkerTopic, WriteTxnMarkersRequest,
};
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::time::Duration;

use super::OpenTransaction;
use crate::cluster::{Client, Route};
use crate::error::{Error, Kind, Result};
use crate::topic_partition::TopicPartition;

impl Client {
    /// Aborts the hanging transaction that starts at an offset of a partition: the leader writes an abort
    /// marker. See [`Client::open_transactions`].
    ///
    /// # Errors
    /// [`Kind::State`]: no open transaction starts at this offset, or its coordinator knows it: use
    /// [`Client::fence_producers`]. [`Kind::Authorization`]: the principal needs ClusterAction on the cluster.
    /// [`Kind::Fenced`]: the producer or a coordinator has written with a newer epoch meanwhile.
    pub async fn abort_hanging_transaction(
        &self,
        partition: &TopicPartition,
        start_offset: i64,
        timeout: Duration,
    ) -> Result<()> {
        let open = self.open_transactions([partition.clone()], timeout).await?;
        let found = open.iter().find(|found| found.start_offset == start_offset);
        let found = found.ok_or_else(|| none_starts_at(partition, start_offset, &open))?;
        if !found.is_hanging {
            return Err(is_known(partition, found));
        }
        let request = build_request(found)?;
        self.retrying("aborting a hanging transaction", timeout, || send(self, partition, &request)).await
    }
}

fn build_request(found: &OpenTransaction) -> Result<WriteTxnMarkersRequest> {
    let producer = &found.producer;
    let producer_epoch = i16::try_from(producer.producer_epoch).map_err(|_| {
        let message = format!("the broker returned the invalid producer epoch {}", producer.producer_epoch);
        Error::new(Kind::Protocol, message)
    })?;
    let topic =
        WritableTxnMarkerTopic { name: found.topic.to_string(), partition_indexes: vec![found.partition] };
    let marker = WritableTxnMarker {
        producer_id: producer.producer_id,
        producer_epoch,
        transaction_result: false,
        topics: vec![topic],
        // If no marker was ever written, every coordinator epoch is accepted, but not -1.
        coordinator_epoch: producer.coordinator_epoch.unwrap_or(0),
        transaction_version: 0,
    };
    Ok(WriteTxnMarkersRequest { markers: vec![marker] })
}

async fn send(
    client: &Client,
    (topic, partition): &TopicPartition,
    request: &WriteTxnMarkersRequest,
) -> Result<()> {
    let response = client.send(Route::Leader(topic, *partition), request, i16::MAX).await?;
    let mut results = response.markers.into_iter().flat_map(|marker| marker.topics);
    let result = results.find_map(|topic| topic.partitions.into_iter().next());
    let Some(result) = result else {
        return Err(Error::new(Kind::Protocol, "the response lacks the partition").maybe_done());
    };
    let code = ErrorCode::from(result.error_code);
    code.ok()
        .map_err(|code| Error::from_code(code).lacking(ApiKey::WriteTxnMarkers, "").at(topic, *partition))
}

fn none_starts_at((topic, partition): &TopicPartition, offset: i64, open: &[OpenTransaction]) -> Error {
    let starts: Vec<String> = open.iter().map(|found| found.start_offset.to_string()).collect();
    let known = if starts.is_empty() {
        "none is open in this partition".to_owned()
    } else {
        format!("those that are open start at {}", starts.join(", "))
    };
    let message = format!("no open transaction starts at offset {offset}: {known}");
    Error::new(Kind::State, message).at(topic, *partition)
}

fn is_known((topic, partition): &TopicPartition, found: &OpenTransaction) -> Error {
    let id = found.transaction.as_ref().map_or("?", |known| &known.transactional_id);
    let message = format!(
        "the transaction does not hang: the coordinator of the transactional id {id} knows it and will end it. To abort it at once, fence its producer"
    );
    Error::new(Kind::State, message).at(&Arc::clone(topic), *partition)
}
