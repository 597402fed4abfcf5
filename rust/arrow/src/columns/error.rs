//! Why columns cannot be sent.

use arrow_schema::DataType;
use ottla_protocol::records::RecordError;
use thiserror::Error;

/// Arrow columns that cannot become records.
#[derive(Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ColumnsError {
    /// A column has a type that cannot be what its name says.
    #[error("column {column:?} has type {found}; accepted: {accepted}")]
    Type {
        /// The column.
        column: &'static str,
        /// Its type.
        found: DataType,
        /// What is accepted.
        accepted: &'static str,
    },
    /// The column that makes a record is not there.
    #[error("there is no column \"value\"; there are: {found}")]
    NoValue {
        /// The names that are there.
        found: String,
    },
    /// A column that no record has.
    #[error(
        "column {column:?} is no part of a record: expected value, key, headers, timestamp and partition; drop it, or rename it to what it is meant to be"
    )]
    Unknown {
        /// The column.
        column: String,
    },
    /// A name that is known occurs twice.
    #[error("column {column:?} is there twice")]
    Twice {
        /// The column.
        column: &'static str,
    },
    /// Keys and values are not one for one.
    #[error("there are {keys} keys for {values} values")]
    Lengths {
        /// Number of keys.
        keys: usize,
        /// Number of values.
        values: usize,
    },
    /// A struct array has null rows, which are no records.
    #[error("{nulls} rows are null as a whole; a record with a null value needs a row with a null value")]
    NullRows {
        /// How many.
        nulls: usize,
    },
    /// A header has no key.
    #[error("column \"headers\": row {row} has a header that is null or whose key is null")]
    NullHeaderKey {
        /// The first such row.
        row: usize,
    },
    /// A record does not fit.
    #[error("row {row}: {source}")]
    Record {
        /// The row.
        row: usize,
        /// What is wrong.
        source: RecordError,
    },
}
