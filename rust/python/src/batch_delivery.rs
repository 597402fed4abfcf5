//! `BatchDelivery` and `AsyncBatchDelivery`: what became of the records of one `send_batch`.
//!
//! Invariant: each row has exactly one fate: that of its place in a batch, or why it was never sent.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::ArrayRef;
use arrow_array::builder::{Int32Builder, Int64Builder};
use ottla_client::producer::Completion;
use ottla_client::{Error, Kind};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

use crate::asyncio::start;
use crate::errors;
use crate::partitioner::Array;
use crate::runtime::{Owned, check_process, pid, seconds, wait};

/// Rows in a row with the same fate.
struct Run {
    first: usize,
    count: usize,
    fate: Fate,
}

enum Fate {
    /// That of records of a batch, in a row, the first of which has this index there.
    Batch(Arc<Completion>, usize),
    /// Never sent.
    Refused(Error),
}

/// The fates of all rows.
#[derive(Default)]
pub(crate) struct Runs {
    runs: Vec<Run>,
    count: usize,
}

/// Rows that failed: the first one, how many, why.
type Failed = (usize, usize, Error);

impl Runs {
    /// How many rows there are so far.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The next row was accepted: it is in this batch, at this place.
    pub(crate) fn push(&mut self, batch: &Arc<Completion>, index: usize) {
        match self.runs.last_mut() {
            Some(Run { count, fate: Fate::Batch(completion, first), .. })
                if Arc::ptr_eq(completion, batch) && *first + *count == index =>
            {
                *count += 1;
            }
            _ => {
                let fate = Fate::Batch(Arc::clone(batch), index);
                self.runs.push(Run { first: self.count, count: 1, fate });
            }
        }
        self.count += 1;
    }

    /// The next row cannot be sent; what concerns all of them is an error of the call.
    pub(crate) fn refuse(&mut self, error: Error) -> ottla_client::Result<()> {
        if error.kind() == Kind::Closed {
            return Err(error);
        }
        self.runs.push(Run { first: self.count, count: 1, fate: Fate::Refused(error) });
        self.count += 1;
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.runs.iter().all(|run| match &run.fate {
            Fate::Batch(completion, _) => completion.is_done(),
            Fate::Refused(_) => true,
        })
    }

    /// Waits for all.
    async fn failures(&self, timeout: Duration) -> ottla_client::Result<Vec<Failed>> {
        let all = async {
            let mut failures = Vec::new();
            for run in &self.runs {
                match &run.fate {
                    Fate::Batch(completion, index) => {
                        completion.wait().await;
                        let failed = completion.failures(*index, index + run.count);
                        let row = |(at, count, error)| (run.first + at - index, count, error);
                        failures.extend(failed.into_iter().map(row));
                    }
                    Fate::Refused(error) => failures.push((run.first, run.count, error.clone())),
                }
            }
            failures
        };
        tokio::time::timeout(timeout, all).await.map_err(|_| {
            let words =
                format!("not all acknowledged within {} s; they are still under way", timeout.as_secs_f64());
            Error::new(Kind::Timeout, words)
        })
    }

    /// Where the rows were written, once all are settled and none failed: partition, offset of the
    /// first if the broker told it, how many follow each other there. Rows that take turns among
    /// partitions are as few entries as rows of one.
    fn written(&self) -> Vec<(i32, Option<i64>, usize)> {
        let mut written: Vec<(i32, Option<i64>, usize)> = Vec::new();
        let mut last: HashMap<i32, usize> = HashMap::new();
        for run in &self.runs {
            let Fate::Batch(completion, index) = &run.fate else { continue };
            let partition = completion.partition().1;
            for (_, count, outcome) in completion.outcomes(*index, index + run.count) {
                let Ok(at) = outcome else { continue };
                let offset = (at.offset >= 0).then_some(at.offset);
                let before = last.get(&partition).and_then(|&entry| written.get_mut(entry));
                match before {
                    Some((_, first, so_far)) if first.map(|first| first + *so_far as i64) == offset => {
                        *so_far += count;
                    }
                    _ => {
                        last.insert(partition, written.len());
                        written.push((partition, offset, count));
                    }
                }
            }
        }
        written
    }

    /// The partition of each row; null for one that was never in a batch.
    fn partitions(&self) -> Array {
        let mut column = Int32Builder::with_capacity(self.count);
        for run in &self.runs {
            match &run.fate {
                Fate::Batch(completion, _) => column.append_value_n(completion.partition().1, run.count),
                Fate::Refused(_) => column.append_nulls(run.count),
            }
        }
        Array::from(Arc::new(column.finish()) as ArrayRef)
    }

    /// The offset of each row, once all are settled; null for one that failed, or if the broker did not
    /// tell it.
    fn offsets(&self) -> Array {
        let mut column = Int64Builder::with_capacity(self.count);
        for run in &self.runs {
            let Fate::Batch(completion, index) = &run.fate else {
                column.append_nulls(run.count);
                continue;
            };
            for (_, count, outcome) in completion.outcomes(*index, index + run.count) {
                match outcome {
                    Ok(at) if at.offset >= 0 => {
                        (at.offset..).take(count).for_each(|offset| column.append_value(offset));
                    }
                    _ => column.append_nulls(count),
                }
            }
        }
        Array::from(Arc::new(column.finish()) as ArrayRef)
    }

    /// How many rows there are, if none failed.
    fn result(&self, py: Python<'_>, failures: &[Failed]) -> PyResult<usize> {
        let Some((first, _, error)) = failures.first() else { return Ok(self.count) };
        let failed: usize = failures.iter().map(|(_, count, _)| count).sum();
        let words = format!("{failed} of {} records failed, the first at index {first}", self.count);
        let raised = errors::value_at(py, &error.clone().because(words), Some(*first))?;
        Err(PyErr::from_value(raised.into_bound(py)))
    }
}

fn to_python(py: Python<'_>, failures: Vec<Failed>) -> PyResult<Vec<(usize, usize, Py<PyAny>)>> {
    let told = |(first, count, error)| Ok((first, count, errors::value_at(py, &error, Some(first))?));
    failures.into_iter().map(told).collect()
}

fn repr(class: &str, runs: &Runs) -> String {
    let done = if runs.is_done() { "True" } else { "False" };
    format!("{class}(count={}, done={done})", runs.count)
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
        self.runs.count
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
        Ok(self.runs.get()?.count)
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
