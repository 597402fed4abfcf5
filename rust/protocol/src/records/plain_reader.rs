//! [`PlainReader`]: reads plain records, those without headers and with short varints.
//!
//! A record's varints mostly take as many bytes as those of the record before it. So records are read in
//! runs of one shape: the number of bytes of both deltas, and whether key and value are null. A single
//! comparison confirms that the next record has the same shape, field positions are known at compile
//! time, and the sink is compiled once for each shape.
//!
//! Invariant: the result equals that of [`V2Records::next`]. A record that has another shape, or that
//! [`V2Records::next`] would refuse, is left unread.
//!
//! [`V2Records::next`]: super::record_reader::V2Records::next

use super::plain::{PaddedSlice, PlainRecord, PlainRun, PlainSink};

/// The bytes that are decoded after the length: attributes, two deltas, the key's length and, without a
/// key, the value's length.
const BODY: usize = 14;
/// The bytes that are read without a further check of the length.
const HEAD: usize = 2 + BODY;
/// The bit that marks a varint byte with a successor.
const MORE: u8 = 0x80;

/// A read position among plain records, and the bases of their offsets and timestamps.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlainReader<'a> {
    pub(super) rest: &'a [u8],
    /// The number of remaining records.
    pub(super) left: usize,
    pub(super) base_offset: i64,
    pub(super) last_offset_delta: usize,
    pub(super) base_timestamp: i64,
    /// Zero if the broker sets the timestamp, else all ones.
    pub(super) timestamp_mask: i64,
}

/// A run of records of one shape: the size of both varint deltas, and whether there is a key and a value.
struct ShapedRun<'a, const TIMESTAMP: usize, const OFFSET: usize, const KEY: bool, const VALUE: bool>(
    PlainReader<'a>,
);

/// The zigzag value of a varint of one or two bytes, and its size.
#[inline(always)]
fn short_varint(a: u8, b: u8) -> Option<(usize, usize)> {
    if a < MORE {
        Some((a.into(), 1))
    } else if b < MORE {
        Some((two_byte_varint(a, b), 2))
    } else {
        None
    }
}

/// The zigzag value of a varint of two bytes.
#[inline(always)]
fn two_byte_varint(a: u8, b: u8) -> usize {
    usize::from(a) + (usize::from(b) << 7) - usize::from(MORE)
}

/// Half of the zigzag value of a varint of `SIZE` bytes.
#[inline(always)]
fn half_varint<const SIZE: usize>(body: &[u8; BODY], at: usize) -> usize {
    let half = usize::from((body[at] & !MORE) >> 1);
    match SIZE {
        1 => half,
        2 => half | usize::from(body[at + 1]) << 6,
        _ => half | usize::from(body[at + 1] & !MORE) << 6 | usize::from(body[at + 2]) << 13,
    }
}

/// The zigzag value of the length field, its end, and the bytes after it.
#[inline(always)]
fn split(head: &[u8; HEAD]) -> Option<(usize, usize, &[u8; BODY])> {
    let [a, b, ..] = *head;
    if a < MORE {
        Some((a.into(), 1, head.get(1..)?.first_chunk()?))
    } else if b < MORE {
        Some((two_byte_varint(a, b), 2, head.get(2..)?.first_chunk()?))
    } else {
        None
    }
}

impl PlainReader<'_> {
    /// Reads all records up to the first that is not plain.
    #[inline(always)]
    pub(super) fn read(&mut self, sink: &mut impl PlainSink) {
        loop {
            let before = self.left;
            match self.next_shape() {
                Some((1, 1, key, value)) => self.read_with_sizes::<1, 1>(key, value, sink),
                Some((1, 2, key, value)) => self.read_with_sizes::<1, 2>(key, value, sink),
                Some((1, 3, key, value)) => self.read_with_sizes::<1, 3>(key, value, sink),
                Some((2, 1, key, value)) => self.read_with_sizes::<2, 1>(key, value, sink),
                Some((2, 2, key, value)) => self.read_with_sizes::<2, 2>(key, value, sink),
                Some((2, 3, key, value)) => self.read_with_sizes::<2, 3>(key, value, sink),
                Some((3, 1, key, value)) => self.read_with_sizes::<3, 1>(key, value, sink),
                Some((3, 2, key, value)) => self.read_with_sizes::<3, 2>(key, value, sink),
                Some((3, 3, key, value)) => self.read_with_sizes::<3, 3>(key, value, sink),
                _ => return,
            }
            if self.left == before {
                return;
            }
        }
    }

    /// The shape of the next record: the sizes of both deltas, and whether it has a key and a value.
    #[inline(never)]
    fn next_shape(&self) -> Option<(usize, usize, bool, bool)> {
        if self.left == 0 {
            return None;
        }
        let (_, start, body) = split(self.rest.first_chunk()?)?;
        let size = |at: usize| body.iter().skip(at).position(|byte| *byte < MORE).map(|last| last + 1);
        let timestamp = size(1)?;
        let offset = size(1 + timestamp)?;
        let at = 1 + timestamp + offset;
        let (key_len, size) = short_varint(*body.get(at)?, *body.get(at + 1)?)?;
        let value_at = start + at + size + if key_len == 1 { 0 } else { key_len / 2 };
        Some((timestamp, offset, key_len != 1, *self.rest.get(value_at)? != 1))
    }

    #[inline(always)]
    fn read_with_sizes<const TIMESTAMP: usize, const OFFSET: usize>(
        &mut self,
        key: bool,
        value: bool,
        sink: &mut impl PlainSink,
    ) {
        match (key, value) {
            (false, true) => self.read_run::<TIMESTAMP, OFFSET, false, true>(sink),
            (true, true) => self.read_run::<TIMESTAMP, OFFSET, true, true>(sink),
            (true, false) => self.read_run::<TIMESTAMP, OFFSET, true, false>(sink),
            (false, false) => self.read_run::<TIMESTAMP, OFFSET, false, false>(sink),
        }
    }

    #[inline(never)]
    fn read_run<const TIMESTAMP: usize, const OFFSET: usize, const KEY: bool, const VALUE: bool>(
        &mut self,
        sink: &mut impl PlainSink,
    ) {
        let mut records = ShapedRun::<'_, TIMESTAMP, OFFSET, KEY, VALUE>(*self);
        let count = sink.read_run(&mut records);
        self.rest = records.0.rest;
        self.left = self.left.saturating_sub(count);
    }
}

impl<'a, const TIMESTAMP: usize, const OFFSET: usize, const KEY: bool, const VALUE: bool>
    ShapedRun<'a, TIMESTAMP, OFFSET, KEY, VALUE>
{
    const OFFSET_AT: usize = 1 + TIMESTAMP;
    const KEY_AT: usize = Self::OFFSET_AT + OFFSET;

    /// The bits of a body's first eight bytes that the shape determines, as mask and value: the
    /// continuation bits of the varints, and the sign of the offset delta, which is not negative. The
    /// compiler checks that the key starts within these bytes.
    const PATTERN: (u64, u64) = {
        let (mut mask, mut bits) = ([0; 8], [0; 8]);
        let mut at = 1;
        while at < Self::KEY_AT {
            mask[at] = MORE;
            if at + 1 != Self::OFFSET_AT && at + 1 != Self::KEY_AT {
                bits[at] = MORE;
            }
            at += 1;
        }
        mask[Self::OFFSET_AT] |= 1;
        (u64::from_le_bytes(mask), u64::from_le_bytes(bits))
    };

    #[inline(always)]
    fn read(&self) -> Option<(PlainRecord<'a>, &'a [u8])> {
        let bytes = self.0.rest;
        let (len, start, body) = split(bytes.first_chunk()?)?;
        if u64::from_le_bytes(*body.first_chunk()?) & Self::PATTERN.0 != Self::PATTERN.1 {
            return None;
        }
        let end = start + len / 2;
        let is_negative = len % 2 != 0;
        let (record, rest) = bytes.split_at_checked(end)?;
        // Negative numbers have odd zigzag values.
        let delta = half_varint::<TIMESTAMP>(body, 1) as i64 ^ -i64::from(body[1] & 1);
        let offset_delta = half_varint::<OFFSET>(body, Self::OFFSET_AT);
        let first = body[Self::KEY_AT];
        let at = start + Self::KEY_AT;
        let (key, at, a, b) = if KEY {
            let (key_len, size) = short_varint(first, body[Self::KEY_AT + 1])?;
            // Odd zigzag values are negative: -1 is null, and all others are invalid.
            if key_len % 2 != 0 {
                return None;
            }
            let at = at + size;
            let len = key_len / 2;
            let &[a, b] = bytes.get(at + len..at + len + 2)?.first_chunk()?;
            (Some(PaddedSlice { bytes, at, len }), at + len, a, b)
        } else {
            if first != 1 {
                return None;
            }
            (None, at + 1, body[Self::KEY_AT + 1], body[Self::KEY_AT + 2])
        };
        let value = if VALUE {
            let (value_len, size) = short_varint(a, b)?;
            let at = at + size;
            // The value ends before the header count, the record's last byte. An odd zigzag value is
            // negative and never equal.
            if 2 * at + value_len != 2 * (end - 1) {
                return None;
            }
            let len = end - 1 - at;
            Some(PaddedSlice { bytes, at, len })
        } else {
            if a != 1 || at + 2 != end {
                return None;
            }
            None
        };
        if is_negative || offset_delta > self.0.last_offset_delta || record.last() != Some(&0) {
            return None;
        }
        let record = PlainRecord {
            // Cannot overflow: `Batch::check` refuses a batch whose last offset does.
            offset: self.0.base_offset + offset_delta as i64,
            timestamp: self.0.base_timestamp.wrapping_add(delta & self.0.timestamp_mask),
            key,
            value,
        };
        Some((record, rest))
    }
}

impl<'a, const TIMESTAMP: usize, const OFFSET: usize, const KEY: bool, const VALUE: bool> PlainRun<'a>
    for ShapedRun<'a, TIMESTAMP, OFFSET, KEY, VALUE>
{
    const KEY: bool = KEY;
    const VALUE: bool = VALUE;

    #[inline(always)]
    fn max_remaining(&self) -> usize {
        self.0.left
    }

    #[inline(always)]
    fn next(&mut self) -> Option<PlainRecord<'a>> {
        let (record, rest) = self.read()?;
        self.0.rest = rest;
        Some(record)
    }
}
