//! What Python programs call on a format: to encode or decode one value, and to look at its type.
//!
//! Invariant: one value is encoded and decoded as those of a batch are.

use std::sync::Arc;

use arrow_schema::Field;
use ottla_client::{Error, Kind};
use ottla_schema::{EncodedRows, Header};
use pyo3::PyVisit;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::ColumnFormat;
use crate::convert::errors;
use crate::convert::names::items;
use crate::garbage::{Traverse, Visited};
use crate::runtime::wait_for;
use crate::typed::arrow_type::ArrowType;
use crate::typed::avro_objects::column_value;
use crate::typed::decode_mode::mode_name;
use crate::typed::encoding::Encoded;
use crate::typed::objects;

/// Converts the argument `headers`.
fn header_pairs(argument: &Bound<'_, PyAny>) -> PyResult<Vec<(String, Option<Vec<u8>>)>> {
    let pairs = items(argument, "headers", |name| format!("[({name}, b\"value\")]"))?;
    let pair = |pair: Bound<'_, PyAny>| {
        pair.extract().map_err(|_: PyErr| {
            let message = "headers has an item that is no pair of a name and bytes or None".to_owned();
            errors::argument_type(pair.py(), message)
        })
    };
    pairs.map(|item| pair(item?)).collect()
}

/// A value with its headers.
struct OneRow {
    bytes: Vec<u8>,
    headers: Vec<(String, Option<Vec<u8>>)>,
}

impl EncodedRows for OneRow {
    fn count(&self) -> usize {
        1
    }

    fn bytes(&self, _row: usize) -> Option<&[u8]> {
        Some(&self.bytes)
    }

    fn header(&self, _row: usize, name: &str) -> Option<&[u8]> {
        self.headers.iter().rev().find(|(key, _)| key == name)?.1.as_deref()
    }
}

#[pymethods]
impl ColumnFormat {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Visited {
        self.registry.traverse(&visit)?;
        self.objects.traverse(&visit)?;
        self._dead_letters.traverse(&visit)
    }

    /// What happens to records that cannot be decoded: ``"failfast"``, ``"permissive"``, or
    /// ``"dead-letters"`` for ``DeadLetters(…)``.
    #[getter]
    fn mode(&self) -> &'static str {
        mode_name(&self.options.mode)
    }

    /// Return the type of the column, and look up the reader's schema for it.
    ///
    /// Args:
    ///     topic: the topic, if the reader's schema is that of the topic's subject.
    ///     key: whether to return the type of keys, not of values.
    ///
    /// Returns:
    ///     The Arrow type, for any library that supports Arrow's PyCapsule interface.
    ///
    /// Raises:
    ///     ConfigError: the topic is needed.
    ///     SchemaError: there is no schema to read with, or it cannot be used.
    ///     KafkaError: the errors of the schema registry.
    #[pyo3(signature = (topic=None, *, key=false))]
    fn arrow_type(&self, py: Python<'_>, topic: Option<&str>, key: bool) -> PyResult<ArrowType> {
        let (header, name) = if key { (Header::Key, "key") } else { (Header::Value, "value") };
        let column = self.column(py, header)?;
        if column.is_as_written() {
            return Err(errors::raise(py, &column.has_no_column()));
        }
        if topic.is_none() && column.is_of_topic() {
            let message = "the schema is that of the topic's subject: pass the topic";
            return Err(errors::config(py, message));
        }
        let topic = Arc::from(topic.unwrap_or_default());
        wait_for(py, column.resolve(&topic))?;
        let data_type = column.data_type().ok_or_else(|| {
            let message = "the schema of a typed column was resolved without a type";
            errors::raise(py, &Error::new(Kind::Internal, message))
        })?;
        Ok(ArrowType::new(Field::new(name, data_type, true)))
    }

    /// Encode one value, with the id of its schema.
    ///
    /// To encode many, pass the format to a producer as a serializer, or to ``send_batch``.
    ///
    /// Args:
    ///     topic: the topic, whose subject has the schema by default.
    ///     value: the value: a dict for a struct, and otherwise what ``deserialize`` returns. A
    ///         value of a union may be given as itself, or as ``{"member1": value}``. None is a
    ///         tombstone.
    ///     headers: the record's headers, a list or a dict, to which
    ///         ``schema_id_serializer="header"`` adds the id of the schema. Headers that name the
    ///         schema of other bytes are removed from it. Default: none.
    ///     key: whether it is a key.
    ///
    /// Returns:
    ///     The bytes, or None.
    ///
    /// Raises:
    ///     SerializationError: the value does not fit the schema.
    ///     SchemaError: the schema is invalid, is not registered, or was refused.
    ///     TypeError: a field is of another type.
    ///     ValueError: a field does not fit its type.
    ///     KafkaError: the errors of the schema registry.
    #[pyo3(signature = (topic, value, headers=None, *, key=false))]
    fn serialize<'py>(
        &self,
        py: Python<'py>,
        topic: &str,
        value: &Bound<'py, PyAny>,
        headers: Option<&Bound<'py, PyAny>>,
        key: bool,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        if value.is_none() {
            return Ok(None);
        }
        let header = if key { Header::Key } else { Header::Value };
        let encoded = self.encode(header, topic, value)?;
        let Encoded { bytes, schema_id } = match self.objects {
            None => encoded?,
            Some(_) => encoded.map_err(|cause| objects::unserializable(py, topic, header, cause))?,
        };
        schema_id.apply_to(py, headers)?;
        Ok(Some(bytes))
    }

    /// Decode one value, or one key, to plain Python objects: structs and maps are dicts.
    ///
    /// To decode many, pass the format to a consumer or a scan, which decode them together.
    ///
    /// Args:
    ///     topic: the topic, whose subject has the reader's schema by default.
    ///     data: the bytes of the value or the key.
    ///     headers: the record's headers, in which the id of the schema may be.
    ///     key: whether it is a key.
    ///
    /// Returns:
    ///     The value.
    ///
    /// Raises:
    ///     SchemaError: there is no schema to read with, or it cannot be used.
    ///     SerializationError: the value cannot be decoded.
    ///     KafkaError: the errors of the schema registry.
    #[pyo3(signature = (topic, data, headers=Vec::new(), *, key=false))]
    fn deserialize<'py>(
        &self,
        py: Python<'py>,
        topic: &str,
        data: Vec<u8>,
        #[pyo3(from_py_with = header_pairs)] headers: Vec<(String, Option<Vec<u8>>)>,
        key: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (row, topic) = (OneRow { bytes: data, headers }, Arc::from(topic));
        let header = if key { Header::Key } else { Header::Value };
        let failed = |cause| objects::undecodable(py, &topic, header, cause);
        let Some(column) = self.object_column(py, header)? else {
            return self.object_of_row(py, header, &row).map_err(failed);
        };
        let decoded = wait_for(py, async {
            column.resolve(&topic).await?;
            let invalid = column.load(&row).await?;
            column.decode_records(&row, &invalid)
        })?;
        let value = decoded.value(0).map_err(|error| errors::raise(py, &error.topic(&topic)))?;
        let reason = match &self.objects {
            Some(objects) if objects.is_of_payloads() => {
                return self.object_of_row(py, header, &row).map_err(failed);
            }
            objects => match (column_value(py, &column, value), objects) {
                (Ok(value), Some(objects)) => return objects.load(&value).map_err(failed),
                (Ok(value), None) => return Ok(value),
                (Err(failure), _) => failure.reason()?,
            },
        };
        let message = format!("the {} cannot be decoded: {reason}", header.column());
        Err(errors::raise(py, &Error::new(Kind::Serialization, message).topic(&topic)))
    }
}

impl ColumnFormat {
    fn object_of_row<'py>(
        &self,
        py: Python<'py>,
        header: Header,
        row: &OneRow,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Some(objects) = &self.objects else { return Ok(py.None().into_bound(py)) };
        objects.of_payload(py, self.wire_format(), header, &row.bytes, |name| row.header(0, name))
    }
}
