//! Runs the steps that write the value of a row.
//!
//! Invariant: the recursion is as deep as the schema, and no row writes more bytes than an array can hold.

use arrow_buffer::{IntervalMonthDayNano, i256};

use super::step::{FieldStep, Member, WriteKind, WriteStep};
use crate::avro::output::{append_bytes, append_length, append_long};
use crate::payload_encoder::MAX_BYTES;
use crate::row_failure::{RowFailure, shown};
use crate::source::{Number, Source, Values};

impl WriteStep {
    /// Writes the value of a row, which may be null.
    pub(in crate::avro) fn run(
        &self,
        source: &Source,
        row: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), RowFailure> {
        if source.is_null(row) {
            append_long(out, self.null.ok_or_else(RowFailure::null)?);
            return Ok(());
        }
        let at = source.place(row);
        if let Some(branch) = self.branch {
            append_long(out, branch);
        }
        match (&self.kind, &source.values) {
            (WriteKind::Boolean, Values::Boolean(values)) => out.push(values.value(at).into()),
            (WriteKind::Long(rescale), values) => append_long(out, rescale.apply(values.long(at)?)?),
            (WriteKind::Int(rescale), values) => {
                let value = i32::try_from(rescale.apply(values.long(at)?)?);
                append_long(out, value.map_err(|_| RowFailure::range())?.into());
            }
            (WriteKind::Float, values) => out.extend_from_slice(&values.float(at)?.to_le_bytes()),
            (WriteKind::Double, values) => out.extend_from_slice(&values.double(at)?.to_le_bytes()),
            (WriteKind::Bytes, Values::Bytes(values)) => append_bytes(out, values.get(at)),
            (WriteKind::Fixed(size), Values::Bytes(values)) => match values.get(at) {
                bytes if bytes.len() == *size => out.extend_from_slice(bytes),
                bytes => {
                    return Err(RowFailure::new(format!("it has {} bytes instead of {size}", bytes.len())));
                }
            },
            (WriteKind::Enum(name, numbers), Values::Bytes(values)) => {
                let symbol = values.text(at);
                append_long(
                    out,
                    *numbers.get(symbol).ok_or_else(|| {
                        RowFailure::new(format!("{:?} is not a symbol of the enum {name}", shown(symbol)))
                    })?,
                );
            }
            (WriteKind::Decimal(conversion, size), values) => {
                append_decimal(out, conversion.apply(values, at)?, *size)?;
            }
            (WriteKind::Interval, Values::Interval(values)) => {
                append_interval(out, values.get(at).copied().unwrap_or_default())?;
            }
            (WriteKind::Elapsed(rescale), values) => {
                append_duration(out, 0, 0, rescale.apply(values.long(at)?)?)?;
            }
            (WriteKind::Record(fields), Values::Struct(columns)) => {
                return run_record(fields, columns, at, out);
            }
            (WriteKind::Array(step), Values::List(offsets, items)) => {
                let range = offsets.range(at);
                return append_block(out, range.clone(), |item, out| {
                    step.run(items, item, out).map_err(|failure| failure.in_item(item - range.start))
                });
            }
            (WriteKind::Map(key, value, step), Values::List(offsets, entries)) => {
                return append_block(out, offsets.range(at), |entry, out| {
                    let (key, value, at) = entries.pair(*key, *value, entry)?;
                    let key = key.key(at)?;
                    append_bytes(out, key.as_bytes());
                    step.run(value, at, out).map_err(|failure| failure.in_key(key))
                });
            }
            (WriteKind::Union(members), Values::Struct(columns)) => {
                return run_union(members, self.null, columns, at, out);
            }
            _ => return Err(RowFailure::internal()),
        }
        Ok(())
    }
}

fn run_record(
    fields: &[FieldStep],
    columns: &[Source],
    row: usize,
    out: &mut Vec<u8>,
) -> Result<(), RowFailure> {
    for field in fields {
        match field {
            FieldStep::Column { column, name, step } => {
                let column = columns.get(*column).ok_or_else(RowFailure::internal)?;
                step.run(column, row, out).map_err(|failure| failure.in_field(name))?;
            }
            FieldStep::Default(bytes) => out.extend_from_slice(bytes),
        }
    }
    Ok(())
}

/// Writes the only member that is not null.
fn run_union(
    members: &[Member],
    null: Option<i64>,
    columns: &[Source],
    row: usize,
    out: &mut Vec<u8>,
) -> Result<(), RowFailure> {
    let with_columns = members.iter().filter_map(|member| Some((member, columns.get(member.column)?)));
    let mut set = with_columns.filter(|(_, column)| !column.is_null(row));
    match (set.next(), set.next(), null) {
        (Some((member, column)), None, _) => {
            append_long(out, member.branch);
            member.step.run(column, row, out).map_err(|failure| failure.in_field(&member.name))
        }
        (None, _, Some(null)) => {
            append_long(out, null);
            Ok(())
        }
        (None, _, None) => Err(RowFailure::new("all members of the union are null, which it does not allow")),
        (Some((one, _)), Some((other, _)), _) => {
            let (one, other) = (&one.name, &other.name);
            Err(RowFailure::new(format!("{one} and {other} are not null, but a union has one value")))
        }
    }
}

/// Writes items as one block, and then the end of the blocks.
#[inline]
fn append_block(
    out: &mut Vec<u8>,
    items: std::ops::Range<usize>,
    mut append: impl FnMut(usize, &mut Vec<u8>) -> Result<(), RowFailure>,
) -> Result<(), RowFailure> {
    if !items.is_empty() {
        append_length(out, items.len());
        for item in items {
            append(item, out)?;
            if out.len() > MAX_BYTES {
                return Err(RowFailure::full());
            }
        }
    }
    out.push(0);
    Ok(())
}

/// Writes a decimal, either as `size` bytes or as its length and as few bytes as it needs.
fn append_decimal(out: &mut Vec<u8>, number: Number, size: Option<usize>) -> Result<(), RowFailure> {
    match number {
        Number::Short(value) => append_number(out, &value.to_be_bytes(), value < 0, size),
        Number::Wide(value) => append_number(out, &value.to_be_bytes(), value < i256::ZERO, size),
    }
}

fn append_number(
    out: &mut Vec<u8>,
    bytes: &[u8],
    is_negative: bool,
    size: Option<usize>,
) -> Result<(), RowFailure> {
    let sign = if is_negative { 0xff } else { 0 };
    // Skips leading bytes that only repeat the sign, unless the next byte's high bit differs from the sign.
    let leading = bytes.iter().take_while(|byte| **byte == sign).count();
    let has_sign = bytes.get(leading).is_some_and(|byte| (*byte >= 0x80) == is_negative);
    let needed = bytes.get(leading - usize::from(!has_sign && leading > 0)..).unwrap_or_default();
    match size {
        None => append_bytes(out, needed),
        Some(size) => {
            let padding = size.checked_sub(needed.len()).ok_or_else(RowFailure::range)?;
            out.resize(out.len() + padding, sign);
            out.extend_from_slice(needed);
        }
    }
    Ok(())
}

fn append_interval(out: &mut Vec<u8>, value: IntervalMonthDayNano) -> Result<(), RowFailure> {
    const NANOS: i64 = 1_000_000;
    if value.nanoseconds % NANOS != 0 {
        return Err(RowFailure::new("a duration must have whole milliseconds"));
    }
    append_duration(out, value.months, value.days, value.nanoseconds / NANOS)
}

fn append_duration(out: &mut Vec<u8>, months: i32, days: i32, millis: i64) -> Result<(), RowFailure> {
    for part in [i64::from(months), i64::from(days), millis] {
        let part = u32::try_from(part);
        let part = part.map_err(|_| {
            RowFailure::new("a duration's months, days and milliseconds must be from 0 to 2³² - 1")
        })?;
        out.extend_from_slice(&part.to_le_bytes());
    }
    Ok(())
}
