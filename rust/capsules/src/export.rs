//! Makes the capsules of our own objects.
//!
//! Invariant: a capsule owns its struct and releases it, unless its consumer has moved it out.

use std::ffi::CStr;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, RecordBatchReader};
use arrow_schema::{ArrowError, Field};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use crate::{Error, guarded};

pub(crate) const SCHEMA: &CStr = c"arrow_schema";
pub(crate) const ARRAY: &CStr = c"arrow_array";
pub(crate) const STREAM: &CStr = c"arrow_array_stream";

/// Returns the capsule of a schema, a field or a type, for `__arrow_c_schema__`.
///
/// # Errors
/// Arrow's C interface cannot express it: a name contains a NUL character.
pub fn schema_capsule<'py, S>(py: Python<'py>, schema: S) -> Result<Bound<'py, PyCapsule>, Error>
where
    S: TryInto<FFI_ArrowSchema, Error = ArrowError>,
{
    Ok(PyCapsule::new_with_value(py, c_schema(schema)?, SCHEMA)?)
}

/// Returns the capsules of a field and its array, for `__arrow_c_array__`.
///
/// # Errors
/// Arrow's C interface cannot express the field.
pub fn array_capsules<'py>(
    py: Python<'py>,
    field: &Field,
    array: &dyn Array,
) -> Result<Bound<'py, PyTuple>, Error> {
    let schema = schema_capsule(py, field)?;
    let array = PyCapsule::new_with_value(py, FFI_ArrowArray::new(&array.to_data()), ARRAY)?;
    Ok(PyTuple::new(py, [schema, array])?)
}

/// Returns the capsule of a stream of batches, for `__arrow_c_stream__`.
///
/// A panic of the reader, or an error of it with a NUL character, would end the process: it is called by code in C.
///
/// # Errors
/// Arrow's C interface cannot express the schema.
pub fn stream_capsule<'py>(
    py: Python<'py>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> Result<Bound<'py, PyCapsule>, Error> {
    // The stream converts the schema again, where an error may end the process.
    drop(c_schema(reader.schema().as_ref())?);
    Ok(PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), STREAM)?)
}

fn c_schema(schema: impl TryInto<FFI_ArrowSchema, Error = ArrowError>) -> Result<FFI_ArrowSchema, Error> {
    let converted = guarded("the schema", || schema.try_into().map_err(|error| error.to_string()));
    converted.map_err(Error::Inexpressible)
}
