//! Avro: payloads of many writers' schemas, decoded to Arrow with one reader's schema.
//!
//! - `normalise` makes a schema self-contained, with full names, and refuses what has no columns;
//!   `logical_type` keeps the logical types that have columns.
//! - `payload_decoder` decodes the payloads of one writer, by the crate arrow-avro.
//! - `column_types` turns its columns into those that Spark, pandas and polars can hold.
//!
//! Invariant: the type of the column depends on the reader's schema alone.

mod column_types;
mod logical_type;
mod normalise;
mod payload_decoder;

use std::sync::Arc;

use arrow_schema::DataType;

use self::normalise::{Role, normalise};
use self::payload_decoder::AvroPayloadDecoder;
use crate::error::SchemaError;
use crate::payloads::{PayloadDecoder, ReaderSchema};
use crate::registered_schema::RegisteredSchema;

/// A compiled reader's schema.
#[derive(Debug, Clone)]
pub(crate) struct AvroReader {
    schema: Arc<str>,
    data_type: DataType,
}

const FORMAT: &str = "Avro";

fn invalid(reason: impl Into<String>) -> SchemaError {
    SchemaError::Invalid { format: FORMAT, reason: reason.into() }
}

fn unsupported(reason: impl Into<String>) -> SchemaError {
    SchemaError::Unsupported { format: FORMAT, reason: reason.into() }
}

fn incompatible(reason: impl Into<String>) -> SchemaError {
    SchemaError::Incompatible { format: FORMAT, reason: reason.into() }
}

impl AvroReader {
    /// Compiles a reader's schema.
    pub(crate) fn compile(schema: &RegisteredSchema) -> Result<Self, SchemaError> {
        let text: Arc<str> = normalise(schema, Role::Reader)?.into();
        let data_type = payload_decoder::data_type(&text)?;
        Ok(Self { schema: text, data_type })
    }
}

impl ReaderSchema for AvroReader {
    fn data_type(&self) -> &DataType {
        &self.data_type
    }

    fn writer(&self, schema: &RegisteredSchema) -> Result<Box<dyn PayloadDecoder>, SchemaError> {
        let text = normalise(schema, Role::Writer)?;
        Ok(Box::new(AvroPayloadDecoder::new(&text, &self.schema, &self.data_type)?))
    }
}
