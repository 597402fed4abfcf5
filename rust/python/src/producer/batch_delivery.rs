//! `BatchDelivery` and `AsyncBatchDelivery`: the results of the records of one `send_batch`.
//!
//! Invariant: results are returned once all are known; waiting for them releases the GIL.

use std::sync::Arc;
use std::time::Duration;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

use crate::asyncio::start;
use crate::convert::errors;
use crate::convert::number;
use crate::producer::arrow_array::Array;
use crate::producer::docs::docs;
use crate::producer::row_results::{FailedRows, RowResults};
use crate::runtime::{ProcessLocal, check_process, pid, seconds, wait};

fn to_python(py: Python<'_>, failures: Vec<FailedRows>) -> PyResult<Vec<(usize, usize, Py<PyAny>)>> {
    let to_tuple = |(first, count, error)| Ok((first, count, errors::value_at(py, &error, Some(first))?));
    failures.into_iter().map(to_tuple).collect()
}

fn repr(class: &str, results: &RowResults) -> String {
    let done = if results.is_done() { "True" } else { "False" };
    format!("{class}(count={}, done={done})", results.count())
}

/// A future of many records, as ``Producer.send_batch`` returns it.
///
/// ``len()`` is the number of records.
#[pyclass(frozen, module = "ottla")]
pub(crate) struct BatchDelivery {
    results: RowResults,
    pid: u32,
}

impl From<RowResults> for BatchDelivery {
    fn from(results: RowResults) -> Self {
        Self { results, pid: pid() }
    }
}

impl BatchDelivery {
    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Vec<FailedRows>> {
        check_process(self.pid)?;
        let timeout = seconds(timeout, Duration::MAX)?;
        wait(py, self.results.failures(timeout))?.map_err(|error| errors::raise(py, &error))
    }
}

#[pymethods]
impl BatchDelivery {
    fn __len__(&self) -> usize {
        self.results.count()
    }

    /// Return whether every record is acknowledged or failed, without waiting.
    fn done(&self) -> bool {
        self.results.is_done()
    }

    #[doc = docs!(batch_result)]
    #[pyo3(signature = (*, timeout=None))]
    fn result(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<usize> {
        let failures = self.wait(py, timeout)?;
        self.results.result(py, &failures)
    }

    #[doc = docs!(batch_errors)]
    #[pyo3(signature = (*, timeout=None))]
    fn errors(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Vec<(usize, usize, Py<PyAny>)>> {
        to_python(py, self.wait(py, timeout)?)
    }

    #[doc = docs!(batch_partitions)]
    fn partitions(&self) -> Array {
        self.results.partitions()
    }

    #[doc = docs!(batch_offsets)]
    #[pyo3(signature = (*, timeout=None))]
    fn offsets(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Array> {
        self.wait(py, timeout)?;
        Ok(py.detach(|| self.results.offsets()))
    }

    #[doc = docs!(batch_written)]
    #[pyo3(signature = (*, timeout=None))]
    fn written(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Vec<(i32, Option<i64>, usize)>> {
        let failures = self.wait(py, timeout)?;
        self.results.result(py, &failures).map(|_| self.results.written())
    }

    fn __repr__(&self) -> String {
        repr("BatchDelivery", &self.results)
    }
}

/// A future of many records, for asyncio; it mirrors ``BatchDelivery``.
///
/// ``AsyncProducer.send_batch`` returns it; ``len()`` is the number of records.
#[pyclass(frozen, module = "ottla")]
pub(crate) struct AsyncBatchDelivery {
    results: ProcessLocal<Arc<RowResults>>,
}

impl From<RowResults> for AsyncBatchDelivery {
    fn from(results: RowResults) -> Self {
        Self { results: ProcessLocal::new(Arc::new(results)) }
    }
}

impl AsyncBatchDelivery {
    fn wait<'py>(
        &self,
        py: Python<'py>,
        timeout: Option<f64>,
        give: impl FnOnce(Python<'_>, &RowResults, Vec<FailedRows>) -> PyResult<Py<PyAny>> + Send + 'static,
    ) -> PyResult<Bound<'py, PyAny>> {
        let timeout = seconds(timeout, Duration::MAX)?;
        let results = Arc::clone(self.results.get()?);
        let work = async move { results.failures(timeout).await.map(|failures| (results, failures)) };
        start(py, work, |py, (results, failures)| give(py, &results, failures))
    }
}

#[pymethods]
impl AsyncBatchDelivery {
    fn __len__(&self) -> PyResult<usize> {
        Ok(self.results.get()?.count())
    }

    /// Return whether every record is acknowledged or failed, without waiting.
    fn done(&self) -> PyResult<bool> {
        Ok(self.results.get()?.is_done())
    }

    #[doc = docs!(batch_result)]
    #[pyo3(signature = (*, timeout=None))]
    fn result<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.wait(py, timeout, |py, results, failures| results.result(py, &failures)?.into_py_any(py))
    }

    #[doc = docs!(batch_errors)]
    #[pyo3(signature = (*, timeout=None))]
    fn errors<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.wait(py, timeout, |py, _, failures| to_python(py, failures)?.into_py_any(py))
    }

    #[doc = docs!(batch_partitions)]
    fn partitions(&self) -> PyResult<Array> {
        Ok(self.results.get()?.partitions())
    }

    #[doc = docs!(batch_offsets)]
    #[pyo3(signature = (*, timeout=None))]
    fn offsets<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.wait(py, timeout, |py, results, _| results.offsets().into_py_any(py))
    }

    #[doc = docs!(batch_written)]
    #[pyo3(signature = (*, timeout=None))]
    fn written<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.wait(py, timeout, |py, results, failures| {
            results.result(py, &failures)?;
            results.written().into_py_any(py)
        })
    }

    fn __repr__(&self) -> String {
        match self.results.peek() {
            Some(results) => repr("AsyncBatchDelivery", results),
            None => "AsyncBatchDelivery(created in another process)".to_owned(),
        }
    }
}
