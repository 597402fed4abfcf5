//! An Avro schema as a tree whose named types are resolved and shared.
//!
//! Invariant: the tree has no cycles, and its extent with all named types expanded is within the limits of `shape`. A
//! record within itself is a leaf, which knows the record while the tree exists.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock, Weak};

use serde_json::Value;

use super::logical_type::LogicalType;

/// A type, with its logical type if the logical type has its own column type.
#[derive(Debug, Clone)]
pub(super) struct Schema {
    pub(super) kind: Kind,
    pub(super) logical: Option<LogicalType>,
    /// Whether the reader's column has the type. A branch of its union may be unselected.
    pub(super) is_selected: bool,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    Null,
    Boolean,
    Int,
    Long,
    Float,
    Double,
    Bytes,
    String,
    Fixed(Arc<Fixed>),
    Enum(Arc<Enum>),
    Array(Arc<Schema>),
    Map(Arc<Schema>),
    Record(Arc<Record>),
    /// A record within itself. Only schemas of objects have it.
    Recursive(Arc<Recursion>),
    Union(Arc<Vec<Schema>>),
}

/// The full name of a type. In a writer's schema, the reader's name replaces a name that is an alias.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name(pub(super) Arc<str>);

#[derive(Debug)]
pub(super) struct Fixed {
    pub(super) name: Name,
    pub(super) size: usize,
}

#[derive(Debug)]
pub(super) struct Enum {
    pub(super) name: Name,
    pub(super) symbols: Vec<Arc<str>>,
    pub(super) default: Option<Arc<str>>,
}

#[derive(Debug)]
pub(super) struct Record {
    pub(super) name: Name,
    pub(super) fields: Vec<Field>,
    /// The indexes of the fields, by name.
    pub(super) by_name: HashMap<Arc<str>, usize>,
    /// The record with all of its fields, if this one has only the selected fields.
    pub(super) whole: Option<Arc<Record>>,
}

#[derive(Debug)]
pub(super) struct Recursion {
    pub(super) name: Name,
    record: OnceLock<Weak<Record>>,
}

#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: Arc<str>,
    pub(super) schema: Schema,
    pub(super) default: Option<Value>,
}

impl Name {
    /// The name without its namespace.
    pub(super) fn simple(&self) -> &str {
        self.0.rsplit_once('.').map_or(&*self.0, |(_, name)| name)
    }
}

impl Record {
    /// Returns the record with all of its fields.
    pub(super) fn whole(self: &Arc<Self>) -> &Arc<Self> {
        self.whole.as_ref().unwrap_or(self)
    }
}

impl Recursion {
    pub(super) fn new(name: Arc<str>) -> Self {
        Self { name: Name(name), record: OnceLock::new() }
    }

    /// Sets the record, once all of it was parsed.
    pub(super) fn close(&self, record: &Arc<Record>) {
        let _ = self.record.set(Arc::downgrade(record));
    }

    pub(super) fn record(&self) -> Option<Arc<Record>> {
        self.record.get()?.upgrade()
    }
}

impl From<Kind> for Schema {
    fn from(kind: Kind) -> Self {
        Self { kind, logical: None, is_selected: true }
    }
}

impl Schema {
    /// Returns the record itself for a record within itself.
    pub(super) fn unfolded(&self) -> Cow<'_, Self> {
        match &self.kind {
            Kind::Recursive(of) => match of.record() {
                Some(record) => Cow::Owned(Kind::Record(record).into()),
                None => Cow::Borrowed(self),
            },
            _ => Cow::Borrowed(self),
        }
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(self.kind, Kind::Null)
    }

    /// Returns whether two schemas are equal apart from their aliases and defaults.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let same = match (&self.kind, &other.kind) {
            (Kind::Fixed(one), Kind::Fixed(other)) => one.name == other.name && one.size == other.size,
            (Kind::Enum(one), Kind::Enum(other)) => one.name == other.name && one.symbols == other.symbols,
            (Kind::Array(one), Kind::Array(other)) | (Kind::Map(one), Kind::Map(other)) => one.is_same(other),
            (Kind::Union(one), Kind::Union(other)) => {
                one.len() == other.len()
                    && one.iter().zip(other.iter()).all(|(one, other)| one.is_same(other))
            }
            (Kind::Record(one), Kind::Record(other)) => {
                let fields = one.fields.iter().zip(&other.fields);
                let is_same = |(one, other): (&Field, &Field)| {
                    one.name == other.name && one.schema.is_same(&other.schema)
                };
                one.name == other.name
                    && one.fields.len() == other.fields.len()
                    && fields.into_iter().all(is_same)
            }
            (Kind::Recursive(one), Kind::Recursive(other)) => one.name == other.name,
            (one, other) => std::mem::discriminant(one) == std::mem::discriminant(other),
        };
        same && self.logical == other.logical
    }

    /// Returns the name of the type for error messages.
    pub(super) fn name(&self) -> &str {
        match &self.kind {
            Kind::Null => "null",
            Kind::Boolean => "boolean",
            Kind::Int => "int",
            Kind::Long => "long",
            Kind::Float => "float",
            Kind::Double => "double",
            Kind::Bytes => "bytes",
            Kind::String => "string",
            Kind::Array(_) => "array",
            Kind::Map(_) => "map",
            Kind::Union(_) => "union",
            Kind::Fixed(fixed) => &fixed.name.0,
            Kind::Enum(of) => &of.name.0,
            Kind::Record(record) => &record.name.0,
            Kind::Recursive(of) => &of.name.0,
        }
    }
}

/// Returns the primitive type with this name.
pub(super) fn primitive(name: &str) -> Option<Kind> {
    Some(match name {
        "null" => Kind::Null,
        "boolean" => Kind::Boolean,
        "int" => Kind::Int,
        "long" => Kind::Long,
        "float" => Kind::Float,
        "double" => Kind::Double,
        "bytes" => Kind::Bytes,
        "string" => Kind::String,
        _ => return None,
    })
}
