//! `BatchDelivery` and `AsyncBatchDelivery`: what became of the records of one `send_batch`.
//!
//! Invariant: what is told is told once all records are settled; asking waits without the GIL.

use std::sync::Arc;
use std::time::Duration;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

use crate::asyncio::start;
use crate::convert::errors;
use crate::producer::partitioner::Array;
use crate::producer::row_results::{Failed, Runs};
use crate::runtime::{ProcessLocal, check_process, pid, seconds, wait};

fn to_python(py: Python<'_>, failures: Vec<Failed>) -> PyResult<Vec<(usize, usize, Py<PyAny>)>> {
    let told = |(first, count, error)| Ok((first, count, errors::value_at(py, &error, Some(first))?));
    failures.into_iter().map(told).collect()
}

fn repr(class: &str, runs: &Runs) -> String {
    let done = if runs.is_done() { "True" } else { "False" };
    format!("{class}(count={}, done={done})", runs.count())
}

/// A future of many records. ``Producer.send_batch`` returns it; ``len()`` is their number.
#[pyclass(frozen, module = "ottla")]
pub(crate) struct BatchDelivery {
    runs: Runs,
    pid: u32,
}

impl From<Runs> for BatchDelivery {
    fn from(runs: Runs) -> Self {
        Self { runs, pid: pid() }
    }
}

impl BatchDelivery {
    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Vec<Failed>> {
        check_process(self.pid)?;
        let timeout = seconds(timeout, Duration::MAX)?;
        wait(py, self.runs.failures(timeout))?.map_err(|error| errors::raise(py, &error))
    }
}

#[pymethods]
impl BatchDelivery {
    fn __len__(&self) -> usize {
        self.runs.count()
    }

    /// Return whether every record is acknowledged or failed, without waiting.
    fn done(&self) -> bool {
        self.runs.is_done()
    }

    /// Wait until all records are acknowledged, and return their number.
    ///
    /// Args:
    ///     timeout: seconds to wait. Default: without limit.
    ///
    /// Raises:
    ///     TimeoutError: not all are known within ``timeout`` seconds; they are still under way.
    ///     KafkaError: the first failure; its message says how many records failed, and
    ///         ``context["index"]`` is the index of the first.
    #[pyo3(signature = (timeout=None))]
    fn result(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<usize> {
        let failures = self.wait(py, timeout)?;
        self.runs.result(py, &failures)
    }

    /// Wait until every record is acknowledged or failed, and return the failures.
    ///
    /// Args:
    ///     timeout: seconds to wait. Default: without limit.
    ///
    /// Returns:
    ///     ``(index of the first record, number of records, error)`` for each run of records that
    ///     failed together. The error has the index in ``context["index"]``, too.
    ///
    /// Raises:
    ///     TimeoutError: not all are known within ``timeout`` seconds; they are still under way.
    #[pyo3(signature = (timeout=None))]
    fn errors(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Vec<(usize, usize, Py<PyAny>)>> {
        to_python(py, self.wait(py, timeout)?)
    }

    /// Return the partition of each record as an Arrow array of int32, without waiting.
    ///
    /// It is null for a record that was never in a batch, because it is too large.
    fn partitions(&self) -> Array {
        self.runs.partitions()
    }

    /// Wait until every record is acknowledged or failed, and return the offset of each.
    ///
    /// Args:
    ///     timeout: seconds to wait. Default: without limit.
    ///
    /// Returns:
    ///     An Arrow array of int64; null for a record that failed, and where the broker did not
    ///     report the offset, as with ``acks=0``.
    ///
    /// Raises:
    ///     TimeoutError: not all are known within ``timeout`` seconds; they are still under way.
    #[pyo3(signature = (timeout=None))]
    fn offsets(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Array> {
        self.wait(py, timeout)?;
        Ok(py.detach(|| self.runs.offsets()))
    }

    /// Wait until all records are acknowledged, and return where they were written.
    ///
    /// Args:
    ///     timeout: seconds to wait. Default: without limit.
    ///
    /// Returns:
    ///     ``(partition, offset of the first record, number of records)`` for each run of records
    ///     with consecutive offsets; the offset is None if the broker did not report it, as with
    ///     ``acks=0``.
    ///
    /// Raises:
    ///     TimeoutError: not all are known within ``timeout`` seconds; they are still under way.
    ///     KafkaError: the first failure, as from ``result``.
    #[pyo3(signature = (timeout=None))]
    fn written(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Vec<(i32, Option<i64>, usize)>> {
        let failures = self.wait(py, timeout)?;
        self.runs.result(py, &failures).map(|_| self.runs.written())
    }

    fn __repr__(&self) -> String {
        repr("BatchDelivery", &self.runs)
    }
}

/// A future of many records, for asyncio; it mirrors ``BatchDelivery``.
///
/// ``AsyncProducer.send_batch`` returns it; ``len()`` is the number of records.
#[pyclass(frozen, module = "ottla")]
pub(crate) struct AsyncBatchDelivery {
    runs: ProcessLocal<Arc<Runs>>,
}

impl From<Runs> for AsyncBatchDelivery {
    fn from(runs: Runs) -> Self {
        Self { runs: ProcessLocal::new(Arc::new(runs)) }
    }
}

impl AsyncBatchDelivery {
    fn wait<'py>(
        &self,
        py: Python<'py>,
        timeout: Option<f64>,
        give: impl FnOnce(Python<'_>, &Runs, Vec<Failed>) -> PyResult<Py<PyAny>> + Send + 'static,
    ) -> PyResult<Bound<'py, PyAny>> {
        let timeout = seconds(timeout, Duration::MAX)?;
        let runs = Arc::clone(self.runs.get()?);
        let work = async move { runs.failures(timeout).await.map(|failures| (runs, failures)) };
        start(py, work, |py, (runs, failures)| give(py, &runs, failures))
    }
}

#[pymethods]
impl AsyncBatchDelivery {
    fn __len__(&self) -> PyResult<usize> {
        Ok(self.runs.get()?.count())
    }

    /// Return whether every record is acknowledged or failed, without waiting.
    fn done(&self) -> PyResult<bool> {
        Ok(self.runs.get()?.is_done())
    }

    /// Wait until all records are acknowledged, and return their number.
    ///
    /// Args:
    ///     timeout: seconds to wait. Default: without limit.
    ///
    /// Raises:
    ///     TimeoutError: not all are known within ``timeout`` seconds; they are still under way.
    ///     KafkaError: the first failure, as from ``BatchDelivery.result``.
    #[pyo3(signature = (timeout=None))]
    fn result<'py>(&self, py: Python<'py>, timeout: Option<f64>) -> PyResult<Bound<'py, PyAny>> {
        self.wait(py, timeout, |py, runs, failures| runs.result(py, &failures)?.into_py_any(py))
    }

    /// Wait until every record is acknowledged or failed, and return the failures.
    ///
    /// Args:
    ///     timeout: seconds to wait. Default: without limit.
    ///
    /// Returns:
    ///     ``(index of the first record, number of records, error)`` for each run of records that
    ///     failed together.
    ///
    /// Raises:
    ///     TimeoutError: not all are known within ``timeout`` seconds; they are still under way.
    #[pyo3(signature = (timeout=None))]
    fn errors<'py>(&self, py: Python<'py>, timeout: Option<f64>) -> PyResult<Bound<'py, PyAny>> {
        self.wait(py, timeout, |py, _, failures| to_python(py, failures)?.into_py_any(py))
    }

    /// Return the partition of each record as an Arrow array of int32, without waiting.
    ///
    /// It is null for a record that was never in a batch, because it is too large.
    fn partitions(&self) -> PyResult<Array> {
        Ok(self.runs.get()?.partitions())
    }

    /// Wait until every record is acknowledged or failed, and return the offset of each.
    ///
    /// Args:
    ///     timeout: seconds to wait. Default: without limit.
    ///
    /// Returns:
    ///     An Arrow array of int64; null for a record that failed, and where the broker did not
    ///     report the offset, as with ``acks=0``.
    ///
    /// Raises:
    ///     TimeoutError: not all are known within ``timeout`` seconds; they are still under way.
    #[pyo3(signature = (timeout=None))]
    fn offsets<'py>(&self, py: Python<'py>, timeout: Option<f64>) -> PyResult<Bound<'py, PyAny>> {
        self.wait(py, timeout, |py, runs, _| runs.offsets().into_py_any(py))
    }

    /// Wait until all records are acknowledged, and return where they were written.
    ///
    /// Args:
    ///     timeout: seconds to wait. Default: without limit.
    ///
    /// Returns:
    ///     ``(partition, offset of the first record, number of records)`` for each run of records
    ///     with consecutive offsets; the offset is None if the broker did not report it, as with
    ///     ``acks=0``.
    ///
    /// Raises:
    ///     TimeoutError: not all are known within ``timeout`` seconds; they are still under way.
    ///     KafkaError: the first failure, as from ``result``.
    #[pyo3(signature = (timeout=None))]
    fn written<'py>(&self, py: Python<'py>, timeout: Option<f64>) -> PyResult<Bound<'py, PyAny>> {
        self.wait(py, timeout, |py, runs, failures| {
            runs.result(py, &failures)?;
            runs.written().into_py_any(py)
        })
    }

    fn __repr__(&self) -> String {
        match self.runs.peek() {
            Some(runs) => repr("AsyncBatchDelivery", runs),
            None => "AsyncBatchDelivery(created in another process)".to_owned(),
        }
    }
}
