//! Reads the structs that foreign capsules contain: the only `unsafe` code of this crate.
//!
//! Arrow's crates follow the pointers of these structs without checking them, or panic. So each struct is checked
//! before it is passed to them, and each array is validated afterwards.
//!
//! Invariants: a struct is read only while its capsule or its owner lives. An array or a stream is moved out of its
//! capsule after it was checked, so that it is released once. The recursion over types is bounded.

#![allow(unsafe_code, reason = "structs of Arrow's C interface are read; each block states why it is sound")]

use std::ffi::{CStr, c_char};
use std::ptr::NonNull;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi_and_data_type};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, make_array};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::export::{ARRAY, SCHEMA, STREAM};
use crate::layout::Layout;
use crate::{Error, guarded};

/// The deepest nesting of a type.
const MAX_DEPTH: usize = 128;
/// The most types within a type.
const MAX_TYPES: usize = 100_000;
/// The most entries of metadata.
const MAX_METADATA: i32 = 100_000;

/// Returns the pointer of a capsule to a struct that is not released.
fn pointer<T>(capsule: &Bound<'_, PyCapsule>, name: &CStr) -> Result<NonNull<T>, String> {
    let expected = name.to_string_lossy();
    if !capsule.is_valid_checked(Some(name)) {
        return Err(format!("a capsule is not an {expected}"));
    }
    let pointer = capsule.pointer_checked(Some(name)).map_err(|error| error.to_string())?.cast::<T>();
    match pointer.is_aligned() {
        true => Ok(pointer),
        false => Err(format!("the {expected} of a capsule is not aligned")),
    }
}

/// Reads the field of a capsule.
pub(crate) fn field(capsule: &Bound<'_, PyCapsule>) -> Result<Field, String> {
    let pointer = pointer::<FFI_ArrowSchema>(capsule, SCHEMA)?;
    // SAFETY: the capsule has the name by which Arrow's PyCapsule interface marks a pointer to this struct. The
    // pointer is aligned and not null, and the capsule, which owns the struct, lives until this function returns.
    field_of(unsafe { pointer.as_ref() })
}

/// Moves the array out of its capsule.
pub(crate) fn array(
    schema: &Bound<'_, PyCapsule>,
    capsule: &Bound<'_, PyCapsule>,
) -> Result<ArrayRef, String> {
    let field = field(schema)?;
    let pointer = pointer::<FFI_ArrowArray>(capsule, ARRAY)?;
    // SAFETY: the name marks a pointer to this struct, as in `field`. Its consumer owns the struct's content from now
    // on, and what remains in the capsule is marked as released, so the capsule does not release it again.
    let array = unsafe { FFI_ArrowArray::from_raw(pointer.as_ptr()) };
    schema.py().detach(|| array_of(array, field.data_type()))
}

/// Moves the stream out of its capsule, and reads it to its end.
pub(crate) fn stream(capsule: &Bound<'_, PyCapsule>) -> Result<Vec<ArrayRef>, Error> {
    let pointer = pointer::<FFI_ArrowArrayStream>(capsule, STREAM).map_err(Error::Invalid)?;
    // SAFETY: as in `array`.
    let mut stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) };
    // The stream may wait for other threads of Python.
    capsule.py().detach(|| {
        let (true, Some(get_schema), Some(get_next)) =
            (stream.release.is_some(), stream.get_schema, stream.get_next)
        else {
            return Err(Error::Invalid("the stream was read already, or lacks functions".to_owned()));
        };
        let mut schema = FFI_ArrowSchema::empty();
        // SAFETY: the stream is not released, so it may be called; it fills `schema`, or returns an error.
        let code = unsafe { get_schema(&raw mut stream, &raw mut schema) };
        if code != 0 {
            return Err(failure(&mut stream, code));
        }
        let field = field_of(&schema).map_err(Error::Invalid)?;
        let mut arrays = Vec::new();
        loop {
            let mut array = FFI_ArrowArray::empty();
            // SAFETY: as above, for `array`.
            let code = unsafe { get_next(&raw mut stream, &raw mut array) };
            if code != 0 {
                return Err(failure(&mut stream, code));
            }
            if array.is_released() {
                return Ok(arrays);
            }
            arrays.push(array_of(array, field.data_type()).map_err(Error::Invalid)?);
        }
    })
}

/// Returns the error of a stream after a call that failed.
fn failure(stream: &mut FFI_ArrowArrayStream, code: i32) -> Error {
    // SAFETY: the stream is not released, and its last call failed.
    let message = stream.get_last_error.map(|get_last_error| unsafe { get_last_error(stream) });
    // SAFETY: the text is null or ends with NUL, and lives until the next call.
    let message = message.filter(|text| !text.is_null()).map(|text| unsafe { CStr::from_ptr(text) });
    Error::Stream(match message {
        Some(text) => text.to_string_lossy().into_owned(),
        None => format!("the stream failed with code {code} and without a message"),
    })
}

fn field_of(schema: &FFI_ArrowSchema) -> Result<Field, String> {
    check_schema(schema, &mut 0, 1)?;
    guarded("the schema", || Field::try_from(schema).map_err(|error| error.to_string()))
}

/// Checks what reading a schema relies on.
fn check_schema(schema: &FFI_ArrowSchema, types: &mut usize, depth: usize) -> Result<(), String> {
    *types += 1;
    if depth > MAX_DEPTH || *types > MAX_TYPES {
        return Err(format!("the type has more than {MAX_DEPTH} levels or {MAX_TYPES} types"));
    }
    if schema.release.is_none() {
        return Err("the schema was released".to_owned());
    }
    if schema.format.is_null() {
        return Err("the schema has no format".to_owned());
    }
    for text in [schema.format, schema.name] {
        check_text(text)?;
    }
    if !schema.metadata.is_null() {
        // SAFETY: metadata begins with the number of its entries, of 32 bits, at any alignment.
        let entries = unsafe { schema.metadata.cast::<i32>().read_unaligned() };
        if !(0..=MAX_METADATA).contains(&entries) {
            return Err(format!("the schema has {entries} entries of metadata"));
        }
    }
    for at in 0..items(schema.n_children, schema.children.is_null(), "children")? {
        // SAFETY: the schema is not released, so its children are as many pointers as it says.
        let child = unsafe { schema.children.add(at).read_unaligned() };
        check_schema(inner(&child)?, types, depth + 1)?;
    }
    match schema.dictionary.is_null() {
        true => Ok(()),
        false => check_schema(inner(&schema.dictionary)?, types, depth + 1),
    }
}

/// Returns the struct that a pointer of a struct refers to. It lives as long as the struct that owns it.
fn inner<T>(child: &*mut T) -> Result<&T, String> {
    if !child.is_aligned() {
        return Err("a child is not aligned".to_owned());
    }
    // SAFETY: the pointer is null or aligned, and belongs to a struct that is not released.
    unsafe { child.as_ref() }.ok_or_else(|| "a child is null".to_owned())
}

fn check_text(text: *const c_char) -> Result<(), String> {
    if text.is_null() {
        return Ok(());
    }
    // SAFETY: the text belongs to a schema that is not released, and ends with NUL.
    let text = unsafe { CStr::from_ptr(text) };
    match text.to_str() {
        Ok(_) => Ok(()),
        Err(_) => Err("a name or a format is not UTF-8".to_owned()),
    }
}

/// Returns a number of items that a pointer refers to.
fn items(count: i64, is_null: bool, what: &str) -> Result<usize, String> {
    match usize::try_from(count) {
        Ok(count) if count == 0 || !is_null => Ok(count),
        Ok(_) => Err(format!("the {what} are null")),
        Err(_) => Err(format!("the number of {what} is {count}")),
    }
}

fn array_of(array: FFI_ArrowArray, data_type: &DataType) -> Result<ArrayRef, String> {
    guarded("the array", || {
        check_array(&array, data_type)?;
        // SAFETY: the struct was checked, and its producer vouches for the sizes of the buffers, as of every array that
        // is passed by Arrow's C interface.
        let data = unsafe { from_ffi_and_data_type(array, data_type.clone()) };
        let data = settled(data.map_err(|error| error.to_string())?);
        data.validate().map_err(|error| error.to_string())?;
        check_values(&data)?;
        Ok(make_array(data))
    })
}

/// Checks what importing an array relies on.
fn check_array(array: &FFI_ArrowArray, data_type: &DataType) -> Result<(), String> {
    if array.is_released() {
        return Err("the array was released, or was imported already".to_owned());
    }
    let layout = Layout::of(data_type)?;
    let wrong = |what: &str| format!("an array of type {data_type} has {what}");
    let end = match (usize::try_from(array.length), usize::try_from(array.offset)) {
        (Ok(length), Ok(offset)) => length.checked_add(offset).filter(|end| *end < isize::MAX as usize / 64),
        _ => None,
    };
    let end = end.ok_or_else(|| wrong("an invalid length or offset"))?;
    let buffers = items(array.n_buffers, array.buffers.is_null(), "buffers")?;
    if buffers < layout.buffers || buffers > layout.buffers && !layout.has_views {
        return Err(wrong(&format!("{buffers} buffers")));
    }
    if let Some(bytes) = layout.offset_bytes
        && array.length > 0
        && last_offset(array.buffer(1), bytes, end).is_none_or(|offset| offset < 0)
    {
        return Err(wrong("invalid offsets"));
    }
    if layout.has_views && buffers > layout.buffers {
        let count = buffers - layout.buffers;
        let lengths = array.buffer(buffers - 1).cast::<i64>();
        if lengths.is_null() || !lengths.is_aligned() {
            return Err(wrong("invalid lengths of buffers"));
        }
        // SAFETY: the last buffer contains the lengths of all buffers of data, and is aligned and not null.
        let lengths = unsafe { std::slice::from_raw_parts(lengths, count) };
        if lengths.iter().any(|length| *length < 0) {
            return Err(wrong("a buffer of negative length"));
        }
    }
    let children = items(array.n_children, array.children.is_null(), "children")?;
    if children != layout.children.len() {
        return Err(wrong(&format!("{children} children")));
    }
    for (at, child_type) in layout.children.into_iter().enumerate() {
        // SAFETY: the array is not released, so its children are as many pointers as it says.
        let child = unsafe { array.children.add(at).read_unaligned() };
        check_array(inner(&child)?, child_type)?;
    }
    match (layout.dictionary, array.dictionary.is_null()) {
        (Some(values), false) => check_array(inner(&array.dictionary)?, values),
        (None, true) => Ok(()),
        _ => Err(wrong("no dictionary, or one too many")),
    }
}

/// Returns the last offset of an array that ends at `end`.
fn last_offset(buffer: *const u8, bytes: usize, end: usize) -> Option<i64> {
    let (short, long) = (buffer.cast::<i32>(), buffer.cast::<i64>());
    if buffer.is_null() || !(if bytes == 4 { short.is_aligned() } else { long.is_aligned() }) {
        return None;
    }
    // SAFETY: the buffer is aligned and not null, and contains an offset for each value and one for their end.
    Some(unsafe { if bytes == 4 { i64::from(short.add(end).read()) } else { long.add(end).read() } })
}

/// Replaces arrays without values. Their buffers may lack even what an empty array needs, or begin at any offset.
fn settled(data: ArrayData) -> ArrayData {
    if data.is_empty() {
        return ArrayData::new_empty(data.data_type());
    }
    if data.child_data().is_empty() {
        return data;
    }
    let children = data.child_data().iter().cloned().map(settled).collect();
    // SAFETY: the children have the same lengths and types, and `array_of` validates the array before it is read.
    unsafe { data.into_builder().child_data(children).build_unchecked() }
}

/// Checks the values of an array and of those in it: offsets, views, keys, text and the number of nulls.
fn check_values(data: &ArrayData) -> Result<(), String> {
    let is_miscounted =
        |nulls: &arrow_buffer::NullBuffer| nulls.null_count() != nulls.len() - nulls.inner().count_set_bits();
    if data.nulls().is_some_and(is_miscounted) {
        return Err(format!(
            "an array of type {} has another number of nulls than it says",
            data.data_type()
        ));
    }
    data.validate_values().map_err(|error| error.to_string())?;
    data.child_data().iter().try_for_each(check_values)
}
