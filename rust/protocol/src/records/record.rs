//! The records of one batch, borrowed from the batch or from what it was decompressed to.
//!
//! Invariant: the count and every length match exactly what the bytes hold; the first record that
//! contradicts them ends the iteration with an error.

use super::legacy::LegacyRecords;
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

/// Where the key starts, at the latest, in a record that [`CurrentRecords::parse_short`] reads, and
/// rounded up to a power of two, so that a masked index needs no check.
const HEAD: usize = 16;

/// A varint of one or two bytes, still in zigzag form, and where it ends.
#[inline(always)]
fn short(head: &[u8; HEAD], at: usize) -> Option<(u32, usize)> {
    let [a, b] = [head[at % HEAD], head[(at + 1) % HEAD]];
    if a < 0x80 {
        Some((u32::from(a), at + 1))
    } else if b < 0x80 {
        Some((u32::from(a & 0x7f) | u32::from(b) << 7, at + 2))
    } else {
        None
    }
}

/// A varint of up to three bytes: timestamp deltas of up to 17 minutes.
#[inline(always)]
fn short_or_middle(head: &[u8; HEAD], at: usize) -> Option<(u32, usize)> {
    let [a, b, c] = [head[at % HEAD], head[(at + 1) % HEAD], head[(at + 2) % HEAD]];
    match short(head, at) {
        None if c < 0x80 => {
            Some((u32::from(a & 0x7f) | u32::from(b & 0x7f) << 7 | u32::from(c) << 14, at + 3))
        }
        read => read,
    }
}

/// Where bytes that start at `at` end, and whether they are null, by their length in zigzag form.
#[inline(always)]
fn range(at: usize, len: u32) -> Option<(usize, bool)> {
    match len {
        1 => Some((at, true)),
        len if len & 1 == 0 => Some((at + (len / 2) as usize, false)),
        _ => None,
    }
}

/// Takes records one after the other; see [`Records::visit`].
pub trait Visitor {
    /// Takes one.
    fn visit(&mut self, record: &RecordRef<'_>);
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

    /// Gives every record that is left to `visitor`, one after the other: the quickest way through a
    /// batch, if the visitor is inlined, since nothing is stored in between.
    ///
    /// # Errors
    /// [`RecordError`] for the first record that is malformed. Those before it were visited.
    #[inline]
    pub fn visit(&mut self, visitor: &mut impl Visitor) -> Result<(), RecordError> {
        match &mut self.0 {
            Inner::Current(records) => records.visit(visitor),
            Inner::Legacy(records) => {
                while let Some(record) = records.next() {
                    visitor.visit(&record?);
                }
                Ok(())
            }
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
    fn next(&mut self) -> Option<Result<RecordRef<'a>, RecordError>> {
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
    fn visit(&mut self, visitor: &mut impl Visitor) -> Result<(), RecordError> {
        while self.index != self.count {
            match self.parse_short() {
                Some(record) => visitor.visit(&record),
                None => self.visit_any(visitor)?,
            }
            self.index += 1;
        }
        self.end().transpose().map(drop)
    }

    #[cold]
    #[inline(never)]
    fn visit_any(&mut self, visitor: &mut impl Visitor) -> Result<(), RecordError> {
        match self.parse_any() {
            Ok(record) => visitor.visit(&record),
            Err(flaw) => return Err(self.fail(flaw)),
        }
        Ok(())
    }

    #[inline(always)]
    fn parse(&mut self) -> Result<RecordRef<'a>, Flaw> {
        self.parse_short().map_or_else(|| self.parse_any(), Ok)
    }

    /// What nearly all records are: no headers, and no varint longer than its field usually is.
    /// `None` for all others, which [`CurrentRecords::parse_any`] reads or refuses.
    #[inline(always)]
    fn parse_short(&mut self) -> Option<RecordRef<'a>> {
        let bytes = self.rest;
        let head = bytes.first_chunk::<HEAD>()?;
        let (len, at) = short(head, 0)?;
        let end = at + (len / 2) as usize;
        // One byte of attributes, of which none is defined.
        let (timestamp_delta, at) = short_or_middle(head, at + 1)?;
        let (offset_delta, at) = short(head, at)?;
        let (key_len, key_at) = short(head, at)?;
        // Odd numbers are negative ones: of a length, -1 is null, and all others are wrong.
        if (len | offset_delta) & 1 != 0 || offset_delta / 2 > self.last_offset_delta {
            return None;
        }
        let (key_end, no_key) = range(key_at, key_len)?;
        let tail = bytes.get(key_end..)?.first_chunk::<2>()?;
        let (value_len, value_at) = match *tail {
            [a, _] if a < 0x80 => (u32::from(a), key_end + 1),
            [a, b] if b < 0x80 => (u32::from(a & 0x7f) | u32::from(b) << 7, key_end + 2),
            _ => return None,
        };
        let (value_end, no_value) = range(value_at, value_len)?;
        let (record, rest) = bytes.split_at_checked(end)?;
        // No headers, and nothing behind their count.
        if value_end + 1 != end || *record.get(value_end)? != 0 {
            return None;
        }
        let key = if no_key { None } else { Some(record.get(key_at..key_end)?) };
        let value = if no_value { None } else { Some(record.get(value_at..value_end)?) };
        self.rest = rest;
        let delta = i64::from(timestamp_delta / 2) ^ -i64::from(timestamp_delta & 1);
        Some(RecordRef {
            // The batch was refused if its last offset overflows.
            offset: self.base_offset + i64::from(offset_delta / 2),
            timestamp: match self.append_time {
                None => self.base_timestamp.wrapping_add(delta),
                Some(timestamp) => timestamp,
            },
            key,
            value,
            headers: Headers::default(),
        })
    }

    #[inline(never)]
    fn parse_any(&mut self) -> Result<RecordRef<'a>, Flaw> {
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
