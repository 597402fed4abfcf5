//! The operations as futures, and their arguments.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ottla_client::admin::transactions as core;
use ottla_client::producer::PreparedTransaction as CorePrepared;
use ottla_client::{Client, Error, IfMissing, Result, TopicPartition};
use pyo3::prelude::*;

use super::results::{OpenTransaction, Producers, TransactionDescription, TransactionListing, producers};
use crate::convert::errors::value;
use crate::convert::item_errors::ItemErrors;
use crate::convert::names::{Names, items};
use crate::convert::number;
use crate::convert::offsets::pair;
use crate::producer::PreparedTransaction;
use crate::runtime::seconds;

/// The arguments of `_list_transactions`.
pub(super) fn filter(
    states: Option<Names>,
    producer_ids: Option<Vec<i64>>,
    running_longer_than: Option<f64>,
    id_pattern: Option<String>,
) -> PyResult<core::TransactionFilter> {
    let running_longer_than =
        running_longer_than.map(|time| seconds(Some(time), Duration::ZERO)).transpose()?;
    Ok(core::TransactionFilter {
        states: states.map(|Names(names)| names).unwrap_or_default(),
        producer_ids: producer_ids.unwrap_or_default(),
        running_longer_than,
        id_pattern,
    })
}

/// Converts the argument `producer_ids`.
pub(super) fn producer_ids(argument: &Bound<'_, PyAny>) -> PyResult<Option<Vec<i64>>> {
    if argument.is_none() {
        return Ok(None);
    }
    let ids = items(argument, "a list of producer ids", |_| "[4711]".to_owned())?;
    ids.map(|id| number::producer_id(&id?)).collect::<PyResult<_>>().map(Some)
}

/// Converts the argument `partitions`.
pub(super) fn pairs(argument: &Bound<'_, PyAny>) -> PyResult<Vec<(String, i32)>> {
    let pairs = items(argument, "(topic, partition) in a list", |topic| format!("[({topic}, 0)]"))?;
    pairs.map(|item| pair(&item?)).collect()
}

pub(super) fn partitions(partitions: Vec<(String, i32)>) -> Vec<TopicPartition> {
    partitions.into_iter().map(|(topic, partition)| (Arc::from(topic), partition)).collect()
}

/// Transactional ids, and the errors of the brokers that listed none.
pub(super) type Listed = (Vec<core::TransactionListing>, Vec<Error>);

pub(super) async fn list(
    client: Client,
    filter: core::TransactionFilter,
    timeout: Duration,
) -> Result<Listed> {
    client.list_transactions_of_brokers(&filter, timeout).await
}

/// Transactional ids and errors as Python has them.
pub(super) type PyListed = (Vec<TransactionListing>, Vec<Py<PyAny>>);

pub(super) fn listed(py: Python<'_>, (listings, errors): Listed) -> PyResult<PyListed> {
    let errors = errors.iter().map(|error| value(py, error)).collect::<PyResult<_>>()?;
    Ok((listings.into_iter().map(TransactionListing::from).collect(), errors))
}

/// A result for each transactional id.
pub(super) type Described = BTreeMap<String, Result<core::TransactionDescription>>;

pub(super) async fn describe(client: Client, ids: Vec<String>, timeout: Duration) -> Result<Described> {
    client.describe_transactions(ids, timeout).await
}

pub(super) fn described(py: Python<'_>, results: Described, errors: ItemErrors) -> PyResult<Py<PyAny>> {
    errors.to_dict(py, results, |py, described| {
        Ok(Py::new(py, TransactionDescription::from(described))?.into_any())
    })
}

pub(super) async fn describe_producers(
    client: Client,
    partitions: Vec<TopicPartition>,
    timeout: Duration,
) -> Result<Producers> {
    Ok(producers(client.describe_producers(partitions, timeout).await?))
}

/// The open transactions of all partitions of topics.
pub(super) async fn list_open(
    client: Client,
    topics: Vec<String>,
    timeout: Duration,
) -> Result<Vec<OpenTransaction>> {
    let topics: Vec<Arc<str>> = topics.into_iter().map(Arc::from).collect();
    let topics = client.topics(&topics, IfMissing::Fail, timeout).await?;
    let partitions = topics.iter().flat_map(|topic| {
        topic.partitions.iter().map(|partition| (Arc::clone(&topic.name), partition.index))
    });
    let partitions: Vec<TopicPartition> = partitions.collect();
    let open = client.open_transactions(partitions, timeout).await?;
    Ok(open.into_iter().map(OpenTransaction::from).collect())
}

/// A result for each transactional id.
pub(super) type Ended = BTreeMap<String, Result<()>>;

pub(super) fn prepared(prepared: Vec<Py<PreparedTransaction>>) -> Vec<CorePrepared> {
    prepared.iter().map(|prepared| prepared.get().into()).collect()
}

pub(super) async fn end_prepared(
    client: Client,
    prepared: Vec<CorePrepared>,
    commit: bool,
    timeout: Duration,
) -> Result<Ended> {
    client.end_prepared_transactions(prepared, commit, timeout).await
}

pub(super) fn ended(py: Python<'_>, results: Ended, errors: ItemErrors) -> PyResult<Py<PyAny>> {
    errors.to_dict(py, results, |py, ()| Ok(py.None()))
}

/// A result for each transactional id.
pub(super) type Fenced = BTreeMap<String, Result<core::FencedProducer>>;

pub(super) async fn fence(client: Client, ids: Vec<String>, timeout: Duration) -> Result<Fenced> {
    client.fence_producers(ids, timeout).await
}

pub(super) fn fenced(py: Python<'_>, results: Fenced, errors: ItemErrors) -> PyResult<Py<PyAny>> {
    errors.to_dict(py, results, |py, fenced| {
        let pair = (fenced.producer_id, fenced.producer_epoch);
        Ok(pair.into_pyobject(py)?.into_any().unbind())
    })
}

pub(super) async fn abort_hanging(
    client: Client,
    partition: TopicPartition,
    start_offset: i64,
    timeout: Duration,
) -> Result<()> {
    client.abort_hanging_transaction(&partition, start_offset, timeout).await
}
