//! Decodes keys and values with a schema to typed Arrow columns, and encodes them from such columns.
//!
//! - [`SchemaId`], [`WireFormat`]: how a record identifies the schema that it was written with.
//! - [`RegisteredSchema`]: a schema as a registry stores it.
//! - [`ColumnDecoder`], [`ColumnEncoder`]: from payloads to columns and back. [`column_type`] returns their type.
//! - [`copy_rows`], [`select_rows`]: some rows of columns, in any order.
//!
//! Invariant: no I/O and no clock. Schemas are passed in; the caller looks them up.

mod as_written;
mod avro;
mod budget;
mod column_assembly;
mod column_decoder;
mod column_encoder;
mod data_contract;
mod encoded_rows;
mod error;
mod finished_arrays;
mod header;
mod json;
mod limits;
mod new_schema;
mod payload_encoder;
mod payloads;
mod projection;
mod protobuf;
mod reader_options;
mod registered_schema;
mod row_copies;
mod row_failure;
mod row_groups;
mod rules;
mod schema_id;
mod schema_id_serializer;
mod shape;
mod source;
mod subject_context;
mod type_name;
mod wire_format;
mod writers;

pub use as_written::{AsWrittenDecoder, DecodedTypes, RowsOfType};
pub use avro::{AvroObjects, ObjectBuilder, ObjectSource};
pub use budget::DEFAULT_BATCH_BYTES;
pub use column_decoder::{ColumnDecoder, DecodedColumn};
pub use column_encoder::{ColumnEncoder, EncodedColumn, column_type};
pub use data_contract::DataContract;
pub use encoded_rows::{ArrowRows, EncodedRows};
pub use error::{RowError, SchemaError};
pub use header::Header;
pub use json::{infer_json_field, parse_date, parse_timestamp};
pub use limits::{BATCH_KEY, DEFAULT_KEY, FIXED_KEY, MAX_LIMIT, MAX_NAME_LIMIT, NAME_KEY, SchemaLimits};
pub use new_schema::{NewSchema, ReferenceName};
pub use projection::Projection;
pub use protobuf::protobuf_file;
pub use reader_options::{ReaderOptions, ReaderSource};
pub use registered_schema::{RegisteredSchema, SchemaReference, SchemaType};
pub use row_copies::{Place, copy_rows, select_rows};
pub use rules::{Rule, RulePhase, SchemaUse};
pub use schema_id::SchemaId;
pub use schema_id_serializer::{Framing, SchemaIdSerializer};
pub use subject_context::context_of;
pub use type_name::type_name;
pub use wire_format::{Framed, FramingError, WireFormat};
