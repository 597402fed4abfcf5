//! JSON: payloads decoded to Arrow with the type of a JSON Schema, a given type, or an inferred one.
//!
//! | JSON Schema | column |
//! |---|---|
//! | `object` with `properties` | struct, in the order of the text; required → not null, unless null is allowed |
//! | `object` with `additionalProperties`, or one closed `patternProperties`, alone | map of strings |
//! | `array` with `items` for all of them | list |
//! | `string`, whatever `format` | string |
//! | `integer`, `number`, `boolean` | 64 bit integer, double, boolean |
//! | null beside another type | the other one, nullable |
//! | `enum`, `const` | the type of their values, if they have one in common |
//! | `allOf` | the schemas merged |
//! | `anyOf`, `oneOf` of the same type, or of conditions | that type |
//! | anything else: several types, no type, tuples, `$dynamicRef` | string with the JSON text as it was written |
//!
//! `if`, `not`, `dependentSchemas` and annotations change no type.
//!
//! - `json_schema` turns a JSON Schema into a field, `infer` turns samples into one; `document` is JSON in memory.
//! - `project` leaves out fields; `value_type` compiles a field; `column_type` labels the decoded arrays.
//! - `payload_decoder` decodes rows by the crate arrow-json; `row` passes them to it, read by `scanner`, `number`
//!   and `timestamp`; `keys` are those of an object so far.
//! - `encoder` writes rows.
//!
//! Invariants: nothing is converted silently. These are errors of their row: a second value, text that is not
//! JSON of RFC 8259 or not UTF-8, half a surrogate pair, a wrong type, a missing or null value where one is
//! required, a key of a column or map twice, a number beyond its type, and more than 128 levels in an unknown
//! value. Unknown keys are ignored, but must be JSON. Integers may have a form such as `1.0` or `1e2`; doubles are
//! rounded to the nearest. The writer's schema does not matter: JSON has no resolution of schemas.

mod column_type;
mod document;
mod encoder;
mod infer;
mod json_schema;
mod keys;
mod number;
mod payload_decoder;
mod project;
mod row;
mod scanner;
mod timestamp;
mod value_type;

use std::sync::Arc;

use arrow_schema::{DataType, Field};

pub(crate) use self::document::Document;
pub(crate) use self::encoder::JsonEncoder;
pub use self::infer::infer_json_field;
use self::payload_decoder::JsonPayloadDecoder;
pub use self::timestamp::{date as parse_date, timestamp as parse_timestamp};
use self::value_type::ValueType;
use crate::error::SchemaError;
use crate::limits::SchemaLimits;
use crate::payloads::{PayloadDecoder, ReaderSchema};
use crate::projection::Selection;
use crate::registered_schema::RegisteredSchema;

/// A compiled reader's type.
#[derive(Debug)]
pub(crate) struct JsonReader {
    value_type: Arc<ValueType>,
    data_type: DataType,
}

const FORMAT: &str = "JSON";

fn invalid(reason: impl Into<String>) -> SchemaError {
    SchemaError::Invalid { format: FORMAT, reason: reason.into() }
}

fn unsupported(reason: impl Into<String>) -> SchemaError {
    SchemaError::Unsupported { format: FORMAT, reason: reason.into() }
}

impl JsonReader {
    /// Compiles the selected part of a JSON Schema.
    pub(crate) fn compile(
        schema: &RegisteredSchema,
        selection: &Selection,
        limits: &SchemaLimits,
    ) -> Result<Self, SchemaError> {
        Self::of_field(&json_schema::column_field(schema, limits)?, selection, limits)
    }

    /// Compiles the selected part of the field of a column.
    pub(crate) fn of_field(
        field: &Field,
        selection: &Selection,
        limits: &SchemaLimits,
    ) -> Result<Self, SchemaError> {
        let field = project::project(field, selection)?;
        let value_type = Arc::new(ValueType::compile(&field, limits)?);
        Ok(Self { value_type, data_type: column_type::plain_type(field.data_type()) })
    }

    /// The decoder of payloads, whoever wrote them.
    pub(crate) fn decoder(&self) -> Box<dyn PayloadDecoder> {
        Box::new(JsonPayloadDecoder::new(&self.value_type, &self.data_type))
    }
}

impl ReaderSchema for JsonReader {
    fn data_type(&self) -> &DataType {
        &self.data_type
    }

    fn row_bytes(&self) -> usize {
        self.value_type.width
    }

    fn writer(&self, _: &RegisteredSchema) -> Result<Box<dyn PayloadDecoder>, SchemaError> {
        Ok(self.decoder())
    }
}
