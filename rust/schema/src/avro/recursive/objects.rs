//! `AvroObjects`: decodes and encodes objects of a recursive schema, in its own encoding.
//!
//! A union of several types is a map with the name of the member, as in columns: `member0`, `member1` …

use crate::avro::parse::{Recursive, parse_reader};
use crate::avro::schema::Schema;
use crate::error::SchemaError;
use crate::limits::SchemaLimits;
use crate::registered_schema::RegisteredSchema;

use super::nodes::{Compiler, Fields, Node};

/// The objects of a recursive schema of Avro.
#[derive(Debug)]
pub struct AvroObjects {
    pub(super) root: Node,
    /// By the index in [`Node::Record`].
    pub(super) records: Vec<Option<Fields>>,
    pub(super) limits: SchemaLimits,
}

impl AvroObjects {
    /// Compiles a schema; `None` if it is not recursive, so that it has columns.
    ///
    /// # Errors
    /// The schema is invalid, or a part of it has no column type.
    pub fn compile(schema: &RegisteredSchema, limits: &SchemaLimits) -> Result<Option<Self>, SchemaError> {
        let limits = limits.bounded();
        let (schema, _) = parse_reader(schema, Recursive::Allowed, &limits)?;
        Self::of(&schema, &limits)
    }

    /// Compiles a schema that was parsed.
    pub(super) fn of(schema: &Schema, limits: &SchemaLimits) -> Result<Option<Self>, SchemaError> {
        let mut compiler = Compiler::new(limits);
        let Some(root) = compiler.node(schema)? else { return Ok(None) };
        let records = compiler.records;
        Ok(Some(Self { root, records, limits: *limits }))
    }
}
