//! Objects of a type: the first argument of a format, in place of the registry.
//!
//! `ottla.schema.objects` derives the type's schema and converts. Avro's plain values are converted after they were
//! resolved to the schema; objects of JSON and messages of Protobuf are made of the payload itself.
//!
//! Invariant: an exception of the type, such as one of a validator, is the cause of a `SerializationError`.

use std::sync::Arc;

use ottla_client::typed::TopicEncoder;
use ottla_schema::{Framed, Header, SchemaType, WireFormat};
use pyo3::PyVisit;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyType};

use super::avro_objects;
use super::encoding::{Encoded, encode_object};
use super::schema_id_header::SchemaIdHeader;
use crate::convert::errors;
use crate::convert::nested_calls::nested;
use crate::garbage::{Traverse, Visited};

static CONVERSION: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static UNDECODABLE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static UNSERIALIZABLE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The conversion between records and objects of a type.
pub(crate) struct Objects {
    schema: Py<PyAny>,
    load: Py<PyAny>,
    dump: Py<PyAny>,
    of_payloads: bool,
    /// With Protobuf, the fields that are decoded to check which message a payload is; empty for all.
    checked_fields: Option<Vec<String>>,
    /// With Protobuf, the bytes that identify the message in the formats of Confluent and Apicurio.
    message_prefixes: (Vec<u8>, Vec<u8>),
}

impl Traverse for Objects {
    fn traverse(&self, visit: &PyVisit<'_>) -> Visited {
        [&self.schema, &self.load, &self.dump].into_iter().try_for_each(|one| one.traverse(visit))
    }
}

/// Whether this is a class, or a type such as `list[Order]` or `Order | None`.
pub(super) fn is_type(source: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(source.is_instance_of::<PyType>() || source.hasattr("__args__")? || source.hasattr("__supertype__")?)
}

impl Objects {
    pub(super) fn new(of: &Bound<'_, PyAny>, schema_type: SchemaType) -> PyResult<Self> {
        let py = of.py();
        let conversion = CONVERSION.import(py, "ottla.schema.objects", "conversion")?;
        let made = conversion.call1((schema_type.to_string(), of))?;
        Ok(Self {
            schema: made.getattr("schema")?.unbind(),
            load: made.getattr("load")?.unbind(),
            dump: made.getattr("dump")?.unbind(),
            of_payloads: made.getattr("of_payloads")?.extract()?,
            checked_fields: made.getattr("checked_fields")?.extract()?,
            message_prefixes: made.getattr("message_prefixes")?.extract()?,
        })
    }

    /// The schema of the type.
    pub(super) fn schema<'a, 'py>(&'a self, py: Python<'py>) -> &'a Bound<'py, PyAny> {
        self.schema.bind(py)
    }

    /// Whether objects are made of payloads, not of decoded values.
    pub(crate) fn is_of_payloads(&self) -> bool {
        self.of_payloads
    }

    pub(super) fn checked_fields(&self) -> Option<&[String]> {
        self.checked_fields.as_deref()
    }

    /// Returns the object of a decoded value.
    pub(crate) fn load<'py>(&self, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        nested("the type", || self.load.bind(value.py()).call1((value,)))
    }

    /// Returns the object of a key or a value; `header` returns the value of a header of its record.
    pub(crate) fn of_payload<'a, 'py>(
        &self,
        py: Python<'py>,
        wire_format: WireFormat,
        part: Header,
        data: &'a [u8],
        header: impl Fn(&str) -> Option<&'a [u8]>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let framed = wire_format.split(data, part, header);
        let framed = framed.map_err(|error| PyValueError::new_err(error.to_string()))?;
        let payload = match self.checked_fields {
            Some(_) => self.after_message(wire_format, framed),
            None if framed.header_rest.is_some_and(|rest| !rest.is_empty()) => None,
            None => Some(framed.payload),
        };
        let payload =
            payload.ok_or_else(|| PyValueError::new_err("the bytes after the schema id are malformed"))?;
        nested("the type", || self.load.bind(py).call1((PyBytes::new(py, payload),)))
    }

    /// Removes the bytes that identify the message, which were checked before.
    fn after_message<'a>(&self, wire_format: WireFormat, framed: Framed<'a>) -> Option<&'a [u8]> {
        let Framed { payload, header_rest, .. } = framed;
        let (confluent, apicurio) = &self.message_prefixes;
        match (wire_format, header_rest) {
            (WireFormat::None, _) | (WireFormat::Confluent, Some(_)) => Some(payload),
            (WireFormat::Apicurio, Some(_)) => Some(payload.strip_prefix(&**apicurio).unwrap_or(payload)),
            (WireFormat::Glue, _) => varint(payload).map(|(_, rest)| rest),
            (WireFormat::Apicurio, None) => {
                let (length, rest) = varint(payload)?;
                rest.get(usize::try_from(length).ok()?..)
            }
            (WireFormat::Confluent, None) => match payload.strip_prefix(&**confluent) {
                Some(rest) => Some(rest),
                None => {
                    let (count, mut rest) = varint(payload)?;
                    // Zigzag: a count is not negative.
                    for _ in 0..count / 2 {
                        rest = varint(rest)?.1;
                    }
                    Some(rest)
                }
            },
        }
    }

    /// Encodes an object.
    pub(super) fn encode<'py>(
        &self,
        encoder: &TopicEncoder,
        wire_format: WireFormat,
        header: Header,
        topic: &str,
        object: &Bound<'py, PyAny>,
    ) -> PyResult<Encoded<'py>> {
        let py = object.py();
        let dumped = nested("the type", || self.dump.bind(py).call1((object,)))?;
        let payload = match (self.of_payloads, encoder.avro_objects()) {
            (true, _) => dumped.extract()?,
            (false, Some(objects)) => avro_objects::payload(objects, &dumped)?,
            (false, None) => return encode_object(encoder, header, topic, &dumped),
        };
        let message_prefix = match wire_format {
            WireFormat::Confluent => &*self.message_prefixes.0,
            WireFormat::Apicurio => &self.message_prefixes.1,
            WireFormat::Glue | WireFormat::None => &[],
        };
        let invalid = encoder.invalid(&[&*payload]).map_err(|error| errors::raise(py, &error))?;
        if let Some((_, reason)) = invalid.into_iter().next() {
            return Err(PyValueError::new_err(reason));
        }
        let framing = encoder.framing(message_prefix).map_err(|error| errors::raise(py, &error))?;
        Ok(Encoded {
            bytes: PyBytes::new(py, &[&framing.prefix, &*payload].concat()),
            schema_id: SchemaIdHeader::of(wire_format, header, framing.header.map(Arc::from)),
        })
    }
}

/// Reads a varint, and returns what is after it.
fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (at, byte) in bytes.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f).checked_shl(u32::try_from(7 * at).ok()?)?;
        if byte & 0x80 == 0 {
            return Some((value, bytes.get(at + 1..)?));
        }
    }
    None
}

/// The error for what a type's conversion raised when a value of no record was decoded.
pub(super) fn undecodable(py: Python<'_>, topic: &str, header: Header, cause: PyErr) -> PyErr {
    raised(py, &UNDECODABLE, "_undecodable", cause, |make, cause| make.call1((topic, header.column(), cause)))
}

/// The error for what a type's conversion raised when a value was encoded.
pub(super) fn unserializable(py: Python<'_>, topic: &str, header: Header, cause: PyErr) -> PyErr {
    raised(py, &UNSERIALIZABLE, "_serialization_error", cause, |make, cause| {
        make.call1((topic, header.column(), py.None(), cause))
    })
}

fn raised<'py>(
    py: Python<'py>,
    made: &'static PyOnceLock<Py<PyAny>>,
    name: &str,
    cause: PyErr,
    call: impl FnOnce(&Bound<'py, PyAny>, &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
) -> PyErr {
    // Ctrl-C is no error of the value.
    if !cause.is_instance_of::<pyo3::exceptions::PyException>(py) {
        return cause;
    }
    let error = made.import(py, "ottla.errors", name);
    let error = error.and_then(|make| call(make, cause.value(py).as_any()));
    error.map_or_else(|failure| failure, PyErr::from_value)
}
