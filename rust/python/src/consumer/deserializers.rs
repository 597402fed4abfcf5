//! `key_deserializer` and `value_deserializer`: they convert the bytes of keys and values to objects.
//!
//! Invariant: an exception of a deserializer becomes a `SerializationError` with topic, partition,
//! offset and field. Null is never deserialized.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyString, PyTuple};

use crate::convert::errors;
use crate::convert::field_bytes::bytes_or_none;

static ERROR: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

struct Deserializer {
    field: &'static str,
    call: Py<PyAny>,
    /// Whether `call` takes the topic, the bytes and the headers, not only the bytes.
    is_object: bool,
}

/// The deserializers of a consumer.
#[derive(Default)]
pub(crate) struct Deserializers {
    key: Option<Deserializer>,
    value: Option<Deserializer>,
}

/// The record of a key or a value.
pub(super) struct RecordContext<'a, 'py> {
    pub(super) topic: &'a Bound<'py, PyString>,
    pub(super) partition: i32,
    pub(super) offset: i64,
    pub(super) headers: &'a Bound<'py, PyTuple>,
}

impl Deserializers {
    pub(super) fn new(key: Option<&Bound<'_, PyAny>>, value: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let new = |field: &'static str, deserializer: Option<&Bound<'_, PyAny>>| {
            deserializer
                .filter(|deserializer| !deserializer.is_none())
                .map(|deserializer| Deserializer::new(field, deserializer))
                .transpose()
        };
        Ok(Self { key: new("key", key)?, value: new("value", value)? })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.key.is_none() && self.value.is_none()
    }

    pub(super) fn key(&self, context: &RecordContext<'_, '_>, key: Option<&[u8]>) -> PyResult<Py<PyAny>> {
        field(self.key.as_ref(), context, key)
    }

    pub(super) fn value(&self, context: &RecordContext<'_, '_>, value: Option<&[u8]>) -> PyResult<Py<PyAny>> {
        field(self.value.as_ref(), context, value)
    }
}

fn field(
    deserializer: Option<&Deserializer>,
    context: &RecordContext<'_, '_>,
    data: Option<&[u8]>,
) -> PyResult<Py<PyAny>> {
    match (deserializer, data) {
        (Some(deserializer), Some(data)) => deserializer.deserialize(context, data),
        _ => Ok(bytes_or_none(context.topic.py(), data)),
    }
}

impl Deserializer {
    fn new(field: &'static str, deserializer: &Bound<'_, PyAny>) -> PyResult<Self> {
        let is_object = deserializer.hasattr("deserialize")?;
        let call = if is_object { deserializer.getattr("deserialize")? } else { deserializer.clone() };
        if !call.is_callable() {
            let ty = deserializer.get_type().name()?;
            let message = format!(
                "{field}_deserializer is of type {ty}: expected a callable, or an object with deserialize(topic, data, headers); see ottla.deserializers"
            );
            return Err(errors::config(deserializer.py(), message));
        }
        Ok(Self { field, call: call.unbind(), is_object })
    }

    fn deserialize(&self, context: &RecordContext<'_, '_>, data: &[u8]) -> PyResult<Py<PyAny>> {
        let py = context.topic.py();
        let (call, data) = (self.call.bind(py), PyBytes::new(py, data));
        let result = if self.is_object {
            call.call1((context.topic, data, context.headers))
        } else {
            call.call1((data,))
        };
        result
            .map(Bound::unbind)
            .map_err(|cause| self.error(py, context, cause).unwrap_or_else(|failure| failure))
    }

    fn error(&self, py: Python<'_>, context: &RecordContext<'_, '_>, cause: PyErr) -> PyResult<PyErr> {
        if !cause.is_instance_of::<pyo3::exceptions::PyException>(py) {
            // Ctrl-C or SystemExit.
            return Ok(cause);
        }
        let new_error = ERROR.import(py, "ottla.errors", "_deserialization_error")?;
        let arguments = (context.topic, context.partition, context.offset, self.field, cause.value(py));
        let error = new_error.call1(arguments)?;
        Ok(PyErr::from_value(error))
    }
}
