//! `ColumnFormat`: how keys or values with a schema are decoded. The same object may be used for keys and for
//! values, and by several consumers and scans.
//!
//! Invariant: the reader's schema is looked up once for keys and once for values.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{DataType, Field};
use ottla_arrow::Column;
use ottla_client::typed::{
    DecodeMode, PayloadValidator, ReaderSchemaSource, TopicEncoder, TypedColumn, TypedColumnOptions,
    TypedColumns, TypedEncoder, TypedEncoderOptions, Validation,
};
use ottla_client::{Error, Kind};
use ottla_schema::{
    EncodedRows, Header, Projection, ReaderOptions, SchemaIdSerializer, SchemaType, WireFormat,
};
use pyo3::PyVisit;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::arrow_type::ArrowType;
use super::avro_objects::column_value;
use super::decode_mode::{DeadLettersCore, decode_mode, mode_name};
use super::encoding::{BatchEncoders, Encoded, encode_object, topic_encoder};
use super::json_validation::JsonValidation;
use super::limits_arg::schema_limits;
use super::named::named;
use super::objects::{self, Objects, is_type};
use super::registry_arg::lookup;
use super::schema_arg;
use super::subject_strategy::subject_name;
use crate::convert::errors;
use crate::convert::names::{Names, items};
use crate::garbage::{Traverse, Visited};
use crate::runtime::wait_for;

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

/// The arguments of a format.
pub(super) struct FormatArgs<'a, 'py> {
    pub(super) schema_type: SchemaType,
    /// The registry, or the type of objects.
    pub(super) source: Option<&'a Bound<'py, PyAny>>,
    pub(super) registry: Option<&'a Bound<'py, PyAny>>,
    pub(super) schema: Option<&'a Bound<'py, PyAny>>,
    pub(super) version: Option<i32>,
    /// With Protobuf.
    pub(super) message: Option<String>,
    pub(super) subject: Option<String>,
    pub(super) subject_strategy: Option<&'a Bound<'py, PyAny>>,
    /// Whether all records are converted to one schema.
    pub(super) convert: bool,
    pub(super) wire_format: &'a str,
    pub(super) schema_id_serializer: &'a str,
    /// With JSON, whether payloads are validated.
    pub(super) validate: bool,
    pub(super) mode: Option<&'a Bound<'py, PyAny>>,
    pub(super) fields: Option<Names>,
    pub(super) register: bool,
    pub(super) limits: Option<&'a Bound<'py, PyAny>>,
}

/// The names of wire formats.
pub(super) const WIRE_FORMATS: [(&str, WireFormat); 4] = [
    ("confluent", WireFormat::Confluent),
    ("apicurio", WireFormat::Apicurio),
    ("glue", WireFormat::Glue),
    ("none", WireFormat::None),
];

/// The places of schema ids.
const SCHEMA_ID_SERIALIZERS: [(&str, SchemaIdSerializer); 2] =
    [("prefix", SchemaIdSerializer::Prefix), ("header", SchemaIdSerializer::Header)];

impl ColumnFormat {
    pub(super) fn new(py: Python<'_>, args: FormatArgs<'_, '_>) -> PyResult<Self> {
        let FormatArgs { source, subject, wire_format, mode, fields, schema_type, .. } = args;
        let source = source.filter(|source| !source.is_none());
        let registry = args.registry.filter(|registry| !registry.is_none());
        let (objects, registry) = match (source, registry) {
            (Some(source), registry) if is_type(source)? => {
                (Some(Objects::new(source, schema_type)?), registry)
            }
            (Some(_), Some(_)) => {
                return Err(errors::config(py, "the registry is given twice: pass it once"));
            }
            (source, registry) => (None, source.or(registry)),
        };
        let is_derived = args.schema.is_none_or(|schema| schema.is_none()) && args.version.is_none();
        if objects.is_some() && schema_type == SchemaType::Protobuf && !(is_derived && args.message.is_none())
        {
            let message =
                "a generated class has its schema and its message: leave schema, version and message out";
            return Err(errors::config(py, message));
        }
        let derived = objects.as_ref().filter(|_| is_derived).map(|objects| objects.schema(py));
        let (mut reader, message) =
            schema_arg::reader(py, schema_type, derived.or(args.schema), args.version, args.message)?;
        if !args.convert {
            if objects.is_some() || !is_derived || message.is_some() || fields.is_some() {
                let message = "convert=False keeps the schema that each record was written with: leave the class, schema, version, message and fields out";
                return Err(errors::config(py, message));
            }
            reader = ReaderSchemaSource::AsWritten(schema_type);
        }
        let projection = fields.map(|Names(fields)| Projection::new(fields.iter().map(String::as_str)));
        let projection = projection.transpose().map_err(|error| errors::config(py, error.to_string()))?;
        let (mode, dead_letters) = decode_mode(py, mode)?;
        if args.validate && matches!(reader, ReaderSchemaSource::JsonType(_)) {
            let message = "validate=True needs a JSON Schema, which an Arrow type is not: pass its text, its id, or a version";
            return Err(errors::config(py, message));
        }
        let validator = args.validate.then(|| JsonValidation::new(py).map(Arc::new)).transpose()?;
        let validation = validator.clone().map(|validator| Validation { validator, schema: reader.clone() });
        let options = TypedColumnOptions {
            header: Header::Value,
            validation,
            reader,
            part: ReaderOptions {
                message,
                projection: projection.map(Arc::new),
                limits: schema_limits(py, args.limits)?,
                objects: false,
            },
            subject: subject_name(py, subject, args.subject_strategy)?,
            wire_format: named(py, "wire_format", wire_format, &WIRE_FORMATS)?,
            mode,
        };
        let format = Self {
            registry: registry.map(|registry| registry.clone().unbind()),
            objects,
            _dead_letters: dead_letters,
            options,
            columns: [OnceLock::new(), OnceLock::new()],
            checks: [OnceLock::new(), OnceLock::new()],
            registers: args.register,
            schema_id_serializer: named(
                py,
                "schema_id_serializer",
                args.schema_id_serializer,
                &SCHEMA_ID_SERIALIZERS,
            )?,
            validator,
            encoders: [OnceLock::new(), OnceLock::new()],
        };
        // Refuses missing arguments now, and not with the first record.
        format.column(py, Header::Value)?;
        if args.register || format.schema_id_serializer != SchemaIdSerializer::default() {
            format.encoder(py, Header::Value)?;
        }
        Ok(format)
    }

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

/// Converts the arguments `key_format` and `value_format` of a call that reads these columns.
pub(crate) fn typed_columns(
    py: Python<'_>,
    key: Option<&Bound<'_, ColumnFormat>>,
    value: Option<&Bound<'_, ColumnFormat>>,
    columns: &[Column],
) -> PyResult<TypedColumns> {
    for (format, column) in [(key, Column::Key), (value, Column::Value)] {
        if format.is_some() && !columns.contains(&column) {
            let name = column.name();
            let message = format!("{name}_format is given, but columns does not list {name:?}");
            return Err(errors::config(py, message));
        }
    }
    let typed = |format: Option<&Bound<'_, ColumnFormat>>, header| {
        let column = format.map(|format| format.get().column(py, header)).transpose()?;
        match column {
            Some(column) if column.is_as_written() => Err(errors::raise(py, &column.has_no_column())),
            column => Ok(column),
        }
    };
    Ok(TypedColumns { key: typed(key, Header::Key)?, value: typed(value, Header::Value)? })
}

/// Converts the arguments `key_format` and `value_format` of a call that encodes columns.
pub(crate) fn batch_encoders(
    py: Python<'_>,
    key: Option<&ColumnFormat>,
    value: Option<&ColumnFormat>,
) -> PyResult<BatchEncoders> {
    let encoder =
        |format: Option<&ColumnFormat>, header| format.map(|format| format.encoder(py, header)).transpose();
    Ok(BatchEncoders { key: encoder(key, Header::Key)?, value: encoder(value, Header::Value)? })
}
