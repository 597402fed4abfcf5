//! JSON from Arrow's values: compact, with the keys in the order of the type.
//!
//! - `compile` turns a type and that of a column into a tree of `step`s; `write` runs them.
//!
//! The writer of the crate arrow-json is not used: it writes NaN as null, leaves out entries of maps and required keys
//! that are null, writes `ERROR` for a time beyond its range, and JSON text as a string; it has no errors of rows.
//! Strings and numbers are written by serde_json.
//!
//! - A null is left out of its object, since a schema that does not require a key seldom allows null for it. It is
//!   written if the schema requires the key, and in lists and maps.
//! - A decimal is a number with all of its digits. Dates and timestamps are texts of RFC 3339, of the years 0 to 9999;
//!   timestamps have a fraction if it is not zero, and end with `Z` if their type has a time zone.
//! - JSON text is written as it is, after a check.
//! - NaN and infinity are errors.
//!
//! Only types are checked, as when decoding: a value that is beyond a `minimum`, a `pattern` or an `enum` of its
//! schema is written.
//!
//! Invariant: what is written is decoded to the same value.

mod compile;
mod step;
mod write;

use arrow_schema::{DataType, Field};

use self::step::WriteStep;
use super::{FORMAT, JsonReader, json_schema};
use crate::error::SchemaError;
use crate::limits::SchemaLimits;
use crate::payload_encoder::PayloadEncoder;
use crate::projection::Selection;
use crate::registered_schema::RegisteredSchema;
use crate::row_failure::RowFailure;
use crate::source::Source;

/// The prefix of the paths in error messages.
const ROOT: &str = "$";

/// The encoder of a type for columns of another one.
#[derive(Debug)]
pub(crate) struct JsonEncoder {
    step: WriteStep,
}

impl JsonEncoder {
    /// Compiles a JSON Schema.
    pub(crate) fn compile(
        schema: &RegisteredSchema,
        limits: &SchemaLimits,
        data_type: &DataType,
    ) -> Result<Self, SchemaError> {
        Self::of_field(&json_schema::column_field(schema, limits)?, limits, data_type)
    }

    /// Compiles a field.
    pub(crate) fn of_field(
        field: &Field,
        limits: &SchemaLimits,
        data_type: &DataType,
    ) -> Result<Self, SchemaError> {
        let reader = JsonReader::of_field(field, &Selection::All, limits)?;
        let step = compile::compile(&reader.value_type, &reader.data_type, data_type);
        let step = step.map_err(|failure| SchemaError::column(FORMAT, &failure, ROOT))?;
        Ok(Self { step })
    }
}

impl PayloadEncoder for JsonEncoder {
    fn encode(&self, source: &Source, row: usize, out: &mut Vec<u8>) -> Result<(), RowFailure> {
        self.step.run(source, row, out)
    }

    fn root(&self) -> &'static str {
        ROOT
    }
}
