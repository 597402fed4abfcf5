//! What encoding a key or a value makes of the header that names its schema.
//!
//! Invariant: a header that names the schema of other bytes, such as those of a record that is passed on, does not
//! stay: readers would take it for the encoded one's.

use std::sync::Arc;

use ottla_protocol::records::Header as RecordHeader;
use ottla_schema::{Header, WireFormat};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::convert::errors;

/// What becomes of a record's header with the id of a schema.
#[derive(Debug, Clone, Default)]
pub(crate) enum SchemaIdHeader {
    /// It is not touched: nothing was encoded, or the format has no such header.
    #[default]
    Kept,
    /// The id is before the payload.
    Removed(Header),
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
        match (value, wire_format) {
            (Some(value), _) => Self::Set(header, value),
            (None, WireFormat::Confluent) => Self::Removed(header),
            (None, WireFormat::Apicurio | WireFormat::Glue | WireFormat::None) => Self::Kept,
        }
    }

    /// Sets the header in the list or the dict of a record that the application sends itself.
    pub(super) fn add_to(&self, py: Python<'_>, headers: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let Self::Set(header, value) = self else { return Ok(()) };
        let (name, value) = (header.name(), PyBytes::new(py, value));
        match headers {
            Some(headers) if let Ok(headers) = headers.cast::<PyDict>() => headers.set_item(name, value),
            Some(headers) if let Ok(headers) = headers.cast::<PyList>() => {
                let is_other = |pair: &Bound<'_, PyAny>| {
                    let key = pair.get_item(0).and_then(|key| key.extract::<String>());
                    key.map_or(true, |key| key != name)
                };
                let others: Vec<_> = headers.iter().filter(is_other).collect();
                headers.set_slice(0, headers.len(), PyList::new(py, others)?.as_any())?;
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

    fn apply<'a>(&'a self, headers: &mut Vec<RecordHeader<'a>>) {
        let (Self::Removed(header) | Self::Set(header, _)) = self else { return };
        let name = header.name().as_bytes();
        headers.retain(|header| header.key != name);
        if let Self::Set(_, value) = self {
            headers.push(RecordHeader { key: name, value: Some(value) });
        }
    }
}

impl SchemaIdHeaders {
    /// Whether they change the headers of a record, which `has` some.
    pub(crate) fn change(&self, has: impl Fn(&[u8]) -> bool) -> bool {
        [&self.key, &self.value].into_iter().any(|id| match id {
            SchemaIdHeader::Kept => false,
            SchemaIdHeader::Removed(header) => has(header.name().as_bytes()),
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
