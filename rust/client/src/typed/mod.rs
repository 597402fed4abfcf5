//! Typed columns: keys and values with a schema, decoded from the bytes of an Arrow batch.
//!
//! - [`SchemaLookup`]: where schemas come from; a schema registry implements it.
//! - [`TypedColumn`]: how keys or values are decoded, with the schemas that were looked up.
//! - [`TypedColumns`]: those of a batch; `typed_batch` replaces its columns.
//! - [`DeadLetters`]: rows that cannot be decoded, written to a topic.
//! - [`TypedRecords`]: the same for records that are taken one by one.
//! - [`PayloadValidator`]: what JSON Schema demands beyond types.
//! - [`TypedEncoder`]: the way back, from columns to the bytes of records.
//!
//! A batch is decoded in two steps: the schemas of its writers are looked up, which may wait, and then its rows
//! are decoded, which does not.
//!
//! Invariants: a row is decoded, null, written to a topic, or an error with topic, partition and offset. No row is passed over:
//! after an error the batch is kept, and the next call returns the error again.

mod batch_columns;
mod dead_letters;
mod dead_rows;
mod decoder;
mod payload_validator;
mod schema_lookup;
mod schema_rules;
mod subject_name;
mod typed_batch;
mod typed_column;
mod typed_encoder;
mod typed_records;

pub(crate) use batch_columns::offset;
pub use dead_letters::{DEAD_LETTER_HEADERS, DeadLetter, DeadLetterSink, DeadLetterTopic, DeadLetters};
pub(crate) use dead_rows::UnwrittenLetters;
pub(crate) use payload_validator::Unvalidated;
pub use payload_validator::{InvalidPayloads, PayloadValidator};
pub use schema_lookup::{FoundSchema, SchemaLookup, SubjectSchema, WriterSchema};
pub use subject_name::{SubjectName, SubjectNaming};
pub use typed_batch::{ERROR_COLUMN, InvalidFields, TypedColumns};
pub(crate) use typed_batch::{TypedOutcome, bytes_columns};
pub use typed_column::{DecodeMode, ReaderSchemaSource, TypedColumn, TypedColumnOptions, Validation};
pub use typed_encoder::{EncodedField, TopicEncoder, TypedEncoder, TypedEncoderOptions};
pub use typed_records::{FieldValue, TypedField, TypedRecords};
