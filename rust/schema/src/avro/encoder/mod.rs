//! Avro from Arrow's values.
//!
//! - `compile` turns a schema and the type of a column into a tree of `step`s.
//! - `write` runs them.
//!
//! A field of a record that the column lacks has its default. A column of a union of several types is the struct that
//! the decoder makes of it: exactly one of its members is not null, or none, if the union has null.
//!
//! Values that Avro's Java library would write in several ways have one form here: an array or a map is one block, and
//! a decimal has as few bytes as its number needs, as Java's have.
//!
//! Invariant: what is written is decoded to the same value.

mod compile;
mod step;
mod write;

use arrow_schema::DataType;

use self::step::WriteStep;
use super::{AvroReader, FORMAT};
use crate::error::SchemaError;
use crate::limits::SchemaLimits;
use crate::payload_encoder::PayloadEncoder;
use crate::projection::Selection;
use crate::registered_schema::RegisteredSchema;
use crate::row_failure::RowFailure;
use crate::source::Source;

/// What the places of failures begin with.
const ROOT: &str = "field ";

/// The encoder of a schema for columns of one type.
#[derive(Debug)]
pub(crate) struct AvroEncoder {
    step: WriteStep,
}

impl AvroEncoder {
    pub(crate) fn compile(
        schema: &RegisteredSchema,
        limits: &SchemaLimits,
        data_type: &DataType,
    ) -> Result<Self, SchemaError> {
        // A schema that has no columns cannot be encoded from them, either.
        let AvroReader { schema, .. } = AvroReader::compile(schema, &Selection::All, limits)?;
        let step = compile::compile(&schema, limits.default_bytes, data_type);
        let step = step.map_err(|failure| SchemaError::column(FORMAT, &failure, ROOT))?;
        Ok(Self { step })
    }
}

impl PayloadEncoder for AvroEncoder {
    fn encode(&self, source: &Source, row: usize, out: &mut Vec<u8>) -> Result<(), RowFailure> {
        self.step.run(source, row, out)
    }

    fn root(&self) -> &'static str {
        ROOT
    }
}
