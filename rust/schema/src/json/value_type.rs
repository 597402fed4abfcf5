//! The type of a value, compiled from an Arrow field to the form that the decoder needs.
//!
//! A string field with the extension type `arrow.json` holds the JSON text of any value. Only this compilation reads
//! such marks; the columns contain plain strings.
//!
//! Invariants: the depth and size of a type are bounded, and so is every recursion over it. It accepts only Arrow types
//! that the decoder can fill without silently losing data.

use std::collections::{HashMap, HashSet};

use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{DataType, Field, TimeUnit};

use super::unsupported;
use crate::error::SchemaError;
use crate::limits::SchemaLimits;
use crate::shape::{MAX_TYPES, check_level};

/// The canonical extension type of JSON text.
const JSON_TEXT: &str = "arrow.json";
/// The metadata key that marks a nullable field whose JSON key is required.
const REQUIRED: &str = "ottla.required";
/// The largest precision of a decimal of 128 bits.
const MAX_PRECISION_128: u8 = 38;
/// The largest number of fields to search linearly.
const MAX_COMPARED: usize = 8;

/// The type of a value.
#[derive(Debug)]
pub(super) struct ValueType {
    pub(super) kind: Kind,
    pub(super) nullable: bool,
    /// The bytes of each value, null or not, without the bytes of strings and items.
    pub(super) width: usize,
}

/// The type of a value that is not null.
#[derive(Debug)]
pub(super) enum Kind {
    /// The JSON text of any value.
    Text,
    String,
    Boolean,
    /// An integer from a minimum to a maximum.
    Integer(i128, i128),
    Double,
    Float,
    Decimal(u8, u8),
    Date,
    Timestamp {
        unit: TimeUnit,
        needs_offset: bool,
    },
    List(Box<ValueType>),
    Map(Box<ValueType>),
    Object(Object),
}

/// An object with known keys.
#[derive(Debug)]
pub(super) struct Object {
    pub(super) members: Vec<Member>,
    /// The members by name. Empty if there are only a few.
    by_name: HashMap<String, usize>,
}

/// A key and the type of its values.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: String,
    /// The key in its usual form: in quotes, without escapes.
    pub(super) quoted: String,
    /// Whether the key is required, although its value may be null.
    pub(super) is_required: bool,
    pub(super) value: ValueType,
}

impl Object {
    /// Returns the index of a member. `expected` is the most likely index.
    #[inline]
    pub(super) fn position(&self, name: &str, expected: usize) -> Option<usize> {
        if self.members.get(expected).is_some_and(|member| member.name == name) {
            return Some(expected);
        }
        if self.by_name.is_empty() {
            return self.members.iter().position(|member| member.name == name);
        }
        self.by_name.get(name).copied()
    }
}

impl Kind {
    fn width(&self) -> usize {
        match self {
            Self::Boolean => 1,
            Self::Float | Self::Date => 4,
            Self::Text | Self::String | Self::Integer(..) | Self::Double | Self::Timestamp { .. } => 8,
            Self::List(_) | Self::Map(_) => 8,
            Self::Decimal(..=MAX_PRECISION_128, _) => 16,
            Self::Decimal(..) => 32,
            Self::Object(object) => object.members.iter().map(|member| member.value.width).sum(),
        }
    }
}

/// Returns a string field that is marked as holding the JSON text of any value.
pub(super) fn text_field(name: impl Into<String>) -> Field {
    let metadata = HashMap::from([(EXTENSION_TYPE_NAME_KEY.to_owned(), JSON_TEXT.to_owned())]);
    Field::new(name, DataType::Utf8, true).with_metadata(metadata)
}

/// Marks a nullable field as required, so the encoder does not omit its key.
pub(super) fn required_field(field: Field) -> Field {
    let mut metadata = field.metadata().clone();
    metadata.insert(REQUIRED.to_owned(), String::new());
    field.with_metadata(metadata)
}

/// Returns the type of a map with string keys.
pub(super) fn map_type(values: Field) -> DataType {
    let key = Field::new("key", DataType::Utf8, false);
    let entries = DataType::Struct(vec![key, values.with_name("value")].into());
    DataType::Map(Field::new("entries", entries, false).into(), false)
}

impl ValueType {
    /// Compiles a field.
    pub(super) fn compile(field: &Field, limits: &SchemaLimits) -> Result<Self, SchemaError> {
        Compiler { types: 0, names: 0, limits }.value(field, "$", 1)
    }
}

struct Compiler<'a> {
    types: usize,
    /// The total bytes of their names.
    names: usize,
    limits: &'a SchemaLimits,
}

impl Compiler<'_> {
    fn value(&mut self, field: &Field, path: &str, depth: usize) -> Result<ValueType, SchemaError> {
        self.types += 1;
        if self.types > MAX_TYPES {
            return Err(unsupported(format!("it has more than {MAX_TYPES} types")));
        }
        self.names = self.names.saturating_add(field.name().len());
        let names = self.limits.check_name(field.name());
        names.and_then(|()| self.limits.check_all_names(self.names)).map_err(unsupported)?;
        check_level(depth).map_err(unsupported)?;
        let kind = self.kind(field, path, depth)?;
        let width = kind.width();
        Ok(ValueType { kind, nullable: field.is_nullable(), width })
    }

    fn kind(&mut self, field: &Field, path: &str, depth: usize) -> Result<Kind, SchemaError> {
        let is_text = field.metadata().get(EXTENSION_TYPE_NAME_KEY).is_some_and(|name| name == JSON_TEXT);
        Ok(match field.data_type() {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View if is_text => Kind::Text,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Kind::String,
            DataType::Boolean => Kind::Boolean,
            DataType::Int8 => Kind::Integer(i8::MIN.into(), i8::MAX.into()),
            DataType::Int16 => Kind::Integer(i16::MIN.into(), i16::MAX.into()),
            DataType::Int32 => Kind::Integer(i32::MIN.into(), i32::MAX.into()),
            DataType::Int64 => Kind::Integer(i64::MIN.into(), i64::MAX.into()),
            DataType::UInt8 => Kind::Integer(0, u8::MAX.into()),
            DataType::UInt16 => Kind::Integer(0, u16::MAX.into()),
            DataType::UInt32 => Kind::Integer(0, u32::MAX.into()),
            DataType::UInt64 => Kind::Integer(0, u64::MAX.into()),
            DataType::Float64 => Kind::Double,
            DataType::Float32 => Kind::Float,
            DataType::Decimal128(precision, scale) => decimal(*precision, *scale, MAX_PRECISION_128, path)?,
            DataType::Decimal256(precision, scale) => decimal(*precision, *scale, 76, path)?,
            DataType::Date32 => Kind::Date,
            DataType::Timestamp(unit, zone) => Kind::Timestamp { unit: *unit, needs_offset: zone.is_some() },
            DataType::List(items) | DataType::LargeList(items) => {
                Kind::List(Box::new(self.value(items, &format!("{path}[]"), depth + 1)?))
            }
            DataType::Map(entries, false) => {
                let DataType::Struct(fields) = entries.data_type() else {
                    return Err(unsupported(format!("the map at {path} has no entries")));
                };
                let [key, value] = fields.as_ref() else {
                    return Err(unsupported(format!("the entries of the map at {path} are not pairs")));
                };
                if !matches!(key.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) {
                    return Err(unsupported(format!("the keys of the map at {path} are not strings")));
                }
                // Arrow counts the entries as a level.
                Kind::Map(Box::new(self.value(value, &format!("{path}{{}}"), depth + 2)?))
            }
            DataType::Struct(fields) if fields.is_empty() => {
                return Err(unsupported(format!("the struct at {path} has no fields")));
            }
            DataType::Struct(fields) => self.object(fields, path, depth)?,
            other => {
                return Err(unsupported(format!(
                    "{path} has the type {other}, which JSON cannot be decoded to"
                )));
            }
        })
    }

    fn object(
        &mut self,
        fields: &arrow_schema::Fields,
        path: &str,
        depth: usize,
    ) -> Result<Kind, SchemaError> {
        let mut members = Vec::with_capacity(fields.len());
        let mut names = HashSet::new();
        for field in fields {
            let name = field.name();
            if !names.insert(name) {
                return Err(unsupported(format!("the struct at {path} has two fields {name:?}")));
            }
            let value = self.value(field, &format!("{path}.{name}"), depth + 1)?;
            let escape_free = !name.contains(|c| c == '"' || c == '\\' || c < ' ');
            // No key begins with NUL, the placeholder for names that need escapes.
            let quoted = if escape_free { format!("\"{name}\"") } else { "\u{0}".to_owned() };
            let is_required = field.metadata().contains_key(REQUIRED);
            members.push(Member { name: name.clone(), quoted, is_required, value });
        }
        let by_name = match members.len() {
            ..=MAX_COMPARED => HashMap::new(),
            _ => members.iter().enumerate().map(|(at, member)| (member.name.clone(), at)).collect(),
        };
        Ok(Kind::Object(Object { members, by_name }))
    }
}

fn decimal(precision: u8, scale: i8, max: u8, path: &str) -> Result<Kind, SchemaError> {
    match u8::try_from(scale) {
        Ok(scale) if (1..=max).contains(&precision) && scale <= precision => {
            Ok(Kind::Decimal(precision, scale))
        }
        _ => Err(unsupported(format!("{path} is a decimal of precision {precision} and scale {scale}"))),
    }
}
