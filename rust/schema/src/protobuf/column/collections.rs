//! Lists and maps: the offsets of their rows, and a column of their items.
//!
//! Invariants: the items of a row are consecutive. If a map has several entries with the same key, the last one is
//! kept.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, MapArray, StructArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{ArrowError, DataType, FieldRef};

use super::message::MessageColumn;
use super::{Column, Tag};
use crate::protobuf::failure::{Failure, Limits};
use crate::protobuf::input::{BYTES, Input};
use crate::protobuf::storage::offset;
use crate::row_copies::copy_rows;

/// The start of each row, and the end of the last row. Empty at first.
#[derive(Debug, Default)]
struct Offsets(Vec<i32>);

impl Offsets {
    /// Returns the index of the row's next item.
    fn next(&mut self, row: usize) -> usize {
        let end = self.0.last().copied().unwrap_or(0);
        if self.0.len() < row + 2 {
            self.0.resize(row + 2, end);
        }
        usize::try_from(end).unwrap_or(0)
    }

    /// Appends items to the last row.
    fn add(&mut self, items: usize) -> Result<(), Failure> {
        if let Some(end) = self.0.last_mut() {
            let start = usize::try_from(*end).unwrap_or(0);
            *end = offset(start + items)?;
        }
        Ok(())
    }

    /// Removes all rows from this one on. Returns the number of items that remain.
    fn truncate(&mut self, rows: usize) -> usize {
        self.0.truncate(rows + 1);
        self.items()
    }

    fn items(&self) -> usize {
        self.0.last().map_or(0, |end| usize::try_from(*end).unwrap_or(0))
    }

    fn take(&mut self, rows: usize) -> Vec<i32> {
        let mut offsets = std::mem::take(&mut self.0);
        let end = offsets.last().copied().unwrap_or(0);
        offsets.resize(rows + 1, end);
        offsets
    }
}

/// A repeated field.
#[derive(Debug)]
pub(in crate::protobuf) struct ListColumn {
    offsets: Offsets,
    pub(in crate::protobuf) items: Column,
    item_field: FieldRef,
    /// The number of columns of an item.
    width: usize,
    /// The bytes of an item.
    bytes: usize,
    is_packable: bool,
    items_end: bool,
}

impl ListColumn {
    pub(in crate::protobuf) fn new(items: Column, item_field: FieldRef, width: usize) -> Self {
        let (is_packable, items_end) = (items.is_packable(), items.needs_end());
        let bytes = items.width();
        Self { offsets: Offsets::default(), items, item_field, width, bytes, is_packable, items_end }
    }

    /// Returns whether several values may be packed into one field without tags.
    pub(in crate::protobuf) fn is_packable(&self) -> bool {
        self.is_packable
    }

    pub(in crate::protobuf) fn data_type(&self) -> DataType {
        DataType::List(self.item_field.clone())
    }

    pub(in crate::protobuf) fn read(
        &mut self,
        row: usize,
        tag: Tag,
        input: &mut Input<'_>,
        limits: &mut Limits,
    ) -> Result<(), Failure> {
        let item = self.offsets.next(row);
        if tag.wire == BYTES && self.is_packable {
            let count = self.items.read_packed(item, input.bytes()?)?;
            limits.take_each(count, self.bytes)?;
            return self.offsets.add(count);
        }
        limits.spend(self.width)?;
        limits.take(self.bytes)?;
        self.items.read(item, tag, input, limits)?;
        if self.items_end {
            self.items.end_row(item)?;
        }
        self.offsets.add(1)
    }

    pub(in crate::protobuf) fn truncate(&mut self, rows: usize) {
        let items = self.offsets.truncate(rows);
        self.items.truncate(items);
    }

    pub(in crate::protobuf) fn finish(&mut self, rows: usize) -> Result<ListArray, ArrowError> {
        let items = self.items.finish(self.offsets.items())?;
        let offsets = OffsetBuffer::new(self.offsets.take(rows).into());
        ListArray::try_new(self.item_field.clone(), offsets, items, None)
    }
}

/// A map.
#[derive(Debug)]
pub(in crate::protobuf) struct MapColumn {
    offsets: Offsets,
    entries: MessageColumn,
    entry_field: FieldRef,
    width: usize,
}

impl MapColumn {
    /// Creates the column. The message of an entry has two fields that always have values.
    pub(in crate::protobuf) fn new(entries: MessageColumn, entry_field: FieldRef, width: usize) -> Self {
        Self { offsets: Offsets::default(), entries, entry_field, width }
    }

    pub(in crate::protobuf) fn data_type(&self) -> DataType {
        DataType::Map(self.entry_field.clone(), false)
    }

    pub(in crate::protobuf) fn read(
        &mut self,
        row: usize,
        mut entry: Input<'_>,
        limits: &mut Limits,
    ) -> Result<(), Failure> {
        limits.spend(self.width)?;
        limits.take(self.entries.width())?;
        let item = self.offsets.next(row);
        self.entries.read(item, 0, &mut entry, limits)?;
        if self.entries.needs_end() {
            self.entries.end_row(item)?;
        }
        self.offsets.add(1)
    }

    pub(in crate::protobuf) fn truncate(&mut self, rows: usize) {
        let items = self.offsets.truncate(rows);
        self.entries.truncate(items);
    }

    pub(in crate::protobuf) fn finish(&mut self, rows: usize) -> Result<MapArray, ArrowError> {
        let mut entries = self.entries.finish(self.offsets.items())?;
        let mut offsets = self.offsets.take(rows);
        if let Some(kept) = last_entries(entries.as_struct().column(0), &mut offsets) {
            let places = kept.into_iter().map(|at| Some((0, at)));
            entries = copy_rows(entries.data_type(), [&entries], places)?;
        }
        let offsets = OffsetBuffer::new(offsets.into());
        let entries: StructArray = entries.as_struct().clone();
        MapArray::try_new(self.entry_field.clone(), offsets, entries, None, false)
    }
}

/// Returns the entries to keep if some have the same key, and changes the offsets to match them.
fn last_entries(keys: &ArrayRef, offsets: &mut [i32]) -> Option<Vec<usize>> {
    use arrow_array::types::{Decimal128Type, Int32Type, Int64Type};
    match keys.data_type() {
        DataType::Boolean => {
            let keys = keys.as_boolean();
            last_of_each(|at| keys.value(at), offsets)
        }
        DataType::Int32 => {
            let keys = keys.as_primitive::<Int32Type>().values();
            last_of_each(|at| keys.get(at), offsets)
        }
        DataType::Int64 => {
            let keys = keys.as_primitive::<Int64Type>().values();
            last_of_each(|at| keys.get(at), offsets)
        }
        DataType::Decimal128(..) => {
            let keys = keys.as_primitive::<Decimal128Type>().values();
            last_of_each(|at| keys.get(at), offsets)
        }
        DataType::Utf8 => {
            let keys = keys.as_string::<i32>();
            last_of_each(|at| keys.value(at), offsets)
        }
        _ => None,
    }
}

fn last_of_each<K: Ord>(key: impl Fn(usize) -> K, offsets: &mut [i32]) -> Option<Vec<usize>> {
    let mut replaced: Vec<usize> = Vec::new();
    let mut order: Vec<usize> = Vec::new();
    let index = |offset: i32| usize::try_from(offset).unwrap_or(0);
    for row in offsets.windows(2) {
        let [start, end] = *row else { continue };
        if end - start < 2 {
            continue;
        }
        order.clear();
        order.extend(index(start)..index(end));
        // The sort is stable, so among equal keys the last one stays last.
        order.sort_by_key(|at| key(*at));
        let pairs = order.windows(2).filter(|pair| key(pair[0]) == key(pair[1]));
        replaced.extend(pairs.map(|pair| pair[0]));
    }
    if replaced.is_empty() {
        return None;
    }
    replaced.sort_unstable();
    let entries = offsets.last().map_or(0, |end| index(*end));
    let mut gone = replaced.iter().copied().peekable();
    let kept = (0..entries).filter(|at| gone.next_if_eq(at).is_none());
    let kept = kept.collect();
    for offset in offsets {
        let removed = replaced.partition_point(|at| *at < index(*offset));
        *offset -= i32::try_from(removed).unwrap_or(0);
    }
    Some(kept)
}
