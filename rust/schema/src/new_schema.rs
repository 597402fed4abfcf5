//! Schemas as callers give them: with the places of their references.
//!
//! Invariant: such a schema is complete only once a registry has resolved its references.

use std::sync::Arc;

use crate::data_contract::DataContract;
use crate::registered_schema::SchemaType;

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
    /// Its metadata and rules.
    pub contract: DataContract,
}
