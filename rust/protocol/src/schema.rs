//! The schemas of messages as text, with Kafka's field names.
//!
//! Tests compare them with Java's. The feature `schema` enables this module, so that clients do not
//! contain it.

/// A field in the schema notation; each part is its source text.
#[derive(Debug, Clone, Copy)]
pub struct FieldSchema {
    /// The field's name in snake case.
    pub name: &'static str,
    /// The Rust type.
    pub ty: &'static str,
    /// The versions that have the field, and the keyword `ignorable`.
    pub versions: &'static str,
    /// The versions in which the field may be null; empty for none.
    pub nullable: &'static str,
    /// The tag; empty for none.
    pub tag: &'static str,
    /// The default; empty for the type's own.
    pub default: &'static str,
}

/// A message in the schema notation.
#[derive(Debug, Clone, Copy)]
pub struct MessageSchema {
    /// The message's name.
    pub name: &'static str,
    /// The versions, as `min - max`.
    pub versions: &'static str,
    /// The flexible versions; empty for none.
    pub flexible: &'static str,
    /// The structs, the message itself first.
    pub structs: &'static [(&'static str, &'static [FieldSchema])],
}
