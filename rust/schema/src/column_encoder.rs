//! A column of Arrow's values, encoded to the payloads of one schema: the counterpart of `ColumnDecoder`.
//!
//! A schema and the type of a column are compiled once: structs are matched by the names of their fields, and each
//! type becomes a step. Payloads are then written row by row.
//!
//! Invariants: a row is encoded, null because it was null, or null with an error; one row's error changes no
//! other row. Nothing is converted with a loss: a value that its type does not hold is an error of its row, and a
//! column whose type could only be converted by a guess is refused.

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
    /// The payloads, each with the prefix. A null row has a null payload.
    pub payloads: BinaryArray,
    /// The rows that could not be encoded, in order; their payloads are null, too.
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
    /// Creates an encoder of columns of a type. With Protobuf, payloads are the schema's first message.
    ///
    /// # Errors
    /// The schema is invalid, has no column type, or another one than the column.
    pub fn new(schema: &RegisteredSchema, data_type: &DataType) -> Result<Self, SchemaError> {
        Self::with_message(ReaderSource::Schema(schema), None, &SchemaLimits::default(), data_type)
    }

    /// Creates an encoder of a message of a schema, by its full name; or of JSON of a type, without a schema:
    /// what a decoder decodes to that type.
    ///
    /// # Errors
    /// The schema is invalid, has no such message or no column type, or another one than the column.
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

    /// What comes before a payload of Protobuf to say which message it is, in this format; empty with other schemas.
    /// See [`WireFormat::prefix`].
    #[must_use]
    pub fn message_prefix(&self, wire_format: WireFormat) -> Vec<u8> {
        self.encoder.message_prefix(wire_format)
    }

    /// Encodes a column. Each payload begins with the prefix.
    ///
    /// # Errors
    /// The column is of another type, or the payloads have more than 2 GiB together.
    pub fn encode(&self, array: &dyn Array, prefix: &[u8]) -> Result<EncodedColumn, ArrowError> {
        if *array.data_type() != self.data_type {
            return Err(ArrowError::InvalidArgumentError(format!(
                "the encoder is for columns of the type {}, and not {}",
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

/// The payloads up to a row exceed an array.
#[cold]
fn overflow(row: usize) -> ArrowError {
    ArrowError::InvalidArgumentError(format!(
        "the payloads of rows 0 to {row} have more than 2 GiB: encode fewer rows at once"
    ))
}

fn schema_type(source: ReaderSource<'_>) -> SchemaType {
    match source {
        ReaderSource::Schema(schema) => schema.schema_type,
        ReaderSource::JsonType(_) => SchemaType::Json,
    }
}

/// The type of the columns that a schema is decoded to, which is also encoded without any conversion. With Protobuf
/// it is that of a message by its full name, or of the schema's first message.
///
/// # Errors
/// The schema is invalid, or has no column type.
pub fn column_type(
    source: ReaderSource<'_>,
    message: Option<&str>,
    limits: &SchemaLimits,
) -> Result<DataType, SchemaError> {
    let options = ReaderOptions { message: message.map(Arc::from), limits: *limits, projection: None };
    let decoder = ColumnDecoder::with_options(source, &options, WireFormat::None, Header::Value)?;
    Ok(decoder.data_type().clone())
}
