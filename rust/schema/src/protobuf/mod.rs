//! Protobuf: decodes payloads of many writers' schemas to Arrow with one message of the reader's schema.
//!
//! - `compile` turns the text of a schema into descriptors with the crates protox and prost-reflect, after `nesting`
//!   has checked it; `descriptor_files` creates schemas from serialized descriptors.
//! - `plan` creates the columns of a message. They are implemented in `column`, `storage`, `scalar`, `enumeration`,
//!   `time` and `json`, and read the wire format (`input`) directly.
//! - `writer_messages`, with `message_indexes`, finds the message of a payload; `payload_decoder` decodes the payloads
//!   of one writer.
//! - `encoder` writes payloads from columns (`output`).
//!
//! | Protobuf | column |
//! |---|---|
//! | bool, float, double, string, bytes | Boolean, Float32, Float64, Utf8, Binary |
//! | int32, sint32, sfixed32; int64, sint64, sfixed64 | Int32; Int64 |
//! | uint32, fixed32; uint64, fixed64 | Int64; Decimal128(20, 0), because Spark and others have no unsigned types |
//! | an enum | Utf8: the name, or the decimal text of a number without one |
//! | a message or group; a message without fields | Struct; Boolean, true if it is set |
//! | repeated; map | List; Map: fields, items, keys and values are not nullable |
//! | `Timestamp`, `Duration` | Timestamp(µs, UTC), Duration(µs); out of range is an error |
//! | wrappers (`Int32Value` …) | the nullable value |
//! | `Struct`, `Value`, `ListValue` | Utf8: JSON text |
//! | `Any` and other Google messages | like any message |
//!
//! A field with presence is nullable, and null if it is unset, whatever its default is. A field without presence has
//! its default if it is unset. A required proto2 field is not nullable; a row without it is an error. The fields of a
//! oneof are nullable fields of the message. Extensions and unselected fields are treated as unknown fields. Editions
//! are not supported, nor are recursive messages unless the recursive fields are unselected.
//!
//! Invariants:
//! - The type of the column depends only on the reader's schema, message and selection.
//! - The writer's schema only identifies the message of a payload. The data is read by the field numbers of the
//!   reader's schema. A field with an unknown number or another wire type is skipped.
//! - The size of a payload bounds its time and memory (`failure`), and the shape of a schema bounds every recursion.

mod built_in_files;
mod column;
mod compile;
mod descriptor_files;
mod encoder;
mod enumeration;
mod failure;
mod input;
mod json;
mod message_indexes;
mod message_name;
mod nesting;
mod output;
mod payload_decoder;
mod plan;
mod scalar;
mod storage;
mod time;
mod writer_messages;

use std::sync::{Arc, Mutex};

use arrow_schema::DataType;
use prost_reflect::{FileDescriptor, MessageDescriptor};

pub(crate) use self::encoder::ProtobufEncoder;
use self::payload_decoder::{ProtobufPayloadDecoder, Rows};
use self::writer_messages::{MessagePrefix, WriterMessages};
use crate::error::SchemaError;
use crate::limits::SchemaLimits;
use crate::payloads::{PayloadDecoder, ReaderSchema};
use crate::projection::Selection;
use crate::registered_schema::RegisteredSchema;
use crate::wire_format::WireFormat;

const FORMAT: &str = "Protobuf";

fn invalid(reason: impl Into<String>) -> SchemaError {
    SchemaError::Invalid { format: FORMAT, reason: reason.into() }
}

fn unsupported(reason: impl Into<String>) -> SchemaError {
    SchemaError::Unsupported { format: FORMAT, reason: reason.into() }
}

/// Compiles a schema with its references, within the limits on its nesting and files. Returns its own file.
///
/// # Errors
/// The schema is invalid, or of an edition.
pub fn protobuf_file(schema: &RegisteredSchema) -> Result<FileDescriptor, SchemaError> {
    compile::compile(schema)
}

/// A compiled reader's schema.
#[derive(Debug)]
pub(crate) struct ProtobufReader {
    schema: RegisteredSchema,
    file: FileDescriptor,
    /// The full name of the message.
    message: String,
    /// How a payload identifies its message.
    prefix: Option<MessagePrefix>,
    data_type: DataType,
    row_bytes: usize,
    rows: Arc<Mutex<Rows>>,
}

impl ProtobufReader {
    /// Compiles the selected part of a message of a reader's schema. Without a full name, it is the first message.
    pub(crate) fn compile(
        schema: &RegisteredSchema,
        message: Option<&str>,
        selection: &Selection,
        wire_format: WireFormat,
        limits: &SchemaLimits,
    ) -> Result<Self, SchemaError> {
        let file = compile::compile(schema)?;
        let message = find_message(&file, message)?;
        let columns = plan::plan(&message, selection, limits)?;
        Ok(Self {
            schema: schema.clone(),
            message: message.full_name().to_owned(),
            prefix: MessagePrefix::of(wire_format),
            data_type: columns.data_type(),
            row_bytes: columns.width(),
            rows: Arc::new(Mutex::new(Rows::new(columns))),
            file,
        })
    }
}

/// Returns the full name of a message, by default the first one.
pub(crate) fn message_name(
    schema: &RegisteredSchema,
    message: Option<&str>,
) -> Result<Arc<str>, SchemaError> {
    Ok(find_message(&compile::compile(schema)?, message)?.full_name().into())
}

/// The messages of a writer's schema, any of which a payload may be.
#[derive(Debug)]
pub(crate) struct PayloadMessages(WriterMessages);

impl PayloadMessages {
    /// Compiles the schema of a writer whose payloads identify their message.
    pub(crate) fn new(schema: &RegisteredSchema, wire_format: WireFormat) -> Result<Self, SchemaError> {
        let prefix = MessagePrefix::of(wire_format);
        let prefix = prefix.ok_or_else(|| unsupported("payloads do not say which message they are"))?;
        Ok(Self(WriterMessages::new(&compile::compile(schema)?, "", prefix)))
    }

    /// The full name of the message that a payload is.
    pub(crate) fn message_of(&self, bytes: &[u8], header: Option<&[u8]>) -> Result<&str, String> {
        self.0.message_of(bytes, header)
    }
}

fn find_message(file: &FileDescriptor, name: Option<&str>) -> Result<MessageDescriptor, SchemaError> {
    let Some(name) = name else {
        return file.messages().next().ok_or_else(|| unsupported("it has no message"));
    };
    let found = file.parent_pool().get_message_by_name(name).filter(|message| !message.is_map_entry());
    found.ok_or_else(|| {
        let names: Vec<_> = file.messages().take(10).map(|message| message.full_name().to_owned()).collect();
        invalid(format!("it has no message {name}; its first ones are {}", names.join(", ")))
    })
}

impl ReaderSchema for ProtobufReader {
    fn data_type(&self) -> &DataType {
        &self.data_type
    }

    fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    fn writer(&self, schema: &RegisteredSchema) -> Result<Box<dyn PayloadDecoder>, SchemaError> {
        let messages = match self.prefix {
            Some(prefix) if *schema == self.schema => {
                Some(WriterMessages::new(&self.file, &self.message, prefix))
            }
            Some(prefix) => Some(WriterMessages::new(&compile::compile(schema)?, &self.message, prefix)),
            None => None,
        };
        Ok(Box::new(ProtobufPayloadDecoder::new(Arc::clone(&self.rows), messages)))
    }
}
