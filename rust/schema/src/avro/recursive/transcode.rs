//! Runs the steps that read a payload, and writes its value in the encoding of the reader's schema.
//!
//! Invariants: what is written is a value of the reader's schema. The payload's budget bounds the bytes that are
//! written, and its levels the recursion.

use std::ops::Range;

use crate::avro::fault::Fault;
use crate::avro::input::Input;
use crate::avro::output::{append_bytes, append_length, append_long};
use crate::avro::resolve::Resolved;
use crate::avro::schema::{Enum, Kind, Record, Schema};
use crate::avro::step::{FieldStep, RecordStep, Step};

/// Writes values of one writer's schema in the reader's encoding.
pub(super) struct Transcoder<'a> {
    resolved: &'a Resolved,
}

impl<'a> Transcoder<'a> {
    pub(super) fn new(resolved: &'a Resolved) -> Self {
        Self { resolved }
    }

    /// Reads a value and appends it.
    pub(super) fn run(
        &self,
        step: &Step,
        reader: &Schema,
        input: &mut Input<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let mut step = step;
        loop {
            match step {
                Step::Mismatch(reason) | Step::Unreadable(reason) => return Err(Step::fault(reason)),
                Step::Recursive(index) => {
                    step = self.resolved.recursive.get(*index).ok_or(Fault::Internal)?;
                }
                Step::Union(branches) => {
                    let number = input.long()?;
                    let branch = usize::try_from(number).ok().and_then(|number| branches.get(number));
                    step = branch.ok_or(Fault::Branch(number))?;
                }
                _ => break,
            }
        }
        let reader = &*reader.unfolded();
        input.deeper(1, |input| match (step, &reader.kind) {
            (_, Kind::Union(branches)) => {
                let (number, step) = branch(step, branches).ok_or(Fault::Internal)?;
                spending(input, out, |_, out| {
                    append_length(out, number);
                    Ok(())
                })?;
                self.run(step, branches.get(number).ok_or(Fault::Internal)?, input, out)
            }
            (Step::Record(step), Kind::Record(record)) => self.record(step, record, input, out),
            (Step::Array(step), Kind::Array(items)) => {
                self.blocks(input, out, |input, out| self.run(step, items, input, out))
            }
            (Step::Map(step), Kind::Map(values)) => self.blocks(input, out, |input, out| {
                let key = input.text()?;
                input.spend(key.len())?;
                append_bytes(out, key.as_bytes());
                self.run(step, values, input, out)
            }),
            _ => spending(input, out, |input, out| scalar(step, reader, input, out)),
        })
    }

    /// Writes the fields in the reader's order.
    fn record(
        &self,
        of: &RecordStep,
        reader: &Record,
        input: &mut Input<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let start = out.len();
        let mut parts: Vec<(usize, Range<usize>)> = Vec::with_capacity(reader.fields.len());
        let schema = |number: usize| match reader.fields.get(number) {
            Some(field) => Ok(&field.schema),
            None => Err(Fault::Internal),
        };
        for field in &of.fields {
            match field {
                FieldStep::Read(number, step) => {
                    let from = out.len();
                    self.run(step, schema(*number)?, input, out)?;
                    parts.push((*number, from..out.len()));
                }
                FieldStep::Skip(skip) => skip.run(input, &self.resolved.skips)?,
            }
        }
        for (number, default) in &of.defaults {
            let (from, schema) = (out.len(), schema(*number)?);
            input.within(&default.bytes, |input| self.run(&default.step, schema, input, out))?;
            parts.push((*number, from..out.len()));
        }
        if !parts.is_sorted_by_key(|(number, _)| *number) {
            let written = out.split_off(start);
            parts.sort_by_key(|(number, _)| *number);
            for (_, range) in parts {
                let part = written.get(range.start - start..range.end - start);
                out.extend_from_slice(part.ok_or(Fault::Internal)?);
            }
        }
        Ok(())
    }

    /// Writes the items of an array or the entries of a map, block by block.
    fn blocks(
        &self,
        input: &mut Input<'_>,
        out: &mut Vec<u8>,
        mut item: impl FnMut(&mut Input<'_>, &mut Vec<u8>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        loop {
            let count = input.block()?;
            spending(input, out, |_, out| {
                append_length(out, count);
                Ok(())
            })?;
            if count == 0 {
                return Ok(());
            }
            (0..count).try_for_each(|_| item(input, out))?;
        }
    }
}

/// Takes the bytes that are written from the budget.
fn spending(
    input: &mut Input<'_>,
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Input<'_>, &mut Vec<u8>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let before = out.len();
    write(input, out)?;
    input.spend(out.len() - before)
}

/// Returns the index of the reader's branch that a step writes, and the step within it.
fn branch<'a>(step: &'a Step, branches: &[Schema]) -> Option<(usize, &'a Step)> {
    let is_null = matches!(step, Step::Null);
    let (member, step) = match step {
        Step::Member(member, step) => (*member, &**step),
        step => (0, step),
    };
    let mut of_kind = branches.iter().enumerate().filter(|(_, branch)| branch.is_null() == is_null);
    of_kind.nth(member).map(|(number, _)| (number, step))
}

fn scalar(step: &Step, reader: &Schema, input: &mut Input<'_>, out: &mut Vec<u8>) -> Result<(), Fault> {
    match (step, &reader.kind) {
        (Step::Null, Kind::Null) => {}
        (Step::Boolean, Kind::Boolean) => out.push(input.boolean()?.into()),
        (Step::Int, Kind::Int | Kind::Long) => append_long(out, input.int()?.into()),
        (Step::Int, Kind::Float) => out.extend((input.int()? as f32).to_le_bytes()),
        (Step::Int, Kind::Double) => out.extend(f64::from(input.int()?).to_le_bytes()),
        (Step::Long, Kind::Long) => append_long(out, input.long()?),
        (Step::Long, Kind::Float) => out.extend((input.long()? as f32).to_le_bytes()),
        (Step::Long, Kind::Double) => out.extend((input.long()? as f64).to_le_bytes()),
        (Step::Float, Kind::Float) => out.extend(input.take(4)?),
        (Step::Float, Kind::Double) => {
            out.extend(f64::from(f32::from_le_bytes(input.array()?)).to_le_bytes());
        }
        (Step::Double, Kind::Double) => out.extend(input.take(8)?),
        (Step::Bytes, Kind::Bytes) => append_bytes(out, input.bytes()?),
        (Step::Bytes, Kind::String) => append_bytes(out, input.text()?.as_bytes()),
        (Step::Fixed(size), Kind::Fixed(_)) => out.extend(input.take(*size)?),
        (Step::Enum(symbols), Kind::Enum(of)) => {
            let number = input.int()?;
            let symbol = usize::try_from(number).ok().and_then(|number| symbols.get(number));
            let symbol = symbol.and_then(Option::as_deref).ok_or(Fault::Symbol(number))?;
            append_length(out, position(of, symbol).ok_or(Fault::Internal)?);
        }
        _ => return Err(Fault::Internal),
    }
    Ok(())
}

fn position(of: &Enum, symbol: &str) -> Option<usize> {
    of.symbols.iter().position(|other| &**other == symbol)
}
