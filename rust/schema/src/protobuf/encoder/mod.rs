//! Protobuf from Arrow's values.
//!
//! - `compile` turns a message and the type of a column into a tree of `step`s.
//! - `write` runs them; `json` writes `Struct`, `Value` and `ListValue` from their text.
//!
//! Fields are written in the order of their numbers, so that the same row always becomes the same bytes. As in
//! Google's libraries:
//!
//! - A field without presence is left out if it has its default, and so is one that is null or that the column lacks,
//!   as in the JSON form of Protobuf. An empty list or map is left out; a null item or value in it is an error.
//! - A field with presence is written if it is not null. A required one must be there. Of a oneof at most one is set.
//! - The entries of maps have their key and their value even if these are the defaults; −0.0 is no default.
//! - A message without fields is a boolean: true if it is set, and false or null if not.
//! - An enum is the name or the number of a value, as text or as an integer.
//!
//! Invariant: what is written is decoded to the same value, but for nanoseconds, which the decoder cuts off.

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

/// The encoder of a message for columns of one type.
#[derive(Debug)]
pub(crate) struct ProtobufEncoder {
    step: MessageStep,
    file: FileDescriptor,
    /// The full name of the message.
    message: String,
}

impl ProtobufEncoder {
    /// Without a full name, the schema's first message is encoded.
    pub(crate) fn compile(
        schema: &RegisteredSchema,
        message: Option<&str>,
        limits: &SchemaLimits,
        data_type: &DataType,
    ) -> Result<Self, SchemaError> {
        // A message that has no columns cannot be encoded from them, either.
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
