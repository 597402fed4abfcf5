//! A column of messages: finds the column of each field, and reads the field into it.
//!
//! The fields of a message are columns of the same length, so an absent field costs nothing. Several occurrences of a
//! message are merged by reading them into the same row.
//!
//! Invariants: a field whose number or wire type is unknown is skipped. The last field of a oneof wins.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, StructArray};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{ArrowError, DataType, Field, Fields};

use super::{Column, Tag};
use crate::protobuf::failure::{Failure, Limits};
use crate::protobuf::input::{END_GROUP, Input};
use crate::protobuf::storage::Bits;

/// A field of a message.
#[derive(Debug)]
pub(in crate::protobuf) struct FieldColumn {
    pub(in crate::protobuf) name: String,
    pub(in crate::protobuf) number: u32,
    pub(in crate::protobuf) column: Column,
    /// The oneof that contains it.
    pub(in crate::protobuf) oneof: Option<usize>,
    pub(in crate::protobuf) is_required: bool,
    /// The number of columns below the field.
    pub(in crate::protobuf) width: usize,
}

/// A field of a oneof that has no column. It still replaces a field of the oneof that has one.
#[derive(Debug)]
pub(in crate::protobuf) struct OneofField {
    pub(in crate::protobuf) number: u32,
    pub(in crate::protobuf) wire: u8,
    pub(in crate::protobuf) oneof: usize,
}

/// The result of looking up a field's column.
#[derive(Debug)]
struct Slot {
    wires: u8,
    needs_end: bool,
    field: FieldColumn,
}

/// The index of a field of a oneof that has no column.
const NO_COLUMN: usize = usize::MAX;

/// A column of messages.
#[derive(Debug)]
pub(in crate::protobuf) struct MessageColumn {
    table: Table,
    slots: Vec<Slot>,
    /// The fields of oneofs that have no column.
    others: Vec<OneofField>,
    /// For each oneof, the last row in which a field was set, and the index of the field.
    oneofs: Vec<Option<(usize, usize)>>,
    valid: Option<Bits>,
    /// The index of the last row that was read, plus one.
    rows: usize,
    needs_end: bool,
    width: usize,
    /// The fields of the type. A message without fields is a boolean, because Parquet cannot store an empty struct.
    fields: Fields,
}

impl MessageColumn {
    pub(in crate::protobuf) fn new(
        fields: Vec<FieldColumn>,
        others: Vec<OneofField>,
        is_nullable: bool,
    ) -> Self {
        let arrow_fields = fields
            .iter()
            .map(|field| Field::new(&field.name, field.column.data_type(), field.column.is_nullable()));
        let arrow_fields = arrow_fields.collect();
        let oneofs = fields.iter().filter_map(|field| field.oneof).max().map_or(0, |last| last + 1);
        let table = Table::new(fields.iter().map(|field| field.number));
        let slots = fields.into_iter().map(|field| Slot {
            wires: field.column.wires(),
            needs_end: field.is_required || field.column.needs_end(),
            field,
        });
        let slots: Vec<Slot> = slots.collect();
        Self {
            table,
            oneofs: vec![None; oneofs],
            valid: is_nullable.then(Bits::default),
            rows: 0,
            needs_end: slots.iter().any(|slot| slot.needs_end),
            width: slots.iter().map(|slot| slot.field.column.width()).sum::<usize>().max(1),
            fields: arrow_fields,
            slots,
            others,
        }
    }

    pub(in crate::protobuf) fn data_type(&self) -> DataType {
        match self.fields.is_empty() {
            true => DataType::Boolean,
            false => DataType::Struct(self.fields.clone()),
        }
    }

    pub(in crate::protobuf) fn is_nullable(&self) -> bool {
        self.valid.is_some()
    }

    /// Returns the bytes that each message takes, set or not.
    pub(in crate::protobuf) fn width(&self) -> usize {
        self.width
    }

    pub(in crate::protobuf) fn needs_end(&self) -> bool {
        self.needs_end
    }

    pub(in crate::protobuf) fn has(&self, row: usize) -> bool {
        self.rows > row
    }

    /// Reads a message up to the end of the input, or to the end of the group with this number if it is not 0.
    pub(in crate::protobuf) fn read(
        &mut self,
        row: usize,
        group: u32,
        input: &mut Input<'_>,
        limits: &mut Limits,
    ) -> Result<(), Failure> {
        self.rows = row + 1;
        if let Some(valid) = &mut self.valid {
            valid.set(row);
        }
        loop {
            if input.is_empty() {
                return match group {
                    0 => Ok(()),
                    _ => Err(Failure::malformed("it ends within a group")),
                };
            }
            let (number, wire) = input.tag()?;
            let index = self.table.get(number);
            let Some(slot) = self.slots.get_mut(index).filter(|slot| slot.wires & 1 << wire != 0) else {
                if wire == END_GROUP && number == group {
                    return Ok(());
                }
                if let Some(other) = self.others.iter().find(|it| it.number == number && it.wire == wire) {
                    self.select(other.oneof, row, NO_COLUMN, limits)?;
                }
                input.skip(number, wire)?;
                continue;
            };
            if let Some(oneof) = slot.field.oneof {
                self.select(oneof, row, index, limits)?;
            }
            if let Some(Slot { field, .. }) = self.slots.get_mut(index) {
                let read = field.column.read(row, Tag { number, wire }, input, limits);
                read.map_err(|failure| failure.within(&field.name))?;
            }
        }
    }

    /// Clears the other field of a oneof, if one is set in this row.
    fn select(&mut self, oneof: usize, row: usize, index: usize, limits: &mut Limits) -> Result<(), Failure> {
        let Some(selected) = self.oneofs.get_mut(oneof) else { return Ok(()) };
        let previous = selected.replace((row, index));
        if let Some((_, other)) = previous.filter(|(at, other)| *at == row && *other != index)
            && let Some(Slot { field, .. }) = self.slots.get_mut(other)
        {
            limits.spend(field.width)?;
            field.column.truncate(row);
        }
        Ok(())
    }

    /// Completes a row, and checks that all of its required fields are set.
    pub(in crate::protobuf) fn end_row(&mut self, row: usize) -> Result<(), Failure> {
        if !self.needs_end || (self.valid.is_some() && !self.has(row)) {
            return Ok(());
        }
        for Slot { field, .. } in self.slots.iter_mut().filter(|slot| slot.needs_end) {
            let ended = match field.is_required && !field.column.has(row) {
                true => Err(Failure::malformed("it is required, but missing")),
                false => field.column.end_row(row),
            };
            ended.map_err(|failure| failure.within(&field.name))?;
        }
        Ok(())
    }

    pub(in crate::protobuf) fn truncate(&mut self, rows: usize) {
        if self.rows <= rows {
            return;
        }
        self.rows = rows;
        if let Some(valid) = &mut self.valid {
            valid.truncate(rows);
        }
        for slot in &mut self.slots {
            slot.field.column.truncate(rows);
        }
    }

    pub(in crate::protobuf) fn finish(&mut self, rows: usize) -> Result<ArrayRef, ArrowError> {
        let columns = self.slots.iter_mut().map(|slot| slot.field.column.finish(rows));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let nulls = self.valid.as_mut().and_then(|valid| valid.finish(rows));
        self.rows = 0;
        self.oneofs.fill(None);
        if self.fields.is_empty() {
            return Ok(Arc::new(BooleanArray::new(BooleanBuffer::new_set(rows), nulls)));
        }
        Ok(Arc::new(StructArray::try_new(self.fields.clone(), columns, nulls)?))
    }
}

/// The indexes of fields, by field number.
#[derive(Debug)]
struct Table {
    /// The indexes for small field numbers.
    dense: Vec<u16>,
    /// The other field numbers with their indexes, sorted by number.
    sparse: Vec<(u32, u16)>,
}

/// The index that stands for an unknown field. No schema has so many fields.
const UNKNOWN: u16 = u16::MAX;

impl Table {
    fn new(numbers: impl ExactSizeIterator<Item = u32>) -> Self {
        let limit = 64 + 4 * numbers.len();
        let mut table = Self { dense: Vec::new(), sparse: Vec::new() };
        for (number, index) in numbers.zip(0..UNKNOWN) {
            match usize::try_from(number) {
                Ok(number) if number < limit => {
                    if table.dense.len() <= number {
                        table.dense.resize(number + 1, UNKNOWN);
                    }
                    if let Some(place) = table.dense.get_mut(number) {
                        *place = index;
                    }
                }
                _ => table.sparse.push((number, index)),
            }
        }
        table.sparse.sort_unstable();
        table
    }

    #[inline]
    fn get(&self, number: u32) -> usize {
        usize::from(match self.dense.get(number as usize) {
            Some(index) => *index,
            None => self.get_sparse(number),
        })
    }

    fn get_sparse(&self, number: u32) -> u16 {
        let found = self.sparse.binary_search_by_key(&number, |(number, _)| *number);
        found.ok().and_then(|at| self.sparse.get(at)).map_or(UNKNOWN, |(_, index)| *index)
    }
}
