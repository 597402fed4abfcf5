//! Why a schema cannot be used, and why a row cannot be decoded or encoded.

use std::fmt;

use crate::row_failure::RowFailure;
use crate::schema_id::SchemaId;

/// A schema that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// The text is not a schema of its format.
    #[error("not a valid {format} schema: {reason}")]
    Invalid {
        /// The format.
        format: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// The schema is valid, but cannot become Arrow columns.
    #[error("this {format} schema cannot become Arrow columns: {reason}")]
    Unsupported {
        /// The format.
        format: &'static str,
        /// What is not supported.
        reason: String,
    },
    /// Data of the writer's schema cannot be read with the reader's schema.
    #[error("data of this {format} schema cannot be read with the reader's schema: {reason}")]
    Incompatible {
        /// The format.
        format: &'static str,
        /// What does not match.
        reason: String,
    },
    /// The fields of a [`Projection`](crate::Projection) cannot be selected.
    #[error("fields: {0}")]
    Fields(String),
    /// Columns of a type cannot be encoded with the schema.
    #[error("columns of this type cannot be encoded with this {format} schema: {reason}")]
    Column {
        /// The format.
        format: &'static str,
        /// What does not match, and where.
        reason: String,
    },
}

impl SchemaError {
    pub(crate) fn column(format: &'static str, failure: &RowFailure, root: &str) -> Self {
        Self::Column { format, reason: failure.describe(root) }
    }
}

/// A row that cannot be decoded or encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowError {
    /// The number of the row in the column.
    pub row: usize,
    /// The schema of the writer, if the row states it.
    pub schema_id: Option<SchemaId>,
    /// What is wrong.
    pub reason: String,
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.schema_id {
            Some(id) => write!(f, "schema {id}: {}", self.reason),
            None => f.write_str(&self.reason),
        }
    }
}
