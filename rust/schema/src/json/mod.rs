//! JSON: decodes payloads to Arrow with the type of a JSON Schema, a given type, or an inferred type.
//!
//! | JSON Schema | column |
//! |---|---|
//! | `object` with `properties` | struct, in the order of the text; required → not null, unless null is allowed |
//! | `object` with `additionalProperties`, or one closed `patternProperties`, alone | map of strings |
//! | `array` with `items` for all of them | list |
//! | `string`, whatever `format` | string |
//! | `integer`, `number`, `boolean` | 64 bit integer, double, boolean |
//! | null and another type | the other type, nullable |
//! | `enum`, `const` | the type of their values, if they have one in common |
//! | `allOf` | the schemas merged |
//! | `anyOf`, `oneOf` of the same type, or of conditions | that type |
//! | anything else: several types, no type, tuples, `$dynamicRef` | string with the original JSON text |
//!
//! `if`, `not`, `dependentSchemas` and annotations do not affect the type.
//!
//! - `json_schema` turns a JSON Schema into a field, and `infer` turns samples into one. `document` is parsed JSON.
//! - `project` removes unselected fields; `value_type` compiles a field; `column_type` is the type of its column.
//! - `payload_decoder` decodes rows. `row` appends values to `column`, which `scanner`, `number` and `timestamp` have
//!   read; `keys` tracks the keys of an object.
//! - `encoder` writes rows.
//!
//! Invariants: nothing is converted silently. These are errors of their row: a second value, text that is not RFC 8259
//! JSON or not UTF-8, half a surrogate pair, a wrong type, a missing or null value where one is required, a duplicate
//! key of a column or map, a number out of the range of its type, and more than 128 levels in an unknown value. Unknown
//! keys are ignored, but their values must be valid JSON. Integers may be written as `1.0` or `1e2`. Doubles are
//! rounded to the nearest. The writer's schema does not matter, because JSON has no schema resolution.

mod column;
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

/// Returns the title of a schema.
pub(crate) fn title(schema: &RegisteredSchema) -> Result<Option<Arc<str>>, SchemaError> {
    let document = Document::parse(schema.text.as_bytes());
    let document = document.map_err(|reason| invalid(format!("it is not JSON: {reason}")))?;
    Ok(document.get("title").and_then(Document::as_str).map(Arc::from))
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

    /// Returns the decoder of payloads. It does not depend on the writer.
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
