//! Encodes Arrow values as Avro.
//!
//! - `compile` turns a schema and the type of a column into a tree of `step`s.
//! - `write` runs the steps.
//!
//! A record field that the column lacks gets its default. A union of several types is encoded from the struct that the
//! decoder produces for it: at most one member is not null, and exactly one if the union has no null branch.
//!
//! Where Avro allows several encodings of a value, this encoder always writes the same one: an array or a map is one
//! block, and a decimal has as few bytes as its number needs, as in Java.
//!
//! Invariant: the decoder reads an encoded value back as the same value.

mod compile;
mod step;
mod write;

use arrow_schema::DataType;

pub(super) use self::compile::compile;
pub(super) use self::step::WriteStep;
use super::{AvroReader, FORMAT};
use crate::error::SchemaError;
use crate::limits::SchemaLimits;
use crate::payload_encoder::PayloadEncoder;
use crate::projection::Selection;
use crate::registered_schema::RegisteredSchema;
use crate::row_failure::RowFailure;
use crate::source::Source;

/// The prefix of the paths in error messages.
pub(super) const ROOT: &str = "field ";

/// The encoder of one schema for columns of one type.
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
        // A schema that no column can represent cannot be encoded from columns either.
        let AvroReader { schema, .. } = AvroReader::compile(schema, &Selection::All, limits)?;
        let step = compile(&schema, limits.default_bytes, data_type);
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
