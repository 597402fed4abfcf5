//! Messages as untyped trees, with Kafka's field names: for callers that are written in another language.
//!
//! The feature `value` enables this module. Invariant: a tree has only fields that the message has, and
//! only values that fit them; anything else is a [`ValueError`] that names the field.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;

use crate::wire::{InvalidUuid, SecretBytes, Uuid};

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
    /// Bytes that must not be printed.
    Secret(SecretBytes),
    /// An id.
    Uuid(Uuid),
    /// An array.
    Array(Vec<Value>),
    /// A struct: each field by name, `None` if the version does not have it.
    Object(Vec<(Cow<'static, str>, Option<Value>)>),
}

impl Value {
    fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Int(_) => "an integer",
            Self::Float(_) => "a float",
            Self::Str(_) => "a string",
            Self::Bytes(_) | Self::Secret(_) => "bytes",
            Self::Uuid(_) => "an id",
            Self::Array(_) => "an array",
            Self::Object(_) => "a struct",
        }
    }
}

/// A value that a message cannot have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueError {
    /// The field, from the inside out.
    path: Vec<Cow<'static, str>>,
    problem: String,
}

impl ValueError {
    fn expected(expected: &str, value: &Value) -> Self {
        Self { path: Vec::new(), problem: format!("expected {expected}, not {}", value.type_name()) }
    }

    pub(crate) fn unknown_field(name: Cow<'static, str>) -> Self {
        Self { path: vec![name], problem: "there is no such field".to_owned() }
    }

    pub(crate) fn in_field(mut self, name: Cow<'static, str>) -> Self {
        self.path.push(name);
        self
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path: Vec<&str> = self.path.iter().rev().map(AsRef::as_ref).collect();
        write!(f, "{}: {}", path.join("."), self.problem)
    }
}

impl std::error::Error for ValueError {}

/// A type whose values convert to a [`Value`].
pub trait ToValue {
    /// The value as a tree, with the fields that `version` has.
    fn to_value(&self, version: i16) -> Value;
}

/// A type whose values convert from a [`Value`].
pub trait FromValue: Sized {
    /// Converts a tree. Fields that it lacks have their defaults.
    ///
    /// # Errors
    /// If it has a field that the type does not have, or a value that does not fit.
    fn from_value(value: Value) -> Result<Self, ValueError>;
}

/// The fields of a struct.
pub(crate) fn fields_of(
    value: Value,
) -> Result<impl Iterator<Item = (Cow<'static, str>, Value)>, ValueError> {
    match value {
        Value::Object(fields) => {
            Ok(fields.into_iter().filter_map(|(name, value)| value.map(|value| (name, value))))
        }
        other => Err(ValueError::expected("a struct", &other)),
    }
}

macro_rules! integers {
    ($($ty:ty),*) => {$(
        impl ToValue for $ty {
            fn to_value(&self, _: i16) -> Value {
                Value::Int(i64::from(*self))
            }
        }

        impl FromValue for $ty {
            fn from_value(value: Value) -> Result<Self, ValueError> {
                match value {
                    Value::Int(v) => Self::try_from(v).map_err(|_| ValueError {
                        path: Vec::new(),
                        problem: format!("{v} is not within {} and {}", Self::MIN, Self::MAX),
                    }),
                    other => Err(ValueError::expected("an integer", &other)),
                }
            }
        }
    )*};
}
integers!(i8, i16, u16, i32, u32, i64);

macro_rules! leaf {
    ($($ty:ty, $expected:literal: |$this:ident| $to:expr, $pattern:pat => $from:expr;)*) => {$(
        impl ToValue for $ty {
            fn to_value(&self, _: i16) -> Value {
                let $this = self;
                $to
            }
        }

        impl FromValue for $ty {
            fn from_value(value: Value) -> Result<Self, ValueError> {
                match value {
                    $pattern => Ok($from),
                    other => Err(ValueError::expected($expected, &other)),
                }
            }
        }
    )*};
}
leaf! {
    bool, "a boolean": |v| Value::Bool(*v), Value::Bool(v) => v;
    f64, "a float": |v| Value::Float(*v), Value::Float(v) => v;
    String, "a string": |v| Value::Str(v.clone()), Value::Str(v) => v;
    Bytes, "bytes": |v| Value::Bytes(v.clone()), Value::Bytes(v) => v;
}

impl ToValue for Uuid {
    fn to_value(&self, _: i16) -> Value {
        Value::Uuid(*self)
    }
}

impl FromValue for Uuid {
    fn from_value(value: Value) -> Result<Self, ValueError> {
        match value {
            Value::Uuid(v) => Ok(v),
            Value::Str(text) => text
                .parse()
                .map_err(|error: InvalidUuid| ValueError { path: Vec::new(), problem: error.to_string() }),
            other => Err(ValueError::expected("an id", &other)),
        }
    }
}

impl ToValue for SecretBytes {
    fn to_value(&self, _: i16) -> Value {
        Value::Secret(self.clone())
    }
}

impl FromValue for SecretBytes {
    fn from_value(value: Value) -> Result<Self, ValueError> {
        match value {
            Value::Bytes(v) | Value::Secret(Self(v)) => Ok(Self(v)),
            other => Err(ValueError::expected("bytes", &other)),
        }
    }
}

impl<T: ToValue> ToValue for Vec<T> {
    fn to_value(&self, version: i16) -> Value {
        Value::Array(self.iter().map(|item| item.to_value(version)).collect())
    }
}

impl<T: FromValue> FromValue for Vec<T> {
    fn from_value(value: Value) -> Result<Self, ValueError> {
        match value {
            Value::Array(items) => items.into_iter().map(T::from_value).collect(),
            other => Err(ValueError::expected("an array", &other)),
        }
    }
}

impl<T: ToValue> ToValue for Option<T> {
    fn to_value(&self, version: i16) -> Value {
        self.as_ref().map_or(Value::Null, |value| value.to_value(version))
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: Value) -> Result<Self, ValueError> {
        if value == Value::Null { Ok(None) } else { T::from_value(value).map(Some) }
    }
}
