//! Bytes between Python and Rust: keys, values and headers.
//!
//! Invariant: what Python may still change, such as a `bytearray`, is copied.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyMemoryView, PyString};

/// A key or a value.
pub(crate) enum BytesArg {
    Bytes(PyBackedBytes),
    Str(PyBackedStr),
}

impl BytesArg {
    pub(crate) fn as_slice(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Str(text) => text.as_bytes(),
        }
    }
}

/// Bytes, text (as UTF-8), or None.
pub(crate) fn bytes_arg(what: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<BytesArg>> {
    if value.is_none() {
        return Ok(None);
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(Some(BytesArg::Bytes(bytes.clone().into())));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Some(BytesArg::Str(text.clone().try_into()?)));
    }
    // bytearray, memoryview and whatever else has a buffer: copied, since it may change.
    if let Ok(view) = PyMemoryView::from(value) {
        let copied = value.py().get_type::<PyBytes>().call1((view,))?.cast_into::<PyBytes>()?;
        return Ok(Some(BytesArg::Bytes(copied.into())));
    }
    let ty = value.get_type().name()?;
    let advice = match what {
        "key" | "value" => format!("; a {what}_serializer takes other types"),
        _ => String::new(),
    };
    Err(PyTypeError::new_err(format!("{what} is of type {ty}; expected bytes, str or None{advice}")))
}

/// Whether [`data`] will take a value, without taking it.
pub(crate) fn is_bytes_arg(value: &Bound<'_, PyAny>) -> bool {
    value.is_none()
        || value.is_instance_of::<PyBytes>()
        || value.is_instance_of::<PyString>()
        || PyMemoryView::from(value).is_ok()
}

/// Bytes for Python, or None.
pub(crate) fn bytes_or_none(py: Python<'_>, data: Option<&[u8]>) -> Py<PyAny> {
    data.map_or_else(|| py.None(), |data| PyBytes::new(py, data).into_any().unbind())
}
