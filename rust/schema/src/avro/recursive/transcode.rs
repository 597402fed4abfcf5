//! Runs the steps that read a payload, and writes its value in the encoding of the reader's schema.
//!
//! Invariants: what is written is a value of the reader's schema. The payload's budget bounds the bytes that are
//! written. The values that are open are on the heap, however deep, since a consumer's thread may have a small stack.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::MAX_LEVELS;
use crate::avro::fault::Fault;
use crate::avro::input::Input;
use crate::avro::output::{append_bytes, append_length, append_long};
use crate::avro::resolve::Resolved;
use crate::avro::schema::{Enum, Kind, Record, Schema};
use crate::avro::step::{FieldStep, RecordStep, Step};

/// Writes values of one writer's schema in the reader's encoding.
pub(super) struct Transcoder<'a> {
    resolved: &'a Resolved,
    reader: &'a Schema,
    /// The records of the reader's schema, by address.
    records: HashMap<usize, &'a Record>,
}

/// A value that was begun.
enum Open<'a> {
    Record(OpenRecord<'a>),
    /// An array, or a map, whose items have keys; `left` items of the block are to be read.
    Blocks {
        step: &'a Step,
        reader: &'a Schema,
        has_keys: bool,
        left: usize,
    },
}

struct OpenRecord<'a> {
    of: &'a RecordStep,
    reader: &'a Record,
    /// Where it begins in the output.
    start: usize,
    /// The number of fields and defaults that were begun.
    begun: usize,
    /// The field that was begun, by number, and where it begins in the output.
    field: Option<(usize, usize)>,
    /// The payload after the record's own fields, while a default is read.
    payload: Option<&'a [u8]>,
    /// The fields that were written, by number.
    parts: Vec<(usize, Range<usize>)>,
}

impl<'a> Transcoder<'a> {
    pub(super) fn new(resolved: &'a Resolved, reader: &'a Schema) -> Self {
        let mut records = HashMap::new();
        collect_records(reader, &mut records);
        Self { resolved, reader, records }
    }

    /// Reads a value and appends it.
    pub(super) fn run(&self, input: &mut Input<'a>, out: &mut Vec<u8>) -> Result<(), Fault> {
        let mut open = Vec::new();
        let mut next = Some((&self.resolved.step, self.reader));
        loop {
            if let Some((step, reader)) = next
                && let Some(value) = self.begin(step, reader, input, out)?
            {
                if open.len() == MAX_LEVELS {
                    return Err(Fault::Nested);
                }
                open.push(value);
            }
            let Some(value) = open.last_mut() else { return Ok(()) };
            next = match value {
                Open::Record(record) => record.next(input, out)?,
                Open::Blocks { step, reader, has_keys, left } => {
                    next_item(*has_keys, left, input, out)?.then_some((*step, *reader))
                }
            };
            if next.is_none() {
                open.pop();
            }
        }
    }

    /// Writes a value without others in it, or begins one.
    fn begin(
        &self,
        mut step: &'a Step,
        mut reader: &'a Schema,
        input: &mut Input<'a>,
        out: &mut Vec<u8>,
    ) -> Result<Option<Open<'a>>, Fault> {
        let blocks = |step, reader, has_keys| Ok(Some(Open::Blocks { step, reader, has_keys, left: 0 }));
        loop {
            match (step, &reader.kind) {
                (Step::Mismatch(reason) | Step::Unreadable(reason), _) => return Err(Step::fault(reason)),
                (Step::Recursive(index), _) => {
                    step = self.resolved.recursive.get(*index).ok_or(Fault::Internal)?;
                }
                (Step::Union(branches), _) => {
                    let number = input.long()?;
                    let branch = usize::try_from(number).ok().and_then(|number| branches.get(number));
                    step = branch.ok_or(Fault::Branch(number))?;
                }
                (_, Kind::Union(branches)) => {
                    let (number, inner) = branch(step, branches).ok_or(Fault::Internal)?;
                    spending(input, out, |_, out| {
                        append_length(out, number);
                        Ok(())
                    })?;
                    (step, reader) = (inner, branches.get(number).ok_or(Fault::Internal)?);
                }
                (Step::Record(of), Kind::Record(record)) => {
                    return Ok(Some(Open::Record(OpenRecord::new(of, record, out.len()))));
                }
                (Step::Record(of), Kind::Recursive(recursion)) => {
                    let record = recursion.record().ok_or(Fault::Internal)?;
                    let record = self.records.get(&Arc::as_ptr(&record).addr()).ok_or(Fault::Internal)?;
                    return Ok(Some(Open::Record(OpenRecord::new(of, record, out.len()))));
                }
                (Step::Array(step), Kind::Array(items)) => return blocks(step, items, false),
                (Step::Map(step), Kind::Map(values)) => return blocks(step, values, true),
                _ => {
                    spending(input, out, |input, out| scalar(step, reader, input, out))?;
                    return Ok(None);
                }
            }
        }
    }
}

fn collect_records<'a>(schema: &'a Schema, records: &mut HashMap<usize, &'a Record>) {
    match &schema.kind {
        Kind::Array(inner) | Kind::Map(inner) => collect_records(inner, records),
        Kind::Union(branches) => branches.iter().for_each(|branch| collect_records(branch, records)),
        Kind::Record(record) if records.insert(Arc::as_ptr(record).addr(), record).is_none() => {
            record.fields.iter().for_each(|field| collect_records(&field.schema, records));
        }
        _ => {}
    }
}

impl<'a> OpenRecord<'a> {
    fn new(of: &'a RecordStep, reader: &'a Record, start: usize) -> Self {
        Self { of, reader, start, begun: 0, field: None, payload: None, parts: Vec::new() }
    }

    /// Returns the next field to read; at the end, orders the fields as the reader does.
    fn next(
        &mut self,
        input: &mut Input<'a>,
        out: &mut Vec<u8>,
    ) -> Result<Option<(&'a Step, &'a Schema)>, Fault> {
        if let Some((number, from)) = self.field.take() {
            self.parts.push((number, from..out.len()));
        }
        if let Some(payload) = self.payload.take() {
            input.replace(payload);
        }
        let RecordStep { fields, defaults } = self.of;
        loop {
            let at = self.begun;
            self.begun += 1;
            let (number, step) = match fields.get(at) {
                Some(FieldStep::Skip(skip)) => {
                    skip.run(input)?;
                    continue;
                }
                Some(FieldStep::Read(number, step)) => (*number, step),
                None => match defaults.get(at - fields.len()) {
                    Some((number, default)) => {
                        self.payload = Some(input.replace(&default.bytes));
                        (*number, &default.step)
                    }
                    None => {
                        self.order(out)?;
                        return Ok(None);
                    }
                },
            };
            self.field = Some((number, out.len()));
            let field = self.reader.fields.get(number).ok_or(Fault::Internal)?;
            return Ok(Some((step, &field.schema)));
        }
    }

    fn order(&mut self, out: &mut Vec<u8>) -> Result<(), Fault> {
        if self.parts.is_sorted_by_key(|(number, _)| *number) {
            return Ok(());
        }
        let written = out.split_off(self.start);
        self.parts.sort_by_key(|(number, _)| *number);
        for (_, range) in &self.parts {
            let part = written.get(range.start - self.start..range.end - self.start);
            out.extend_from_slice(part.ok_or(Fault::Internal)?);
        }
        Ok(())
    }
}

/// Writes what is before the next item of an array or a map. Returns false at the end.
fn next_item(
    has_keys: bool,
    left: &mut usize,
    input: &mut Input<'_>,
    out: &mut Vec<u8>,
) -> Result<bool, Fault> {
    if *left == 0 {
        *left = input.block()?;
        spending(input, out, |_, out| {
            append_length(out, *left);
            Ok(())
        })?;
        if *left == 0 {
            return Ok(false);
        }
    }
    *left -= 1;
    if has_keys {
        let key = input.text()?;
        input.spend(key.len())?;
        append_bytes(out, key.as_bytes());
    }
    Ok(true)
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
