//! `ColumnFormat`: how keys or values with a schema are decoded. The same object may be used for keys and for
//! values, and by several consumers and scans.
//!
//! Invariant: the reader's schema is looked up once for keys and once for values.

mod arguments;
mod calls;
mod methods;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{DataType, Field};
use ottla_client::typed::{
    DecodeMode, PayloadValidator, ReaderSchemaSource, TopicEncoder, TypedColumn, TypedColumnOptions,
    TypedEncoder, TypedEncoderOptions,
};
use ottla_schema::{Header, Projection, SchemaIdSerializer, WireFormat};
use pyo3::prelude::*;

pub(super) use self::arguments::{FormatArgs, WIRE_FORMATS};
pub(crate) use self::calls::{batch_encoders, typed_columns};
use super::decode_mode::DeadLettersCore;
use super::encoding::{Encoded, encode_object, topic_encoder};
use super::json_validation::JsonValidation;
use super::objects::Objects;
use super::registry_arg::lookup;
use crate::convert::errors;

/// How keys or values with a schema are decoded. Create one of its classes.
#[pyclass(frozen, subclass, generic, module = "ottla.schema")]
pub(crate) struct ColumnFormat {
    registry: Option<Py<PyAny>>,
    /// The objects that records are decoded to and encoded from. Default: plain values.
    objects: Option<Objects>,
    /// The dead letters of the options, which Python ends only in their own process.
    _dead_letters: Option<Py<DeadLettersCore>>,
    options: TypedColumnOptions,
    /// The decoders of keys and of values.
    columns: [OnceLock<Arc<TypedColumn>>; 2],
    /// The decoders of objects: of their values, or of what identifies the message if they are made of payloads.
    checks: [OnceLock<Arc<TypedColumn>>; 2],
    /// Whether the schema is registered before it is written with.
    registers: bool,
    /// Where the id of the schema is written.
    schema_id_serializer: SchemaIdSerializer,
    /// What payloads are validated with.
    validator: Option<Arc<JsonValidation>>,
    /// The encoders of keys and of values.
    encoders: [OnceLock<Arc<TypedEncoder>>; 2],
}

impl ColumnFormat {
    /// Returns the decoder of keys or of values of records that are taken one by one; none if objects are made of
    /// payloads alone.
    pub(crate) fn record_column(&self, py: Python<'_>, header: Header) -> PyResult<Option<Arc<TypedColumn>>> {
        let why = match self.options.mode {
            DecodeMode::FailFast => return self.object_column(py, header),
            DecodeMode::Permissive => "could not say which records it could not decode",
            DecodeMode::DeadLetter(_) => {
                "takes records one by one, and dead letters are written by the batch"
            }
        };
        let message = format!("a deserializer with this mode {why}: use poll_arrow, or mode=\"failfast\"");
        Err(errors::config(py, message))
    }

    /// The decoder of plain values, or of what must be known of a payload before an object is made of it.
    fn object_column(&self, py: Python<'_>, header: Header) -> PyResult<Option<Arc<TypedColumn>>> {
        let Some(objects) = &self.objects else { return self.column(py, header).map(Some) };
        if self.options.part.projection.is_some() {
            let message = "objects of a type have all of its fields: leave fields out, or read columns";
            return Err(errors::config(py, message));
        }
        let mut options = TypedColumnOptions { header, ..self.options.clone() };
        if !objects.is_of_payloads() {
            options.part.objects = true;
            return self.made(py, &self.checks, options).map(Some);
        }
        match objects.checked_fields() {
            None if self.validator.is_none()
                && matches!(self.wire_format(), WireFormat::None | WireFormat::Glue) =>
            {
                return Ok(None);
            }
            // Any JSON will do, but the writer's schema may have rules without which it must not be read.
            None => options.reader = ReaderSchemaSource::JsonType(Arc::new(json_text())),
            Some([]) => {}
            Some(fields) => {
                let projection = Projection::new(fields.iter().map(String::as_str));
                let projection = projection.map_err(|error| errors::config(py, error.to_string()))?;
                options.part.projection = Some(Arc::new(projection));
            }
        }
        self.made(py, &self.checks, options).map(Some)
    }

    /// The conversion to objects, unless records are plain values.
    pub(crate) fn objects(&self) -> Option<&Objects> {
        self.objects.as_ref()
    }

    /// Where records carry the id of their schema.
    pub(crate) fn wire_format(&self) -> WireFormat {
        self.options.wire_format
    }

    /// Encodes a value that is not None. The errors of the registry are the outer ones.
    pub(crate) fn encode<'py>(
        &self,
        header: Header,
        topic: &str,
        value: &Bound<'py, PyAny>,
    ) -> PyResult<PyResult<Encoded<'py>>> {
        let encoder = self.topic_encoder(value.py(), header, topic)?;
        Ok(match &self.objects {
            None => encode_object(&encoder, header, topic, value),
            Some(objects) => objects.encode(&encoder, self.wire_format(), header, topic, value),
        })
    }

    /// Returns the encoder of a topic's keys or values.
    pub(crate) fn topic_encoder(
        &self,
        py: Python<'_>,
        header: Header,
        topic: &str,
    ) -> PyResult<Arc<TopicEncoder>> {
        topic_encoder(py, &*self.encoder(py, header)?, topic)
    }

    /// Returns the encoder of keys or of values.
    pub(crate) fn encoder(&self, py: Python<'_>, header: Header) -> PyResult<Arc<TypedEncoder>> {
        let registry = self.registry.as_ref().map(|registry| lookup(registry.bind(py))).transpose()?;
        let [keys, values] = &self.encoders;
        let encoder = if header == Header::Key { keys } else { values };
        if let Some(encoder) = encoder.get() {
            return Ok(Arc::clone(encoder));
        }
        if self.options.part.projection.is_some() {
            let message =
                "a format with fields decodes only these fields, and encodes nothing: leave fields out";
            return Err(errors::config(py, message));
        }
        let options = TypedEncoderOptions {
            header,
            writer: self.options.reader.clone(),
            message: self.options.part.message.clone(),
            subject: self.options.subject.clone(),
            wire_format: self.options.wire_format,
            schema_id_serializer: self.schema_id_serializer,
            registers: self.registers,
            limits: self.options.part.limits,
            validator: self.validator.clone().map(|validator| validator as Arc<dyn PayloadValidator>),
            writes_objects: self.objects.is_some(),
        };
        let created = TypedEncoder::new(options, registry).map_err(|error| errors::raise(py, &error))?;
        Ok(Arc::clone(encoder.get_or_init(|| Arc::new(created))))
    }

    /// Returns the decoder of keys or of values.
    pub(crate) fn column(&self, py: Python<'_>, header: Header) -> PyResult<Arc<TypedColumn>> {
        self.made(py, &self.columns, TypedColumnOptions { header, ..self.options.clone() })
    }

    fn made(
        &self,
        py: Python<'_>,
        [keys, values]: &[OnceLock<Arc<TypedColumn>>; 2],
        options: TypedColumnOptions,
    ) -> PyResult<Arc<TypedColumn>> {
        let registry = self.registry.as_ref().map(|registry| lookup(registry.bind(py))).transpose()?;
        let column = if options.header == Header::Key { keys } else { values };
        if let Some(column) = column.get() {
            return Ok(Arc::clone(column));
        }
        let created = TypedColumn::new(options, registry).map_err(|error| errors::raise(py, &error))?;
        Ok(Arc::clone(column.get_or_init(|| Arc::new(created))))
    }
}

/// A field of the text of any JSON.
fn json_text() -> Field {
    let extension = HashMap::from([(EXTENSION_TYPE_NAME_KEY.to_owned(), "arrow.json".to_owned())]);
    Field::new("value", DataType::Utf8, true).with_metadata(extension)
}
