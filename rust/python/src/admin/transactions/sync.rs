//! The methods of `Admin` on transactions.

use std::sync::Arc;

use pyo3::prelude::*;

use super::docs::docs;
use super::operations;
use super::results::{OpenTransaction, Producers};
use crate::admin::sync::Admin;
use crate::convert::item_errors::ItemErrors;
use crate::convert::names::Names;
use crate::convert::number;
use crate::producer::PreparedTransaction;
use crate::runtime::wait_for;

#[pymethods]
impl Admin {
    #[doc = docs!(list_transactions)]
    #[pyo3(signature = (*, states, producer_ids, running_longer_than, id_pattern, timeout))]
    fn _list_transactions(
        &self,
        py: Python<'_>,
        states: Option<Names>,
        #[pyo3(from_py_with = operations::producer_ids)] producer_ids: Option<Vec<i64>>,
        #[pyo3(from_py_with = number::running_longer_than)] running_longer_than: Option<f64>,
        id_pattern: Option<String>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<operations::PyListed> {
        let filter = operations::filter(states, producer_ids, running_longer_than, id_pattern)?;
        let (core, timeout) = self.call(timeout)?;
        operations::listed(py, wait_for(py, operations::list(core, filter, timeout))?)
    }

    #[doc = docs!(describe_transactions)]
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

    #[doc = docs!(describe_producers)]
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

    #[doc = docs!(list_open_transactions)]
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

    #[doc = docs!(fence_producers)]
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

    #[doc = docs!(end_prepared_transactions)]
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

    #[doc = docs!(abort_hanging_transaction)]
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
