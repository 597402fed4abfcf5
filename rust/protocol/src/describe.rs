//! Messages and their schemas as untyped trees, with Kafka's field names.
//!
//! Tests compare them with Java's. The feature `describe` enables this module, so that clients do not
//! contain it.

use bytes::Bytes;

use crate::wire::{SecretBytes, Uuid};

/// A value of any type.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Null.
    Null,
    /// A boolean.
    Bool(bool),
    /// Any integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A string.
    Str(String),
    /// Bytes, including records.
    Bytes(Bytes),
    /// An id.
    Uuid(Uuid),
    /// An array.
    Array(Vec<Value>),
    /// A struct: each field by name, `None` if the version does not have it.
    Object(Vec<(&'static str, Option<Value>)>),
}

/// A type whose values convert to a [`Value`].
pub trait Describe {
    /// The value as a tree.
    fn describe(&self, version: i16) -> Value;
}

macro_rules! leaf {
    ($($ty:ty => |$value:ident| $expr:expr;)*) => {$(
        impl Describe for $ty {
            fn describe(&self, _: i16) -> Value {
                let $value = self;
                $expr
            }
        }
    )*};
}
leaf! {
    bool => |v| Value::Bool(*v);
    i8 => |v| Value::Int(i64::from(*v));
    i16 => |v| Value::Int(i64::from(*v));
    u16 => |v| Value::Int(i64::from(*v));
    i32 => |v| Value::Int(i64::from(*v));
    u32 => |v| Value::Int(i64::from(*v));
    i64 => |v| Value::Int(*v);
    f64 => |v| Value::Float(*v);
    String => |v| Value::Str(v.clone());
    Bytes => |v| Value::Bytes(v.clone());
    SecretBytes => |v| Value::Bytes(v.0.clone());
    Uuid => |v| Value::Uuid(*v);
}

impl<T: Describe> Describe for Vec<T> {
    fn describe(&self, version: i16) -> Value {
        Value::Array(self.iter().map(|item| item.describe(version)).collect())
    }
}

impl<T: Describe> Describe for Option<T> {
    fn describe(&self, version: i16) -> Value {
        self.as_ref().map_or(Value::Null, |value| value.describe(version))
    }
}

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
