//! Calls the methods of foreign objects.
//!
//! Invariant: an exception of the object is passed on unchanged.

use arrow_array::ArrayRef;
use arrow_schema::Field;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use crate::{Error, ffi};

/// Returns the field of an object with `__arrow_c_schema__`.
///
/// # Errors
/// The method raises an exception, or does not return a valid schema.
pub fn field(object: &Bound<'_, PyAny>) -> Result<Field, Error> {
    const METHOD: &str = "__arrow_c_schema__";
    ffi::field(&capsule(METHOD, object.call_method0(METHOD)?)?).map_err(Error::Invalid)
}

/// Returns the arrays of an object with `__arrow_c_array__`, which has one, or with `__arrow_c_stream__`.
///
/// # Errors
/// The method raises an exception, or does not return valid arrays; or the stream fails.
pub fn arrays(object: &Bound<'_, PyAny>) -> Result<Vec<ArrayRef>, Error> {
    const ARRAY_METHOD: &str = "__arrow_c_array__";
    const STREAM_METHOD: &str = "__arrow_c_stream__";
    if !object.hasattr(ARRAY_METHOD)? {
        return ffi::stream(&capsule(STREAM_METHOD, object.call_method0(STREAM_METHOD)?)?);
    }
    let returned = object.call_method0(ARRAY_METHOD)?;
    let pair = returned.cast::<PyTuple>().ok().filter(|pair| pair.len() == 2);
    let pair = pair.ok_or_else(|| {
        Error::Invalid(format!("{ARRAY_METHOD} returned {}: expected two capsules", type_name(&returned)))
    })?;
    let schema = capsule(ARRAY_METHOD, pair.get_item(0)?)?;
    let array = capsule(ARRAY_METHOD, pair.get_item(1)?)?;
    Ok(vec![ffi::array(&schema, &array).map_err(Error::Invalid)?])
}

fn capsule<'py>(method: &str, returned: Bound<'py, PyAny>) -> Result<Bound<'py, PyCapsule>, Error> {
    returned.cast_into::<PyCapsule>().map_err(|error| {
        let ty = type_name(&error.into_inner());
        Error::Invalid(format!("{method} returned an object of type {ty}: expected a capsule"))
    })
}

fn type_name(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "unknown".to_owned(), |name| name.to_string())
}
