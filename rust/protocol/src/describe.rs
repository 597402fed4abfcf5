//! Messages and their schemas as plain trees, with Kafka's field names.
//!
//! For tests that compare with Java and for tools that print messages; behind the feature
//! `describe`, so that a client does not carry it.

use bytes::Bytes;

use crate::wire::{SecretBytes, Uuid};

/// A value without its type.
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
    /// Bytes, records included.
    Bytes(Bytes),
    /// An id.
    Uuid(Uuid),
    /// An array.
    Array(Vec<Value>),
    /// A struct: each field by name; `None` where the version does not carry it.
    Object(Vec<(&'static str, Option<Value>)>),
}

/// A type whose values can be shown as a [`Value`].
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

/// A field as the notation writes it, each part as its source text.
#[derive(Debug, Clone, Copy)]
pub struct FieldSchema {
    /// The field's name in snake case.
    pub name: &'static str,
    /// Its Rust type.
    pub ty: &'static str,
    /// The versions that carry it, and the mark `ignorable`.
    pub versions: &'static str,
    /// The versions in which it may be null; empty for none.
    pub nullable: &'static str,
    /// Its tag; empty for none.
    pub tag: &'static str,
    /// Its default; empty for the type's own.
    pub default: &'static str,
}

/// A message as the notation writes it.
#[derive(Debug, Clone, Copy)]
pub struct MessageSchema {
    /// The message's name.
    pub name: &'static str,
    /// Its versions, as `min - max`.
    pub versions: &'static str,
    /// Its flexible versions; empty for none.
    pub flexible: &'static str,
    /// Its structs, the message itself first.
    pub structs: &'static [(&'static str, &'static [FieldSchema])],
}
