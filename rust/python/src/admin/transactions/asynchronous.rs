//! The methods of `AsyncAdmin` on transactions.

use std::sync::Arc;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

use super::operations;
use crate::admin::asynchronous::AsyncAdmin;
use crate::asyncio::{FutureResult, start};
use crate::convert::item_errors::ItemErrors;
use crate::convert::names::Names;
use crate::convert::number;
use crate::producer::PreparedTransaction;

#[pymethods]
impl AsyncAdmin {
    /// List the transactional ids of all coordinators; see ``Admin.list_transactions``.
    ///
    /// Args:
    ///     states: only these states, by Kafka's names. Default: all.
    ///     producer_ids: only the ids of these producers. Default: all.
    ///     running_longer_than: only transactions that have been open for more than these seconds.
    ///     id_pattern: a regular expression that must match the whole transactional id.
    ///     timeout: seconds. Default: ``default.api.timeout.ms``.
    #[pyo3(signature = (*, states=None, producer_ids=None, running_longer_than=None, id_pattern=None, timeout=None))]
    fn list_transactions<'py>(
        &self,
        py: Python<'py>,
        states: Option<Names>,
        #[pyo3(from_py_with = operations::producer_ids)] producer_ids: Option<Vec<i64>>,
        #[pyo3(from_py_with = number::running_longer_than)] running_longer_than: Option<f64>,
        id_pattern: Option<String>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        let filter = operations::filter(states, producer_ids, running_longer_than, id_pattern)?;
        let (core, timeout) = self.call(timeout)?;
        start(py, operations::list(core, filter, timeout), |py, listed| listed.into_py_any(py))
    }

    /// Describe the transactions of transactional ids; see ``Admin.describe_transactions``.
    ///
    /// Args:
    ///     transactional_ids: the ids.
    ///     errors: ``"raise"`` or ``"return"`` the error of an id.
    ///     timeout: seconds. Default: ``default.api.timeout.ms``.
    #[pyo3(signature = (transactional_ids, *, errors="raise", timeout=None))]
    fn describe_transactions<'py>(
        &self,
        py: Python<'py>,
        transactional_ids: Names,
        errors: &str,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        let errors = ItemErrors::parse(py, errors)?;
        let (core, timeout) = self.call(timeout)?;
        let described = operations::describe(core, transactional_ids.0, timeout);
        start(py, described, move |py, described| operations::described(py, described, errors))
    }

    /// Describe the producers that partition leaders know; see ``Admin.describe_producers``.
    ///
    /// Args:
    ///     partitions: the partitions, as ``(topic, partition)``.
    ///     timeout: seconds. Default: ``default.api.timeout.ms``.
    #[pyo3(signature = (partitions, *, timeout=None))]
    fn describe_producers<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = operations::pairs)] partitions: Vec<(String, i32)>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        let (core, timeout) = self.call(timeout)?;
        let described = operations::describe_producers(core, operations::partitions(partitions), timeout);
        start(py, described, |py, producers| producers.into_py_any(py))
    }

    /// List the transactions that are open in topics; see ``Admin.list_open_transactions``.
    ///
    /// Args:
    ///     topics: the topics.
    ///     timeout: seconds for each kind of request. Default: ``default.api.timeout.ms``.
    #[pyo3(signature = (topics, *, timeout=None))]
    fn list_open_transactions<'py>(
        &self,
        py: Python<'py>,
        topics: Names,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        let (core, timeout) = self.call(timeout)?;
        start(py, operations::list_open(core, topics.0, timeout), |py, open| open.into_py_any(py))
    }

    /// Fence producers and abort their open transactions; see ``Admin.fence_producers``.
    ///
    /// Args:
    ///     transactional_ids: the ids.
    ///     errors: ``"raise"`` or ``"return"`` the error of an id.
    ///     timeout: seconds. Default: ``default.api.timeout.ms``.
    #[pyo3(signature = (transactional_ids, *, errors="raise", timeout=None))]
    fn fence_producers<'py>(
        &self,
        py: Python<'py>,
        transactional_ids: Names,
        errors: &str,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        let errors = ItemErrors::parse(py, errors)?;
        let (core, timeout) = self.call(timeout)?;
        let fenced = operations::fence(core, transactional_ids.0, timeout);
        start(py, fenced, move |py, fenced| operations::fenced(py, fenced, errors))
    }

    /// Commit or abort transactions that their producers have prepared.
    ///
    /// See ``Admin.end_prepared_transactions``.
    ///
    /// Args:
    ///     transactions: the transactions.
    ///     commit: whether to commit them; else they are aborted.
    ///     errors: ``"raise"`` the first error, or ``"return"`` each in place of None.
    ///     timeout: seconds. Default: ``default.api.timeout.ms``.
    ///
    /// Returns:
    ///     None, for success, by transactional id.
    #[pyo3(signature = (transactions, *, commit, errors="raise", timeout=None))]
    fn end_prepared_transactions<'py>(
        &self,
        py: Python<'py>,
        transactions: Vec<Py<PreparedTransaction>>,
        commit: bool,
        errors: &str,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        let errors = ItemErrors::parse(py, errors)?;
        let (core, timeout) = self.call(timeout)?;
        let ended = operations::end_prepared(core, operations::prepared(transactions), commit, timeout);
        start(py, ended, move |py, ended| operations::ended(py, ended, errors))
    }

    /// Abort a hanging transaction in one partition; see ``Admin.abort_hanging_transaction``.
    ///
    /// Args:
    ///     topic: the topic.
    ///     partition: the partition.
    ///     start_offset: the first offset of the transaction.
    ///     timeout: seconds for each kind of request. Default: ``default.api.timeout.ms``.
    #[pyo3(signature = (topic, partition, start_offset, *, timeout=None))]
    fn abort_hanging_transaction<'py>(
        &self,
        py: Python<'py>,
        topic: &str,
        #[pyo3(from_py_with = number::partition)] partition: i32,
        #[pyo3(from_py_with = number::start_offset)] start_offset: i64,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        let (core, timeout) = self.call(timeout)?;
        let partition = (Arc::from(topic), partition);
        let aborted = operations::abort_hanging(core, partition, start_offset, timeout);
        start(py, aborted, |py, ()| Ok(py.None()))
    }
}
