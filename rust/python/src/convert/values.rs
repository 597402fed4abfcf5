//! Untyped trees of messages as Python objects: dicts, lists, strings, numbers, bytes and None.

use std::borrow::Cow;

use bytes::Bytes;
use ottla_protocol::value::Value;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use super::number::is_index;

/// Converts a Python object. Ids are strings, as Kafka prints them.
pub(crate) fn from_python(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    if object.is_none() {
        return Ok(Value::Null);
    }
    // First, because a bool is an int too.
    if let Ok(value) = object.cast::<PyBool>() {
        return Ok(Value::Bool(value.is_true()));
    }
    if object.is_instance_of::<PyInt>() {
        return Ok(Value::Int(object.extract()?));
    }
    if object.is_instance_of::<PyFloat>() {
        return Ok(Value::Float(object.extract()?));
    }
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Value::Str(text.extract()?));
    }
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(Value::Bytes(Bytes::copy_from_slice(bytes.as_bytes())));
    }
    if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        let items: PyResult<_> = object.try_iter()?.map(|item| from_python(&item?)).collect();
        return Ok(Value::Array(items?));
    }
    if let Ok(fields) = object.cast::<PyDict>() {
        let field = |(name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            Ok((Cow::Owned(name.extract()?), Some(from_python(&value)?)))
        };
        return Ok(Value::Object(fields.iter().map(field).collect::<PyResult<_>>()?));
    }
    // Numbers of numpy.
    if is_index(object)? {
        return Ok(Value::Int(object.extract()?));
    }
    Err(PyTypeError::new_err(format!("a message cannot have a {}", object.get_type().name()?)))
}

/// Converts a tree; fields that the version does not have are left out.
pub(crate) fn to_python(py: Python<'_>, value: Value) -> PyResult<Py<PyAny>> {
    match value {
        Value::Null => Ok(py.None()),
        Value::Bool(value) => value.into_py_any(py),
        Value::Int(value) => value.into_py_any(py),
        Value::Float(value) => value.into_py_any(py),
        Value::Str(value) => value.into_py_any(py),
        Value::Bytes(value) => PyBytes::new(py, &value).into_py_any(py),
        Value::Secret(value) => PyBytes::new(py, &value.0).into_py_any(py),
        Value::Uuid(value) => value.to_string().into_py_any(py),
        Value::Array(items) => {
            let items: PyResult<Vec<_>> = items.into_iter().map(|item| to_python(py, item)).collect();
            PyList::new(py, items?)?.into_py_any(py)
        }
        Value::Object(fields) => {
            let object = PyDict::new(py);
            for (name, value) in fields {
                if let Some(value) = value {
                    object.set_item(name.as_ref(), to_python(py, value)?)?;
                }
            }
            object.into_py_any(py)
        }
    }
}
