//! The arguments of `send` as a record: key and value, headers, timestamp.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyMapping};

use ottla_client::producer::{Appended, Appender, Producer, Record, Room, Sent, Target};
use ottla_protocol::records::Header;

use crate::convert::bytes::{BytesArg, bytes_arg};
use crate::convert::datetime;
use crate::convert::errors;
use crate::producer::serializers::{Place, Serializers};

/// Headers as pairs of a name and a value; the argument is a sequence of pairs or a mapping.
#[derive(Default)]
pub(crate) struct Headers(Vec<(BytesArg, Option<BytesArg>)>);

impl Headers {
    pub(crate) fn new(headers: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(headers) = headers.filter(|headers| !headers.is_none()) else { return Ok(Self::default()) };
        let pairs = if is_mapping(headers) { headers.call_method0("items")? } else { headers.clone() };
        let mut out = Vec::new();
        for pair in pairs.try_iter()? {
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair?.extract().map_err(|_| {
                PyTypeError::new_err("headers: expected pairs of a name and a value, or a dict of such")
            })?;
            let key = bytes_arg("a header's name", &key)?;
            let key =
                key.ok_or_else(|| PyTypeError::new_err("a header's name is None; expected str or bytes"))?;
            out.push((key, bytes_arg("a header's value", &value)?));
        }
        Ok(Self(out))
    }

    pub(crate) fn as_headers(&self) -> Vec<Header<'_>> {
        self.0
            .iter()
            .map(|(key, value)| Header { key: key.as_slice(), value: value.as_ref().map(BytesArg::as_slice) })
            .collect()
    }
}

/// A converted record that owns its bytes, so that it can wait without the GIL.
pub(crate) struct OwnedRecord {
    pub(crate) key: Option<BytesArg>,
    pub(crate) value: Option<BytesArg>,
    pub(crate) headers: Headers,
    pub(crate) timestamp: i64,
    pub(crate) partition: Option<i32>,
    pub(crate) on_delivery: Option<Py<PyAny>>,
}

/// The arguments of `send`.
pub(crate) struct SendArgs<'a, 'py> {
    pub(crate) topic: &'a str,
    pub(crate) value: Option<&'a Bound<'py, PyAny>>,
    pub(crate) key: Option<&'a Bound<'py, PyAny>>,
    pub(crate) headers: Option<&'a Bound<'py, PyAny>>,
    pub(crate) timestamp: Option<&'a Bound<'py, PyAny>>,
    pub(crate) partition: Option<i32>,
    pub(crate) on_delivery: Option<&'a Bound<'py, PyAny>>,
}

impl OwnedRecord {
    pub(crate) fn new(args: &SendArgs<'_, '_>, serializers: &Serializers) -> PyResult<Self> {
        Self::read(args, serializers, None, ottla_client::producer::now_millis)
    }

    /// Converts the record at `index` of a batch; all records of a batch share one `now`.
    pub(crate) fn read(
        args: &SendArgs<'_, '_>,
        serializers: &Serializers,
        index: Option<usize>,
        now: impl FnOnce() -> i64,
    ) -> PyResult<Self> {
        let SendArgs { topic, value, key, headers, timestamp, partition, on_delivery } = *args;
        let place = Place { topic, headers, index };
        Ok(Self {
            timestamp: match timestamp.filter(|timestamp| !timestamp.is_none()) {
                Some(timestamp) => self::timestamp(timestamp)?,
                None => now(),
            },
            value: value.map_or(Ok(None), |value| serializers.value(place, value))?,
            key: key.map_or(Ok(None), |key| serializers.key(place, key))?,
            headers: Headers::new(headers)?,
            partition,
            on_delivery: callback(on_delivery)?,
        })
    }

    /// Returns key and value as bytes.
    pub(crate) fn as_slices(&self) -> [Option<&[u8]>; 2] {
        [&self.key, &self.value].map(|data| data.as_ref().map(BytesArg::as_slice))
    }

    /// Sends the record without waiting.
    pub(crate) fn try_send(
        &self,
        core: &Producer,
        target: &Target,
        room: Option<Room>,
    ) -> ottla_client::Result<Sent> {
        core.try_send(target, self.partition, &self.as_record(&self.headers.as_headers()), room)
    }

    /// Appends the record to a batch, without waiting.
    pub(crate) fn append<'a>(&self, appender: &'a mut Appender<'_>) -> ottla_client::Result<Appended<'a>> {
        appender.send(self.partition, &self.as_record(&self.headers.as_headers()))
    }

    fn as_record<'a>(&'a self, headers: &'a [Header<'a>]) -> Record<'a> {
        Record {
            timestamp: self.timestamp,
            key: self.key.as_ref().map(BytesArg::as_slice),
            value: self.value.as_ref().map(BytesArg::as_slice),
            headers,
        }
    }
}

/// Checks that an `on_delivery` argument is callable.
fn callback(argument: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Py<PyAny>>> {
    let Some(argument) = argument.filter(|argument| !argument.is_none()) else { return Ok(None) };
    if argument.is_callable() {
        return Ok(Some(argument.clone().unbind()));
    }
    let ty = argument.get_type().name()?;
    Err(PyTypeError::new_err(format!(
        "on_delivery is of type {ty}; expected a callable that takes an error or None, and the metadata"
    )))
}

fn is_mapping(value: &Bound<'_, PyAny>) -> bool {
    // The check for a dict is cheap and covers the common case.
    value.is_instance_of::<PyDict>() || value.cast::<PyMapping>().is_ok()
}

/// Converts an int of milliseconds since 1970, or a `datetime` with a time zone.
pub(crate) fn timestamp(value: &Bound<'_, PyAny>) -> PyResult<i64> {
    let wrong =
        || errors::config(value.py(), format!("timestamp is {value}: expected milliseconds since 1970"));
    let millis = if value.is_instance_of::<PyInt>() {
        value.extract().map_err(|_| wrong())?
    } else if let Some(millis) = datetime::millis("timestamp", value)? {
        millis
    } else {
        let ty = value.get_type().name()?;
        let message = format!("timestamp is of type {ty}; expected int (milliseconds) or datetime");
        return Err(PyTypeError::new_err(message));
    };
    if millis < 0 { Err(wrong()) } else { Ok(millis) }
}
