//! The methods of `Admin` on transactions.

use std::sync::Arc;

use pyo3::prelude::*;

use super::operations;
use super::results::{OpenTransaction, Producers, TransactionListing};
use crate::admin::sync::Admin;
use crate::convert::item_errors::ItemErrors;
use crate::convert::names::Names;
use crate::convert::number;
use crate::producer::PreparedTransaction;
use crate::runtime::wait_for;

#[pymethods]
impl Admin {
    /// List the transactional ids of all coordinators (KIP-664), sorted.
    ///
    /// Brokers leave out ids that the principal may not describe.
    ///
    /// Args:
    ///     states: only these states, by Kafka's names; see ``TransactionListing``. Default: all.
    ///     producer_ids: only the ids of these producers. Default: all.
    ///     running_longer_than: only transactions that have been open for more than these seconds
    ///         (Kafka 3.8 and newer).
    ///     id_pattern: a regular expression that must match the whole transactional id.
    ///     timeout: seconds. Default: ``default.api.timeout.ms``.
    ///
    /// Raises:
    ///     BrokerError: a broker does not support the request (before Kafka 3.0) or the filter by
    ///         duration.
    ///     ConfigError: a state is unknown, or the pattern is invalid.
    ///     TimeoutError: a broker did not respond in time.
    #[pyo3(signature = (*, states=None, producer_ids=None, running_longer_than=None, id_pattern=None, timeout=None))]
    fn list_transactions(
        &self,
        py: Python<'_>,
        states: Option<Names>,
        #[pyo3(from_py_with = operations::producer_ids)] producer_ids: Option<Vec<i64>>,
        #[pyo3(from_py_with = number::running_longer_than)] running_longer_than: Option<f64>,
        id_pattern: Option<String>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Vec<TransactionListing>> {
        let filter = operations::filter(states, producer_ids, running_longer_than, id_pattern)?;
        let (core, timeout) = self.call(timeout)?;
        wait_for(py, operations::list(core, filter, timeout))
    }

    /// Describe the transactions of transactional ids (KIP-664).
    ///
    /// Args:
    ///     transactional_ids: the ids.
    ///     errors: what to do with the error of one id: ``"raise"`` the first one, or ``"return"``
    ///         each in place of the description.
    ///     timeout: seconds. Default: ``default.api.timeout.ms``.
    ///
    /// Returns:
    ///     The description by transactional id.
    ///
    /// Raises:
    ///     AuthorizationError: the principal may not describe the id.
    ///     BrokerError: the coordinator does not know the id (``code`` 105), or does not support
    ///         the request (before Kafka 3.0).
    ///     TimeoutError: a coordinator did not respond in time.
    #[pyo3(signature = (transactional_ids, *, errors="raise", timeout=None))]
    fn describe_transactions(
        &self,
        py: Python<'_>,
        transactional_ids: Names,
        errors: &str,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Py<PyAny>> {
        let errors = ItemErrors::parse(py, errors)?;
        let (core, timeout) = self.call(timeout)?;
        let described = wait_for(py, operations::describe(core, transactional_ids.0, timeout))?;
        operations::described(py, described, errors)
    }

    /// Describe the producers with ids that partition leaders know (KIP-664).
    ///
    /// Args:
    ///     partitions: the partitions, as ``(topic, partition)``.
    ///     timeout: seconds. Default: ``default.api.timeout.ms``.
    ///
    /// Returns:
    ///     The producers by ``(topic, partition)``.
    ///
    /// Raises:
    ///     AuthorizationError: the principal may not read the topic.
    ///     BrokerError: a broker does not support the request (before Kafka 2.8).
    ///     TimeoutError: a leader did not respond in time.
    ///     UnknownTopicError: a topic or a partition does not exist.
    #[pyo3(signature = (partitions, *, timeout=None))]
    fn describe_producers(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = operations::pairs)] partitions: Vec<(String, i32)>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Producers> {
        let (core, timeout) = self.call(timeout)?;
        wait_for(py, operations::describe_producers(core, operations::partitions(partitions), timeout))
    }

    /// List the transactions that are open in the partitions of topics.
    ///
    /// An open transaction keeps the last stable offset of its partitions back: consumers with
    /// ``isolation.level=read_committed`` read nothing from its first record on. One that hangs
    /// does so until it is aborted.
    ///
    /// Args:
    ///     topics: the topics.
    ///     timeout: seconds for each kind of request. Default: ``default.api.timeout.ms``.
    ///
    /// Returns:
    ///     The open transactions, in the order of partitions and offsets.
    ///
    /// Raises:
    ///     AuthorizationError: the principal may not read a topic.
    ///     BrokerError: a broker does not support the requests (before Kafka 3.0).
    ///     TimeoutError: a broker did not respond in time.
    ///     UnknownTopicError: a topic does not exist.
    #[pyo3(signature = (topics, *, timeout=None))]
    fn list_open_transactions(
        &self,
        py: Python<'_>,
        topics: Names,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Vec<OpenTransaction>> {
        let (core, timeout) = self.call(timeout)?;
        wait_for(py, operations::list_open(core, topics.0, timeout))
    }

    /// Fence the producers with transactional ids and abort their open transactions.
    ///
    /// This is what a new producer with the same id does to older ones. A coordinator that does
    /// not know an id creates it.
    ///
    /// Args:
    ///     transactional_ids: the ids.
    ///     errors: what to do with the error of one id: ``"raise"`` the first one, or ``"return"``
    ///         each in place of the result.
    ///     timeout: seconds. Default: ``default.api.timeout.ms``.
    ///
    /// Returns:
    ///     The new producer id and epoch by transactional id.
    ///
    /// Raises:
    ///     AuthorizationError: the principal may not write with the id.
    ///     TimeoutError: a coordinator did not respond, or did not end the transaction, in time.
    #[pyo3(signature = (transactional_ids, *, errors="raise", timeout=None))]
    fn fence_producers(
        &self,
        py: Python<'_>,
        transactional_ids: Names,
        errors: &str,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Py<PyAny>> {
        let errors = ItemErrors::parse(py, errors)?;
        let (core, timeout) = self.call(timeout)?;
        let fenced = wait_for(py, operations::fence(core, transactional_ids.0, timeout))?;
        operations::fenced(py, fenced, errors)
    }

    /// Commit or abort transactions that their producers have prepared.
    ///
    /// See ``Producer.prepare_transaction``. Repeating it is safe: an end that was made is
    /// confirmed, until a newer producer uses the transactional id.
    ///
    /// Args:
    ///     transactions: the transactions.
    ///     commit: whether to commit them; else they are aborted.
    ///     errors: what to do with the error of one transaction: ``"raise"`` the first one, or
    ///         ``"return"`` each in place of None.
    ///     timeout: seconds. Default: ``default.api.timeout.ms``.
    ///
    /// Returns:
    ///     None, for success, by transactional id.
    ///
    /// Raises:
    ///     AuthorizationError: the principal may not write with the id.
    ///     BrokerError: the transaction has ended otherwise (``code`` 48 or 49), or its
    ///         transactional id has expired.
    ///     FencedError: its time was over and the brokers have aborted it, or a newer producer
    ///         with the id has taken over.
    ///     TimeoutError: the outcome is not known; call it again.
    #[pyo3(signature = (transactions, *, commit, errors="raise", timeout=None))]
    fn end_prepared_transactions(
        &self,
        py: Python<'_>,
        transactions: Vec<Py<PreparedTransaction>>,
        commit: bool,
        errors: &str,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Py<PyAny>> {
        let errors = ItemErrors::parse(py, errors)?;
        let (core, timeout) = self.call(timeout)?;
        let prepared = operations::prepared(transactions);
        let ended = wait_for(py, operations::end_prepared(core, prepared, commit, timeout))?;
        operations::ended(py, ended, errors)
    }

    /// Abort a hanging transaction in one partition.
    ///
    /// The partition's leader writes an abort marker (WriteTxnMarkers).
    ///
    /// Args:
    ///     topic: the topic.
    ///     partition: the partition.
    ///     start_offset: the first offset of the transaction; see ``list_open_transactions``.
    ///     timeout: seconds for each kind of request. Default: ``default.api.timeout.ms``.
    ///
    /// Raises:
    ///     AuthorizationError: the principal needs ``ClusterAction`` on the cluster.
    ///     FencedError: the producer or a coordinator has written with a newer epoch meanwhile.
    ///     StateError: no open transaction starts at this offset, or it does not hang: its
    ///         coordinator will end it, and ``fence_producers`` aborts it at once.
    ///     TimeoutError: a broker did not respond in time.
    ///     UnknownTopicError: the topic or the partition does not exist.
    #[pyo3(signature = (topic, partition, start_offset, *, timeout=None))]
    fn abort_hanging_transaction(
        &self,
        py: Python<'_>,
        topic: &str,
        #[pyo3(from_py_with = number::partition)] partition: i32,
        #[pyo3(from_py_with = number::start_offset)] start_offset: i64,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<()> {
        let (core, timeout) = self.call(timeout)?;
        let partition = (Arc::from(topic), partition);
        wait_for(py, operations::abort_hanging(core, partition, start_offset, timeout))
    }
}
