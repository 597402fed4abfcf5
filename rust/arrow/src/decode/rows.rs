//! The columns while a whole batch goes into them.
//!
//! Invariant: rows are written into room that was made for all of them at once, and what is left of
//! it is taken back: nothing grows in the loop over the records but the bytes of keys and values.
//!
//! That loop is the hot path. What it holds lies in local variables that no call can reach, since
//! the compiler keeps only those in registers: so values are moved out of the columns and back, and
//! they grow by being handed over.

use std::mem;
use std::ops::Range;

use ottla_protocol::records::{PaddedSlice, PlainRun, PlainSink, RecordRef};

use super::bytes::BytesColumn;
use super::headers::HeadersColumn;
use super::nulls::Nulls;

/// Keys of up to so many bytes are copied without a call.
const KEY_PAD: usize = 32;
/// Values of up to so many bytes are.
const VALUE_PAD: usize = 128;

/// The columns, with room for the rows to come. Offsets and timestamps are always filled: that costs
/// less than asking for each record whether somebody wants them.
pub(super) struct Rows<'a> {
    pub(super) offsets: &'a mut [i64],
    pub(super) timestamps: &'a mut [i64],
    pub(super) key: BytesRows<'a>,
    pub(super) value: BytesRows<'a>,
    pub(super) headers: Option<&'a mut HeadersColumn>,
    /// How many rows were filled.
    pub(super) count: usize,
}

/// A binary column with room for the rows to come.
pub(super) struct BytesRows<'a> {
    /// Rows that the column has already.
    before: usize,
    ends: &'a mut [i32],
    values: &'a mut Vec<u8>,
    nulls: &'a mut Nulls,
    wanted: bool,
}

impl Rows<'_> {
    /// How many more there is room for.
    pub(super) fn left(&self) -> usize {
        self.offsets.len().saturating_sub(self.count)
    }

    /// Appends any record.
    pub(super) fn push(&mut self, record: &RecordRef<'_>) {
        let row = self.count;
        if let Some(offset) = self.offsets.get_mut(row) {
            *offset = record.offset;
        }
        if let Some(timestamp) = self.timestamps.get_mut(row) {
            *timestamp = micros(record.timestamp);
        }
        self.key.push(row, record.key);
        self.value.push(row, record.value);
        if let Some(headers) = &mut self.headers {
            headers.push(&record.headers);
        }
        self.count += 1;
    }
}

impl PlainSink for Rows<'_> {
    #[inline(always)]
    fn read_run<'r, R: PlainRun<'r>>(&mut self, records: &mut R) -> usize {
        let range = self.count..self.count + self.left().min(records.max_remaining());
        let offsets = self.offsets.get_mut(range.clone()).unwrap_or_default();
        let timestamps = self.timestamps.get_mut(range.clone()).unwrap_or_default();
        let (mut keys, key_ends) = self.key.run::<KEY_PAD>(range.clone(), R::KEY);
        let (mut values, value_ends) = self.value.run::<VALUE_PAD>(range, R::VALUE);
        let slots = offsets.iter_mut().zip(timestamps).zip(key_ends.iter_mut().zip(value_ends));
        let mut count = 0;
        for ((offset, timestamp), (key_end, value_end)) in slots {
            let Some(record) = records.next() else { break };
            *offset = record.offset;
            *timestamp = micros(record.timestamp);
            *key_end = keys.push(record.key);
            *value_end = values.push(record.value);
            count += 1;
        }
        (*self.key.values, *self.value.values) = (keys.bytes, values.bytes);
        self.count += count;
        if let Some(headers) = &mut self.headers {
            headers.push_none(count);
        }
        count
    }
}

impl<'a> BytesRows<'a> {
    pub(super) fn new(column: &'a mut BytesColumn, rows: usize) -> Self {
        let before = column.rows();
        column.offsets.resize(before + 1 + rows, 0);
        Self {
            before,
            ends: column.offsets.get_mut(before + 1..).unwrap_or_default(),
            values: &mut column.values,
            nulls: &mut column.nulls,
            wanted: column.wanted,
        }
    }

    fn push(&mut self, row: usize, bytes: Option<&[u8]>) {
        if self.wanted {
            self.nulls.note(self.before + row, bytes.is_none());
            self.values.extend_from_slice(bytes.unwrap_or_default());
        }
        if let Some(end) = self.ends.get_mut(row) {
            *end = self.values.len() as i32;
        }
    }

    /// What the rows of a range go into, none of which is null, or all of which are.
    #[inline(always)]
    fn run<const PAD: usize>(&mut self, rows: Range<usize>, some: bool) -> (BytesRun<PAD>, &mut [i32]) {
        if self.wanted {
            self.nulls.note(self.before + rows.start, !some);
        }
        let below = if self.wanted { PAD + 1 } else { 0 };
        let run = BytesRun { bytes: mem::take(self.values), below, wanted: self.wanted };
        (run, self.ends.get_mut(rows).unwrap_or_default())
    }
}

/// A column's bytes, in the hot loop's hands.
struct BytesRun<const PAD: usize> {
    bytes: Vec<u8>,
    /// What is shorter is copied as `PAD` bytes: nothing is, if nobody wants the column.
    below: usize,
    wanted: bool,
}

impl<const PAD: usize> BytesRun<PAD> {
    /// Appends it, and gives where it ends. The bytes stay within 31 bits.
    #[inline(always)]
    fn push(&mut self, slice: Option<PaddedSlice<'_>>) -> i32 {
        if let Some(slice) = slice {
            if slice.len() < self.below
                && let Some(padded) = slice.padded::<PAD>()
            {
                self.make_room(PAD);
                let end = self.bytes.len() + slice.len();
                self.bytes.extend_from_slice(padded);
                self.bytes.truncate(end);
            } else if self.wanted {
                self.make_room(slice.len());
                self.bytes.extend_from_slice(slice.bytes());
            }
        }
        self.bytes.len() as i32
    }

    #[inline(always)]
    fn make_room(&mut self, more: usize) {
        if self.bytes.capacity() - self.bytes.len() < more {
            self.bytes = grown(mem::take(&mut self.bytes), more);
        }
    }
}

#[cold]
#[inline(never)]
fn grown(mut bytes: Vec<u8>, more: usize) -> Vec<u8> {
    bytes.reserve(more);
    bytes
}

/// Milliseconds in microseconds. -1, "none", becomes -1000: what Spark's own source gives.
#[inline(always)]
pub(super) fn micros(millis: i64) -> i64 {
    millis.checked_mul(1000).unwrap_or_else(|| saturated(millis))
}

#[cold]
fn saturated(millis: i64) -> i64 {
    if millis < 0 { i64::MIN } else { i64::MAX }
}
