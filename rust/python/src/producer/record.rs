//! A record of Python's `send`: its arguments, and an owned copy that can wait without the GIL.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping};

use ottla_client::producer::{
    AppendResult, Appender, BufferReservation, Producer, Record, SendResult, TopicWriter,
};
use ottla_protocol::records::Header;

use crate::convert::datetime;
use crate::convert::errors;
use crate::convert::field_bytes::{FieldBytes, field_bytes};
use crate::convert::names::items;
use crate::convert::number::is_index;
use crate::producer::serializers::{FieldContext, Serializers};
use crate::typed::SchemaIdHeaders;

/// Headers: pairs of a name and bytes, text or None; or a mapping of such.
#[derive(Default)]
pub(crate) struct Headers {
    given: Vec<(FieldBytes, Option<FieldBytes>)>,
    /// None if they change nothing, as mostly.
    schema_ids: Option<Box<SchemaIdHeaders>>,
}

impl Headers {
    pub(crate) fn new(headers: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(headers) = headers.filter(|headers| !headers.is_none()) else { return Ok(Self::default()) };
        let pairs = if is_mapping(headers) { headers.call_method0("items")? } else { headers.clone() };
        let mut out = Vec::new();
        let example = |_: &str| "[(\"name\", b\"value\")], or {\"name\": b\"value\"}".to_owned();
        for pair in items(&pairs, "headers", example)? {
            let pair = pair?;
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract().map_err(|_| {
                let message = format!(
                    "headers: expected pairs of a name and a value, or a dict of such; one is {}",
                    pair.repr().map_or_else(|_| "not a pair".to_owned(), |pair| pair.to_string())
                );
                errors::argument_type(pair.py(), message)
            })?;
            let key = field_bytes("a header's name", &key)?;
            let key =
                key.ok_or_else(|| PyTypeError::new_err("a header's name is None; expected str or bytes"))?;
            out.push((key, field_bytes("a header's value", &value)?));
        }
        Ok(Self { given: out, schema_ids: None })
    }

    fn with_schema_ids(self, schema_ids: SchemaIdHeaders) -> Self {
        let has = |name: &[u8]| self.given.iter().any(|(key, _)| key.as_slice() == name);
        let schema_ids = schema_ids.change(has).then(|| Box::new(schema_ids));
        Self { schema_ids, ..self }
    }
}

/// A record that owns its Python data, so that it can wait without the GIL.
pub(crate) struct OwnedRecord {
    pub(crate) key: Option<FieldBytes>,
    pub(crate) value: Option<FieldBytes>,
    pub(crate) headers: Headers,
    pub(crate) timestamp: i64,
    pub(crate) partition: Option<i32>,
    pub(crate) on_delivery: Option<Py<PyAny>>,
}

/// The arguments of `send`.
pub(crate) struct RecordArgs<'a, 'py> {
    pub(crate) topic: &'a str,
    pub(crate) value: Option<&'a Bound<'py, PyAny>>,
    pub(crate) key: Option<&'a Bound<'py, PyAny>>,
    pub(crate) headers: Option<&'a Bound<'py, PyAny>>,
    pub(crate) timestamp: Option<&'a Bound<'py, PyAny>>,
    pub(crate) partition: Option<i32>,
    pub(crate) on_delivery: Option<&'a Bound<'py, PyAny>>,
}

impl OwnedRecord {
    pub(crate) fn new(args: &RecordArgs<'_, '_>, serializers: &Serializers) -> PyResult<Self> {
        Self::read(args, serializers, None, ottla_client::producer::now_millis)
    }

    /// Reads the record at `index` of a batch, whose records share `now`.
    pub(crate) fn read(
        args: &RecordArgs<'_, '_>,
        serializers: &Serializers,
        index: Option<usize>,
        now: impl FnOnce() -> i64,
    ) -> PyResult<Self> {
        let RecordArgs { topic, value, key, headers, timestamp, partition, on_delivery } = *args;
        let context = FieldContext { topic, headers, index };
        let timestamp = match timestamp.filter(|timestamp| !timestamp.is_none()) {
            Some(timestamp) => self::timestamp(timestamp)?,
            None => now(),
        };
        let mut schema_ids = SchemaIdHeaders::default();
        let value =
            value.map_or(Ok(None), |value| serializers.value(context, value, &mut schema_ids.value))?;
        let key = key.map_or(Ok(None), |key| serializers.key(context, key, &mut schema_ids.key))?;
        let headers = Headers::new(headers)?.with_schema_ids(schema_ids);
        Ok(Self { timestamp, value, key, headers, partition, on_delivery: callback(on_delivery)? })
    }

    /// The number of bytes of the key and the value.
    pub(crate) fn size(&self) -> usize {
        self.as_slices().into_iter().flatten().map(<[u8]>::len).sum()
    }

    fn headers(&self) -> Vec<Header<'_>> {
        let given = self.headers.given.iter();
        let given = given.map(|(key, value)| Header {
            key: key.as_slice(),
            value: value.as_ref().map(FieldBytes::as_slice),
        });
        let mut headers = given.collect();
        if let Some(schema_ids) = &self.headers.schema_ids {
            let [key, value] = self.as_slices();
            schema_ids.apply(&mut headers, key, value);
        }
        headers
    }

    /// The key and the value as bytes.
    pub(crate) fn as_slices(&self) -> [Option<&[u8]>; 2] {
        [&self.key, &self.value].map(|data| data.as_ref().map(FieldBytes::as_slice))
    }

    /// Sends the record without waiting.
    pub(crate) fn try_send(
        &self,
        core: &Producer,
        writer: &TopicWriter,
        reservation: Option<BufferReservation>,
    ) -> ottla_client::Result<SendResult> {
        core.try_send(writer, self.partition, &self.as_record(&self.headers()), reservation)
    }

    /// Appends the record through an appender, without waiting.
    pub(crate) fn append<'a>(
        &self,
        appender: &'a mut Appender<'_>,
    ) -> ottla_client::Result<AppendResult<'a>> {
        appender.send(self.partition, &self.as_record(&self.headers()))
    }

    fn as_record<'a>(&'a self, headers: &'a [Header<'a>]) -> Record<'a> {
        Record {
            timestamp: self.timestamp,
            key: self.key.as_ref().map(FieldBytes::as_slice),
            value: self.value.as_ref().map(FieldBytes::as_slice),
            headers,
        }
    }
}

/// Returns a callback, if one was passed.
fn callback(args: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Py<PyAny>>> {
    let Some(args) = args.filter(|args| !args.is_none()) else { return Ok(None) };
    if args.is_callable() {
        return Ok(Some(args.clone().unbind()));
    }
    let ty = args.get_type().name()?;
    Err(PyTypeError::new_err(format!(
        "on_delivery is of type {ty}; expected a callable that takes an error or None, and the metadata"
    )))
}

fn is_mapping(value: &Bound<'_, PyAny>) -> bool {
    // A dict is the common case, and cheap to check.
    value.is_instance_of::<PyDict>() || value.cast::<PyMapping>().is_ok()
}

/// Milliseconds since 1970: an int, or a `datetime` with a time zone.
pub(crate) fn timestamp(value: &Bound<'_, PyAny>) -> PyResult<i64> {
    let wrong =
        || errors::config(value.py(), format!("timestamp is {value}: expected milliseconds since 1970"));
    let millis = if let Some(millis) = datetime::millis("timestamp", value)? {
        millis
    } else if is_index(value)? {
        value.extract().map_err(|_| wrong())?
    } else {
        let ty = value.get_type().name()?;
        let message = format!("timestamp is of type {ty}; expected int (milliseconds) or datetime");
        return Err(errors::argument_type(value.py(), message));
    };
    if millis < 0 { Err(wrong()) } else { Ok(millis) }
}
