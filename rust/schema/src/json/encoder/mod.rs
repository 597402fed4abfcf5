//! Encodes Arrow values as compact JSON, with the keys in the order of the type.
//!
//! - `compile` turns a JSON type and the type of a column into a tree of `step`s; `write` runs the steps.
//!
//! This module does not use the writer of the crate arrow-json: it turns NaN into null, omits map entries and
//! required keys that are null, writes `ERROR` for a time out of range, and writes JSON text as a string. It also
//! cannot report errors of single rows. serde_json writes the strings and numbers.
//!
//! - A null is omitted from its object, since a schema that does not require a key rarely allows null for it. A null is
//!   written if the schema requires the key, and in lists and maps.
//! - A decimal is a number with all of its digits. Dates and timestamps are RFC 3339 strings, for the years 0 to 9999.
//!   Timestamps have a fraction unless it is zero, and end with `Z` if their type has a time zone.
//! - JSON text is validated and then written unchanged.
//! - NaN and infinity are errors.
//!
//! The encoder, like the decoder, only checks types: it writes a value that violates a `minimum`, a `pattern` or an
//! `enum` of its schema.
//!
//! Invariant: the decoder reads an encoded value back as the same value.

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

/// The encoder of a JSON type for columns of one type.
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
