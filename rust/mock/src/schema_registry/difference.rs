//! A difference between two schemas that makes one incompatible with the other.
//!
//! Invariant: its text has the form in which Confluent's registry reports it, with Confluent's type of the difference.

use std::fmt;

/// The maximum number of differences that a comparison reports.
pub(super) const MAX_DIFFERENCES: usize = 20;

/// A difference that breaks readers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Difference {
    /// Confluent's name, such as `TYPE_MISMATCH`.
    pub(super) kind: String,
    /// Where in the schemas.
    pub(super) at: String,
    /// What differs.
    pub(super) reason: String,
}

impl Difference {
    pub(super) fn new(kind: impl Into<String>, at: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { kind: kind.into(), at: at.into(), reason: reason.into() }
    }

    /// The schemas are beyond the limits of a comparison.
    pub(super) fn too_large(at: &str) -> Self {
        Self::new("TOO_LARGE", at, "the schemas are too large to compare")
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, at, reason } = self;
        write!(f, "{{errorType:\"{kind}\", description:\"at '{at}': {reason}\"}}")
    }
}
