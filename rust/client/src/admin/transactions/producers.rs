//! DescribeProducers: the idempotent producers that a replica of each partition knows.

use std::collections::HashMap;
use std::sync::Arc;

use ottla_protocol::messages::describe_producers::{
    DescribeProducersRequest, ProducerState as WireState, TopicRequest,
};
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::time::Duration;

use crate::cluster::{Client, Route};
use crate::connection::Connection;
use crate::error::{Error, Result};
use crate::requests::PartitionResults;
use crate::topic_partition::TopicPartition;

/// A producer as a partition knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProducerState {
    /// The producer id.
    pub producer_id: i64,
    /// The producer epoch of its last batch or marker.
    pub producer_epoch: i32,
    /// The sequence number of its last record; `None` after a marker with a new epoch.
    pub last_sequence: Option<i32>,
    /// The time of its last batch or marker, in milliseconds since 1970, if known.
    pub last_timestamp: Option<i64>,
    /// The epoch of the coordinator that wrote its last marker; `None` if none was written.
    pub coordinator_epoch: Option<i32>,
    /// The first offset of its open transaction; `None` if none is open in this partition.
    pub transaction_start_offset: Option<i64>,
}

impl Client {
    /// Describes the producers of partitions, as their leaders know them.
    pub async fn describe_producers(
        &self,
        partitions: impl IntoIterator<Item = TopicPartition>,
        timeout: Duration,
    ) -> Result<HashMap<TopicPartition, Vec<ProducerState>>> {
        let wanted = partitions.into_iter().map(|partition| (partition, ()));
        let what = "describing producers";
        self.request_from_leaders(what, wanted, timeout, |client, broker, part, _| async move {
            let connection = client.connection(Route::Broker(broker)).await?;
            describe_producers_on(&connection, part.keys()).await.map_err(|error| error.broker(broker))
        })
        .await
    }
}

/// Describes the producers of partitions as one broker knows them: a single request, without retries.
pub(crate) async fn describe_producers_on(
    connection: &Connection,
    partitions: impl IntoIterator<Item = &TopicPartition>,
) -> Result<PartitionResults<Vec<ProducerState>>> {
    let version = connection.version::<DescribeProducersRequest>(i16::MAX)?;
    let response = connection.request(&build_request(partitions), version).await?;
    connection.throttle(response.throttle_time_ms);
    let mut results = Vec::new();
    for topic in response.topics {
        let name: Arc<str> = topic.name.into();
        for partition in topic.partitions {
            let producers = partition.active_producers.into_iter().map(producer).collect();
            let key = (Arc::clone(&name), partition.partition_index);
            let refusal = |code| Error::from_code(code).lacking(ApiKey::DescribeProducers, &name);
            let producers = ErrorCode::from(partition.error_code).ok().map(|()| producers).map_err(refusal);
            results.push((key, producers));
        }
    }
    Ok(results)
}

/// Builds the request; partitions of a topic must be adjacent.
fn build_request<'a>(partitions: impl IntoIterator<Item = &'a TopicPartition>) -> DescribeProducersRequest {
    let mut topics: Vec<TopicRequest> = Vec::new();
    for (topic, partition) in partitions {
        if topics.last().is_none_or(|last| *last.name != **topic) {
            topics.push(TopicRequest { name: topic.to_string(), partition_indexes: Vec::new() });
        }
        if let Some(last) = topics.last_mut() {
            last.partition_indexes.push(*partition);
        }
    }
    DescribeProducersRequest { topics }
}

fn producer(state: WireState) -> ProducerState {
    ProducerState {
        producer_id: state.producer_id,
        producer_epoch: state.producer_epoch,
        last_sequence: Some(state.last_sequence).filter(|sequence| *sequence >= 0),
        last_timestamp: Some(state.last_timestamp).filter(|timestamp| *timestamp >= 0),
        coordinator_epoch: Some(state.coordinator_epoch).filter(|epoch| *epoch >= 0),
        transaction_start_offset: Some(state.current_txn_start_offset).filter(|offset| *offset >= 0),
    }
}
