//! The records of one batch, borrowed from the batch or from what it was decompressed to.
//!
//! Invariant: the count and every length match exactly what the bytes hold; the first record that
//! contradicts them ends the iteration with an error.

use super::form::PlainReader;
use super::legacy::LegacyRecords;
use super::plain::PlainSink;
use super::varint::Cursor;
use super::{Flaw, Headers, RecordError};

/// The least that a record takes: length, attributes, two deltas, two lengths, a header count.
const LEAST: usize = 7;

/// One record, borrowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordRef<'a> {
    /// Its offset in the partition.
    pub offset: i64,
    /// Milliseconds since the epoch, -1 if it has none.
    pub timestamp: i64,
    /// Its key, or null.
    pub key: Option<&'a [u8]>,
    /// Its value, or null.
    pub value: Option<&'a [u8]>,
    /// Its headers.
    pub headers: Headers<'a>,
}

/// Iterates over the records of a batch. After an error it ends.
pub struct Records<'a>(Inner<'a>);

enum Inner<'a> {
    Current(CurrentRecords<'a>),
    Legacy(LegacyRecords<'a>),
}

impl<'a> Records<'a> {
    pub(super) const fn current(records: CurrentRecords<'a>) -> Self {
        Self(Inner::Current(records))
    }

    pub(super) const fn legacy(records: LegacyRecords<'a>) -> Self {
        Self(Inner::Legacy(records))
    }

    /// Hands the records from here to the first that is not plain to `sink`, and gives their number: the
    /// quickest way through a batch. Without headers nearly all are plain, none of magic 0 and 1 is.
    #[inline(always)]
    pub fn plain(&mut self, sink: &mut impl PlainSink) -> usize {
        match &mut self.0 {
            Inner::Current(records) => records.plain(sink),
            Inner::Legacy(_) => 0,
        }
    }

    /// The encoded bytes of all records that are left: an upper bound of what they hold.
    #[must_use]
    pub fn encoded_len(&self) -> Option<usize> {
        match &self.0 {
            Inner::Current(records) => Some(records.rest.len()),
            Inner::Legacy(_) => None,
        }
    }

    /// The bytes that the records which are left lie in: of the batch, or of what it was decompressed to.
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        match &self.0 {
            Inner::Current(records) => records.rest,
            Inner::Legacy(records) => records.bytes(),
        }
    }

    /// No more records than this are left: for reserving memory, so it is no larger than the bytes
    /// allow, whatever the batch announces.
    #[must_use]
    pub fn at_most(&self) -> usize {
        match &self.0 {
            Inner::Current(records) => records.at_most(),
            Inner::Legacy(records) => records.at_most(),
        }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<RecordRef<'a>, RecordError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Inner::Current(records) => records.next(),
            Inner::Legacy(records) => records.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // One more for the error about bytes that are left over.
        (0, Some(self.at_most() + 1))
    }
}

/// The records of magic 2.
pub(super) struct CurrentRecords<'a> {
    pub(super) rest: &'a [u8],
    pub(super) base_offset: i64,
    pub(super) last_offset_delta: u32,
    pub(super) base_timestamp: i64,
    /// The timestamp of every record, if the broker sets it.
    pub(super) append_time: Option<i64>,
    pub(super) count: u32,
    pub(super) index: u32,
}

impl<'a> CurrentRecords<'a> {
    fn at_most(&self) -> usize {
        ((self.count - self.index) as usize).min(self.rest.len() / LEAST)
    }

    #[inline]
    pub(super) fn next(&mut self) -> Option<Result<RecordRef<'a>, RecordError>> {
        if self.index == self.count {
            return self.end();
        }
        match self.parse() {
            Ok(record) => {
                self.index += 1;
                Some(Ok(record))
            }
            Err(flaw) => Some(Err(self.fail(flaw))),
        }
    }

    #[inline(always)]
    fn plain(&mut self, sink: &mut impl PlainSink) -> usize {
        let before = self.index;
        let mut reader = PlainReader {
            rest: self.rest,
            left: (self.count - self.index) as usize,
            base_offset: self.base_offset,
            last_offset_delta: self.last_offset_delta as usize,
            base_timestamp: self.append_time.unwrap_or(self.base_timestamp),
            timestamp_mask: if self.append_time.is_some() { 0 } else { -1 },
        };
        reader.read(sink);
        self.rest = reader.rest;
        self.index = self.count - reader.left as u32;
        (self.index - before) as usize
    }

    #[inline(never)]
    fn parse(&mut self) -> Result<RecordRef<'a>, Flaw> {
        let mut outer = Cursor::new(self.rest);
        let len = outer.length()?;
        // Only the body from here on: a part that runs past it is an error even where the batch
        // goes on.
        let mut body = Cursor::new(outer.take(len)?);
        self.rest = outer.rest();
        body.byte()?; // attributes, of which none is defined
        let timestamp_delta = body.varlong()?;
        // Negative deltas become huge, and fail the same comparison.
        let offset_delta = body.varint()? as u32;
        if offset_delta > self.last_offset_delta {
            return Err(Flaw::Offset);
        }
        let key = body.nullable()?;
        let value = body.nullable()?;
        let header_count = body.length()?;
        let headers = Headers::read(body.rest(), header_count)?;
        Ok(RecordRef {
            // The batch was refused if its last offset overflows.
            offset: self.base_offset + i64::from(offset_delta),
            timestamp: match self.append_time {
                None => self.base_timestamp.wrapping_add(timestamp_delta),
                Some(timestamp) => timestamp,
            },
            key,
            value,
            headers,
        })
    }

    #[cold]
    fn end(&mut self) -> Option<Result<RecordRef<'a>, RecordError>> {
        if self.rest.is_empty() {
            return None;
        }
        let left = std::mem::take(&mut self.rest).len();
        Some(Err(RecordError::Trailing { base_offset: self.base_offset, count: self.count, left }))
    }

    #[cold]
    fn fail(&mut self, flaw: Flaw) -> RecordError {
        let index = self.index;
        self.index = self.count;
        self.rest = &[];
        RecordError::Record { base_offset: self.base_offset, index, flaw }
    }
}
