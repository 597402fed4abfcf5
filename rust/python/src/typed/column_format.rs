//! `ColumnFormat`: how keys or values with a schema are decoded. The same object may be used for keys and for
//! values, and by several consumers and scans.
//!
//! Invariant: the reader's schema is looked up once for keys and once for values.

use std::sync::{Arc, OnceLock};

use arrow_schema::Field;
use ottla_arrow::Column;
use ottla_client::typed::{
    DecodeMode, TopicEncoder, TypedColumn, TypedColumnOptions, TypedColumns, TypedEncoder,
    TypedEncoderOptions,
};
use ottla_client::{Error, Kind};
use ottla_schema::{EncodedRows, Header, Projection, ReaderOptions, SchemaType, WireFormat};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::arrow_type::ArrowType;
use super::decode_mode::{DeadLettersCore, decode_mode};
use super::encoding::{BatchEncoders, encode_object, topic_encoder};
use super::limits_arg::schema_limits;
use super::registry_arg::lookup;
use super::schema_arg;
use crate::convert::names::{Names, items};
use crate::convert::{arrow_value, errors};
use crate::runtime::wait_for;

/// How keys or values with a schema are decoded. Create one of its classes.
#[pyclass(frozen, subclass, module = "ottla.schema")]
pub(crate) struct ColumnFormat {
    registry: Option<Py<PyAny>>,
    /// The dead letters of the options, which Python ends only in their own process.
    _dead_letters: Option<Py<DeadLettersCore>>,
    options: TypedColumnOptions,
    /// The decoders of keys and of values.
    columns: [OnceLock<Arc<TypedColumn>>; 2],
    /// Whether the schema is registered before it is written with.
    registers: bool,
    /// The encoders of keys and of values.
    encoders: [OnceLock<Arc<TypedEncoder>>; 2],
}

/// The arguments of a format.
pub(super) struct FormatArgs<'a, 'py> {
    pub(super) schema_type: SchemaType,
    pub(super) registry: Option<&'a Bound<'py, PyAny>>,
    pub(super) schema: Option<&'a Bound<'py, PyAny>>,
    pub(super) version: Option<i32>,
    /// With Protobuf.
    pub(super) message: Option<String>,
    pub(super) subject: Option<String>,
    pub(super) wire_format: &'a str,
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

/// Returns the value of a name, or an error that lists the names.
pub(super) fn named<T: Copy>(
    py: Python<'_>,
    argument: &str,
    name: &str,
    values: &[(&str, T)],
) -> PyResult<T> {
    match values.iter().find(|(known, _)| *known == name) {
        Some((_, value)) => Ok(*value),
        None => {
            let names: Vec<String> = values.iter().map(|(known, _)| format!("{known:?}")).collect();
            let message = format!("{argument}={name:?}: expected one of {}", names.join(", "));
            Err(errors::config(py, message))
        }
    }
}

impl ColumnFormat {
    pub(super) fn new(py: Python<'_>, args: FormatArgs<'_, '_>) -> PyResult<Self> {
        let FormatArgs { registry, subject, wire_format, mode, fields, .. } = args;
        let (reader, message) =
            schema_arg::reader(py, args.schema_type, args.schema, args.version, args.message)?;
        let projection = fields.map(|Names(fields)| Projection::new(fields.iter().map(String::as_str)));
        let projection = projection.transpose().map_err(|error| errors::config(py, error.to_string()))?;
        let (mode, dead_letters) = decode_mode(py, mode)?;
        let options = TypedColumnOptions {
            header: Header::Value,
            reader,
            part: ReaderOptions {
                message,
                projection: projection.map(Arc::new),
                limits: schema_limits(py, args.limits)?,
            },
            subject,
            wire_format: named(py, "wire_format", wire_format, &WIRE_FORMATS)?,
            mode,
        };
        let registry = registry.filter(|registry| !registry.is_none());
        let format = Self {
            registry: registry.map(|registry| registry.clone().unbind()),
            _dead_letters: dead_letters,
            options,
            columns: [OnceLock::new(), OnceLock::new()],
            registers: args.register,
            encoders: [OnceLock::new(), OnceLock::new()],
        };
        // Refuses missing arguments now, and not with the first record.
        format.column(py, Header::Value)?;
        if args.register {
            format.encoder(py, Header::Value)?;
        }
        Ok(format)
    }

    /// Returns the decoder of keys or of values of records that are taken one by one.
    pub(crate) fn record_column(&self, py: Python<'_>, header: Header) -> PyResult<Arc<TypedColumn>> {
        let why = match self.options.mode {
            DecodeMode::FailFast => return self.column(py, header),
            DecodeMode::Permissive => "could not say which records it could not decode",
            DecodeMode::DeadLetter(_) => {
                "takes records one by one, and dead letters are written by the batch"
            }
        };
        let message = format!("a deserializer with this mode {why}: use poll_arrow, or mode=\"failfast\"");
        Err(errors::config(py, message))
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
            registers: self.registers,
            limits: self.options.part.limits,
        };
        let created = TypedEncoder::new(options, registry).map_err(|error| errors::raise(py, &error))?;
        Ok(Arc::clone(encoder.get_or_init(|| Arc::new(created))))
    }

    /// Returns the decoder of keys or of values.
    pub(crate) fn column(&self, py: Python<'_>, header: Header) -> PyResult<Arc<TypedColumn>> {
        let registry = self.registry.as_ref().map(|registry| lookup(registry.bind(py))).transpose()?;
        let [keys, values] = &self.columns;
        let column = if header == Header::Key { keys } else { values };
        if let Some(column) = column.get() {
            return Ok(Arc::clone(column));
        }
        let options = TypedColumnOptions { header, ..self.options.clone() };
        let created = TypedColumn::new(options, registry).map_err(|error| errors::raise(py, &error))?;
        Ok(Arc::clone(column.get_or_init(|| Arc::new(created))))
    }
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
    ///     headers: the record's headers. Default: none. They have no effect.
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
        let _ = headers;
        if value.is_none() {
            return Ok(None);
        }
        let header = if key { Header::Key } else { Header::Value };
        let encoder = self.topic_encoder(py, header, topic)?;
        encode_object(&encoder, header, topic, value).map(Some)
    }

    /// Decode one value, to plain Python objects: structs and maps are dicts.
    ///
    /// To decode many, pass the format to a consumer or a scan, which decode them together.
    ///
    /// Args:
    ///     topic: the topic, whose subject has the reader's schema by default.
    ///     data: the bytes of the value.
    ///     headers: the record's headers, in which the id of the schema may be.
    ///
    /// Returns:
    ///     The value.
    ///
    /// Raises:
    ///     SchemaError: there is no schema to read with, or it cannot be used.
    ///     SerializationError: the value cannot be decoded.
    ///     KafkaError: the errors of the schema registry.
    #[pyo3(signature = (topic, data, headers=Vec::new()))]
    fn deserialize<'py>(
        &self,
        py: Python<'py>,
        topic: &str,
        data: Vec<u8>,
        #[pyo3(from_py_with = header_pairs)] headers: Vec<(String, Option<Vec<u8>>)>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (column, row, topic) =
            (self.column(py, Header::Value)?, OneRow { bytes: data, headers }, Arc::from(topic));
        let decoded = wait_for(py, async {
            column.resolve(&topic).await?;
            column.load(&row).await?;
            column.decode(&row)
        })?;
        let reason = match decoded.errors.first() {
            Some(error) => error.to_string(),
            None => match arrow_value::value(py, &decoded.array, 0) {
                Ok(value) => return Ok(value),
                Err(failure) => failure.reason()?,
            },
        };
        let message = format!("the value cannot be decoded: {reason}");
        Err(errors::raise(py, &Error::new(Kind::Serialization, message).topic(&topic)))
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
        format.map(|format| format.get().column(py, header)).transpose()
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
