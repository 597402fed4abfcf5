//! The names of the types that schemas describe: a full name in Avro, the name of a message in Protobuf, the title in
//! JSON Schema.
//!
//! Invariant: a schema that cannot be read has an error here, not another name.

use std::sync::Arc;

use crate::column_decoder::check_protobuf;
use crate::error::SchemaError;
use crate::registered_schema::{RegisteredSchema, SchemaType};
use crate::{avro, json, protobuf};

/// Returns the name of the type; `None` if it has none. In Protobuf, it is `message`, or the first message.
///
/// # Errors
/// The schema is invalid, or has no such message.
pub fn type_name(schema: &RegisteredSchema, message: Option<&str>) -> Result<Option<Arc<str>>, SchemaError> {
    if message.is_some() {
        check_protobuf(schema.schema_type)?;
    }
    match schema.schema_type {
        SchemaType::Avro => avro::type_name(schema),
        SchemaType::Protobuf => protobuf::message_name(schema, message).map(Some),
        SchemaType::Json => json::title(schema),
    }
}
