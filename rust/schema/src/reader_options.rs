//! What a column is decoded to, and how much of it at once.

use std::sync::Arc;

use arrow_schema::Field;

use crate::limits::SchemaLimits;
use crate::projection::Projection;
use crate::registered_schema::RegisteredSchema;

/// Where the type of a column comes from.
#[derive(Debug, Clone, Copy)]
pub enum ReaderSource<'a> {
    /// A reader's schema.
    Schema(&'a RegisteredSchema),
    /// The type of a field, for JSON.
    ///
    /// Timestamps and dates are texts of RFC 3339, timestamps without an offset in UTC; with a time zone in the
    /// type, the offset is required. Decimals are exact, also as strings. Strings with the extension type
    /// `arrow.json` become the JSON text of any value.
    JsonType(&'a Field),
}

/// Which part of the values a column has, and how many bytes a batch of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReaderOptions {
    /// With Protobuf, the full name of the message, with its package. Default: the schema's first one.
    pub message: Option<Arc<str>>,
    /// The fields. Default: all. The others are passed over: their values are not checked, apart from where they
    /// end, and it is no error if they are missing.
    pub projection: Option<Arc<Projection>>,
    /// What the schemas may multiply.
    pub limits: SchemaLimits,
}
