//! Lists as they are passed to `send_batch`: looked through, and read record by record.
//!
//! Invariant: what is wrong with the types of what was given is told before anything is sent.

use ottla_client::producer::now_millis;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator, PyString};

use crate::convert::bytes::{bytes_arg, is_bytes_arg};
use crate::convert::errors;
use crate::convert::record::{self, Headers, OwnedRecord, timestamp};
use crate::producer::hooks::Hooks;
use crate::producer::interceptors::Interceptors;
use crate::producer::send_batch::Given;
use crate::producer::serializers::Serializers;

/// The records of lists that were looked through.
pub(crate) struct ListRows<'a, 'py> {
    topic: &'a str,
    serializers: &'a Serializers,
    interceptors: Option<&'a Interceptors>,
    index: usize,
    values: Bound<'py, PyIterator>,
    keys: Option<Bound<'py, PyIterator>>,
    headers: Option<Bound<'py, PyIterator>>,
    timestamps: Option<Bound<'py, PyIterator>>,
    partitions: Option<Bound<'py, PyIterator>>,
    now: i64,
}

impl<'a, 'py> ListRows<'a, 'py> {
    pub(crate) fn new(
        given: &Given<'a, 'py>,
        serializers: &'a Serializers,
        interceptors: Option<&'a Interceptors>,
    ) -> PyResult<Self> {
        Ok(Self {
            topic: given.topic,
            serializers,
            interceptors,
            index: 0,
            values: given.values.try_iter()?,
            keys: iterate(given.keys)?,
            headers: iterate(given.headers)?,
            timestamps: iterate(given.timestamps)?,
            partitions: iterate(given.partitions)?,
            now: now_millis(),
        })
    }

    fn row(&mut self, value: &Bound<'py, PyAny>) -> PyResult<OwnedRecord> {
        let key = next(&mut self.keys)?;
        let headers = next(&mut self.headers)?;
        let timestamp = next(&mut self.timestamps)?;
        let given = record::SendArgs {
            topic: self.topic,
            value: Some(value),
            key: key.as_ref(),
            headers: headers.as_ref(),
            timestamp: timestamp.as_ref(),
            partition: match next(&mut self.partitions)? {
                Some(partition) => partition.extract()?,
                None => None,
            },
            on_delivery: None,
        };
        let index = Some(self.index);
        self.index += 1;
        let Some(all) = self.interceptors else {
            return OwnedRecord::read(&given, self.serializers, index, || self.now);
        };
        let intercepted = all.on_send(value.py(), &given, true)?;
        let fields = OwnedRecord::read(&intercepted.given(), self.serializers, index, || self.now);
        if let Err(error) = &fields {
            intercepted.refused(error)?;
        }
        fields
    }
}

impl Iterator for ListRows<'_, '_> {
    type Item = PyResult<OwnedRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        let value = self.values.next()?;
        Some(value.and_then(|value| self.row(&value)))
    }
}

/// Looks through the lists before anything is sent, but not at what hooks are to see. Returns the
/// highest partition.
pub(crate) fn check_lists(py: Python<'_>, given: &Given<'_, '_>, hooks: &Hooks) -> PyResult<Option<i32>> {
    let (intercepted, serializers) = (hooks.interceptors.is_some(), &hooks.serializers);
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
    each("values", Some(given.values), count, |value| check(value, intercepted || serializers.has_value()))?;
    each("keys", given.keys, count, |key| check(key, intercepted || serializers.has_key()))?;
    each("headers", given.headers, count, |headers| Headers::new(Some(headers)).map(drop))?;
    each("timestamps", given.timestamps, count, |millis| {
        if millis.is_none() { Ok(()) } else { timestamp(millis).map(drop) }
    })?;
    let mut highest = None;
    each("partitions", given.partitions, count, |partition| {
        let wrong = |_| errors::config(py, format!("{partition} is not the number of a partition"));
        highest = highest.max(partition.extract::<Option<i32>>().map_err(wrong)?);
        Ok(())
    })?;
    Ok(highest)
}

fn check(value: &Bound<'_, PyAny>, is_hooked: bool) -> PyResult<()> {
    // The error is made by whom it is made anyway.
    if is_hooked || is_bytes_arg(value) { Ok(()) } else { bytes_arg("it", value).map(drop) }
}

/// Checks a list that may not have been given; an error names the list and the index.
fn each<'py>(
    name: &str,
    list: Option<&Bound<'py, PyAny>>,
    count: usize,
    mut check: impl FnMut(&Bound<'py, PyAny>) -> PyResult<()>,
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
fn iterate<'py>(list: Option<&Bound<'py, PyAny>>) -> PyResult<Option<Bound<'py, PyIterator>>> {
    list.filter(|list| !list.is_none()).map(|list| list.try_iter()).transpose()
}

fn next<'py>(list: &mut Option<Bound<'py, PyIterator>>) -> PyResult<Option<Bound<'py, PyAny>>> {
    match list {
        Some(list) => list.next().transpose(),
        None => Ok(None),
    }
}
