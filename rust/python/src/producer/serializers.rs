//! Serializers, which turn keys and values into bytes before they are sent.
//!
//! Invariant: whatever a serializer raises or returns, the caller gets bytes that are sent, or a
//! `SerializationError` that names the topic, the field, and in a batch the record's index.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

use crate::convert::errors;
use crate::convert::field_bytes::{FieldBytes, field_bytes};

static ERROR: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

struct Serializer {
    field: &'static str,
    call: Py<PyAny>,
    /// Takes the topic, the value and the headers.
    is_object: bool,
}

/// The serializers of a producer.
#[derive(Default)]
pub(crate) struct Serializers {
    key: Option<Serializer>,
    value: Option<Serializer>,
}

/// The record that a key or value belongs to.
#[derive(Clone, Copy)]
pub(crate) struct FieldContext<'a, 'py> {
    pub(crate) topic: &'a str,
    pub(crate) headers: Option<&'a Bound<'py, PyAny>>,
    /// The record's index in a batch.
    pub(crate) index: Option<usize>,
}

impl Serializers {
    pub(crate) fn new(key: Option<&Bound<'_, PyAny>>, value: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let one = |field: &'static str, serializer: Option<&Bound<'_, PyAny>>| {
            serializer
                .filter(|serializer| !serializer.is_none())
                .map(|serializer| Serializer::new(field, serializer))
                .transpose()
        };
        Ok(Self { key: one("key", key)?, value: one("value", value)? })
    }

    pub(crate) fn key(
        &self,
        context: FieldContext<'_, '_>,
        key: &Bound<'_, PyAny>,
    ) -> PyResult<Option<FieldBytes>> {
        field("key", self.key.as_ref(), context, key)
    }

    pub(crate) fn value(
        &self,
        context: FieldContext<'_, '_>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<Option<FieldBytes>> {
        field("value", self.value.as_ref(), context, value)
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
    context: FieldContext<'_, '_>,
    value: &Bound<'_, PyAny>,
) -> PyResult<Option<FieldBytes>> {
    match serializer {
        Some(serializer) if !value.is_none() => serializer.serialize(context, value),
        _ => field_bytes(name, value),
    }
}

impl Serializer {
    fn new(field: &'static str, serializer: &Bound<'_, PyAny>) -> PyResult<Self> {
        let is_object = serializer.hasattr("serialize")?;
        let call = if is_object { serializer.getattr("serialize")? } else { serializer.clone() };
        if !call.is_callable() {
            let ty = serializer.get_type().name()?;
            let message = format!(
                "{field}_serializer is of type {ty}: expected a callable, or an object with serialize(topic, value, headers); see ottla.serializers"
            );
            return Err(errors::config(serializer.py(), message));
        }
        Ok(Self { field, call: call.unbind(), is_object })
    }

    fn serialize(
        &self,
        context: FieldContext<'_, '_>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<Option<FieldBytes>> {
        let py = value.py();
        let call = self.call.bind(py);
        let returned = match (self.is_object, context.headers) {
            (false, _) => call.call1((value,)),
            (true, Some(headers)) if !headers.is_none() => call.call1((context.topic, value, headers)),
            (true, _) => call.call1((context.topic, value, PyTuple::empty(py))),
        };
        returned
            .and_then(|returned| field_bytes("what the serializer returned", &returned))
            .map_err(|cause| self.error(py, context, cause).unwrap_or_else(|failure| failure))
    }

    fn error(&self, py: Python<'_>, context: FieldContext<'_, '_>, cause: PyErr) -> PyResult<PyErr> {
        if !cause.is_instance_of::<pyo3::exceptions::PyException>(py) {
            // Ctrl-C or interpreter exit.
            return Ok(cause);
        }
        let make = ERROR.import(py, "ottla.errors", "_serialization_error")?;
        let error = make.call1((context.topic, self.field, context.index, cause.value(py)))?;
        Ok(PyErr::from_value(error))
    }
}
