//! `Producer.send_batch`: many records in one call, from lists or from Arrow columns.
//!
//! Rows go straight from where they are into their partition's open batch. Arrow columns are read
//! without the GIL; lists are read with it, but never waited with.

use std::sync::Arc;
use std::time::Duration;

use arrow_array::{Array, ArrayRef, RecordBatch as ArrowBatch, StructArray};
use ottla_arrow::Columns;
use ottla_client::producer::{Completion, Delivery, Producer, Record, Sent, Target, now_millis};
use ottla_client::{Error, Kind};
use ottla_protocol::records::Header;
use pyo3::prelude::*;
use pyo3_arrow::input::AnyArray;

use crate::errors;
use crate::producer::{send_record, tokio_timeout};
use crate::record::{Data, Headers, data, timestamp};
use crate::runtime::{seconds, wait};

/// What the caller gave.
pub(crate) struct Given<'a, 'py> {
    pub(crate) values: &'a Bound<'py, PyAny>,
    pub(crate) keys: Option<&'a Bound<'py, PyAny>>,
    pub(crate) headers: Option<&'a Bound<'py, PyAny>>,
    pub(crate) timestamps: Option<&'a Bound<'py, PyAny>>,
    pub(crate) partitions: Option<&'a Bound<'py, PyAny>>,
}

/// Rows in a row that went to the same batch.
struct Run {
    first: usize,
    count: usize,
    completion: Arc<Completion>,
}

/// The promise of many records.
#[pyclass(frozen, module = "ottla")]
pub(crate) struct BatchDelivery {
    runs: Vec<Run>,
    count: usize,
}

#[derive(Default)]
struct Runs(Vec<Run>);

impl Runs {
    fn push(&mut self, row: usize, delivery: Delivery) {
        match self.0.last_mut() {
            Some(run) if Arc::ptr_eq(&run.completion, &delivery.completion) => run.count += 1,
            _ => self.0.push(Run { first: row, count: 1, completion: delivery.completion }),
        }
    }
}

#[pymethods]
impl BatchDelivery {
    fn __len__(&self) -> usize {
        self.count
    }

    fn done(&self) -> bool {
        self.runs.iter().all(|run| run.completion.result().is_some())
    }

    #[pyo3(signature = (timeout=None))]
    fn result(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<usize> {
        let failures = self.wait(py, timeout)?;
        match failures.first() {
            None => Ok(self.count),
            Some((first, _, error)) => {
                let failed: usize = failures.iter().map(|(_, count, _)| count).sum();
                let words = format!("{failed} of {} records failed, the first at index {first}", self.count);
                Err(errors::raise(py, &error.clone().because(words)))
            }
        }
    }

    #[pyo3(signature = (timeout=None))]
    fn errors(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Vec<(usize, usize, Py<PyAny>)>> {
        let failures = self.wait(py, timeout)?;
        failures
            .into_iter()
            .map(|(first, count, error)| Ok((first, count, errors::value(py, &error)?)))
            .collect()
    }

    fn __repr__(&self) -> String {
        format!("BatchDelivery(count={}, done={})", self.count, self.done())
    }
}

impl BatchDelivery {
    /// Waits for all, and returns the runs of rows that failed: first row, count, why.
    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Vec<(usize, usize, Error)>> {
        let timeout = seconds(timeout, Duration::MAX / 4)?;
        let all = async {
            let mut failures = Vec::new();
            for run in &self.runs {
                if let Err(error) = run.completion.wait().await {
                    failures.push((run.first, run.count, error));
                }
            }
            failures
        };
        wait(py, tokio_timeout(timeout, all))?.ok_or_else(|| {
            let words =
                format!("not all acknowledged within {} s; they are still under way", timeout.as_secs_f64());
            errors::raise(py, &Error::new(Kind::Timeout, words))
        })
    }
}

/// Sends all rows; returns when all are in the buffer.
pub(crate) fn send_batch(
    py: Python<'_>,
    core: &Producer,
    target: &Target,
    given: &Given<'_, '_>,
) -> PyResult<BatchDelivery> {
    let is_arrow =
        given.values.hasattr("__arrow_c_array__")? || given.values.hasattr("__arrow_c_stream__")?;
    if is_arrow { send_arrow(py, core, target, given) } else { send_lists(py, core, target, given) }
}

fn send_arrow(
    py: Python<'_>,
    core: &Producer,
    target: &Target,
    given: &Given<'_, '_>,
) -> PyResult<BatchDelivery> {
    if given.headers.is_some() || given.timestamps.is_some() || given.partitions.is_some() {
        let words = "with Arrow, headers, timestamps and partitions are columns of the table: headers, timestamp, partition";
        return Err(errors::config(py, words));
    }
    let keys = given.keys.filter(|keys| !keys.is_none()).map(chunks).transpose()?;
    let values = chunks(given.values)?;
    let mut runs = Runs::default();
    let mut row = 0;
    // Keys may be cut into chunks elsewhere than values are.
    let keys = keys.map(|keys| concat(py, &keys)).transpose()?;
    for chunk in values {
        let batch = match (chunk.as_any().downcast_ref::<StructArray>(), &keys) {
            (Some(rows), None) => ArrowBatch::from(rows.clone()),
            (Some(_), Some(_)) => {
                return Err(errors::config(
                    py,
                    "keys: the table has its own column for keys; pass one or the other",
                ));
            }
            (None, keys) => named(py, chunk, keys.as_ref(), row)?,
        };
        let columns = Columns::try_new(&batch).map_err(|error| errors::config(py, error.to_string()))?;
        send_columns(py, core, target, &columns, &mut row, &mut runs)?;
    }
    if let Some(keys) = &keys
        && keys.len() != row
    {
        return Err(errors::config(py, format!("there are {} keys and {row} values", keys.len())));
    }
    Ok(BatchDelivery { runs: runs.0, count: row })
}

/// The arrays of anything that speaks Arrow.
fn chunks(object: &Bound<'_, PyAny>) -> PyResult<Vec<ArrayRef>> {
    let reader = object.extract::<AnyArray>()?.into_reader()?;
    reader.collect::<Result<Vec<_>, _>>().map_err(|error| errors::config(object.py(), error.to_string()))
}

fn concat(py: Python<'_>, chunks: &[ArrayRef]) -> PyResult<ArrayRef> {
    match chunks {
        [one] => Ok(Arc::clone(one)),
        _ => Err(errors::config(
            py,
            "keys come in several chunks: combine them, or pass a table with columns key and value",
        )),
    }
}

/// Plain arrays of values, and of keys, as the table that they stand for.
fn named(py: Python<'_>, values: ArrayRef, keys: Option<&ArrayRef>, from: usize) -> PyResult<ArrowBatch> {
    let mut columns = vec![("value", Arc::clone(&values), true)];
    if let Some(keys) = keys {
        if keys.len() < from + values.len() {
            return Err(errors::config(py, format!("there are {} keys and more values", keys.len())));
        }
        columns.push(("key", keys.slice(from, values.len()), true));
    }
    ArrowBatch::try_from_iter_with_nullable(columns).map_err(|error| errors::config(py, error.to_string()))
}

fn send_columns(
    py: Python<'_>,
    core: &Producer,
    target: &Target,
    columns: &Columns<'_>,
    row: &mut usize,
    runs: &mut Runs,
) -> PyResult<()> {
    let now = now_millis();
    let mut at = 0;
    while at < columns.len() {
        // Until the buffer is full, without the GIL; then wait and go on.
        let stopped = py.detach(|| -> ottla_client::Result<Option<usize>> {
            let mut headers: Vec<Header<'_>> = Vec::new();
            while let Some(fields) = columns.row(at) {
                columns.headers(at, &mut headers);
                let timestamp = fields.timestamp.unwrap_or(now);
                let record = Record { timestamp, key: fields.key, value: fields.value, headers: &headers };
                match core.try_send(target, fields.partition, &record)? {
                    Sent::Full(bytes) => return Ok(Some(bytes)),
                    Sent::Accepted(delivery) => runs.push(*row, delivery),
                }
                at += 1;
                *row += 1;
            }
            Ok(None)
        });
        if let Some(bytes) =
            stopped.map_err(|error| errors::raise(py, &error.because(format_args!("row {row}"))))?
        {
            crate::runtime::wait_for(py, core.room_for(bytes))?;
        }
    }
    Ok(())
}

fn send_lists(
    py: Python<'_>,
    core: &Producer,
    target: &Target,
    given: &Given<'_, '_>,
) -> PyResult<BatchDelivery> {
    let count = given.values.len().map_err(|_| {
        errors::config(py, "values: expected a list of bytes, str or None, or an Arrow array, batch or table")
    })?;
    let lists = [
        ("keys", given.keys),
        ("headers", given.headers),
        ("timestamps", given.timestamps),
        ("partitions", given.partitions),
    ];
    for (name, list) in lists {
        if let Some(list) = list.filter(|list| !list.is_none()) {
            let length = list.len()?;
            if length != count {
                return Err(errors::config(py, format!("{name} has {length} items and values has {count}")));
            }
        }
    }
    let mut keys = iterate(given.keys)?;
    let mut headers = iterate(given.headers)?;
    let mut timestamps = iterate(given.timestamps)?;
    let mut partitions = iterate(given.partitions)?;
    let now = now_millis();
    let mut runs = Runs::default();
    for (row, value) in given.values.try_iter()?.enumerate() {
        let value = data("value", &value?)?;
        let key = match next(&mut keys)? {
            Some(key) => data("key", &key)?,
            None => None,
        };
        let row_headers = match next(&mut headers)? {
            Some(headers) => Headers::new(Some(&headers))?,
            None => Headers::default(),
        };
        let millis = match next(&mut timestamps)? {
            Some(millis) if !millis.is_none() => timestamp(Some(&millis))?,
            _ => now,
        };
        let partition = match next(&mut partitions)? {
            Some(partition) => partition.extract()?,
            None => None,
        };
        let record = Record {
            timestamp: millis,
            key: key.as_ref().map(Data::as_slice),
            value: value.as_ref().map(Data::as_slice),
            headers: &row_headers.as_headers(),
        };
        runs.push(row, send_record(py, core, target, partition, &record)?);
    }
    Ok(BatchDelivery { runs: runs.0, count })
}

/// An iterator over a list that may not have been given.
fn iterate<'py>(list: Option<&Bound<'py, PyAny>>) -> PyResult<Option<Bound<'py, pyo3::types::PyIterator>>> {
    list.filter(|list| !list.is_none()).map(|list| list.try_iter()).transpose()
}

fn next<'py>(list: &mut Option<Bound<'py, pyo3::types::PyIterator>>) -> PyResult<Option<Bound<'py, PyAny>>> {
    match list {
        Some(list) => list.next().transpose(),
        None => Ok(None),
    }
}
