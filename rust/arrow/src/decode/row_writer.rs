//! Writes the rows of a record batch into the columns.
//!
//! Invariant: space for all rows is reserved at once and truncated afterwards. In the loop over the
//! records, only the bytes of keys and values grow.
//!
//! That loop is the hot path. Its state is in local variables that no call can reach, since the compiler
//! keeps only those in registers. Values are therefore moved out of the columns and back, and they grow by
//! being passed by value.

use std::mem;
use std::ops::Range;

use ottla_protocol::records::{PaddedSlice, PlainRun, PlainSink, RecordRef};

use super::bytes::BytesColumn;
use super::headers::HeadersColumn;
use super::null_runs::NullRuns;

/// Keys of up to this many bytes are copied without a call.
const KEY_PAD: usize = 32;
/// Values of up to this many bytes are copied without a call.
const VALUE_PAD: usize = 128;

/// The columns, with space for the next rows. Offsets and timestamps are always filled: that costs
/// less than checking for each record whether the columns are selected.
pub(super) struct RowWriter<'a> {
    pub(super) offsets: &'a mut [i64],
    pub(super) timestamps: &'a mut [i64],
    pub(super) key: BytesWriter<'a>,
    pub(super) value: BytesWriter<'a>,
    pub(super) headers: Option<&'a mut HeadersColumn>,
    /// Whether a timestamp is [`BEYOND`] the column's range.
    pub(super) has_beyond: &'a mut bool,
    /// The number of filled rows.
    pub(super) count: usize,
}

/// A binary column with space for the next rows.
pub(super) struct BytesWriter<'a> {
    /// The number of rows in the column before these.
    before: usize,
    ends: &'a mut [i32],
    values: &'a mut Vec<u8>,
    nulls: &'a mut NullRuns,
    selected: bool,
}

impl RowWriter<'_> {
    /// The number of rows for which there is still space.
    pub(super) fn remaining(&self) -> usize {
        self.offsets.len().saturating_sub(self.count)
    }

    /// The bytes of all columns.
    pub(super) fn bytes(&self) -> usize {
        let headers = self.headers.as_ref().map_or(0, |headers| headers.len());
        self.key.values.len() + self.value.values.len() + headers
    }

    /// Appends a record of any shape.
    pub(super) fn push(&mut self, record: &RecordRef<'_>) {
        let row = self.count;
        if let Some(offset) = self.offsets.get_mut(row) {
            *offset = record.offset;
        }
        if let Some(timestamp) = self.timestamps.get_mut(row) {
            *timestamp = micros(record.timestamp, self.has_beyond);
        }
        self.key.push(row, record.key);
        self.value.push(row, record.value);
        if let Some(headers) = &mut self.headers {
            headers.push(&record.headers);
        }
        self.count += 1;
    }
}

impl PlainSink for RowWriter<'_> {
    #[inline(always)]
    fn read_run<'r, R: PlainRun<'r>>(&mut self, records: &mut R) -> usize {
        let range = self.count..self.count + self.remaining().min(records.max_remaining());
        let offsets = self.offsets.get_mut(range.clone()).unwrap_or_default();
        let timestamps = self.timestamps.get_mut(range.clone()).unwrap_or_default();
        let (mut keys, key_ends) = self.key.appender::<KEY_PAD>(range.clone(), R::KEY);
        let (mut values, value_ends) = self.value.appender::<VALUE_PAD>(range, R::VALUE);
        let targets = offsets.iter_mut().zip(timestamps).zip(key_ends.iter_mut().zip(value_ends));
        let (mut count, mut has_beyond) = (0, false);
        for ((offset, timestamp), (key_end, value_end)) in targets {
            let Some(record) = records.next() else { break };
            *offset = record.offset;
            *timestamp = micros(record.timestamp, &mut has_beyond);
            *key_end = keys.push(record.key);
            *value_end = values.push(record.value);
            count += 1;
        }
        (*self.key.values, *self.value.values) = (keys.bytes, values.bytes);
        self.count += count;
        *self.has_beyond |= has_beyond;
        if let Some(headers) = &mut self.headers {
            headers.push_none(count);
        }
        count
    }
}

impl<'a> BytesWriter<'a> {
    pub(super) fn new(column: &'a mut BytesColumn, rows: usize) -> Self {
        let before = column.rows();
        column.offsets.resize(before + 1 + rows, 0);
        Self {
            before,
            ends: column.offsets.get_mut(before + 1..).unwrap_or_default(),
            values: &mut column.values,
            nulls: &mut column.nulls,
            selected: column.selected,
        }
    }

    fn push(&mut self, row: usize, bytes: Option<&[u8]>) {
        if self.selected {
            self.nulls.set_from(self.before + row, bytes.is_none());
            self.values.extend_from_slice(bytes.unwrap_or_default());
        }
        if let Some(end) = self.ends.get_mut(row) {
            *end = self.values.len() as i32;
        }
    }

    /// The appender and the offsets for a range of rows, all of which are null or none is.
    #[inline(always)]
    fn appender<const PAD: usize>(
        &mut self,
        rows: Range<usize>,
        not_null: bool,
    ) -> (BytesAppender<PAD>, &mut [i32]) {
        if self.selected {
            self.nulls.set_from(self.before + rows.start, !not_null);
        }
        let padded_below = if self.selected { PAD + 1 } else { 0 };
        let appender = BytesAppender { bytes: mem::take(self.values), padded_below, selected: self.selected };
        (appender, self.ends.get_mut(rows).unwrap_or_default())
    }
}

/// A column's bytes, moved into the hot loop.
struct BytesAppender<const PAD: usize> {
    bytes: Vec<u8>,
    /// Slices shorter than this are copied as `PAD` bytes; zero if the column is not selected.
    padded_below: usize,
    selected: bool,
}

impl<const PAD: usize> BytesAppender<PAD> {
    /// Appends the slice and returns its end. The bytes stay within 31 bits.
    #[inline(always)]
    fn push(&mut self, slice: Option<PaddedSlice<'_>>) -> i32 {
        if let Some(slice) = slice {
            if slice.len() < self.padded_below
                && let Some(padded) = slice.padded::<PAD>()
            {
                self.reserve(PAD);
                let end = self.bytes.len() + slice.len();
                self.bytes.extend_from_slice(padded);
                self.bytes.truncate(end);
            } else if self.selected {
                self.reserve(slice.len());
                self.bytes.extend_from_slice(slice.bytes());
            }
        }
        self.bytes.len() as i32
    }

    #[inline(always)]
    fn reserve(&mut self, more: usize) {
        if self.bytes.capacity() - self.bytes.len() < more {
            self.bytes = reserve_more(mem::take(&mut self.bytes), more);
        }
    }
}

#[cold]
#[inline(never)]
fn reserve_more(mut bytes: Vec<u8>, more: usize) -> Vec<u8> {
    bytes.reserve(more);
    bytes
}

/// Stands for a timestamp that 64 bits of microseconds do not hold, until the column is finished: it is null then. No
/// number of milliseconds has this many microseconds.
pub(super) const BEYOND: i64 = i64::MAX;

/// Converts milliseconds to microseconds. -1, for no timestamp, becomes -1000, as in Spark's own source.
#[inline(always)]
pub(super) fn micros(millis: i64, has_beyond: &mut bool) -> i64 {
    millis.checked_mul(1000).unwrap_or_else(|| beyond(has_beyond))
}

#[cold]
fn beyond(has_beyond: &mut bool) -> i64 {
    *has_beyond = true;
    BEYOND
}
