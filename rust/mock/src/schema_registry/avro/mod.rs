//! Avro schemas as a registry sees them: whether they are valid, and what a change breaks.
//!
//! - `parse` reads the text of a schema with those that it refers to; `default_value` checks the fields' defaults.
//! - `resolved` replaces the names of references by definitions.
//! - `compatibility` compares two schemas by the rules of Java's `SchemaCompatibility`, as Confluent's registry does.
//!
//! `ottla-schema` has another parser, for columns: it refuses recursive types, which a registry accepts.
//!
//! Invariant: a type that has a name is in the schema once, and others refer to it by its index, so recursive types
//! are finite.

mod compatibility;
mod default_value;
mod parse;
mod resolved;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use serde_json::Value;

pub(super) use self::compatibility::differences;
pub(super) use self::parse::parse;
pub(super) use self::resolved::resolved;

/// A schema with the definitions of its named types.
#[derive(Debug)]
pub(super) struct AvroSchema {
    root: Type,
    named: Vec<Named>,
}

#[derive(Debug)]
enum Type {
    Null,
    Boolean,
    Int,
    Long,
    Float,
    Double,
    Bytes,
    String,
    Array(Box<Type>),
    Map(Box<Type>),
    Union(Vec<Type>),
    /// An index of `AvroSchema::named`.
    Named(usize),
}

#[derive(Debug)]
struct Named {
    /// The full name.
    name: String,
    /// The full names of its aliases.
    aliases: Vec<String>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Record(Vec<Field>),
    Enum {
        symbols: HashSet<String>,
        default: Option<String>,
    },
    Fixed(u64),
    /// Its definition is being read.
    Open,
    /// Its definition follows.
    Missing,
}

#[derive(Debug)]
struct Field {
    name: String,
    aliases: Vec<String>,
    schema: Type,
    default: Option<Value>,
}

impl Type {
    fn primitive(name: &str) -> Option<Self> {
        Some(match name {
            "null" => Self::Null,
            "boolean" => Self::Boolean,
            "int" => Self::Int,
            "long" => Self::Long,
            "float" => Self::Float,
            "double" => Self::Double,
            "bytes" => Self::Bytes,
            "string" => Self::String,
            _ => return None,
        })
    }

    /// The name of a type, which a union has at most once.
    fn name<'a>(&self, named: &'a [Named]) -> &'a str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Int => "int",
            Self::Long => "long",
            Self::Float => "float",
            Self::Double => "double",
            Self::Bytes => "bytes",
            Self::String => "string",
            Self::Array(_) => "array",
            Self::Map(_) => "map",
            Self::Union(_) => "union",
            Self::Named(index) => named.get(*index).map_or("", |found| &found.name),
        }
    }
}

impl Named {
    /// The name without its namespace.
    fn simple_name(&self) -> &str {
        self.name.rsplit('.').next().unwrap_or_default()
    }
}
