//! `google.protobuf.Struct`, `Value` and `ListValue` from JSON text.
//!
//! Invariants: a number that a double cannot represent is an error, except for excess digits after the decimal point.
//! The nesting is limited to what the decoder accepts.

use crate::json::Document;
use crate::protobuf::input::{BYTES, FIXED64, VARINT};
use crate::protobuf::json::{JsonKind, MAX_DEPTH};
use crate::protobuf::output::{append_bytes, append_field, append_sized, append_varint, tag};
use crate::row_failure::{RowFailure, shown};

/// Writes the length of a text's message, then the message.
pub(super) fn append_json(kind: JsonKind, text: &[u8], out: &mut Vec<u8>) -> Result<(), RowFailure> {
    let document = Document::parse(text);
    let document = document.map_err(|reason| RowFailure::new(format!("it is not JSON: {reason}")))?;
    append_sized(out, |out| match (kind, &document) {
        (JsonKind::Value, document) => append_value(document, 1, out),
        (JsonKind::Struct, Document::Object(entries)) => append_entries(entries, 1, out),
        (JsonKind::List, Document::Array(items)) => append_items(items, 1, out),
        (JsonKind::Struct, _) => Err(RowFailure::new("a google.protobuf.Struct must be a JSON object")),
        (JsonKind::List, _) => Err(RowFailure::new("a google.protobuf.ListValue must be a JSON array")),
    })
}

fn check_depth(depth: usize) -> Result<(), RowFailure> {
    match depth > MAX_DEPTH {
        true => Err(RowFailure::new("a google.protobuf.Value is nested too deep")),
        false => Ok(()),
    }
}

fn append_value(value: &Document, depth: usize, out: &mut Vec<u8>) -> Result<(), RowFailure> {
    check_depth(depth)?;
    match value {
        Document::Null => {
            append_varint(out, tag(1, VARINT));
            out.push(0);
        }
        Document::Number(text) => {
            append_varint(out, tag(2, FIXED64));
            out.extend_from_slice(&number(text)?.to_le_bytes());
        }
        Document::String(text) => append_field(out, 3, text.as_bytes()),
        Document::Boolean(value) => {
            append_varint(out, tag(4, VARINT));
            out.push((*value).into());
        }
        Document::Object(entries) => {
            append_varint(out, tag(5, BYTES));
            append_sized(out, |out| append_entries(entries, depth + 1, out))?;
        }
        Document::Array(items) => {
            append_varint(out, tag(6, BYTES));
            append_sized(out, |out| append_items(items, depth + 1, out))?;
        }
    }
    Ok(())
}

fn append_entries(entries: &[(String, Document)], depth: usize, out: &mut Vec<u8>) -> Result<(), RowFailure> {
    check_depth(depth)?;
    for (key, value) in entries {
        append_varint(out, tag(1, BYTES));
        append_sized(out, |out| {
            append_varint(out, tag(1, BYTES));
            append_bytes(out, key.as_bytes());
            append_varint(out, tag(2, BYTES));
            append_sized(out, |out| append_value(value, depth + 1, out))
        })
        .map_err(|failure| failure.in_key(key))?;
    }
    Ok(())
}

fn append_items(items: &[Document], depth: usize, out: &mut Vec<u8>) -> Result<(), RowFailure> {
    check_depth(depth)?;
    for (at, value) in items.iter().enumerate() {
        append_varint(out, tag(1, BYTES));
        append_sized(out, |out| append_value(value, depth + 1, out))
            .map_err(|failure| failure.in_item(at))?;
    }
    Ok(())
}

/// Returns a number as a double. An integer must convert exactly.
fn number(text: &str) -> Result<f64, RowFailure> {
    let value = text.parse::<f64>().ok().filter(|value| value.is_finite());
    let value =
        value.ok_or_else(|| RowFailure::new(format!("{} is beyond the range of doubles", shown(text))))?;
    match text.parse::<i128>() {
        Ok(integer) if value as i128 != integer => Err(RowFailure::inexact(integer)),
        _ => Ok(value),
    }
}
