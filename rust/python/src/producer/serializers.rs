//! `key_serializer` and `value_serializer`: what makes bytes of keys and values before they are sent.
//!
//! Invariant: whatever a serializer raises or returns, what the caller sees is bytes on their way or
//! a `SerializationError` that names the topic, the field, and in a batch the record's index.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

use crate::convert::bytes::{BytesArg, bytes_arg};
use crate::convert::errors;

static ERROR: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

struct Serializer {
    field: &'static str,
    call: Py<PyAny>,
    /// It wants the topic, the value and the headers.
    is_object: bool,
}

/// The serializers of a producer.
#[derive(Default)]
pub(crate) struct Serializers {
    key: Option<Serializer>,
    value: Option<Serializer>,
}

/// The record that a key or a value is part of.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a, 'py> {
    pub(crate) topic: &'a str,
    pub(crate) headers: Option<&'a Bound<'py, PyAny>>,
    /// In a batch.
    pub(crate) index: Option<usize>,
}

impl Serializers {
    pub(crate) fn new(key: Option<&Bound<'_, PyAny>>, value: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let one = |field: &'static str, given: Option<&Bound<'_, PyAny>>| {
            given.filter(|given| !given.is_none()).map(|given| Serializer::new(field, given)).transpose()
        };
        Ok(Self { key: one("key", key)?, value: one("value", value)? })
    }

    pub(crate) fn key(&self, place: Place<'_, '_>, key: &Bound<'_, PyAny>) -> PyResult<Option<BytesArg>> {
        field("key", self.key.as_ref(), place, key)
    }

    pub(crate) fn value(&self, place: Place<'_, '_>, value: &Bound<'_, PyAny>) -> PyResult<Option<BytesArg>> {
        field("value", self.value.as_ref(), place, value)
    }

    pub(crate) fn are_none(&self) -> bool {
        self.key.is_none() && self.value.is_none()
    }

    pub(crate) fn has_key(&self) -> bool {
        self.key.is_some()
    }

    pub(crate) fn has_value(&self) -> bool {
        self.value.is_some()
    }
}

fn field(
    name: &str,
    serializer: Option<&Serializer>,
    place: Place<'_, '_>,
    value: &Bound<'_, PyAny>,
) -> PyResult<Option<BytesArg>> {
    match serializer {
        Some(serializer) if !value.is_none() => serializer.serialize(place, value),
        _ => bytes_arg(name, value),
    }
}

impl Serializer {
    fn new(field: &'static str, given: &Bound<'_, PyAny>) -> PyResult<Self> {
        let is_object = given.hasattr("serialize")?;
        let call = if is_object { given.getattr("serialize")? } else { given.clone() };
        if !call.is_callable() {
            let ty = given.get_type().name()?;
            let words = format!(
                "{field}_serializer is of type {ty}: expected a callable, or an object with serialize(topic, value, headers); see ottla.serializers"
            );
            return Err(errors::config(given.py(), words));
        }
        Ok(Self { field, call: call.unbind(), is_object })
    }

    fn serialize(&self, place: Place<'_, '_>, value: &Bound<'_, PyAny>) -> PyResult<Option<BytesArg>> {
        let py = value.py();
        let call = self.call.bind(py);
        let made = match (self.is_object, place.headers) {
            (false, _) => call.call1((value,)),
            (true, Some(headers)) if !headers.is_none() => call.call1((place.topic, value, headers)),
            (true, _) => call.call1((place.topic, value, PyTuple::empty(py))),
        };
        made.and_then(|made| bytes_arg("what the serializer returned", &made))
            .map_err(|cause| self.error(py, place, cause).unwrap_or_else(|failure| failure))
    }

    fn error(&self, py: Python<'_>, place: Place<'_, '_>, cause: PyErr) -> PyResult<PyErr> {
        if !cause.is_instance_of::<pyo3::exceptions::PyException>(py) {
            // Ctrl-C, or the end of the program.
            return Ok(cause);
        }
        let make = ERROR.import(py, "ottla.errors", "_not_serialized")?;
        let made = make.call1((place.topic, self.field, place.index, cause.value(py)))?;
        Ok(PyErr::from_value(made))
    }
}
