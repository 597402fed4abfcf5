//! The arguments of `send_batch`.

use pyo3::prelude::*;

use crate::typed::ColumnFormat;

/// The arguments of `send_batch`, unchecked.
pub(crate) struct BatchArgs<'a, 'py> {
    pub(crate) topic: &'a str,
    pub(crate) values: &'a Bound<'py, PyAny>,
    pub(crate) keys: Option<&'a Bound<'py, PyAny>>,
    pub(crate) headers: Option<&'a Bound<'py, PyAny>>,
    pub(crate) timestamps: Option<&'a Bound<'py, PyAny>>,
    pub(crate) partitions: Option<&'a Bound<'py, PyAny>>,
    /// The format of the keys of Arrow columns.
    pub(crate) key_format: Option<&'a Bound<'py, ColumnFormat>>,
    /// The format of the values.
    pub(crate) value_format: Option<&'a Bound<'py, ColumnFormat>>,
}
