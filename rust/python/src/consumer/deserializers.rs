//! `key_deserializer` and `value_deserializer`: they convert the bytes of keys and values to objects.
//!
//! Formats of `ottla.schema` are deserializers, too: the core decodes their keys and values, all of a poll together.
//!
//! Invariant: an exception of a deserializer becomes a `SerializationError` with topic, partition,
//! offset and field. Null is never deserialized.

use std::sync::Arc;

use ottla_client::consumer::{RecordEntry, RecordSet};
use ottla_client::typed::{FieldValue, TypedColumn, TypedColumns, TypedField};
use ottla_client::{Error, Kind};
use ottla_schema::Header;
use pyo3::PyVisit;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyString, PyTuple};

use crate::convert::errors;
use crate::convert::field_bytes::bytes_or_none;
use crate::convert::nested_calls::nested;
use crate::garbage::{Traverse, Visited};
use crate::typed::{ColumnFormat, column_value, field_value};

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
    /// The keys and values that the core decodes.
    typed: TypedColumns,
    /// The formats of keys and of values that are objects of a type.
    objects: [Option<Py<ColumnFormat>>; 2],
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
        let format = |deserializer: Option<&Bound<'_, PyAny>>, header| {
            let format = deserializer.and_then(|format| format.cast::<ColumnFormat>().ok());
            let column = format.map(|format| format.get().record_column(format.py(), header));
            column.transpose().map(Option::flatten)
        };
        let objects = |deserializer: Option<&Bound<'_, PyAny>>| {
            let format = deserializer.and_then(|format| format.cast::<ColumnFormat>().ok());
            format.filter(|format| format.get().objects().is_some()).map(|format| format.clone().unbind())
        };
        let new = |field: &'static str, deserializer: Option<&Bound<'_, PyAny>>| {
            deserializer
                .filter(|deserializer| {
                    !deserializer.is_none() && !deserializer.is_instance_of::<ColumnFormat>()
                })
                .map(|deserializer| Deserializer::new(field, deserializer))
                .transpose()
        };
        let typed = TypedColumns { key: format(key, Header::Key)?, value: format(value, Header::Value)? };
        let objects = [objects(key), objects(value)];
        Ok(Self { key: new("key", key)?, value: new("value", value)?, typed, objects })
    }

    /// The keys and values that the core decodes.
    pub(super) fn typed(&self) -> &TypedColumns {
        &self.typed
    }

    pub(super) fn is_empty(&self) -> bool {
        let no_objects = self.objects.iter().all(Option::is_none);
        self.key.is_none() && self.value.is_none() && self.typed.is_empty() && no_objects
    }

    /// Returns the key and the value of a record.
    pub(super) fn convert(
        &self,
        context: &RecordContext<'_, '_>,
        set: &RecordSet,
        entry: &RecordEntry,
    ) -> PyResult<(Py<PyAny>, Py<PyAny>)> {
        let [keys, values] = &self.objects;
        let decoded = set.typed.as_ref();
        let part = |header: Header| {
            let (deserializer, column, objects, decoded, data) = match header {
                Header::Key => {
                    let decoded = decoded.and_then(|decoded| decoded.key.as_ref());
                    (&self.key, &self.typed.key, keys, decoded, set.key(entry))
                }
                Header::Value => {
                    let decoded = decoded.and_then(|decoded| decoded.value.as_ref());
                    (&self.value, &self.typed.value, values, decoded, set.value(entry))
                }
            };
            match (objects, column) {
                (None, None) => field(deserializer.as_ref(), context, data),
                (None, Some(_)) => typed_field(decoded, None, context, entry),
                (Some(format), column) => {
                    let object = Object { format, header, column: column.as_deref(), decoded };
                    object.of(context, set, entry, data)
                }
            }
        };
        Ok((part(Header::Key)?, part(Header::Value)?))
    }
}

impl Traverse for Deserializers {
    fn traverse(&self, visit: &PyVisit<'_>) -> Visited {
        let calls = [&self.key, &self.value].into_iter().flatten();
        calls.map(|deserializer| &deserializer.call).try_for_each(|call| call.traverse(visit))?;
        self.objects.traverse(visit)
    }
}

/// A key or a value that is an object of a type.
struct Object<'a> {
    format: &'a Py<ColumnFormat>,
    header: Header,
    /// What decodes the record before, or checks it.
    column: Option<&'a TypedColumn>,
    decoded: Option<&'a TypedField>,
}

impl Object<'_> {
    fn of(
        &self,
        context: &RecordContext<'_, '_>,
        set: &RecordSet,
        entry: &RecordEntry,
        data: Option<&[u8]>,
    ) -> PyResult<Py<PyAny>> {
        let py = context.topic.py();
        let format = self.format.get();
        let (Some(objects), Some(data)) = (format.objects(), data) else { return Ok(py.None()) };
        let object = if objects.is_of_payloads() {
            if self.column.is_some() {
                decoded_value(self.decoded, context, entry)?;
            }
            let header = |name: &str| {
                set.headers(entry)
                    .filter(|(key, _)| *key == name.as_bytes())
                    .last()
                    .and_then(|(_, value)| value)
            };
            objects.of_payload(py, format.wire_format(), self.header, data, header)
        } else {
            objects.load(typed_field(self.decoded, self.column, context, entry)?.bind(py))
        };
        object.map(Bound::unbind).map_err(|cause| {
            error(py, context, self.header.column(), cause).unwrap_or_else(|failure| failure)
        })
    }
}

/// Returns a key or a value that the core has decoded.
fn decoded_value<'a>(
    decoded: Option<&'a TypedField>,
    context: &RecordContext<'_, '_>,
    entry: &RecordEntry,
) -> PyResult<(&'static str, FieldValue<'a>)> {
    let not_decoded = || Error::new(Kind::State, "the record was not decoded yet: poll again");
    let value =
        decoded.ok_or_else(not_decoded).and_then(|decoded| Ok((decoded.name(), decoded.value(entry.row)?)));
    value.map_err(|error| of_record(context, error))
}

fn of_record(context: &RecordContext<'_, '_>, error: Error) -> PyErr {
    let topic = Arc::from(context.topic.to_string());
    errors::raise(context.topic.py(), &error.at(&topic, context.partition).offset(context.offset))
}

/// Converts a key or a value that the core has decoded, in this column if it is for objects.
fn typed_field(
    decoded: Option<&TypedField>,
    column: Option<&TypedColumn>,
    context: &RecordContext<'_, '_>,
    entry: &RecordEntry,
) -> PyResult<Py<PyAny>> {
    let (name, value) = decoded_value(decoded, context, entry)?;
    let value = match column {
        Some(column) => column_value(context.topic.py(), column, value),
        None => field_value(context.topic.py(), value),
    };
    value.map(Bound::unbind).map_err(|failure| match failure.reason() {
        Ok(reason) => of_record(
            context,
            Error::new(Kind::Serialization, format!("the {name} cannot be decoded: {reason}")),
        ),
        Err(raised) => raised,
    })
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
        let deserialize = || match self.is_object {
            true => call.call1((context.topic, data, context.headers)),
            false => call.call1((data,)),
        };
        nested("the deserializer", deserialize)
            .map(Bound::unbind)
            .map_err(|cause| error(py, context, self.field, cause).unwrap_or_else(|failure| failure))
    }
}

fn error(py: Python<'_>, context: &RecordContext<'_, '_>, field: &str, cause: PyErr) -> PyResult<PyErr> {
    if !cause.is_instance_of::<pyo3::exceptions::PyException>(py) {
        // Ctrl-C or SystemExit.
        return Ok(cause);
    }
    let new_error = ERROR.import(py, "ottla.errors", "_deserialization_error")?;
    let arguments = (context.topic, context.partition, context.offset, field, cause.value(py));
    let error = new_error.call1(arguments)?;
    Ok(PyErr::from_value(error))
}
