//! `google.protobuf.Struct`, `Value` and `ListValue`: JSON text.
//!
//! Invariants: the text is valid JSON, so a number that is not finite is an error. Its nesting is bounded. Several
//! occurrences of a message are merged before they are written.

use serde_json::{Map, Number, Value};

use super::failure::Failure;
use super::input::{BYTES, FIXED64, Input, VARINT};
use super::storage::Texts;

/// The maximum nesting depth, as in Google's libraries.
pub(super) const MAX_DEPTH: usize = 100;
/// The limit up to which a double represents every integer exactly.
const MAX_INTEGER: f64 = 9_007_199_254_740_992.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonKind {
    Struct,
    Value,
    List,
}

/// A column of JSON text.
#[derive(Debug)]
pub(super) struct JsonColumn {
    kind: JsonKind,
    pub(super) texts: Texts,
    /// The value of the row that is being decoded.
    current: Option<Value>,
}

impl JsonColumn {
    pub(super) fn new(kind: JsonKind, is_nullable: bool) -> Self {
        let default = match kind {
            JsonKind::Struct => "{}",
            JsonKind::Value => "null",
            JsonKind::List => "[]",
        };
        Self { kind, texts: Texts::new(default, is_nullable), current: None }
    }

    pub(super) fn read(&mut self, input: Input<'_>) -> Result<(), Failure> {
        let current = self.current.get_or_insert(Value::Null);
        match self.kind {
            JsonKind::Struct => merge_struct(current, input, 1),
            JsonKind::Value => merge_value(current, input, 1),
            JsonKind::List => merge_list(current, input, 1),
        }
    }

    pub(super) fn has(&self, row: usize) -> bool {
        self.current.is_some() || self.texts.has(row)
    }

    /// Writes the value of a complete row.
    pub(super) fn end_row(&mut self, row: usize) -> Result<(), Failure> {
        match self.current.take() {
            Some(value) => self.texts.set(row, value.to_string().as_bytes()),
            None => Ok(()),
        }
    }

    pub(super) fn truncate(&mut self, rows: usize) {
        self.current = None;
        self.texts.truncate(rows);
    }
}

fn check_depth(depth: usize) -> Result<(), Failure> {
    match depth > MAX_DEPTH {
        true => Err(Failure::malformed("a google.protobuf.Value is nested too deep")),
        false => Ok(()),
    }
}

fn merge_struct(into: &mut Value, mut input: Input<'_>, depth: usize) -> Result<(), Failure> {
    check_depth(depth)?;
    if !into.is_object() {
        *into = Value::Object(Map::new());
    }
    while !input.is_empty() {
        match input.tag()? {
            (1, BYTES) => {
                let entry = Input::new(input.bytes()?);
                let (key, value) = read_entry(entry, depth)?;
                if let Value::Object(entries) = into {
                    entries.insert(key, value);
                }
            }
            (number, wire) => input.skip(number, wire)?,
        }
    }
    Ok(())
}

fn read_entry(mut entry: Input<'_>, depth: usize) -> Result<(String, Value), Failure> {
    let (mut key, mut value) = ("", Value::Null);
    while !entry.is_empty() {
        match entry.tag()? {
            (1, BYTES) => key = text(entry.bytes()?)?,
            (2, BYTES) => merge_value(&mut value, Input::new(entry.bytes()?), depth + 1)?,
            (number, wire) => entry.skip(number, wire)?,
        }
    }
    Ok((key.to_owned(), value))
}

fn merge_list(into: &mut Value, mut input: Input<'_>, depth: usize) -> Result<(), Failure> {
    check_depth(depth)?;
    if !into.is_array() {
        *into = Value::Array(Vec::new());
    }
    while !input.is_empty() {
        match input.tag()? {
            (1, BYTES) => {
                let mut value = Value::Null;
                merge_value(&mut value, Input::new(input.bytes()?), depth + 1)?;
                if let Value::Array(values) = into {
                    values.push(value);
                }
            }
            (number, wire) => input.skip(number, wire)?,
        }
    }
    Ok(())
}

fn merge_value(into: &mut Value, mut input: Input<'_>, depth: usize) -> Result<(), Failure> {
    check_depth(depth)?;
    while !input.is_empty() {
        match input.tag()? {
            (1, VARINT) => {
                input.varint()?;
                *into = Value::Null;
            }
            (2, FIXED64) => *into = number(f64::from_le_bytes(input.fixed()?))?,
            (3, BYTES) => *into = text(input.bytes()?)?.into(),
            (4, VARINT) => *into = (input.varint()? != 0).into(),
            (5, BYTES) => merge_struct(into, Input::new(input.bytes()?), depth + 1)?,
            (6, BYTES) => merge_list(into, Input::new(input.bytes()?), depth + 1)?,
            (number, wire) => input.skip(number, wire)?,
        }
    }
    Ok(())
}

fn text(bytes: &[u8]) -> Result<&str, Failure> {
    std::str::from_utf8(bytes).map_err(|_| Failure::malformed("a text is not UTF-8"))
}

/// Converts a number. An integer has no decimal point, as in Google's libraries.
fn number(value: f64) -> Result<Value, Failure> {
    if value.fract() == 0.0 && value.abs() < MAX_INTEGER && !(value == 0.0 && value.is_sign_negative()) {
        return Ok(Value::Number((value as i64).into()));
    }
    let number = Number::from_f64(value);
    number.map(Value::Number).ok_or_else(|| Failure::malformed("a google.protobuf.Value is not finite"))
}
