//! Schemas as callers give and get them: with the places of their references, and where they are registered.
//!
//! Invariant: what a caller gives names its references, and is complete only once a registry has resolved them.

use std::sync::Arc;

use ottla_schema::{RegisteredSchema, SchemaType};

/// The name of a schema's reference, and where the referenced schema is registered.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ReferenceName {
    /// The name in the referring text.
    pub name: Arc<str>,
    /// The subject.
    pub subject: Arc<str>,
    /// The version in the subject.
    pub version: i32,
}

/// A schema to register or to look up.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NewSchema {
    /// The format.
    pub schema_type: SchemaType,
    /// The text.
    pub text: Arc<str>,
    /// The schemas that the text refers to.
    pub references: Vec<ReferenceName>,
}

/// A schema, and where the registry has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaEntry {
    /// The subject; `None` for a schema that was looked up by id.
    pub subject: Option<Arc<str>>,
    /// The version in the subject.
    pub version: Option<i32>,
    /// The id.
    pub id: Option<u32>,
    /// The GUID, if the registry has one (Confluent 8).
    pub guid: Option<[u8; 16]>,
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
