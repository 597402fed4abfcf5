//! The target type of a decoded column, and how much of it is decoded at once.

use std::sync::Arc;

use arrow_schema::Field;

use crate::limits::SchemaLimits;
use crate::projection::Projection;
use crate::registered_schema::RegisteredSchema;

/// The source of a column's type.
#[derive(Debug, Clone, Copy)]
pub enum ReaderSource<'a> {
    /// A reader's schema.
    Schema(&'a RegisteredSchema),
    /// The type of a field, for JSON without a schema.
    ///
    /// Timestamps and dates are RFC 3339 strings. A timestamp without an offset is in UTC; if the type has a time zone,
    /// the offset is required. Decimals are exact, and may be numbers or strings. A string field with the extension
    /// type `arrow.json` holds the JSON text of any value.
    JsonType(&'a Field),
}

/// The part of the values that a column holds, and the limits of a batch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReaderOptions {
    /// For Protobuf, the full name of the message, with its package. Default: the schema's first message.
    pub message: Option<Arc<str>>,
    /// The selected fields. Default: all. The decoder skips the others: it only finds where their values end, does not
    /// check them, and accepts data that lacks them.
    pub projection: Option<Arc<Projection>>,
    /// The limits on what the schemas multiply.
    pub limits: SchemaLimits,
    /// Whether the values of a recursive schema of Avro, which has no columns, are bytes that
    /// [`AvroObjects`](crate::AvroObjects) decodes. Those of other schemas are not affected.
    pub objects: bool,
}
