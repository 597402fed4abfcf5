//! List arguments of `send_batch`: checked, and read record by record.
//!
//! Invariant: wrong types are reported before anything is sent.

use ottla_client::producer::now_millis;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator, PyString};

use crate::convert::errors;
use crate::convert::field_bytes::{field_bytes, is_field_bytes};
use crate::convert::names::items;
use crate::convert::number;
use crate::producer::batch_args::BatchArgs;
use crate::producer::hooks::Hooks;
use crate::producer::interceptors::Interceptors;
use crate::producer::record::{self, Headers, OwnedRecord, timestamp};
use crate::producer::serializers::Serializers;

/// Iterates over the records of checked lists.
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
        args: &BatchArgs<'a, 'py>,
        serializers: &'a Serializers,
        interceptors: Option<&'a Interceptors>,
    ) -> PyResult<Self> {
        Ok(Self {
            topic: args.topic,
            serializers,
            interceptors,
            index: 0,
            values: args.values.try_iter()?,
            keys: iterate(args.keys)?,
            headers: iterate(args.headers)?,
            timestamps: iterate(args.timestamps)?,
            partitions: iterate(args.partitions)?,
            now: now_millis(),
        })
    }

    fn row(&mut self, value: &Bound<'py, PyAny>) -> PyResult<OwnedRecord> {
        let key = next(&mut self.keys)?;
        let headers = next(&mut self.headers)?;
        let timestamp = next(&mut self.timestamps)?;
        let args = record::RecordArgs {
            topic: self.topic,
            value: Some(value),
            key: key.as_ref(),
            headers: headers.as_ref(),
            timestamp: timestamp.as_ref(),
            partition: match next(&mut self.partitions)? {
                Some(partition) => number::partition(&partition)?,
                None => None,
            },
            on_delivery: None,
        };
        let index = Some(self.index);
        self.index += 1;
        let Some(all) = self.interceptors else {
            return OwnedRecord::read(&args, self.serializers, index, || self.now);
        };
        let intercepted = all.on_send(value.py(), &args, true)?;
        let record = OwnedRecord::read(&intercepted.args(), self.serializers, index, || self.now);
        if let Err(error) = &record {
            intercepted.report_unsent(error)?;
        }
        record
    }
}

impl Iterator for ListRows<'_, '_> {
    type Item = PyResult<OwnedRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        let value = self.values.next()?;
        Some(value.and_then(|value| self.row(&value)))
    }
}

/// Checks the lists before anything is sent, except for values that hooks will convert. Returns the
/// highest partition.
pub(crate) fn check_lists(py: Python<'_>, args: &BatchArgs<'_, '_>, hooks: &Hooks) -> PyResult<Option<i32>> {
    let (intercepted, serializers) = (hooks.interceptors.is_some(), &hooks.serializers);
    let wrong = || {
        let ty = args.values.get_type().name().map_or_else(|_| String::new(), |name| name.to_string());
        errors::argument_type(
            py,
            format!(
                "values is of type {ty}; expected a list of bytes, str or None, or an Arrow array, batch or table"
            ),
        )
    };
    if args.values.is_instance_of::<PyString>() || args.values.is_instance_of::<PyBytes>() {
        return Err(wrong());
    }
    let count = args.values.len().map_err(|_| wrong())?;
    each("values", Some(args.values), count, |value| check(value, intercepted || serializers.has_value()))?;
    each("keys", args.keys, count, |key| check(key, intercepted || serializers.has_key()))?;
    each("headers", args.headers, count, |headers| Headers::new(Some(headers)).map(drop))?;
    each("timestamps", args.timestamps, count, |millis| {
        if millis.is_none() { Ok(()) } else { timestamp(millis).map(drop) }
    })?;
    let mut highest = None;
    each("partitions", args.partitions, count, |partition| {
        highest = highest.max(number::partition::<Option<i32>>(partition)?);
        Ok(())
    })?;
    Ok(highest)
}

fn check(value: &Bound<'_, PyAny>, is_hooked: bool) -> PyResult<()> {
    // The conversion itself reports the error.
    if is_hooked || is_field_bytes(value) { Ok(()) } else { field_bytes("it", value).map(drop) }
}

/// Checks an optional list. An error names the list and the index.
fn each<'py>(
    name: &str,
    list: Option<&Bound<'py, PyAny>>,
    count: usize,
    mut check: impl FnMut(&Bound<'py, PyAny>) -> PyResult<()>,
) -> PyResult<()> {
    let Some(list) = list.filter(|list| !list.is_none()) else { return Ok(()) };
    let py = list.py();
    // A str would be a list of letters.
    items(list, &format!("a list of {name}"), |_| format!("one {name} for each value"))?;
    let length = list.len().map_err(|_| {
        let ty = list.get_type().name().map_or_else(|_| "object".to_owned(), |ty| ty.to_string());
        errors::argument_type(py, format!("{name} is of type {ty}: expected a list, with one for each value"))
    })?;
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

/// An iterator over an optional list.
fn iterate<'py>(list: Option<&Bound<'py, PyAny>>) -> PyResult<Option<Bound<'py, PyIterator>>> {
    list.filter(|list| !list.is_none()).map(|list| list.try_iter()).transpose()
}

fn next<'py>(list: &mut Option<Bound<'py, PyIterator>>) -> PyResult<Option<Bound<'py, PyAny>>> {
    match list {
        Some(list) => list.next().transpose(),
        None => Ok(None),
    }
}
