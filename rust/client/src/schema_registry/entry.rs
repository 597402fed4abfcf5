//! Schemas as callers get them: with where they and their references are registered.
//!
//! Invariant: the schema of an entry is complete.

use std::sync::Arc;

use ottla_schema::{ReferenceName, RegisteredSchema};

/// A schema, and where the registry has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaEntry {
    /// The subject; `None` for a schema that was looked up by id.
    pub subject: Option<Arc<str>>,
    /// The version in the subject.
    pub version: Option<i32>,
    /// The id.
    pub id: Option<u32>,
    /// Where the references are registered.
    pub references: Vec<ReferenceName>,
    /// The schema, with its references.
    pub schema: Arc<RegisteredSchema>,
}

/// Whether a schema is compatible with earlier versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compatibility {
    /// Whether the registry would accept the schema.
    pub is_compatible: bool,
    /// The differences that make it incompatible, as the registry describes them.
    pub messages: Vec<String>,
}
