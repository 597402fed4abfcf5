//! The bytes of a key, a value or a header, as Python passes them.

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyMemoryView, PyString};

use super::text::utf8;

/// The bytes of a key, a value, or a header's name or value.
pub(crate) enum FieldBytes {
    Bytes(PyBackedBytes),
    Str(PyBackedStr),
}

impl FieldBytes {
    pub(crate) fn as_slice(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Str(text) => text.as_bytes(),
        }
    }
}

/// Takes bytes, text (as UTF-8) or None.
pub(crate) fn field_bytes(what: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<FieldBytes>> {
    if value.is_none() {
        return Ok(None);
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(Some(FieldBytes::Bytes(bytes.clone().into())));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Some(FieldBytes::Str(utf8(what, text)?)));
    }
    // bytearray, memoryview and other buffers are copied, because they may change.
    if let Some(view) = view_of_bytes(value) {
        let copied = value.py().get_type::<PyBytes>().call1((view,))?.cast_into::<PyBytes>()?;
        return Ok(Some(FieldBytes::Bytes(copied.into())));
    }
    let ty = value.get_type().name()?;
    let advice = match what {
        "key" | "value" => format!("; a {what}_serializer takes other types"),
        _ => String::new(),
    };
    Err(PyTypeError::new_err(format!("{what} is of type {ty}; expected bytes, str or None{advice}")))
}

/// A view of a buffer of bytes. Others are refused: those of numbers depend on the machine, and those of objects are
/// addresses in its memory.
fn view_of_bytes<'py>(value: &Bound<'py, PyAny>) -> Option<Bound<'py, PyMemoryView>> {
    let view = PyMemoryView::from(value).ok()?;
    let format: String = view.getattr(intern!(value.py(), "format")).ok()?.extract().ok()?;
    let dimensions: usize = view.getattr(intern!(value.py(), "ndim")).ok()?.extract().ok()?;
    // As ctypes writes the byte order of what has none.
    let is_bytes = matches!(format.trim_start_matches(['@', '=', '<', '>', '!']), "B" | "b" | "c");
    (is_bytes && dimensions > 0).then_some(view)
}

/// Whether [`field_bytes`] accepts a value, without converting it.
pub(crate) fn is_field_bytes(value: &Bound<'_, PyAny>) -> bool {
    value.is_none()
        || value.is_instance_of::<PyBytes>()
        || value.is_instance_of::<PyString>()
        || view_of_bytes(value).is_some()
}

/// Converts to Python's bytes or None.
pub(crate) fn bytes_or_none(py: Python<'_>, data: Option<&[u8]>) -> Py<PyAny> {
    data.map_or_else(|| py.None(), |data| PyBytes::new(py, data).into_any().unbind())
}
