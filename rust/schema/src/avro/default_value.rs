//! Encodes the defaults of fields as a writer with the reader's schema would encode them.
//!
//! Invariant: a default that does not fit its type is an error only where it is used, since registries contain such
//! schemas. The size of a default, with the defaults of its inner fields, is limited, and so is its depth.

use serde_json::Value;

use super::output::{append_bytes, append_length, append_long};
use super::schema::{Field, Kind, Schema};
use super::{invalid, unsupported};
use crate::error::SchemaError;
use crate::limits::DEFAULT_KEY;
use crate::shape::MAX_DEPTH;

/// Encodes the default of a record's field. A default of more than `max` bytes is an error.
pub(super) fn encode_field(record: &str, field: &Field, max: usize) -> Result<Vec<u8>, SchemaError> {
    let mut out = Vec::new();
    match append_field(&mut out, field, max, MAX_DEPTH) {
        Ok(()) if out.len() > max => {
            Err(unsupported(format!("the default of {record}.{}: {}", field.name, too_large(max))))
        }
        Ok(()) => Ok(out),
        Err(reason) => Err(invalid(format!("the default of {record}.{}: {reason}", field.name))),
    }
}

fn append_field(out: &mut Vec<u8>, field: &Field, max: usize, levels: usize) -> Result<(), String> {
    let default = field.default.as_ref().ok_or_else(|| format!("{} has no default", field.name))?;
    // JSON has no NaN and no infinity; Java reads any number of text here.
    let number = || default.as_str().and_then(|text| text.trim().parse::<f64>().ok());
    match field.schema.kind {
        Kind::Float if default.is_string() => {
            let number = number().ok_or_else(|| does_not_fit(&field.schema, default))?;
            out.extend((number as f32).to_le_bytes());
        }
        Kind::Double if default.is_string() => {
            out.extend(number().ok_or_else(|| does_not_fit(&field.schema, default))?.to_le_bytes());
        }
        _ => append(out, &field.schema, default, max, levels)?,
    }
    Ok(())
}

fn too_large(max: usize) -> String {
    format!("it has more than {max} bytes, the limit for a default ({DEFAULT_KEY})")
}

fn does_not_fit(schema: &Schema, value: &Value) -> String {
    let value: String = value.to_string().chars().take(40).collect();
    format!("{value} is not of the type {}", schema.name())
}

fn append(
    out: &mut Vec<u8>,
    schema: &Schema,
    value: &Value,
    max: usize,
    levels: usize,
) -> Result<(), String> {
    // Defaults of fields multiply: an array of records repeats them for each of its items.
    if out.len() > max {
        return Err(too_large(max));
    }
    // So do those of a record within itself, without end and perhaps without bytes.
    let levels = levels.checked_sub(1).ok_or("it is nested too deep")?;
    let fail = || does_not_fit(schema, value);
    match &schema.kind {
        Kind::Null => value.as_null().ok_or_else(fail)?,
        Kind::Boolean => out.push(value.as_bool().ok_or_else(fail)?.into()),
        Kind::Int => {
            let number = value.as_i64().and_then(|number| i32::try_from(number).ok());
            append_long(out, number.ok_or_else(fail)?.into());
        }
        Kind::Long => append_long(out, value.as_i64().ok_or_else(fail)?),
        Kind::Float => out.extend((value.as_f64().ok_or_else(fail)? as f32).to_le_bytes()),
        Kind::Double => out.extend(value.as_f64().ok_or_else(fail)?.to_le_bytes()),
        Kind::String => append_bytes(out, value.as_str().ok_or_else(fail)?.as_bytes()),
        Kind::Bytes => append_bytes(out, &latin1(value).ok_or_else(fail)?),
        Kind::Fixed(fixed) => {
            let mut bytes = latin1(value).ok_or_else(fail)?;
            if fixed.size > max {
                return Err(too_large(max));
            }
            bytes.resize(fixed.size, 0);
            out.extend(bytes);
        }
        Kind::Enum(of) => {
            let symbol = value.as_str().ok_or_else(fail)?;
            let number = of.symbols.iter().position(|other| &**other == symbol).ok_or_else(fail)?;
            append_length(out, number);
        }
        Kind::Array(items) => {
            let values = value.as_array().ok_or_else(fail)?;
            if !values.is_empty() {
                append_length(out, values.len());
                values.iter().try_for_each(|value| append(out, items, value, max, levels))?;
            }
            out.push(0);
        }
        Kind::Map(values) => {
            let entries = value.as_object().ok_or_else(fail)?;
            if !entries.is_empty() {
                append_length(out, entries.len());
                for (key, value) in entries {
                    append_bytes(out, key.as_bytes());
                    append(out, values, value, max, levels)?;
                }
            }
            out.push(0);
        }
        Kind::Recursive(of) => {
            let record = of.record().ok_or_else(fail)?;
            append(out, &Kind::Record(record).into(), value, max, levels)?;
        }
        Kind::Record(record) => {
            let values = value.as_object().ok_or_else(fail)?;
            for field in &record.fields {
                match values.get(&*field.name) {
                    Some(value) => append(out, &field.schema, value, max, levels)?,
                    None => append_field(out, field, max, levels)?,
                }
            }
        }
        // The first branch that fits is used, although the specification allows only the first branch.
        Kind::Union(branches) => {
            let number = branches.iter().position(|branch| may_fit(branch, value)).ok_or_else(fail)?;
            append_length(out, number);
            append(out, branches.get(number).ok_or_else(fail)?, value, max, levels)?;
        }
    }
    Ok(())
}

/// Returns whether a value may have a type, judged by the outermost type alone.
fn may_fit(schema: &Schema, value: &Value) -> bool {
    match &schema.kind {
        Kind::Null => value.is_null(),
        Kind::Boolean => value.is_boolean(),
        Kind::Int => value.as_i64().is_some_and(|number| i32::try_from(number).is_ok()),
        Kind::Long => value.is_i64(),
        Kind::Float | Kind::Double => value.is_number(),
        Kind::String => value.is_string(),
        Kind::Bytes => latin1(value).is_some(),
        Kind::Fixed(fixed) => latin1(value).is_some_and(|bytes| bytes.len() == fixed.size),
        Kind::Enum(of) => {
            value.as_str().is_some_and(|text| of.symbols.iter().any(|symbol| &**symbol == text))
        }
        Kind::Array(_) => value.is_array(),
        Kind::Map(_) | Kind::Record(_) | Kind::Recursive(_) => value.is_object(),
        Kind::Union(_) => false,
    }
}

/// Returns the bytes that a JSON string stands for: each character is one byte.
fn latin1(value: &Value) -> Option<Vec<u8>> {
    value.as_str()?.chars().map(|character| u8::try_from(u32::from(character)).ok()).collect()
}
