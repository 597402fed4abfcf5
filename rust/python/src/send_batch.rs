//! `Producer.send_batch`: many records in one call, from lists or from Arrow columns.
//!
//! Rows go straight from where they are into their partition's open batch. Arrow columns are read
//! without the GIL; lists are read with it, but never waited with.
//!
//! Invariant: what is wrong with the types of what was given is told before anything is sent; what
//! is wrong with a single record (too large, no such partition) fails that record alone.

use std::sync::Arc;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use ottla_arrow::{Columns, ColumnsError};
use ottla_client::producer::{Completion, Delivery, Producer, Record, Sent, Target, now_millis};
use ottla_client::{Error, Kind};
use ottla_protocol::records::Header;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use pyo3_arrow::input::AnyArray;

use crate::errors;
use crate::producer::tokio_timeout;
use crate::record::{Data, Headers, check_data, data, timestamp};
use crate::runtime::{check_process, seconds, wait};

/// What the caller gave.
pub(crate) struct Given<'a, 'py> {
    pub(crate) values: &'a Bound<'py, PyAny>,
    pub(crate) keys: Option<&'a Bound<'py, PyAny>>,
    pub(crate) headers: Option<&'a Bound<'py, PyAny>>,
    pub(crate) timestamps: Option<&'a Bound<'py, PyAny>>,
    pub(crate) partitions: Option<&'a Bound<'py, PyAny>>,
}

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

pub(crate) type Pair = (Option<ArrayRef>, ArrayRef);

/// The promise of many records.
#[pyclass(frozen, module = "ottla")]
pub(crate) struct BatchDelivery {
    runs: Vec<Run>,
    count: usize,
    pid: u32,
}

#[derive(Default)]
struct Runs(Vec<Run>);

impl Runs {
    fn push(&mut self, row: usize, delivery: Delivery) {
        match self.0.last_mut() {
            Some(Run { count, fate: Fate::Batch(completion, first), .. })
                if Arc::ptr_eq(completion, &delivery.completion) && *first + *count == delivery.index =>
            {
                *count += 1;
            }
            _ => {
                let fate = Fate::Batch(delivery.completion, delivery.index);
                self.0.push(Run { first: row, count: 1, fate });
            }
        }
    }

    /// A record that cannot be sent; what concerns all of them is an error of the call.
    fn refuse(&mut self, row: usize, error: Error) -> ottla_client::Result<()> {
        if error.kind() == Kind::Closed {
            return Err(error);
        }
        self.0.push(Run { first: row, count: 1, fate: Fate::Refused(error) });
        Ok(())
    }

    fn delivery(self, count: usize) -> BatchDelivery {
        BatchDelivery { runs: self.0, count, pid: std::process::id() }
    }
}

#[pymethods]
impl BatchDelivery {
    fn __len__(&self) -> usize {
        self.count
    }

    fn done(&self) -> bool {
        self.runs.iter().all(|run| match &run.fate {
            Fate::Batch(completion, _) => completion.is_done(),
            Fate::Refused(_) => true,
        })
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
        check_process(self.pid)?;
        let timeout = seconds(timeout, Duration::MAX)?;
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
    if speaks_arrow(given.values)? {
        send_arrow(py, core, target, given)
    } else {
        send_lists(py, core, target, given)
    }
}

pub(crate) fn speaks_arrow(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(object.hasattr("__arrow_c_array__")? || object.hasattr("__arrow_c_stream__")?)
}

/// The error of a call that ends before its last row.
fn cut_short(py: Python<'_>, row: usize, error: Error) -> PyErr {
    errors::raise(py, &error.because(format_args!("at index {row}; the records before it are under way")))
}

fn send_arrow(
    py: Python<'_>,
    core: &Producer,
    target: &Target,
    given: &Given<'_, '_>,
) -> PyResult<BatchDelivery> {
    let pairs = pairs(py, given)?;
    let all = pairs.iter().map(columns).collect::<Result<Vec<_>, _>>();
    let all = all.map_err(|error| errors::config(py, error.to_string()))?;
    let mut runs = Runs::default();
    let mut row = 0;
    for columns in all {
        send_columns(py, core, target, &columns, &mut row, &mut runs)?;
    }
    Ok(runs.delivery(row))
}

/// Keys and values, or tables.
pub(crate) fn pairs(py: Python<'_>, given: &Given<'_, '_>) -> PyResult<Vec<Pair>> {
    if given.headers.is_some() || given.timestamps.is_some() || given.partitions.is_some() {
        let words = "with Arrow, headers, timestamps and partitions are columns of the table: headers, timestamp, partition";
        return Err(errors::config(py, words));
    }
    let values = chunks("values", given.values)?;
    let keys = given.keys.filter(|keys| !keys.is_none()).map(|keys| chunks("keys", keys)).transpose()?;
    match keys {
        None => Ok(values.into_iter().map(|values| (None, values)).collect()),
        Some(keys) => aligned(py, &keys, &values),
    }
}

pub(crate) fn columns((keys, values): &Pair) -> Result<Columns<'_>, ColumnsError> {
    match (values.as_struct_opt(), keys) {
        (Some(rows), None) => Columns::from_struct(rows),
        (_, keys) => Columns::from_arrays(keys.as_deref(), values),
    }
}

/// The arrays of anything that speaks Arrow.
pub(crate) fn chunks(what: &str, object: &Bound<'_, PyAny>) -> PyResult<Vec<ArrayRef>> {
    if !speaks_arrow(object)? {
        let ty = object.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "{what} is of type {ty}; with Arrow, both keys and values are Arrow arrays"
        )));
    }
    let reader = object.extract::<AnyArray>()?.into_reader()?;
    reader.collect::<Result<Vec<_>, _>>().map_err(|error| errors::config(object.py(), error.to_string()))
}

/// Keys and values, which may be cut into chunks at different places, cut at the same ones.
fn aligned(
    py: Python<'_>,
    keys: &[ArrayRef],
    values: &[ArrayRef],
) -> PyResult<Vec<(Option<ArrayRef>, ArrayRef)>> {
    if values.iter().any(|values| values.as_struct_opt().is_some()) {
        return Err(errors::config(py, "keys: the table has its own column for keys; pass one or the other"));
    }
    let length = |chunks: &[ArrayRef]| chunks.iter().map(|chunk| chunk.len()).sum::<usize>();
    if length(keys) != length(values) {
        let words = format!("keys has {} items and values has {}", length(keys), length(values));
        return Err(errors::config(py, words));
    }
    let mut pairs = Vec::new();
    let mut keys = keys.iter().filter(|keys| !keys.is_empty()).cloned();
    let mut rest: Option<ArrayRef> = None;
    for values in values {
        let mut at = 0;
        while at < values.len()
            && let Some(chunk) = rest.take().or_else(|| keys.next())
        {
            let count = chunk.len().min(values.len() - at);
            pairs.push((Some(chunk.slice(0, count)), values.slice(at, count)));
            rest = (count < chunk.len()).then(|| chunk.slice(count, chunk.len() - count));
            at += count;
        }
    }
    Ok(pairs)
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
                match core.try_send(target, fields.partition, &record) {
                    Ok(Sent::Full(bytes)) => return Ok(Some(bytes)),
                    Ok(Sent::Accepted(delivery)) => runs.push(*row, delivery),
                    Err(error) => runs.refuse(*row, error)?,
                }
                at += 1;
                *row += 1;
            }
            Ok(None)
        });
        if let Some(bytes) = stopped.map_err(|error| cut_short(py, *row, error))? {
            wait(py, core.room_for(bytes))?.map_err(|error| cut_short(py, *row, error))?;
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
    let count = check_lists(py, given)?;
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
        let row_headers = Headers::new(next(&mut headers)?.as_ref())?;
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
        loop {
            match core.try_send(target, partition, &record) {
                Ok(Sent::Accepted(delivery)) => runs.push(row, delivery),
                Ok(Sent::Full(bytes)) => {
                    wait(py, core.room_for(bytes))?.map_err(|error| cut_short(py, row, error))?;
                    continue;
                }
                Err(error) => runs.refuse(row, error).map_err(|error| cut_short(py, row, error))?,
            }
            break;
        }
    }
    Ok(runs.delivery(count))
}

/// Looks through the lists before anything is sent, and returns how many rows they have.
fn check_lists(py: Python<'_>, given: &Given<'_, '_>) -> PyResult<usize> {
    let wrong = || {
        let ty = given.values.get_type().name().map_or_else(|_| String::new(), |name| name.to_string());
        PyTypeError::new_err(format!(
            "values is of type {ty}; expected a list of bytes, str or None, or an Arrow array, batch or table"
        ))
    };
    if given.values.is_instance_of::<PyString>() || given.values.is_instance_of::<PyBytes>() {
        return Err(wrong());
    }
    let count = given.values.len().map_err(|_| wrong())?;
    each("values", Some(given.values), count, |value| check(value))?;
    each("keys", given.keys, count, |key| check(key))?;
    each("headers", given.headers, count, |headers| Headers::new(Some(headers)).map(drop))?;
    each("timestamps", given.timestamps, count, |millis| timestamp(Some(millis)).map(drop))?;
    each("partitions", given.partitions, count, |partition| {
        partition
            .extract::<Option<i32>>()
            .map(drop)
            .map_err(|_| errors::config(py, format!("{partition} is not the number of a partition")))
    })?;
    Ok(count)
}

fn check(value: &Bound<'_, PyAny>) -> PyResult<()> {
    // The error is made by whom it is made anyway.
    if check_data(value) { Ok(()) } else { data("it", value).map(drop) }
}

/// Checks a list that may not have been given; an error names the list and the index.
fn each<'py>(
    name: &str,
    list: Option<&Bound<'py, PyAny>>,
    count: usize,
    check: impl Fn(&Bound<'py, PyAny>) -> PyResult<()>,
) -> PyResult<()> {
    let Some(list) = list.filter(|list| !list.is_none()) else { return Ok(()) };
    let py = list.py();
    let length = list.len()?;
    if length != count {
        return Err(errors::config(py, format!("{name} has {length} items and values has {count}")));
    }
    for (index, item) in list.try_iter()?.enumerate() {
        check(&item?).map_err(|error| {
            PyErr::from_type(error.get_type(py), (format!("{name}[{index}]: {}", error.value(py)),))
        })?;
    }
    Ok(())
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
