//! The extent of a type with all named types expanded: a schema of a few lines may stand for millions of types.
//!
//! Invariant: a shape within the limits bounds the depth of every recursion over the schema, the number of its
//! columns, and the bytes of their names.

use crate::limits::SchemaLimits;

/// The deepest nesting: Arrow's C data interface allows 64 levels.
pub(crate) const MAX_DEPTH: usize = 60;
/// What is wrong with a recursive type, after its name.
pub(crate) const RECURSIVE: &str = "is recursive, which Arrow has no type for: take its records one by one as objects of a class, or keep the nested part as text";
/// The largest number of types, with named types expanded.
pub(crate) const MAX_TYPES: usize = 10_000;

/// The extent of a type, with all named types expanded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    types: usize,
    depth: usize,
    /// The bytes of its column names.
    names: usize,
    /// Whether a value may take no bytes.
    pub(crate) may_be_empty: bool,
}

impl Shape {
    pub(crate) const LEAF: Self = Self { types: 1, depth: 1, names: 0, may_be_empty: false };

    /// A type without inner types whose values take no bytes.
    pub(crate) const EMPTY: Self = Self { may_be_empty: true, ..Self::LEAF };

    /// A type whose values take `size` bytes.
    pub(crate) fn fixed(size: u64) -> Self {
        Self { may_be_empty: size == 0, ..Self::LEAF }
    }

    /// Returns the shape of a type that contains others. An error names the limit that it exceeds.
    pub(crate) fn of(parts: &[Self], may_be_empty: bool, limits: &SchemaLimits) -> Result<Self, String> {
        let types = parts.iter().fold(1_usize, |sum, part| sum.saturating_add(part.types));
        let depth = 1 + parts.iter().map(|part| part.depth).max().unwrap_or(0);
        let names = parts.iter().fold(0_usize, |sum, part| sum.saturating_add(part.names));
        let shape = Self { types, depth, names, may_be_empty };
        shape.check(limits)?;
        Ok(shape)
    }

    /// Returns the shape of a column with this name.
    pub(crate) fn named(self, name: &str, limits: &SchemaLimits) -> Result<Self, String> {
        limits.check_name(name)?;
        Ok(Self { names: self.names.saturating_add(name.len()), ..self })
    }

    /// Refuses a type that exceeds a limit.
    pub(crate) fn check(self, limits: &SchemaLimits) -> Result<(), String> {
        if self.types > MAX_TYPES {
            return Err(format!("it has more than {MAX_TYPES} types, with named types expanded"));
        }
        limits.check_all_names(self.names)?;
        check_level(self.depth)
    }

    /// The number of types.
    pub(crate) fn types(self) -> usize {
        self.types
    }
}

/// Refuses a level that is too deep.
pub(crate) fn check_level(level: usize) -> Result<(), String> {
    if level > MAX_DEPTH {
        return Err(format!("it is nested more than {MAX_DEPTH} levels deep"));
    }
    Ok(())
}
