//! Serializers, which turn keys and values into bytes before they are sent.
//!
//! Invariant: whatever a serializer raises or returns, the caller gets bytes that are sent, or a
//! `SerializationError` that names the topic, the field, and in a batch the record's index.

use ottla_schema::Header;
use pyo3::PyVisit;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

use crate::convert::errors;
use crate::convert::field_bytes::{FieldBytes, field_bytes};
use crate::convert::nested_calls::nested;
use crate::garbage::{Traverse, Visited};
use crate::typed::{ColumnFormat, SchemaIdHeader};

static ERROR: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

struct Serializer {
    field: &'static str,
    call: Call,
}

/// How a serializer is called.
enum Call {
    /// A function of the value.
    Function(Py<PyAny>),
    /// A method of the topic, the value and the headers.
    Method(Py<PyAny>),
    /// A format, which needs no call.
    Format(Py<ColumnFormat>),
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
        schema_id: &mut SchemaIdHeader,
    ) -> PyResult<Option<FieldBytes>> {
        field("key", self.key.as_ref(), context, key, schema_id)
    }

    pub(crate) fn value(
        &self,
        context: FieldContext<'_, '_>,
        value: &Bound<'_, PyAny>,
        schema_id: &mut SchemaIdHeader,
    ) -> PyResult<Option<FieldBytes>> {
        field("value", self.value.as_ref(), context, value, schema_id)
    }

    /// The formats among the serializers, which also encode Arrow columns.
    pub(crate) fn formats(&self) -> (Option<&ColumnFormat>, Option<&ColumnFormat>) {
        fn format(serializer: Option<&Serializer>) -> Option<&ColumnFormat> {
            match serializer {
                Some(Serializer { call: Call::Format(format), .. }) => Some(format.get()),
                _ => None,
            }
        }
        (format(self.key.as_ref()), format(self.value.as_ref()))
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

impl Traverse for Serializers {
    fn traverse(&self, visit: &PyVisit<'_>) -> Visited {
        [&self.key, &self.value].into_iter().flatten().try_for_each(|serializer| match &serializer.call {
            Call::Function(call) | Call::Method(call) => call.traverse(visit),
            Call::Format(format) => format.traverse(visit),
        })
    }
}

fn field(
    name: &str,
    serializer: Option<&Serializer>,
    context: FieldContext<'_, '_>,
    value: &Bound<'_, PyAny>,
    schema_id: &mut SchemaIdHeader,
) -> PyResult<Option<FieldBytes>> {
    match serializer {
        Some(serializer) if !value.is_none() => serializer.serialize(context, value, schema_id),
        _ => field_bytes(name, value),
    }
}

impl Serializer {
    fn new(field: &'static str, serializer: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(format) = serializer.cast::<ColumnFormat>() {
            return Ok(Self { field, call: Call::Format(format.clone().unbind()) });
        }
        let is_object = serializer.hasattr("serialize")?;
        let call = if is_object { serializer.getattr("serialize")? } else { serializer.clone() };
        if !call.is_callable() {
            let ty = serializer.get_type().name()?;
            let message = format!(
                "{field}_serializer is of type {ty}: expected a callable, or an object with serialize(topic, value, headers); see ottla.serializers"
            );
            return Err(errors::config(serializer.py(), message));
        }
        let call = if is_object { Call::Method(call.unbind()) } else { Call::Function(call.unbind()) };
        Ok(Self { field, call })
    }

    fn serialize(
        &self,
        context: FieldContext<'_, '_>,
        value: &Bound<'_, PyAny>,
        schema_id: &mut SchemaIdHeader,
    ) -> PyResult<Option<FieldBytes>> {
        let py = value.py();
        let called = "the serializer";
        let returned = match (&self.call, context.headers) {
            (Call::Format(format), _) => {
                // The errors of the registry are raised as they are, unlike those of the value.
                let header = if self.field == "key" { Header::Key } else { Header::Value };
                let encoded = nested(called, || format.get().encode(header, context.topic, value))?;
                encoded.map(|encoded| {
                    *schema_id = encoded.schema_id;
                    encoded.bytes.into_any()
                })
            }
            (Call::Function(call), _) => nested(called, || call.bind(py).call1((value,))),
            (Call::Method(call), Some(headers)) if !headers.is_none() => {
                nested(called, || call.bind(py).call1((context.topic, value, headers)))
            }
            (Call::Method(call), _) => {
                nested(called, || call.bind(py).call1((context.topic, value, PyTuple::empty(py))))
            }
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
