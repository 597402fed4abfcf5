//! The methods of `AsyncAdmin` on transactions.

use std::sync::Arc;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

use super::docs::docs;
use super::operations;
use crate::admin::asynchronous::AsyncAdmin;
use crate::asyncio::{FutureResult, start};
use crate::convert::item_errors::ItemErrors;
use crate::convert::names::Names;
use crate::convert::number;
use crate::producer::PreparedTransaction;

#[pymethods]
impl AsyncAdmin {
    #[doc = docs!(list_transactions)]
    #[pyo3(signature = (*, states, producer_ids, running_longer_than, id_pattern, timeout))]
    fn _list_transactions<'py>(
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
        start(py, operations::list(core, filter, timeout), |py, listed| {
            operations::listed(py, listed)?.into_py_any(py)
        })
    }

    #[doc = docs!(describe_transactions)]
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

    #[doc = docs!(describe_producers)]
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

    #[doc = docs!(list_open_transactions)]
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

    #[doc = docs!(fence_producers)]
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

    #[doc = docs!(end_prepared_transactions)]
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

    #[doc = docs!(abort_hanging_transaction)]
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
