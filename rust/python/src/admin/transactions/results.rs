//! The results: what coordinators and partition leaders know of transactions.

use std::collections::BTreeMap;

use ottla_client::TopicPartition;
use ottla_client::admin::transactions as core;
use pyo3::prelude::*;

/// A transactional id in a list.
#[pyclass(frozen, get_all, eq, module = "ottla")]
#[derive(PartialEq, Eq)]
pub(crate) struct TransactionListing {
    /// The transactional id.
    transactional_id: String,
    /// Its producer id.
    producer_id: i64,
    /// Its state, by Kafka's name.
    ///
    /// ``Empty``, ``Ongoing``, ``PrepareCommit``, ``PrepareAbort``, ``CompleteCommit``,
    /// ``CompleteAbort`` or ``PrepareEpochFence``.
    state: String,
    /// The id of the broker that coordinates it.
    coordinator: i32,
}

impl From<core::TransactionListing> for TransactionListing {
    fn from(listing: core::TransactionListing) -> Self {
        let core::TransactionListing { transactional_id, producer_id, state, coordinator } = listing;
        Self { transactional_id, producer_id, state, coordinator }
    }
}

#[pymethods]
impl TransactionListing {
    fn __repr__(&self) -> String {
        format!(
            "TransactionListing(transactional_id={:?}, producer_id={}, state={:?}, coordinator={})",
            self.transactional_id, self.producer_id, self.state, self.coordinator
        )
    }
}

/// The transaction of a transactional id, as its coordinator knows it.
#[pyclass(frozen, get_all, eq, module = "ottla")]
#[derive(Clone, PartialEq)]
pub(crate) struct TransactionDescription {
    /// The transactional id.
    transactional_id: String,
    /// Its state; see ``TransactionListing``.
    state: String,
    /// Its producer id.
    producer_id: i64,
    /// Its producer epoch.
    producer_epoch: i16,
    /// Seconds that it may stay open (its producer's ``transaction.timeout.ms``).
    timeout: f64,
    /// When the transaction was opened, in milliseconds since 1970; None if none is open.
    start_time: Option<i64>,
    /// The partitions of the open transaction, as ``(topic, partition)``.
    partitions: Vec<(String, i32)>,
}

impl From<core::TransactionDescription> for TransactionDescription {
    fn from(described: core::TransactionDescription) -> Self {
        let partitions = described.partitions.iter();
        Self {
            partitions: partitions.map(|(topic, partition)| (topic.to_string(), *partition)).collect(),
            transactional_id: described.transactional_id,
            state: described.state,
            producer_id: described.producer_id,
            producer_epoch: described.producer_epoch,
            timeout: described.timeout.as_secs_f64(),
            start_time: described.started,
        }
    }
}

#[pymethods]
impl TransactionDescription {
    fn __repr__(&self) -> String {
        format!(
            "TransactionDescription(transactional_id={:?}, state={:?}, producer_id={}, producer_epoch={}, partitions={:?})",
            self.transactional_id, self.state, self.producer_id, self.producer_epoch, self.partitions
        )
    }
}

/// A producer as the leader of a partition knows it.
#[pyclass(frozen, get_all, eq, module = "ottla")]
#[derive(PartialEq, Eq)]
pub(crate) struct ProducerState {
    /// The producer id.
    producer_id: i64,
    /// The producer epoch of its last batch or marker.
    producer_epoch: i32,
    /// The sequence number of its last record; None after a marker with a new epoch.
    last_sequence: Option<i32>,
    /// The time of its last batch or marker, in milliseconds since 1970; None if unknown.
    last_timestamp: Option<i64>,
    /// The epoch of the coordinator that wrote its last marker; None if none was written.
    coordinator_epoch: Option<i32>,
    /// The first offset of its open transaction; None if none is open in this partition.
    transaction_start_offset: Option<i64>,
}

impl From<core::ProducerState> for ProducerState {
    fn from(producer: core::ProducerState) -> Self {
        Self {
            producer_id: producer.producer_id,
            producer_epoch: producer.producer_epoch,
            last_sequence: producer.last_sequence,
            last_timestamp: producer.last_timestamp,
            coordinator_epoch: producer.coordinator_epoch,
            transaction_start_offset: producer.transaction_start_offset,
        }
    }
}

#[pymethods]
impl ProducerState {
    fn __repr__(&self) -> String {
        let start = self.transaction_start_offset.map_or("None".to_owned(), |offset| offset.to_string());
        format!(
            "ProducerState(producer_id={}, producer_epoch={}, transaction_start_offset={start})",
            self.producer_id, self.producer_epoch
        )
    }
}

/// A transaction that is open in one partition, and keeps its last stable offset back.
#[pyclass(frozen, get_all, eq, module = "ottla")]
#[derive(PartialEq)]
pub(crate) struct OpenTransaction {
    /// The topic.
    topic: String,
    /// The partition.
    partition: i32,
    /// The first offset of the transaction in this partition.
    ///
    /// With ``read_committed``, consumers read nothing from the smallest one on.
    start_offset: i64,
    /// The producer id.
    producer_id: i64,
    /// The producer epoch.
    producer_epoch: i32,
    /// The time of its last batch, in milliseconds since 1970; None if unknown.
    last_timestamp: Option<i64>,
    /// The transaction as its coordinator knows it.
    ///
    /// None if no coordinator lists the producer, or the principal may not describe it.
    transaction: Option<TransactionDescription>,
    /// Whether the transaction hangs, so that no coordinator will end it.
    ///
    /// None of them knows that it is open here. ``Admin.abort_hanging_transaction`` ends it.
    is_hanging: bool,
}

impl From<core::OpenTransaction> for OpenTransaction {
    fn from(open: core::OpenTransaction) -> Self {
        Self {
            topic: open.topic.to_string(),
            partition: open.partition,
            start_offset: open.start_offset,
            producer_id: open.producer.producer_id,
            producer_epoch: open.producer.producer_epoch,
            last_timestamp: open.producer.last_timestamp,
            transaction: open.transaction.map(TransactionDescription::from),
            is_hanging: open.is_hanging,
        }
    }
}

#[pymethods]
impl OpenTransaction {
    fn __repr__(&self) -> String {
        let is_hanging = if self.is_hanging { "True" } else { "False" };
        format!(
            "OpenTransaction(topic={:?}, partition={}, start_offset={}, producer_id={}, is_hanging={is_hanging})",
            self.topic, self.partition, self.start_offset, self.producer_id
        )
    }
}

/// The producers of partitions, by topic and partition.
pub(super) type Producers = BTreeMap<(String, i32), Vec<ProducerState>>;

pub(super) fn producers(
    described: impl IntoIterator<Item = (TopicPartition, Vec<core::ProducerState>)>,
) -> Producers {
    let item = |((topic, partition), states): (TopicPartition, Vec<core::ProducerState>)| {
        ((topic.to_string(), partition), states.into_iter().map(ProducerState::from).collect())
    };
    described.into_iter().map(item).collect()
}
