//! Finds the open transactions that keep the last stable offset of partitions back, and whose they are.
//!
//! Invariants: nothing is concluded from a broker that does not respond: a transaction counts as hanging only
//! if every reached coordinator was asked, none knows it, and it is still open after that.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTopic,
};
use tokio::task::JoinSet;
use tokio::time::timeout_at;

use super::ProbeContext;
use super::topics::LedPartition;
use crate::admin::transactions::{
    OpenTransaction, TransactionDescription, TransactionFilter, describe_on, describe_producers_on, list_on,
    of_producers,
};
use crate::connection::Connection;
use crate::error::Result;
use crate::topic_partition::TopicPartition;

/// Partitions of one broker whose open transactions are reported at most.
const MAX_PARTITIONS: usize = 20;
const LATEST: i64 = -1;

/// Returns the open transactions of partitions; nothing about brokers that do not describe them in time.
pub(super) async fn check(
    probe: &ProbeContext,
    reached: &[(i32, Arc<Connection>)],
    leaders: &HashMap<i32, Vec<LedPartition>>,
) -> Vec<OpenTransaction> {
    let mut searches = JoinSet::new();
    for (broker, connection) in reached {
        let Some(led) = leaders.get(broker).filter(|led| !led.is_empty()) else { continue };
        let led: Vec<TopicPartition> =
            led.iter().map(|led| (Arc::clone(&led.topic), led.partition)).collect();
        let (connection, end) = (Arc::clone(connection), probe.step_deadline());
        searches.spawn(async move { timeout_at(end, open_at(&connection, &led)).await });
    }
    let mut open = Vec::new();
    while let Some(joined) = searches.join_next().await {
        if let Ok(Ok(Ok(found))) = joined {
            open.extend(found);
        }
    }
    if open.is_empty() {
        return open;
    }
    let known = transactions(probe, reached, &open).await;
    for found in &mut open {
        found.set_transaction(known.by_producer.get(&found.producer.producer_id));
        found.is_hanging &= known.is_complete;
    }
    if open.iter().any(|found| found.is_hanging) {
        confirm(probe, reached, leaders, &mut open).await;
    }
    open.sort_by(|a, b| {
        (&a.topic, a.partition, a.start_offset).cmp(&(&b.topic, b.partition, b.start_offset))
    });
    open
}

/// The open transactions of partitions whose last stable offset is below their end.
async fn open_at(connection: &Connection, led: &[TopicPartition]) -> Result<Vec<OpenTransaction>> {
    // In this order, so that records written meanwhile do not look as if they were kept back.
    let ends = end_offsets(connection, led, false).await?;
    let stable = end_offsets(connection, led, true).await?;
    let is_kept_back = |partition: &&TopicPartition| match (stable.get(*partition), ends.get(*partition)) {
        (Some(stable), Some(end)) => stable < end,
        _ => false,
    };
    let kept_back: Vec<TopicPartition> =
        led.iter().filter(is_kept_back).take(MAX_PARTITIONS).cloned().collect();
    if kept_back.is_empty() {
        return Ok(Vec::new());
    }
    open_in(connection, &kept_back).await
}

async fn open_in(connection: &Connection, partitions: &[TopicPartition]) -> Result<Vec<OpenTransaction>> {
    let results = describe_producers_on(connection, partitions).await?;
    let described = results.into_iter().filter_map(|(partition, result)| Some((partition, result.ok()?)));
    Ok(of_producers(described))
}

async fn end_offsets(
    connection: &Connection,
    led: &[TopicPartition],
    read_committed: bool,
) -> Result<HashMap<TopicPartition, i64>> {
    let mut topics: Vec<ListOffsetsTopic> = Vec::new();
    for (topic, partition_index) in led {
        if topics.last().is_none_or(|last| *last.name != **topic) {
            topics.push(ListOffsetsTopic { name: topic.to_string(), ..Default::default() });
        }
        if let Some(last) = topics.last_mut() {
            let (partition_index, timestamp) = (*partition_index, LATEST);
            last.partitions.push(ListOffsetsPartition { partition_index, timestamp, ..Default::default() });
        }
    }
    let isolation_level = i8::from(read_committed);
    let request = ListOffsetsRequest { replica_id: -1, isolation_level, topics, ..Default::default() };
    let version = connection.version::<ListOffsetsRequest>(i16::MAX)?;
    Ok(offsets_of(connection.request(&request, version).await?))
}

fn offsets_of(response: ListOffsetsResponse) -> HashMap<TopicPartition, i64> {
    let mut offsets = HashMap::new();
    for topic in response.topics {
        let name: Arc<str> = topic.name.into();
        for partition in topic.partitions {
            if ErrorCode::from(partition.error_code) == ErrorCode::None {
                offsets.insert((Arc::clone(&name), partition.partition_index), partition.offset);
            }
        }
    }
    offsets
}

/// What the coordinators know.
struct KnownTransactions {
    by_producer: HashMap<i64, TransactionDescription>,
    /// Whether every reached broker responded.
    is_complete: bool,
}

async fn transactions(
    probe: &ProbeContext,
    reached: &[(i32, Arc<Connection>)],
    open: &[OpenTransaction],
) -> KnownTransactions {
    let producer_ids: BTreeSet<i64> = open.iter().map(|found| found.producer.producer_id).collect();
    let filter = TransactionFilter { producer_ids: producer_ids.into_iter().collect(), ..Default::default() };
    let mut lists = JoinSet::new();
    for (_, connection) in reached {
        let (connection, filter, end) = (Arc::clone(connection), filter.clone(), probe.step_deadline());
        lists.spawn(async move { timeout_at(end, describe_known(connection, filter)).await });
    }
    let mut known = KnownTransactions { by_producer: HashMap::new(), is_complete: true };
    while let Some(joined) = lists.join_next().await {
        match joined {
            Ok(Ok(Ok(described))) => {
                known.by_producer.extend(described.into_iter().map(|known| (known.producer_id, known)));
            }
            _ => known.is_complete = false,
        }
    }
    known
}

async fn describe_known(
    connection: Arc<Connection>,
    filter: TransactionFilter,
) -> Result<Vec<TransactionDescription>> {
    let listed = list_on(Arc::clone(&connection), filter).await?;
    let ids: Vec<String> =
        listed.transaction_states.into_iter().map(|state| state.transactional_id).collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    describe_on(connection, ids).await?.into_iter().map(|(_, described)| described).collect()
}

/// Drops what seemed to hang and has ended meanwhile.
async fn confirm(
    probe: &ProbeContext,
    reached: &[(i32, Arc<Connection>)],
    leaders: &HashMap<i32, Vec<LedPartition>>,
    open: &mut Vec<OpenTransaction>,
) {
    let mut still_open = Vec::new();
    for (broker, connection) in reached {
        let Some(led) = leaders.get(broker) else { continue };
        let is_led = |found: &&OpenTransaction| {
            led.iter().any(|led| led.topic == found.topic && led.partition == found.partition)
        };
        let suspects = open.iter().filter(|found| found.is_hanging).filter(is_led);
        let suspects: BTreeSet<_> =
            suspects.map(|found| (Arc::clone(&found.topic), found.partition)).collect();
        let suspects: Vec<TopicPartition> = suspects.into_iter().collect();
        if !suspects.is_empty()
            && let Ok(Ok(found)) = timeout_at(probe.step_deadline(), open_in(connection, &suspects)).await
        {
            still_open.extend(found);
        }
    }
    open.retain(|found| !found.is_hanging || still_open.iter().any(|other| other.is_same(found)));
}
