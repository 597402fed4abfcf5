//! Conversions between Python's values and the core's, and the core's errors as Python exceptions.

pub(crate) mod arrow_builder;
pub(crate) mod arrow_value;
pub(crate) mod callback;
pub(crate) mod datetime;
pub(crate) mod decimal;
pub(crate) mod errors;
pub(crate) mod field_bytes;
pub(crate) mod item_errors;
pub(crate) mod last_topic;
pub(crate) mod mapping;
pub(crate) mod names;
pub(crate) mod nested_calls;
pub(crate) mod no_object;
pub(crate) mod notebook;
pub(crate) mod number;
pub(crate) mod offsets;
pub(crate) mod record_batch;
pub(crate) mod renamed;
pub(crate) mod rows;
pub(crate) mod text;
pub(crate) mod values;
