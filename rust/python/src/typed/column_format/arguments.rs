//! The arguments of a format, and the format that they make.
//!
//! Invariant: arguments that do not go together are an error when the format is made, and not with its first record.

use std::sync::{Arc, OnceLock};

use ottla_client::typed::{ReaderSchemaSource, TypedColumnOptions, Validation};
use ottla_schema::{Header, Projection, ReaderOptions, SchemaIdSerializer, SchemaType, WireFormat};
use pyo3::prelude::*;

use super::ColumnFormat;
use crate::convert::errors;
use crate::convert::names::Names;
use crate::typed::decode_mode::decode_mode;
use crate::typed::json_validation::JsonValidation;
use crate::typed::limits_arg::schema_limits;
use crate::typed::named::named;
use crate::typed::objects::{Objects, is_type};
use crate::typed::schema_arg;
use crate::typed::subject_strategy::subject_name;

/// The arguments of a format.
pub(in crate::typed) struct FormatArgs<'a, 'py> {
    pub(in crate::typed) schema_type: SchemaType,
    /// The registry, or the type of objects.
    pub(in crate::typed) source: Option<&'a Bound<'py, PyAny>>,
    pub(in crate::typed) registry: Option<&'a Bound<'py, PyAny>>,
    pub(in crate::typed) schema: Option<&'a Bound<'py, PyAny>>,
    pub(in crate::typed) version: Option<i32>,
    /// With Protobuf.
    pub(in crate::typed) message: Option<String>,
    pub(in crate::typed) subject: Option<String>,
    pub(in crate::typed) subject_strategy: Option<&'a Bound<'py, PyAny>>,
    /// Whether all records are converted to one schema.
    pub(in crate::typed) convert: bool,
    pub(in crate::typed) wire_format: &'a str,
    pub(in crate::typed) schema_id_serializer: &'a str,
    /// With JSON, whether payloads are validated.
    pub(in crate::typed) validate: bool,
    pub(in crate::typed) mode: Option<&'a Bound<'py, PyAny>>,
    pub(in crate::typed) fields: Option<Names>,
    pub(in crate::typed) register: bool,
    pub(in crate::typed) limits: Option<&'a Bound<'py, PyAny>>,
}

/// The names of wire formats.
pub(in crate::typed) const WIRE_FORMATS: [(&str, WireFormat); 4] = [
    ("confluent", WireFormat::Confluent),
    ("apicurio", WireFormat::Apicurio),
    ("glue", WireFormat::Glue),
    ("none", WireFormat::None),
];

/// The places of schema ids.
const SCHEMA_ID_SERIALIZERS: [(&str, SchemaIdSerializer); 2] =
    [("prefix", SchemaIdSerializer::Prefix), ("header", SchemaIdSerializer::Header)];

impl ColumnFormat {
    pub(in crate::typed) fn new(py: Python<'_>, args: FormatArgs<'_, '_>) -> PyResult<Self> {
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
}
