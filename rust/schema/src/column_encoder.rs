//! A column of Arrow values, encoded to payloads of one schema: the counterpart of `ColumnDecoder`.
//!
//! A schema and the type of a column are compiled once: structs are matched by the names of their fields, and each
//! type becomes a step. Payloads are then written row by row.
//!
//! Invariants: a row is encoded, null because it was null, or null with an error; one row's error changes no other
//! row. No conversion loses data: a value that the schema's type cannot hold is an error of its row, and a column
//! whose type could only be converted by guessing is refused.

use std::fmt;
use std::sync::Arc;

use arrow_array::{Array, BinaryArray};
use arrow_buffer::{Buffer, NullBufferBuilder, OffsetBuffer};
use arrow_schema::{ArrowError, DataType};

use crate::avro::AvroEncoder;
use crate::column_decoder::{ColumnDecoder, check_protobuf};
use crate::error::{RowError, SchemaError};
use crate::header::Header;
use crate::json::JsonEncoder;
use crate::limits::SchemaLimits;
use crate::payload_encoder::PayloadEncoder;
use crate::protobuf::ProtobufEncoder;
use crate::reader_options::{ReaderOptions, ReaderSource};
use crate::registered_schema::{RegisteredSchema, SchemaType};
use crate::source::Source;
use crate::wire_format::WireFormat;

/// An encoded column.
#[derive(Debug)]
pub struct EncodedColumn {
    /// The payloads, each after the prefix. A null row has a null payload.
    pub payloads: BinaryArray,
    /// The rows that could not be encoded, in order. Their payloads are null.
    pub errors: Vec<RowError>,
}

/// The encoder of a column.
pub struct ColumnEncoder {
    encoder: Box<dyn PayloadEncoder>,
    data_type: DataType,
}

impl fmt::Debug for ColumnEncoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ColumnEncoder").field("type", &self.data_type).finish_non_exhaustive()
    }
}

impl ColumnEncoder {
    /// Creates an encoder for columns of a type. For Protobuf, the payloads are the schema's first message.
    ///
    /// # Errors
    /// The schema is invalid, has no column type, or does not match the type of the column.
    pub fn new(schema: &RegisteredSchema, data_type: &DataType) -> Result<Self, SchemaError> {
        Self::with_message(ReaderSource::Schema(schema), None, &SchemaLimits::default(), data_type)
    }

    /// Creates an encoder for one message of a schema, given by its full name, or for JSON of a given type without a
    /// schema. A decoder reads such JSON back to the same type.
    ///
    /// # Errors
    /// The schema is invalid, has no such message or no column type, or does not match the type of the column.
    pub fn with_message(
        source: ReaderSource<'_>,
        message: Option<&str>,
        limits: &SchemaLimits,
        data_type: &DataType,
    ) -> Result<Self, SchemaError> {
        let limits = &limits.bounded();
        if message.is_some() {
            check_protobuf(schema_type(source))?;
        }
        let encoder: Box<dyn PayloadEncoder> = match source {
            ReaderSource::JsonType(field) => Box::new(JsonEncoder::of_field(field, limits, data_type)?),
            ReaderSource::Schema(schema) => match schema.schema_type {
                SchemaType::Avro => Box::new(AvroEncoder::compile(schema, limits, data_type)?),
                SchemaType::Protobuf => {
                    Box::new(ProtobufEncoder::compile(schema, message, limits, data_type)?)
                }
                SchemaType::Json => Box::new(JsonEncoder::compile(schema, limits, data_type)?),
            },
        };
        Ok(Self { encoder, data_type: data_type.clone() })
    }

    /// The type of the columns.
    #[must_use]
    pub fn data_type(&self) -> &DataType {
        &self.data_type
    }

    /// Returns the bytes that identify the message before a Protobuf payload in this format. Empty for other schemas.
    /// See [`WireFormat::prefix`].
    #[must_use]
    pub fn message_prefix(&self, wire_format: WireFormat) -> Vec<u8> {
        self.encoder.message_prefix(wire_format)
    }

    /// Encodes a column. Each payload begins with the prefix.
    ///
    /// # Errors
    /// The column has another type, or the payloads exceed 2 GiB in total.
    pub fn encode(&self, array: &dyn Array, prefix: &[u8]) -> Result<EncodedColumn, ArrowError> {
        if *array.data_type() != self.data_type {
            return Err(ArrowError::InvalidArgumentError(format!(
                "the encoder is for columns of type {}, not {}",
                self.data_type,
                array.data_type()
            )));
        }
        let source = Source::new(array)?;
        let rows = array.len();
        let mut bytes = Vec::new();
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        let mut nulls = NullBufferBuilder::new(rows);
        let mut errors = Vec::new();
        for row in 0..rows {
            let start = bytes.len();
            let encoded = match source.is_null(row) {
                true => None,
                false => {
                    bytes.extend_from_slice(prefix);
                    Some(self.encoder.encode(&source, row, &mut bytes))
                }
            };
            match encoded {
                Some(Ok(())) => nulls.append_non_null(),
                Some(Err(failure)) if failure.is_full() => return Err(overflow(row)),
                Some(Err(failure)) => {
                    bytes.truncate(start);
                    let reason = failure.describe(self.encoder.root());
                    errors.push(RowError { row, schema_id: None, reason });
                    nulls.append_null();
                }
                None => nulls.append_null(),
            }
            offsets.push(i32::try_from(bytes.len()).map_err(|_| overflow(row))?);
        }
        let offsets = OffsetBuffer::new(offsets.into());
        let payloads = BinaryArray::try_new(offsets, Buffer::from_vec(bytes), nulls.finish())?;
        Ok(EncodedColumn { payloads, errors })
    }
}

/// The error for payloads that do not fit into one array, up to a row.
#[cold]
fn overflow(row: usize) -> ArrowError {
    ArrowError::InvalidArgumentError(format!(
        "the payloads of rows 0 to {row} exceed 2 GiB: encode fewer rows at once"
    ))
}

fn schema_type(source: ReaderSource<'_>) -> SchemaType {
    match source {
        ReaderSource::Schema(schema) => schema.schema_type,
        ReaderSource::JsonType(_) => SchemaType::Json,
    }
}

/// Returns the type of the columns that a schema decodes to. Columns of this type are encoded without conversion. For
/// Protobuf, it is the type of a message, given by its full name, or of the schema's first message.
///
/// # Errors
/// The schema is invalid, or has no column type.
pub fn column_type(
    source: ReaderSource<'_>,
    message: Option<&str>,
    limits: &SchemaLimits,
) -> Result<DataType, SchemaError> {
    let options = ReaderOptions { message: message.map(Arc::from), limits: *limits, ..Default::default() };
    let decoder = ColumnDecoder::with_options(source, &options, WireFormat::None, Header::Value)?;
    Ok(decoder.data_type().clone())
}
