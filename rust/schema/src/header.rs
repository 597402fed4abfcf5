//! The record headers in which Confluent's serializers store schema ids.
//!
//! Invariant: a header belongs to one column, the key's or the value's.

/// The part of a record whose schema id a header holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Header {
    /// `__key_schema_id`.
    Key,
    /// `__value_schema_id`.
    Value,
}

impl Header {
    /// The header's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Key => "__key_schema_id",
            Self::Value => "__value_schema_id",
        }
    }

    /// Returns the column whose schema the header names: `key` or `value`.
    #[must_use]
    pub const fn column(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Value => "value",
        }
    }
}
