//! Encodes Arrow values as Protobuf.
//!
//! - `compile` turns a message and the type of a column into a tree of `step`s.
//! - `write` runs the steps; `json` writes `Struct`, `Value` and `ListValue` from JSON text.
//!
//! Fields are written in the order of their numbers, so the same row always becomes the same bytes. As in Google's
//! libraries:
//!
//! - A field without presence is omitted if its value is the default. It is also omitted if it is null or missing in
//!   the column, as in Protobuf's JSON mapping. An empty list or map is omitted; a null item or map value is an error.
//! - A field with presence is written if it is not null. A required field must be set. At most one field of a oneof may
//!   be set.
//! - Map entries always have their key and their value, even if these are the defaults. −0.0 is not a default.
//! - A message without fields is a boolean: true if it is set, false or null if it is not.
//! - An enum value is given by its name or its number, as text or as an integer.
//!
//! Invariant: the decoder reads an encoded value back as the same value, except that it truncates nanoseconds.

mod compile;
mod json;
mod step;
mod write;

use arrow_schema::DataType;
use prost_reflect::FileDescriptor;

use self::step::MessageStep;
use super::writer_messages::{MessagePrefix, prefix_of};
use super::{FORMAT, ProtobufReader, find_message, unsupported};
use crate::error::SchemaError;
use crate::limits::SchemaLimits;
use crate::payload_encoder::PayloadEncoder;
use crate::projection::Selection;
use crate::registered_schema::RegisteredSchema;
use crate::row_failure::RowFailure;
use crate::source::{Source, Values};
use crate::wire_format::WireFormat;

/// The prefix of the paths in error messages.
const ROOT: &str = "field ";

/// The encoder of one message for columns of one type.
#[derive(Debug)]
pub(crate) struct ProtobufEncoder {
    step: MessageStep,
    file: FileDescriptor,
    /// The full name of the message.
    message: String,
}

impl ProtobufEncoder {
    /// Compiles the message with a full name, or the schema's first message if no name is given.
    pub(crate) fn compile(
        schema: &RegisteredSchema,
        message: Option<&str>,
        limits: &SchemaLimits,
        data_type: &DataType,
    ) -> Result<Self, SchemaError> {
        // A message that no column can represent cannot be encoded from columns either.
        let ProtobufReader { file, message, .. } =
            ProtobufReader::compile(schema, message, &Selection::All, WireFormat::None, limits)?;
        prefix_of(&file, &message, MessagePrefix::Indexes).ok_or_else(|| {
            unsupported(format!("the message {message} is in an imported file: encode it with that schema"))
        })?;
        let step = compile::compile(&find_message(&file, Some(&message))?, data_type);
        let step = step.map_err(|failure| SchemaError::column(FORMAT, &failure, ROOT))?;
        Ok(Self { step, file, message })
    }
}

impl PayloadEncoder for ProtobufEncoder {
    fn encode(&self, source: &Source, row: usize, out: &mut Vec<u8>) -> Result<(), RowFailure> {
        match &source.values {
            Values::Struct(columns) => self.step.run(columns, source.place(row), out),
            _ => Err(RowFailure::internal()),
        }
    }

    fn root(&self) -> &'static str {
        ROOT
    }

    fn message_prefix(&self, wire_format: WireFormat) -> Vec<u8> {
        let kind = MessagePrefix::of(wire_format);
        kind.and_then(|kind| prefix_of(&self.file, &self.message, kind)).unwrap_or_default()
    }
}
