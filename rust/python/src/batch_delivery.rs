//! `BatchDelivery` and `AsyncBatchDelivery`: what became of the records of one `send_batch`.
//!
//! Invariant: what is told is told once all records are settled; asking waits without the GIL.

use std::sync::Arc;
use std::time::Duration;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

use crate::asyncio::start;
use crate::errors;
use crate::partitioner::Array;
use crate::runs::{Failed, Runs};
use crate::runtime::{Owned, check_process, pid, seconds, wait};

fn to_python(py: Python<'_>, failures: Vec<Failed>) -> PyResult<Vec<(usize, usize, Py<PyAny>)>> {
    let told = |(first, count, error)| Ok((first, count, errors::value_at(py, &error, Some(first))?));
    failures.into_iter().map(told).collect()
}

fn repr(class: &str, runs: &Runs) -> String {
    let done = if runs.is_done() { "True" } else { "False" };
    format!("{class}(count={}, done={done})", runs.count())
}

/// The promise of many records.
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

    fn done(&self) -> bool {
        self.runs.is_done()
    }

    #[pyo3(signature = (timeout=None))]
    fn result(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<usize> {
        let failures = self.wait(py, timeout)?;
        self.runs.result(py, &failures)
    }

    #[pyo3(signature = (timeout=None))]
    fn errors(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Vec<(usize, usize, Py<PyAny>)>> {
        to_python(py, self.wait(py, timeout)?)
    }

    fn partitions(&self) -> Array {
        self.runs.partitions()
    }

    #[pyo3(signature = (timeout=None))]
    fn offsets(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Array> {
        self.wait(py, timeout)?;
        Ok(py.detach(|| self.runs.offsets()))
    }

    #[pyo3(signature = (timeout=None))]
    fn written(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Vec<(i32, Option<i64>, usize)>> {
        let failures = self.wait(py, timeout)?;
        self.runs.result(py, &failures).map(|_| self.runs.written())
    }

    fn __repr__(&self) -> String {
        repr("BatchDelivery", &self.runs)
    }
}

/// The promise of many records, for asyncio.
#[pyclass(frozen, module = "ottla")]
pub(crate) struct AsyncBatchDelivery {
    runs: Owned<Arc<Runs>>,
}

impl From<Runs> for AsyncBatchDelivery {
    fn from(runs: Runs) -> Self {
        Self { runs: Owned::new(Arc::new(runs)) }
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

    fn done(&self) -> PyResult<bool> {
        Ok(self.runs.get()?.is_done())
    }

    #[pyo3(signature = (timeout=None))]
    fn result<'py>(&self, py: Python<'py>, timeout: Option<f64>) -> PyResult<Bound<'py, PyAny>> {
        self.wait(py, timeout, |py, runs, failures| runs.result(py, &failures)?.into_py_any(py))
    }

    #[pyo3(signature = (timeout=None))]
    fn errors<'py>(&self, py: Python<'py>, timeout: Option<f64>) -> PyResult<Bound<'py, PyAny>> {
        self.wait(py, timeout, |py, _, failures| to_python(py, failures)?.into_py_any(py))
    }

    fn partitions(&self) -> PyResult<Array> {
        Ok(self.runs.get()?.partitions())
    }

    #[pyo3(signature = (timeout=None))]
    fn offsets<'py>(&self, py: Python<'py>, timeout: Option<f64>) -> PyResult<Bound<'py, PyAny>> {
        self.wait(py, timeout, |py, runs, _| runs.offsets().into_py_any(py))
    }

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
            None => "AsyncBatchDelivery(made in another process)".to_owned(),
        }
    }
}
