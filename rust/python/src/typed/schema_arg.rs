//! The argument `schema`: what the column is decoded to.
//!
//! Generated classes of Protobuf are recognized by their attribute `DESCRIPTOR`, and types of Arrow by
//! `__arrow_c_schema__`, so that neither library is imported.

use std::collections::HashSet;
use std::sync::Arc;

use ottla_client::schema_registry::{NewSchema, rules_of};
use ottla_client::typed::ReaderSchemaSource;
use ottla_client::{Error, Kind};
use ottla_schema::{RegisteredSchema, SchemaError, SchemaId, SchemaType};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::convert::errors;
use crate::convert::number::{self, Number};
use crate::schema_registry::schema::Schema;

/// The most files that a class of Protobuf depends on.
const MAX_FILES: usize = 1_000;

/// The reader's schema of some arguments, and the message of Protobuf.
pub(super) type Reader = (ReaderSchemaSource, Option<Arc<str>>);

/// Converts the arguments `schema`, `version` and `message`.
pub(super) fn reader(
    py: Python<'_>,
    schema_type: SchemaType,
    schema: Option<&Bound<'_, PyAny>>,
    version: Option<i32>,
    message: Option<String>,
) -> PyResult<Reader> {
    let message: Option<Arc<str>> = message.map(Arc::from);
    let Some(schema) = schema.filter(|schema| !schema.is_none()) else {
        return Ok((ReaderSchemaSource::Version(version), message));
    };
    if version.is_some() {
        return Err(errors::config(py, "pass either schema or version, not both"));
    }
    if let Ok(text) = schema.cast::<PyString>() {
        let schema = RegisteredSchema::new(schema_type, text.to_str()?);
        return Ok((ReaderSchemaSource::Given(schema), message));
    }
    if let Ok(schema) = schema.cast::<Schema>() {
        return of_schema(py, schema_type, schema.get().as_new(), message);
    }
    match schema_type {
        SchemaType::Protobuf if schema.hasattr("DESCRIPTOR")? => {
            return of_class(&schema.getattr("DESCRIPTOR")?, message);
        }
        SchemaType::Protobuf => {
            if let Ok(bytes) = schema.cast::<PyBytes>() {
                let schema = RegisteredSchema::of_descriptor_set(bytes.as_bytes(), message.as_deref());
                let schema = schema.map_err(|error| unusable(py, &error))?;
                return Ok((ReaderSchemaSource::Given(schema), message));
            }
        }
        SchemaType::Json if schema.hasattr("__arrow_c_schema__")? => {
            let field = ottla_capsules::field(schema).map_err(|error| errors::capsule(py, error))?;
            // A bare type cannot say that null is not allowed, and a schema always says it.
            let field = Arc::new(field.with_nullable(true));
            return Ok((ReaderSchemaSource::JsonType(field), message));
        }
        SchemaType::Avro | SchemaType::Json => {}
    }
    if number::is_index(schema)? {
        let id = u32::of(schema, "schema", "the id of a schema, such as 1")?;
        return Ok((ReaderSchemaSource::Id(SchemaId::Id(id)), message));
    }
    let also = match schema_type {
        SchemaType::Avro => "",
        SchemaType::Protobuf => ", a serialized FileDescriptorSet, a generated class",
        SchemaType::Json => ", an Arrow type",
    };
    let ty = schema.get_type().name()?;
    let message = format!("schema is of type {ty}: expected the text of a schema, a Schema{also}, or its id");
    Err(errors::argument_type(py, message))
}

/// A schema that may refer to others in the registry.
fn of_schema(
    py: Python<'_>,
    schema_type: SchemaType,
    schema: &NewSchema,
    message: Option<Arc<str>>,
) -> PyResult<Reader> {
    if schema.schema_type != schema_type {
        let message = format!("the schema is of type {}: expected {schema_type}", schema.schema_type);
        return Err(errors::config(py, message));
    }
    let source = match schema.references.is_empty() {
        true => {
            let rules = rules_of(&schema.contract).map_err(|why| errors::config(py, why))?;
            let plain = RegisteredSchema::new(schema_type, Arc::clone(&schema.text));
            ReaderSchemaSource::Given(RegisteredSchema { rules, contract: schema.contract.clone(), ..plain })
        }
        false => ReaderSchemaSource::Referring(schema.clone()),
    };
    Ok((source, message))
}

fn unusable(py: Python<'_>, error: &SchemaError) -> PyErr {
    errors::raise(py, &Error::new(Kind::Schema, error.to_string()))
}

/// The schema of a generated class, or of a generated module.
fn of_class(descriptor: &Bound<'_, PyAny>, message: Option<Arc<str>>) -> PyResult<Reader> {
    let py = descriptor.py();
    let (file, own) = match descriptor.getattr_opt("file")? {
        Some(file) => (file, Some(Arc::from(descriptor.getattr("full_name")?.extract::<String>()?))),
        None => (descriptor.clone(), None),
    };
    let message = message.or(own);
    let (mut names, mut serialized) = (HashSet::new(), Vec::new());
    let mut waiting = vec![file];
    while let Some(file) = waiting.pop() {
        if !names.insert(file.getattr("name")?.extract::<String>()?) {
            continue;
        }
        if names.len() > MAX_FILES {
            return Err(errors::config(py, format!("the class depends on more than {MAX_FILES} files")));
        }
        serialized.push(file.getattr("serialized_pb")?.extract::<Vec<u8>>()?);
        for dependency in file.getattr("dependencies")?.try_iter()? {
            waiting.push(dependency?);
        }
    }
    let files = serialized.iter().map(Vec::as_slice);
    let schema = RegisteredSchema::of_descriptor_files(files, message.as_deref());
    Ok((ReaderSchemaSource::Given(schema.map_err(|error| unusable(py, &error))?), message))
}
