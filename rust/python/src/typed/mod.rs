//! Formats of keys and values with a schema: `ColumnFormat` and its classes, and their use as arguments.

mod arrow_type;
mod avro_objects;
mod column_format;
mod column_value;
mod decode_mode;
mod encoding;
mod formats;
mod json_inference;
mod json_validation;
mod limits_arg;
mod named;
mod objects;
mod printed_text;
mod registry_arg;
mod schema_arg;
mod schema_id_header;
mod subject_strategy;

pub(crate) use arrow_type::ArrowType;
pub(crate) use column_format::{ColumnFormat, batch_encoders, typed_columns};
pub(crate) use column_value::{column_value, field_value};
pub(crate) use decode_mode::DeadLettersCore;
pub(crate) use encoding::BatchEncoders;
pub(crate) use formats::{Avro, Json, Protobuf};
pub(crate) use json_inference::infer_json;
pub(crate) use limits_arg::{check_schema_limits, schema_limit_rows};
pub(crate) use printed_text::encode_printed;
pub(crate) use schema_id_header::{SchemaIdHeader, SchemaIdHeaders};
