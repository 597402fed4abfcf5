//! Runs the steps that read a payload and append its values to columns.
//!
//! Invariants: the recursion is as deep as the schema. The payload's budget bounds its work and memory: before a value
//! is appended, it takes the `width` of its column from the budget, and a string also its bytes.

use arrow_array::builder::{BinaryBuilder, StringBuilder};
use arrow_buffer::{IntervalMonthDayNano, i256};
use arrow_schema::TimeUnit;

use super::column::{Column, OFFSET_BYTES, Values};
use super::fault::Fault;
use super::input::Input;
use super::step::{FieldStep, RecordStep, Step};
use crate::source::is_time_of_day;

/// The largest number of bytes or items in one Arrow array.
const MAX_OFFSET: usize = i32::MAX as usize;

impl Step {
    /// Reads a value and appends it to a column.
    pub(super) fn run(&self, column: &mut Column, input: &mut Input<'_>) -> Result<(), Fault> {
        match (self, &mut column.values) {
            (Self::Int, Values::Int(values)) => values.push(input.int()?),
            (Self::Int, Values::Long(values)) => values.push(input.int()?.into()),
            (Self::Int, Values::Float(values)) => values.push(input.int()? as f32),
            (Self::Int, Values::Double(values)) => values.push(input.int()?.into()),
            (Self::Int, Values::TimeMillis(values)) => {
                let millis = input.int()?;
                check_time(millis.into(), TimeUnit::Millisecond)?;
                values.push(millis);
            }
            (Self::Int | Self::Long, Values::TimeMicros(values)) => {
                let micros = if matches!(self, Self::Int) { input.int()?.into() } else { input.long()? };
                check_time(micros, TimeUnit::Microsecond)?;
                values.push(micros);
            }
            (Self::Long, Values::Long(values)) => values.push(input.long()?),
            (Self::Long, Values::Float(values)) => values.push(input.long()? as f32),
            (Self::Long, Values::Double(values)) => values.push(input.long()? as f64),
            (Self::Float, Values::Float(values)) => values.push(f32::from_le_bytes(input.array()?)),
            (Self::Float, Values::Double(values)) => values.push(f32::from_le_bytes(input.array()?).into()),
            (Self::Double, Values::Double(values)) => values.push(f64::from_le_bytes(input.array()?)),
            (Self::Boolean, Values::Boolean(values)) => values.append(input.boolean()?),
            (Self::Bytes, Values::Text(values)) => append_text(values, input.text()?, input)?,
            (Self::Bytes, _) => append_bytes(&mut column.values, input.bytes()?, input)?,
            (Self::Fixed(size), _) => append_bytes(&mut column.values, input.take(*size)?, input)?,
            (Self::Enum(symbols), Values::Text(values)) => {
                let number = input.int()?;
                let symbol = usize::try_from(number).ok().and_then(|number| symbols.get(number));
                let symbol = symbol.and_then(Option::as_ref).ok_or(Fault::Symbol(number))?;
                append_text(values, symbol, input)?;
            }
            (Self::Record(record), Values::Struct(columns)) => run_record(record, columns, input)?,
            (Self::Array(items), Values::List(offsets, column)) => {
                run_blocks(offsets, column.width, input, |input| items.run(column, input))?;
            }
            (Self::Map(step), Values::Map(offsets, keys, column)) => {
                run_blocks(offsets, OFFSET_BYTES + column.width, input, |input| {
                    append_text(keys, input.text()?, input)?;
                    step.run(column, input)
                })?;
            }
            (Self::Member(member, step), Values::Struct(columns)) => {
                for (number, column) in columns.iter_mut().enumerate() {
                    match number == *member {
                        true => step.run(column, input)?,
                        false => column.append_missing()?,
                    }
                }
            }
            (Self::NoMember(skip), Values::Struct(columns)) => {
                skip.run(input)?;
                columns.iter_mut().try_for_each(Column::append_missing)?;
            }
            (Self::Union(branches), _) => {
                let number = input.long()?;
                let branch = usize::try_from(number).ok().and_then(|number| branches.get(number));
                return branch.ok_or(Fault::Branch(number))?.run(column, input);
            }
            (Self::Null, _) => return column.append_missing(),
            (Self::Mismatch(reason) | Self::Unreadable(reason), _) => return Err(Self::fault(reason)),
            _ => return Err(Fault::Internal),
        }
        column.set_valid();
        Ok(())
    }
}

fn run_record(record: &RecordStep, columns: &mut [Column], input: &mut Input<'_>) -> Result<(), Fault> {
    for field in &record.fields {
        match field {
            FieldStep::Read(number, step) => {
                step.run(columns.get_mut(*number).ok_or(Fault::Internal)?, input)?;
            }
            FieldStep::Skip(skip) => skip.run(input)?,
        }
    }
    for (number, default) in &record.defaults {
        let column = columns.get_mut(*number).ok_or(Fault::Internal)?;
        input.within(&default.bytes, |input| default.step.run(column, input))?;
    }
    Ok(())
}

/// Reads the blocks of an array's items or a map's entries, and appends the offset of their end.
#[inline]
fn run_blocks(
    offsets: &mut Vec<i32>,
    item_width: usize,
    input: &mut Input<'_>,
    mut read_item: impl FnMut(&mut Input<'_>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut end = offsets.last().copied().unwrap_or_default();
    loop {
        let count = input.block()?;
        if count == 0 {
            break;
        }
        input.spend_each(count, item_width)?;
        end = add(end, count)?;
        (0..count).try_for_each(|_| read_item(input))?;
    }
    offsets.push(end);
    Ok(())
}

fn add(end: i32, count: usize) -> Result<i32, Fault> {
    i32::try_from(count).ok().and_then(|count| end.checked_add(count)).ok_or(Fault::Full)
}

#[inline]
fn append_text(values: &mut StringBuilder, text: &str, input: &mut Input<'_>) -> Result<(), Fault> {
    input.spend(text.len())?;
    if values.values_slice().len() + text.len() > MAX_OFFSET {
        return Err(Fault::Full);
    }
    values.append_value(text);
    Ok(())
}

/// Refuses a number that is not a time of day.
#[inline]
fn check_time(value: i64, unit: TimeUnit) -> Result<(), Fault> {
    match is_time_of_day(value, unit) {
        true => Ok(()),
        false => Err(Fault::TimeOfDay(value, if unit == TimeUnit::Millisecond { "ms" } else { "µs" })),
    }
}

fn append_binary(values: &mut BinaryBuilder, bytes: &[u8]) -> Result<(), Fault> {
    if values.values_slice().len() + bytes.len() > MAX_OFFSET {
        return Err(Fault::Full);
    }
    values.append_value(bytes);
    Ok(())
}

fn append_bytes(values: &mut Values, bytes: &[u8], input: &mut Input<'_>) -> Result<(), Fault> {
    match values {
        Values::Binary(values) => {
            input.spend(bytes.len())?;
            append_binary(values, bytes)?;
        }
        Values::Fixed(size, values) if bytes.len() == *size => values.extend_from_slice(bytes),
        Values::Decimal128(values, bound) => {
            let number = i128::from_be_bytes(sign_extended(bytes)?);
            if number.unsigned_abs() >= bound.unsigned_abs() {
                return Err(Fault::Decimal);
            }
            values.push(number);
        }
        Values::Decimal256(values, bound) => {
            let number = i256::from_be_bytes(sign_extended(bytes)?);
            if number >= *bound || number <= bound.wrapping_neg() {
                return Err(Fault::Decimal);
            }
            values.push(number);
        }
        Values::Interval(values) => values.push(duration(bytes)?),
        _ => return Err(Fault::Internal),
    }
    Ok(())
}

/// Extends or shortens a two's complement number to N bytes.
fn sign_extended<const N: usize>(bytes: &[u8]) -> Result<[u8; N], Fault> {
    let first = *bytes.first().ok_or(Fault::EmptyDecimal)?;
    let sign = if first < 0x80 { 0 } else { 0xff };
    let (leading, bytes) = bytes.split_at(bytes.len().saturating_sub(N));
    let mut number = [sign; N];
    for (to, from) in number.iter_mut().rev().zip(bytes.iter().rev()) {
        *to = *from;
    }
    let keeps_sign = (number.first().is_some_and(|byte| *byte >= 0x80)) == (sign == 0xff);
    if !keeps_sign || leading.iter().any(|byte| *byte != sign) {
        return Err(Fault::Decimal);
    }
    Ok(number)
}

/// Converts an Avro duration: months, days and milliseconds.
fn duration(bytes: &[u8]) -> Result<IntervalMonthDayNano, Fault> {
    let (months, rest) = bytes.split_first_chunk().ok_or(Fault::End)?;
    let (days, rest) = rest.split_first_chunk().ok_or(Fault::End)?;
    let millis = rest.first_chunk().ok_or(Fault::End)?;
    let [months, days, millis] = [months, days, millis].map(|part| u32::from_le_bytes(*part));
    let signed = |part: u32| i32::try_from(part).map_err(|_| Fault::Duration);
    Ok(IntervalMonthDayNano::new(signed(months)?, signed(days)?, i64::from(millis) * 1_000_000))
}
