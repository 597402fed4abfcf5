//! [`Records`]: iterates over the records of one batch.
//!
//! Invariant: the count and every length match the bytes exactly; the first record that contradicts
//! them ends the iteration with an error.

use super::legacy::LegacyRecords;
use super::plain::PlainSink;
use super::plain_reader::PlainReader;
use super::varint::Cursor;
use super::{Headers, InvalidRecord, RecordError, RecordRef, RecordsPosition};

/// The minimum size of a record: length, attributes, two deltas, two lengths, a header count.
const MIN_RECORD_LEN: usize = 7;

/// Iterates over the records of a batch. It ends after the first error.
pub struct Records<'a>(Inner<'a>);

enum Inner<'a> {
    V2(V2Records<'a>),
    Legacy(LegacyRecords<'a>),
}

impl<'a> Records<'a> {
    pub(super) const fn v2(records: V2Records<'a>) -> Self {
        Self(Inner::V2(records))
    }

    pub(super) const fn legacy(records: LegacyRecords<'a>) -> Self {
        Self(Inner::Legacy(records))
    }

    /// Passes the records up to the first that is not plain (see [`PlainSink`]) to `sink` and returns
    /// their number. This is the fastest way through a batch: nearly all records without headers are
    /// plain. Records of magic 0 and 1 never are.
    #[inline(always)]
    pub fn read_plain(&mut self, sink: &mut impl PlainSink) -> usize {
        self.read_plain_within(sink, usize::MAX)
    }

    /// Like [`Records::read_plain`], for the records that end within the next `max_bytes` bytes.
    #[inline(always)]
    pub fn read_plain_within(&mut self, sink: &mut impl PlainSink, max_bytes: usize) -> usize {
        match &mut self.0 {
            Inner::V2(records) => records.read_plain(sink, max_bytes),
            Inner::Legacy(_) => 0,
        }
    }

    /// Where the next record begins, for [`super::OpenBatch`].
    #[must_use]
    pub const fn current_position(&self) -> RecordsPosition {
        match &self.0 {
            Inner::V2(records) => {
                RecordsPosition { left: records.rest.len(), index: records.index, offset_shift: 0 }
            }
            Inner::Legacy(records) => records.position(),
        }
    }

    /// Whether neither a record nor an error is left.
    #[must_use]
    pub const fn is_exhausted(&self) -> bool {
        match &self.0 {
            Inner::V2(records) => records.index == records.count && records.rest.is_empty(),
            Inner::Legacy(records) => records.bytes().is_empty(),
        }
    }

    /// The encoded length of all remaining records: an upper bound of their contents' length.
    #[must_use]
    pub fn encoded_len(&self) -> Option<usize> {
        match &self.0 {
            Inner::V2(records) => Some(records.rest.len()),
            Inner::Legacy(_) => None,
        }
    }

    /// The bytes of the remaining records, in the batch or in its decompressed form.
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        match &self.0 {
            Inner::V2(records) => records.rest,
            Inner::Legacy(records) => records.bytes(),
        }
    }

    /// An upper bound of the number of remaining records, for reserving memory: whatever the batch
    /// announces, no more than its bytes can hold.
    #[must_use]
    pub fn max_remaining(&self) -> usize {
        match &self.0 {
            Inner::V2(records) => records.max_remaining(),
            Inner::Legacy(records) => records.max_remaining(),
        }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<RecordRef<'a>, RecordError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Inner::V2(records) => records.next(),
            Inner::Legacy(records) => records.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // One more for the error about trailing bytes.
        (0, Some(self.max_remaining() + 1))
    }
}

/// The records of a batch of magic 2.
pub(super) struct V2Records<'a> {
    pub(super) rest: &'a [u8],
    pub(super) base_offset: i64,
    pub(super) last_offset_delta: u32,
    pub(super) base_timestamp: i64,
    /// The timestamp of every record, if the broker sets it (LogAppendTime).
    pub(super) append_time: Option<i64>,
    pub(super) count: u32,
    pub(super) index: u32,
}

impl<'a> V2Records<'a> {
    fn max_remaining(&self) -> usize {
        ((self.count - self.index) as usize).min(self.rest.len() / MIN_RECORD_LEN)
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
            Err(reason) => Some(Err(self.fail(reason))),
        }
    }

    #[inline(always)]
    fn read_plain(&mut self, sink: &mut impl PlainSink, max_bytes: usize) -> usize {
        let before = self.index;
        // A record that ends after the limit is cut short here, and so none of the plain ones.
        let readable = self.rest.get(..max_bytes).unwrap_or(self.rest);
        let mut reader = PlainReader {
            rest: readable,
            left: (self.count - self.index) as usize,
            base_offset: self.base_offset,
            last_offset_delta: self.last_offset_delta as usize,
            base_timestamp: self.append_time.unwrap_or(self.base_timestamp),
            timestamp_mask: if self.append_time.is_some() { 0 } else { -1 },
        };
        reader.read(sink);
        let read = readable.len() - reader.rest.len();
        self.rest = self.rest.get(read..).unwrap_or_default();
        self.index = self.count - reader.left as u32;
        (self.index - before) as usize
    }

    #[inline(never)]
    fn parse(&mut self) -> Result<RecordRef<'a>, InvalidRecord> {
        let mut outer = Cursor::new(self.rest);
        let len = outer.length()?;
        // Restrict the cursor to the record: a field that runs past its end is an error, even if the
        // batch continues.
        let mut body = Cursor::new(outer.take(len)?);
        self.rest = outer.rest();
        body.byte()?; // attributes: none are defined
        let timestamp_delta = body.varlong()?;
        // Negative deltas become huge and fail the same comparison.
        let offset_delta = body.varint()? as u32;
        if offset_delta > self.last_offset_delta {
            return Err(InvalidRecord::Offset);
        }
        let key = body.nullable()?;
        let value = body.nullable()?;
        let header_count = body.length()?;
        let headers = Headers::read(body.rest(), header_count)?;
        Ok(RecordRef {
            // Cannot overflow: `Batch::check` refuses a batch whose last offset does.
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
    fn fail(&mut self, reason: InvalidRecord) -> RecordError {
        let index = self.index;
        self.index = self.count;
        self.rest = &[];
        RecordError::InvalidRecord { base_offset: self.base_offset, index, reason }
    }
}
