//! Reads the files that Kafka's Java classes write about the protocol, and compares messages with them.

use std::path::Path;

use ottla_protocol::value::Value;
use ottla_protocol::wire::{SecretBytes, Uuid};
use serde_json::Value as Json;

use super::notation::{Field, Schema, Ty, snake};

/// Reads one of Java's files.
pub(crate) fn read(file: &str) -> String {
    let Ok(dir) = std::env::var("OTTLA_ORACLE_DIR") else {
        panic!("OTTLA_ORACLE_DIR is not set: run `make test`, which makes Kafka's Java classes write {file}");
    };
    // The path may be relative to the top of the project.
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(dir).join(file);
    std::fs::read_to_string(&path)
        .unwrap_or_else(|e| panic!("{}: {e}: run `make test`, which makes Java write it", path.display()))
}

/// The first difference between our tree of a message and Java's document, if any.
pub(crate) fn difference(schema: &Schema, value: &Value, json: &Json) -> Option<String> {
    same_struct(schema, schema.name, value, json).err().map(|e| format!("{}{e}", schema.name))
}

fn same_struct(schema: &Schema, name: &str, value: &Value, json: &Json) -> Result<(), String> {
    let (Value::Object(ours), Some(theirs)) = (value, json.as_object()) else {
        return Err(format!(": {value:?} against {json}"));
    };
    let mut matched = 0;
    for (field, (_, value)) in schema.fields(name).iter().zip(ours) {
        let at = |e| format!(".{}{e}", field.name);
        let json = theirs.iter().find_map(|(key, json)| (snake(key) == field.name).then_some(json));
        matched += usize::from(json.is_some());
        match (value, json) {
            (None, None) => {}
            (Some(value), Some(json)) => same(schema, &field.ty, value, json).map_err(at)?,
            // Java's converters omit tagged fields with their default value.
            (Some(value), None) if field.tag.is_some() && is_default(schema, field, value) => {}
            (value, json) => return Err(at(format!(": {value:?} against {json:?}"))),
        }
    }
    if matched == theirs.len() {
        Ok(())
    } else {
        Err(format!(" lacks some of Java's fields {:?}", theirs.keys()))
    }
}

fn same(schema: &Schema, ty: &Ty, value: &Value, json: &Json) -> Result<(), String> {
    let equal = match (value, ty) {
        (Value::Null, _) => json.is_null(),
        (Value::Array(items), Ty::Array(item)) => {
            let theirs = json.as_array().ok_or_else(|| format!(": an array against {json}"))?;
            for (i, (value, json)) in items.iter().zip(theirs).enumerate() {
                same(schema, item, value, json).map_err(|e| format!("[{i}]{e}"))?;
            }
            items.len() == theirs.len()
        }
        (Value::Object(_), Ty::Struct(name)) => return same_struct(schema, name, value, json),
        (Value::Bool(v), Ty::Fixed("bool")) => json.as_bool() == Some(*v),
        (Value::Float(v), Ty::Fixed("f64")) => json.as_f64().map(f64::to_bits) == Some(v.to_bits()),
        (Value::Uuid(v), Ty::Fixed("Uuid")) => json.as_str() == Some(&v.to_string()),
        (Value::Int(v), Ty::Fixed(_)) => json.as_i64() == Some(*v),
        (Value::Str(v), Ty::Str) => json.as_str() == Some(v),
        (Value::Bytes(v) | Value::Secret(SecretBytes(v)), Ty::Bytes) => json.as_str() == Some(&base64(v)),
        _ => false,
    };
    if equal { Ok(()) } else { Err(format!(": {value:?} against {json}")) }
}

fn is_default(schema: &Schema, field: &Field, value: &Value) -> bool {
    if field.optional {
        return *value == Value::Null;
    }
    match (&field.ty, value) {
        (Ty::Struct(name), Value::Object(fields)) => {
            schema.fields(name).iter().zip(fields).all(|(field, (_, value))| {
                value.as_ref().is_none_or(|value| is_default(schema, field, value))
            })
        }
        (_, Value::Bool(v)) => field.default.is_empty() != *v,
        (_, Value::Int(v)) => field.default.parse().unwrap_or(0) == *v,
        (_, Value::Float(v)) => *v == 0.0,
        (_, Value::Str(v)) => v.is_empty(),
        (_, Value::Bytes(v) | Value::Secret(SecretBytes(v))) => v.is_empty(),
        (_, Value::Array(v)) => v.is_empty(),
        (_, Value::Uuid(v)) => *v == Uuid::ZERO,
        _ => false,
    }
}

/// Decodes hexadecimal digits.
pub(crate) fn unhex(text: &str) -> Vec<u8> {
    let pairs = text.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

/// Encodes base64 with padding, as Java's JSON does.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let mut group = [0; 4];
        group[1..=chunk.len()].copy_from_slice(chunk);
        let bits = u32::from_be_bytes(group);
        for i in 0..4 {
            let digit = usize::try_from(bits >> (18 - 6 * i) & 63).unwrap();
            out.push(if i <= chunk.len() { char::from(DIGITS[digit]) } else { '=' });
        }
    }
    out
}
