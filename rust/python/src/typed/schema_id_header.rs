//! What encoding a key or a value makes of the headers that name its schema.
//!
//! Invariant: a header that names the schema of other bytes, such as those of a record that is passed on, does not
//! stay: readers would take it for the encoded one's.

use std::sync::Arc;

use ottla_protocol::records::Header as RecordHeader;
use ottla_schema::{Header, WireFormat};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};

use crate::convert::errors;

/// What becomes of a record's header with the id of a schema.
#[derive(Debug, Clone, Default)]
pub(crate) enum SchemaIdHeader {
    /// It is not touched: nothing was encoded, or the format has no such header.
    #[default]
    Kept,
    /// The id is before the payload, so that none of these headers may name another one.
    Removed(&'static [&'static str]),
    /// It has this value.
    Set(Header, Arc<[u8]>),
}

/// What becomes of the headers of a record's key and value.
#[derive(Debug, Clone, Default)]
pub(crate) struct SchemaIdHeaders {
    pub(crate) key: SchemaIdHeader,
    pub(crate) value: SchemaIdHeader,
}

impl SchemaIdHeader {
    /// What encoding with a wire format makes of the header, whose value is given if it holds the id.
    pub(super) fn of(wire_format: WireFormat, header: Header, value: Option<Arc<[u8]>>) -> Self {
        match (value, wire_format.header_names(header)) {
            (Some(value), _) => Self::Set(header, value),
            (None, []) => Self::Kept,
            (None, names) => Self::Removed(names),
        }
    }

    /// Changes the list or the dict of headers of a record that the application sends itself.
    pub(super) fn apply_to(&self, py: Python<'_>, headers: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        match self {
            Self::Kept => Ok(()),
            Self::Removed(names) => remove(py, headers, names),
            Self::Set(header, value) => {
                let name = header.name();
                remove(py, headers, &[name])?;
                let value = PyBytes::new(py, value);
                match headers {
                    Some(headers) if let Ok(headers) = headers.cast::<PyDict>() => {
                        headers.set_item(name, value)
                    }
                    Some(headers) if let Ok(headers) = headers.cast::<PyList>() => {
                        headers.append((name, value))
                    }
                    _ => {
                        let message = format!(
                            "schema_id_serializer=\"header\" adds the header {name} to those of the record: pass its list or dict of headers, such as headers=[], and send the record with it"
                        );
                        Err(errors::config(py, message))
                    }
                }
            }
        }
    }

    fn apply<'a>(&'a self, headers: &mut Vec<RecordHeader<'a>>) {
        match self {
            Self::Kept => {}
            Self::Removed(names) => headers.retain(|header| !is_one_of(header.key, names)),
            Self::Set(header, value) => {
                let name = header.name();
                headers.retain(|header| !is_one_of(header.key, &[name]));
                headers.push(RecordHeader { key: name.as_bytes(), value: Some(value) });
            }
        }
    }
}

fn is_one_of(name: &[u8], names: &[&str]) -> bool {
    names.iter().any(|known| known.as_bytes() == name)
}

/// Whether Python's name of a header, text or bytes, is one of these.
fn is_name_of(name: &Bound<'_, PyAny>, names: &[&str]) -> bool {
    match (name.cast::<PyString>(), name.cast::<PyBytes>()) {
        (Ok(text), _) => text.to_str().is_ok_and(|text| names.contains(&text)),
        (_, Ok(bytes)) => is_one_of(bytes.as_bytes(), names),
        _ => false,
    }
}

/// Removes headers from a list or a dict.
fn remove(py: Python<'_>, headers: Option<&Bound<'_, PyAny>>, names: &[&str]) -> PyResult<()> {
    let Some(headers) = headers else { return Ok(()) };
    if let Ok(headers) = headers.cast::<PyDict>() {
        let keys = headers.keys().into_iter();
        for key in keys.filter(|key| is_name_of(key, names)) {
            headers.del_item(key)?;
        }
    } else if let Ok(headers) = headers.cast::<PyList>() {
        let is_other =
            |pair: &Bound<'_, PyAny>| pair.get_item(0).map_or(true, |name| !is_name_of(&name, names));
        let others: Vec<_> = headers.iter().filter(is_other).collect();
        if others.len() < headers.len() {
            headers.set_slice(0, headers.len(), PyList::new(py, others)?.as_any())?;
        }
    } else if let Ok(headers) = headers.cast::<PyTuple>()
        && headers.iter().any(|pair| pair.get_item(0).is_ok_and(|name| is_name_of(&name, names)))
    {
        let message = format!(
            "the headers name the schema of other bytes ({}), and a tuple cannot be changed: pass a list or a dict",
            names.join(", ")
        );
        return Err(errors::config(py, message));
    }
    Ok(())
}

impl SchemaIdHeaders {
    /// Whether they change the headers of a record, which `has` some.
    pub(crate) fn change(&self, has: impl Fn(&[u8]) -> bool) -> bool {
        [&self.key, &self.value].into_iter().any(|id| match id {
            SchemaIdHeader::Kept => false,
            SchemaIdHeader::Removed(names) => names.iter().any(|name| has(name.as_bytes())),
            SchemaIdHeader::Set(..) => true,
        })
    }

    /// Changes the headers of a record. One that has no key or no value has nothing encoded there.
    pub(crate) fn apply<'a>(
        &'a self,
        headers: &mut Vec<RecordHeader<'a>>,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
    ) {
        // In the order of Confluent's producer, which serializes the key first.
        if key.is_some() {
            self.key.apply(headers);
        }
        if value.is_some() {
            self.value.apply(headers);
        }
    }
}
