//! A schema as a registry stores it, with the schemas that it references.
//!
//! Invariant: references are resolved, so a schema can be compiled without its registry. They form a graph without
//! cycles.

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::data_contract::DataContract;
use crate::rules::Rule;

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
    /// Returns the name that registries use in their API: `AVRO`, `PROTOBUF` or `JSON`.
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

    /// Parses the name that registries use, in upper or lower case.
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
    /// The GUID, if the registry has one (Confluent 8).
    pub guid: Option<[u8; 16]>,
    /// The text of the schema, as it was registered.
    pub text: Arc<str>,
    /// The schemas that the text references by name.
    pub references: Vec<SchemaReference>,
    /// The rules of its data contract that are not disabled.
    pub rules: Vec<Rule>,
    /// Its data contract as it was registered.
    pub contract: DataContract,
}

/// A schema that another schema references.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaReference {
    /// The name in the referring text: a full name in Avro, the path of an import in Protobuf, a `$ref` in
    /// JSON Schema.
    pub name: Arc<str>,
    /// The schema. Its own references are also resolved.
    pub schema: Arc<RegisteredSchema>,
}

impl RegisteredSchema {
    /// Creates a schema without references.
    #[must_use]
    pub fn new(schema_type: SchemaType, text: impl Into<Arc<str>>) -> Self {
        Self {
            schema_type,
            guid: None,
            text: text.into(),
            references: Vec::new(),
            rules: Vec::new(),
            contract: DataContract::default(),
        }
    }

    /// The schemas that this one refers to, directly or through others, by different names: each once, and after those
    /// that it refers to itself.
    #[must_use]
    pub fn in_order(&self) -> Vec<&SchemaReference> {
        let (mut seen, mut ordered) = (HashSet::new(), Vec::new());
        // With whether what it refers to comes before it already.
        let mut waiting: Vec<(&SchemaReference, bool)> =
            self.references.iter().rev().map(|reference| (reference, false)).collect();
        while let Some((reference, is_ready)) = waiting.pop() {
            if is_ready {
                ordered.push(reference);
            } else if seen.insert(&*reference.name) {
                waiting.push((reference, true));
                waiting.extend(reference.schema.references.iter().rev().map(|inner| (inner, false)));
            }
        }
        ordered
    }
}
