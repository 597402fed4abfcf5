//! The extent of a type, with all names expanded: a schema of a few lines may stand for millions of types.
//!
//! Invariant: a shape within the limits bounds the depth of every recursion over the schema, and its columns.

use super::unsupported;
use crate::error::SchemaError;

/// The deepest nesting: Arrow's C data interface allows 64 levels.
pub(super) const MAX_DEPTH: usize = 60;
/// The most types, with names expanded.
const MAX_TYPES: usize = 10_000;

/// The extent of a type, with all names expanded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    types: usize,
    depth: usize,
    /// Whether a value may take no bytes.
    pub(super) may_be_empty: bool,
}

impl Shape {
    pub(super) const LEAF: Self = Self { types: 1, depth: 1, may_be_empty: false };

    /// A primitive type.
    pub(super) fn primitive(name: &str) -> Self {
        Self { may_be_empty: name == "null", ..Self::LEAF }
    }

    /// A type of so many bytes.
    pub(super) fn fixed(size: u64) -> Self {
        Self { may_be_empty: size == 0, ..Self::LEAF }
    }

    /// A type that contains others.
    pub(super) fn of(parts: &[Self], may_be_empty: bool) -> Result<Self, SchemaError> {
        let types = parts.iter().fold(1_usize, |sum, part| sum.saturating_add(part.types));
        let depth = 1 + parts.iter().map(|part| part.depth).max().unwrap_or(0);
        let shape = Self { types, depth, may_be_empty };
        shape.check()?;
        Ok(shape)
    }

    pub(super) fn check(self) -> Result<(), SchemaError> {
        if self.types > MAX_TYPES {
            return Err(unsupported(format!("it has more than {MAX_TYPES} types, with all names expanded")));
        }
        if self.depth > MAX_DEPTH {
            return Err(unsupported(format!("it is nested more than {MAX_DEPTH} levels deep")));
        }
        Ok(())
    }
}
