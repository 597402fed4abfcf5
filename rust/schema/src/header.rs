//! The headers of a record that Confluent's serializers write the ids of schemas to.
//!
//! Invariant: a header belongs to one column, the key's or the value's.

/// Which headers hold the id of a schema.
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

    /// The column whose schema it names: `key` or `value`.
    #[must_use]
    pub const fn column(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Value => "value",
        }
    }
}
