//! [`ColumnsError`]: the reasons why columns cannot be sent.

use arrow_schema::DataType;
use ottla_protocol::records::RecordError;
use thiserror::Error;

/// Arrow columns that cannot become records.
#[derive(Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ColumnsError {
    /// A column's type does not fit its name.
    #[error("column {column:?} has type {found}; accepted: {accepted}")]
    Type {
        /// The column.
        column: &'static str,
        /// The column's type.
        found: DataType,
        /// The accepted types.
        accepted: &'static str,
    },
    /// The required column `value` is missing.
    #[error("there is no column \"value\"; there are: {found}")]
    MissingValue {
        /// The names of the columns.
        found: String,
    },
    /// A column that is not part of a record.
    #[error(
        "column {column:?} is not part of a record: expected value, key, headers, timestamp and partition; drop or rename it"
    )]
    Unknown {
        /// The column.
        column: String,
    },
    /// A column occurs more than once.
    #[error("column {column:?} occurs more than once")]
    Duplicate {
        /// The column.
        column: &'static str,
    },
    /// Keys and values differ in number.
    #[error("there are {keys} keys for {values} values")]
    LengthMismatch {
        /// The number of keys.
        keys: usize,
        /// The number of values.
        values: usize,
    },
    /// A struct array has null rows, which are not records.
    #[error("{nulls} rows are null; to send a null value, use a row whose value is null")]
    NullRows {
        /// The number of null rows.
        nulls: usize,
    },
    /// A header is null, or its key is.
    #[error("column \"headers\": row {row} has a null header or a header with a null key")]
    NullHeaderKey {
        /// The first such row.
        row: usize,
    },
    /// A timestamp has more milliseconds than a record can have.
    #[error("column \"timestamp\": row {row} is beyond 64 bits of milliseconds since 1970")]
    TimestampRange {
        /// The first such row.
        row: usize,
    },
    /// A row cannot be encoded as a record.
    #[error("row {row}: {source}")]
    Record {
        /// The row.
        row: usize,
        /// The problem.
        source: RecordError,
    },
}
