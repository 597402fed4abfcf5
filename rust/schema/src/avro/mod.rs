//! Avro: decodes payloads of many writers' schemas to Arrow with one reader's schema.
//!
//! - `parse` builds a tree of `schema` types from the text of a schema, with `names` and the `definitions` of
//!   referenced schemas; `logical_type` keeps the logical types that have columns.
//! - `project` removes the fields that the column does not have; `column_type` is the column's type.
//! - `resolve`, with `default_value` and `aliases`, compiles a writer's and the reader's schema to a tree of steps
//!   (`step`, `skip_step`).
//! - `payload_decoder` runs the steps (`walk`, `skip`) over the bytes of each payload (`input`) and appends to `column`s.
//! - `encoder` writes payloads from columns (`output`).
//! - `recursive` reads and writes values of records within themselves, which have no columns, for objects.
//!
//! The decoder accepts and refuses the same data as Avro's own Java library, with these intended differences. A test
//! has the same list:
//!
//! - A schema is refused if an array's items take no bytes; a reader's schema also if it is recursive and its values are
//!   columns, or if it has a record without fields, a fixed type of no bytes, or a value that can only be null. Arrow
//!   has no such types, or such counts are unbounded.
//! - A row is refused if bytes are left after its value, if a text is not UTF-8, if a boolean is neither 0 nor 1,
//!   or if a number has more bits than its type: the payload is not of that schema.
//! - A row is refused if a decimal has more digits than its precision, or none at all, or if a duration has more
//!   than 2³¹ - 1 months or days: Arrow has no such values.
//! - A row is refused if a time of day is not within one day. Java reads the number, and refuses it only when it
//!   converts it to a `LocalTime`.
//! - A logical type is not read as one of another scale or unit, such as timestamps in milliseconds as timestamps
//!   in microseconds. Java keeps the number unchanged, so the value is wrong by a factor.
//! - A default that exceeds the range of its int or long is refused. Java truncates it.
//! - A name that both schemas use is the same field or type, even if it is also an alias of another one. Java assigns
//!   the value to the other one, and refuses a writer's schema that has both the alias and the name.
//! - The default of a union is a value of the first branch that it fits. Java looks only at the kind of JSON value: it
//!   takes an int for a fraction, and the first record, enum, array or map for any object, string or array.
//! - A map that has a key twice keeps both entries. Java keeps the last one.
//!
//! The decoder skips a field that is not selected: its bytes must be present, but its values are not checked, and the
//! writer's schema may lack the field or give it another type.
//!
//! Invariant: the type of the column depends on the reader's schema and the selection alone.

mod aliases;
mod column;
mod column_type;
mod default_value;
mod definitions;
mod encoder;
mod fault;
mod input;
mod logical_type;
mod names;
mod output;
mod parse;
mod parse_logical_type;
mod payload_decoder;
mod project;
mod recursive;
mod resolve;
mod schema;
mod skip;
mod skip_step;
mod step;
mod walk;

use std::sync::Arc;

use arrow_schema::DataType;
use serde_json::Value;

use self::aliases::Aliases;
use self::column::Column;
pub(crate) use self::encoder::AvroEncoder;
use self::parse::Recursive;
use self::payload_decoder::AvroPayloadDecoder;
pub(crate) use self::recursive::RecursiveReader;
pub use self::recursive::{AvroObjects, ObjectBuilder, ObjectSource};
use self::schema::Schema;
use crate::error::SchemaError;
use crate::limits::{SchemaLimits, check_row_bytes};
use crate::payloads::{PayloadDecoder, ReaderSchema};
use crate::projection::Selection;
use crate::registered_schema::RegisteredSchema;

/// A compiled reader's schema.
#[derive(Debug, Clone)]
pub(crate) struct AvroReader {
    /// The schema with all of its fields.
    whole: Schema,
    /// The selected part of the schema, which the column has.
    schema: Schema,
    aliases: Aliases,
    limits: SchemaLimits,
    data_type: DataType,
    is_nullable: bool,
    row_bytes: usize,
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

/// Returns the full name of a named type.
pub(crate) fn type_name(schema: &RegisteredSchema) -> Result<Option<Arc<str>>, SchemaError> {
    let root = definitions::parse_json(&schema.text)?;
    Ok(match &root {
        Value::Object(object) if object.get("type").is_some_and(definitions::is_named_type) => {
            Some(names::full_name(object, "")?.0.into())
        }
        // A name that a reference defines.
        Value::String(name) if schema::primitive(name).is_none() => Some(name.as_str().into()),
        _ => None,
    })
}

impl AvroReader {
    /// Compiles the selected part of a reader's schema.
    pub(crate) fn compile(
        schema: &RegisteredSchema,
        selection: &Selection,
        limits: &SchemaLimits,
    ) -> Result<Self, SchemaError> {
        let (whole, aliases) = parse::parse_reader(schema, Recursive::Refused, limits)?;
        let schema = project::project(&whole, selection)?;
        let (data_type, is_nullable) = column_type::column_type(&schema)?;
        let column = Column::new(&data_type, is_nullable, 0);
        let row_bytes = column.map_err(|error| unsupported(error.to_string()))?.width;
        check_row_bytes(row_bytes).map_err(unsupported)?;
        Ok(Self { whole, schema, aliases, limits: *limits, data_type, is_nullable, row_bytes })
    }
}

/// Parses a writer's schema for a reader.
fn writer_of(
    schema: &RegisteredSchema,
    reader: &Schema,
    aliases: &Aliases,
    limits: &SchemaLimits,
) -> Result<Schema, SchemaError> {
    let writer = parse::parse_writer(schema, &Aliases::default(), limits)?;
    // Within one schema, an alias may also be the name of another field.
    match aliases.is_empty() || writer.is_same(reader) {
        true => Ok(writer),
        false => parse::parse_writer(schema, aliases, limits),
    }
}

impl ReaderSchema for AvroReader {
    fn data_type(&self) -> &DataType {
        &self.data_type
    }

    fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    fn writer(&self, schema: &RegisteredSchema) -> Result<Box<dyn PayloadDecoder>, SchemaError> {
        // What is recursive is not in the reader's schema, and skipped.
        let writer = writer_of(schema, &self.whole, &self.aliases, &self.limits)?;
        let resolved = resolve::resolve(&writer, &self.schema, &self.limits)?;
        Ok(Box::new(AvroPayloadDecoder::new(resolved, self.data_type.clone(), self.is_nullable)))
    }
}
