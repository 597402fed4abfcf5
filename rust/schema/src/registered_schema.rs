//! A schema as a registry holds it, with the schemas that it refers to.
//!
//! Invariant: references are resolved, so that a schema can be compiled without its registry. They form a
//! tree without cycles.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The format that a schema describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SchemaType {
    /// Apache Avro.
    Avro,
    /// Protocol Buffers, as the text of a `.proto` file.
    Protobuf,
    /// JSON Schema.
    Json,
}

impl SchemaType {
    /// The name in the API of registries: `AVRO`, `PROTOBUF` or `JSON`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Avro => "AVRO",
            Self::Protobuf => "PROTOBUF",
            Self::Json => "JSON",
        }
    }
}

impl fmt::Display for SchemaType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for SchemaType {
    type Err = ();

    /// Reads the name that registries use, in any case.
    fn from_str(name: &str) -> Result<Self, ()> {
        let all = [Self::Avro, Self::Protobuf, Self::Json];
        all.into_iter().find(|it| it.name().eq_ignore_ascii_case(name)).ok_or(())
    }
}

/// A schema with its references.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredSchema {
    /// The format.
    pub schema_type: SchemaType,
    /// The text of the schema, as it was registered.
    pub text: Arc<str>,
    /// The schemas that the text refers to by name.
    pub references: Vec<SchemaReference>,
}

/// A schema that another one refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaReference {
    /// The name in the referring text: a full name in Avro, the path of an import in Protobuf, a `$ref` in
    /// JSON Schema.
    pub name: Arc<str>,
    /// The schema, whose own references are resolved, too.
    pub schema: Arc<RegisteredSchema>,
}

impl RegisteredSchema {
    /// A schema without references.
    #[must_use]
    pub fn new(schema_type: SchemaType, text: impl Into<Arc<str>>) -> Self {
        Self { schema_type, text: text.into(), references: Vec::new() }
    }
}
