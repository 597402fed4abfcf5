//! Infers the type of a column from sample payloads.
//!
//! Invariants: each sample that is valid JSON fits the type. The type depends on the samples alone: its fields have the
//! order in which they first occur. Everything is nullable, since samples do not show what is required.

use std::collections::HashMap;

use arrow_schema::{DataType, Field};

use super::document::Document;
use super::value_type::text_field;
use super::{invalid, unsupported};
use crate::error::SchemaError;
use crate::shape::{MAX_DEPTH, MAX_TYPES};

/// Infers the field of a column from payloads, for [`ReaderSource::JsonType`](crate::ReaderSource::JsonType).
///
/// Integers and other numbers become doubles. Values of different types, integers beyond 64 bits, empty objects
/// and values that are always null become JSON text. Payloads that are not JSON are ignored.
///
/// # Errors
/// No payload is JSON, or the type is too large.
pub fn infer_json_field<'a>(samples: impl IntoIterator<Item = &'a [u8]>) -> Result<Field, SchemaError> {
    let mut inference = Inference { types: 0 };
    let mut inferred = Inferred::Unknown;
    let mut fault = None;
    let mut count = 0_usize;
    for sample in samples {
        match Document::parse(sample) {
            Ok(document) => {
                count += 1;
                inference.add(&mut inferred, document, 1)?;
            }
            Err(reason) => {
                fault.get_or_insert(reason);
            }
        }
    }
    match (count, fault) {
        (0, Some(reason)) => Err(invalid(format!("no sample is JSON; the first one: {reason}"))),
        (0, None) => Err(invalid("there are no samples")),
        _ => Ok(inferred.into_field("value")),
    }
}

/// The common type of some values.
#[derive(Debug)]
enum Inferred {
    /// All values are null.
    Unknown,
    Boolean,
    Integer,
    /// Integers, some of which exceed 64 bits.
    LongInteger,
    Double,
    String,
    List(Box<Inferred>),
    Object(Members),
    Text,
}

#[derive(Debug, Default)]
struct Members {
    members: Vec<(String, Inferred)>,
    positions: HashMap<String, usize>,
}

struct Inference {
    types: usize,
}

impl Inference {
    fn add(&mut self, known: &mut Inferred, value: Document, depth: usize) -> Result<(), SchemaError> {
        if matches!(value, Document::Null) || matches!(known, Inferred::Text) {
            return Ok(());
        }
        if matches!(known, Inferred::Unknown) {
            self.types += 1;
            if self.types > MAX_TYPES {
                return Err(unsupported(format!("the samples have more than {MAX_TYPES} types")));
            }
            match value {
                // The type has no level left for nested values.
                Document::Array(_) | Document::Object(_) if depth >= MAX_DEPTH => *known = Inferred::Text,
                Document::Array(_) => *known = Inferred::List(Box::new(Inferred::Unknown)),
                Document::Object(_) => *known = Inferred::Object(Members::default()),
                _ => {}
            }
        }
        match (&mut *known, value) {
            (Inferred::Text, _) => {}
            (Inferred::List(items), Document::Array(values)) => {
                for value in values {
                    self.add(items, value, depth + 1)?;
                }
            }
            (Inferred::Object(object), Document::Object(entries)) => {
                for (name, value) in entries {
                    let at = *object.positions.entry(name.clone()).or_insert(object.members.len());
                    if at == object.members.len() {
                        self.types += 1;
                        object.members.push((name, Inferred::Unknown));
                    }
                    if let Some((_, member)) = object.members.get_mut(at) {
                        self.add(member, value, depth + 1)?;
                    }
                }
            }
            (_, value) => *known = scalar(known, &value),
        }
        Ok(())
    }
}

/// Returns the common type of the known values and another one: a scalar, or a value whose structure does not match.
fn scalar(known: &Inferred, value: &Document) -> Inferred {
    let found = match value {
        Document::Boolean(_) => Inferred::Boolean,
        Document::String(_) => Inferred::String,
        Document::Number(text) if text.contains(['.', 'e', 'E']) => match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Inferred::Double,
            _ => Inferred::Text,
        },
        Document::Number(text) if text.parse::<i64>().is_ok() => Inferred::Integer,
        Document::Number(_) => Inferred::LongInteger,
        _ => Inferred::Text,
    };
    match (known, found) {
        (Inferred::Unknown, found) => found,
        (Inferred::Boolean, Inferred::Boolean) => Inferred::Boolean,
        (Inferred::String, Inferred::String) => Inferred::String,
        (Inferred::Integer, Inferred::Integer) => Inferred::Integer,
        (Inferred::Integer | Inferred::LongInteger, Inferred::Integer | Inferred::LongInteger) => {
            Inferred::LongInteger
        }
        (
            Inferred::Integer | Inferred::LongInteger | Inferred::Double,
            Inferred::Integer | Inferred::LongInteger | Inferred::Double,
        ) => Inferred::Double,
        _ => Inferred::Text,
    }
}

impl Inferred {
    fn into_field(self, name: &str) -> Field {
        let data_type = match self {
            Self::Unknown | Self::Text | Self::LongInteger => return text_field(name),
            Self::Object(Members { members, .. }) if members.is_empty() => return text_field(name),
            Self::Boolean => DataType::Boolean,
            Self::Integer => DataType::Int64,
            Self::Double => DataType::Float64,
            Self::String => DataType::Utf8,
            Self::List(items) => DataType::List(items.into_field("item").into()),
            Self::Object(Members { members, .. }) => {
                let fields = members.into_iter().map(|(name, member)| member.into_field(&name));
                DataType::Struct(fields.collect())
            }
        };
        Field::new(name, data_type, true)
    }
}
