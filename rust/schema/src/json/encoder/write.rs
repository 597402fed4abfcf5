//! Runs the steps that write the JSON of a row.
//!
//! Invariant: the recursion is as deep as the type, and no row writes more bytes than an array can hold.

use std::borrow::Cow;
use std::io::Write;

use serde_core::Serialize;

use super::step::{MemberStep, WriteKind, WriteStep};
use crate::json::keys::Keys;
use crate::json::scanner::Scanner;
use crate::json::timestamp::{append_date, append_timestamp};
use crate::payload_encoder::MAX_BYTES;
use crate::row_failure::RowFailure;
use crate::source::{Bytes, Number, Offsets, Source, Values};

impl WriteStep {
    /// Writes the value of a row, which may be null.
    pub(super) fn run(&self, source: &Source, row: usize, out: &mut Vec<u8>) -> Result<(), RowFailure> {
        if source.is_null(row) {
            return match self.is_nullable {
                true => {
                    out.extend_from_slice(b"null");
                    Ok(())
                }
                false => Err(RowFailure::null()),
            };
        }
        let at = source.place(row);
        match (&self.kind, &source.values) {
            (WriteKind::Object(members), Values::Struct(columns)) => append_object(members, columns, at, out),
            (WriteKind::String, Values::Bytes(values)) => append(out, values.text(at)),
            (WriteKind::Integer(min, max), values) => {
                let value = values.integer(at)?;
                if value < *min || value > *max {
                    return Err(RowFailure::range());
                }
                match i64::try_from(value) {
                    Ok(value) => append(out, &value),
                    Err(_) => append(out, &value),
                }
            }
            (WriteKind::Double, values) => {
                let value = values.double(at)?;
                check_finite(value.is_finite(), value)?;
                append(out, &value)
            }
            (WriteKind::Float, values) => {
                let value = values.float(at)?;
                check_finite(value.is_finite(), value.into())?;
                append(out, &value)
            }
            (WriteKind::Boolean, Values::Boolean(values)) => append(out, &values.value(at)),
            (WriteKind::Text, Values::Bytes(values)) => append_text(values, at, self.is_nullable, out),
            (WriteKind::List(step), Values::List(offsets, items)) => {
                append_list(step, offsets, items, at, out)
            }
            (WriteKind::Map(key, value, step), Values::List(offsets, entries)) => {
                append_map((*key, *value), step, offsets.range(at), entries, out)
            }
            (WriteKind::Decimal(conversion, scale), values) => {
                append_decimal(conversion.apply(values, at)?, *scale, out)
            }
            (WriteKind::Date(rescale), values) => append_date(rescale.apply(values.long(at)?)?, out)
                .ok_or_else(|| RowFailure::new("a JSON date must be in the years 0 to 9999")),
            (WriteKind::Timestamp { rescale, unit, has_offset }, values) => {
                append_timestamp(rescale.apply(values.long(at)?)?, *unit, *has_offset, out)
                    .ok_or_else(|| RowFailure::new("a JSON timestamp must be in the years 0 to 9999"))
            }
            _ => Err(RowFailure::internal()),
        }
    }
}

/// Writes a string, a number or a boolean.
#[inline]
fn append<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) -> Result<(), RowFailure> {
    serde_json::to_writer(out, value).map_err(|error| RowFailure::new(error.to_string()))
}

fn check_finite(is_finite: bool, value: f64) -> Result<(), RowFailure> {
    match is_finite {
        true => Ok(()),
        false => Err(RowFailure::new(format!("{value} is not a JSON number"))),
    }
}

fn append_object(
    members: &[MemberStep],
    columns: &[Source],
    row: usize,
    out: &mut Vec<u8>,
) -> Result<(), RowFailure> {
    out.push(b'{');
    let start = out.len();
    for MemberStep { column, name, key, is_required, step } in members {
        let column = columns.get(*column).ok_or_else(RowFailure::internal)?;
        if !is_required && column.is_null(row) {
            continue;
        }
        if out.len() > start {
            out.push(b',');
        }
        out.extend_from_slice(key);
        step.run(column, row, out).map_err(|failure| failure.in_field(name))?;
    }
    out.push(b'}');
    Ok(())
}

fn append_list(
    step: &WriteStep,
    offsets: &Offsets,
    items: &Source,
    row: usize,
    out: &mut Vec<u8>,
) -> Result<(), RowFailure> {
    let range = offsets.range(row);
    let start = range.start;
    out.push(b'[');
    for item in range {
        if item > start {
            out.push(b',');
        }
        step.run(items, item, out).map_err(|failure| failure.in_item(item - start))?;
        check_size(out)?;
    }
    out.push(b']');
    Ok(())
}

fn append_map(
    (key_column, value_column): (usize, usize),
    step: &WriteStep,
    range: std::ops::Range<usize>,
    entries: &Source,
    out: &mut Vec<u8>,
) -> Result<(), RowFailure> {
    let mut keys = Keys::default();
    let start = range.start;
    out.push(b'{');
    for entry in range {
        if entry > start {
            out.push(b',');
        }
        let (key, value, at) = entries.pair(key_column, value_column, entry)?;
        let key = key.key(at)?;
        if keys.contains(key) {
            return Err(RowFailure::new("the key occurs twice").in_key(key));
        }
        keys.insert(Cow::Borrowed(key));
        append(out, key)?;
        out.push(b':');
        step.run(value, at, out).map_err(|failure| failure.in_key(key))?;
        check_size(out)?;
    }
    out.push(b'}');
    Ok(())
}

fn check_size(out: &[u8]) -> Result<(), RowFailure> {
    if out.len() > MAX_BYTES { Err(RowFailure::full()) } else { Ok(()) }
}

/// Writes JSON text, which must be exactly one value that the decoder accepts.
fn append_text(values: &Bytes, at: usize, is_nullable: bool, out: &mut Vec<u8>) -> Result<(), RowFailure> {
    let invalid = |reason| RowFailure::new(format!("it is not JSON: {reason}"));
    let scanner = Scanner::new(values.get(at)).map_err(invalid)?;
    if scanner.peek() == Some(b'n') && !is_nullable {
        return Err(RowFailure::null());
    }
    let start = scanner.position();
    scanner.skip().map_err(invalid)?;
    out.extend_from_slice(scanner.since(start).as_bytes());
    scanner.finish().map_err(invalid)
}

/// Writes all digits of a decimal.
fn append_decimal(number: Number, scale: u8, out: &mut Vec<u8>) -> Result<(), RowFailure> {
    let digits = match number {
        Number::Short(value) => value.to_string(),
        Number::Wide(value) => value.to_string(),
    };
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", digits.as_str()),
    };
    let scale = usize::from(scale);
    // At least one digit before the point.
    let padded = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = padded.split_at_checked(padded.len() - scale).unwrap_or((&padded, ""));
    let point = if fraction.is_empty() { "" } else { "." };
    write!(out, "{sign}{whole}{point}{fraction}").map_err(|error| RowFailure::new(error.to_string()))
}
