//! Reads records without headers whose varints are no longer than their fields usually need.
//!
//! A record's varints mostly take as many bytes as those of the record before it. So records are read
//! in runs of one [`Form`]: one comparison tells that nothing has changed, the fields lie at places that
//! the compiler knows, and the sink is compiled for each form by itself.
//!
//! Invariant: what is read here is what [`CurrentRecords::next`] would read. What that would refuse is
//! left to it, and so is every record of another form: the bytes stand before it then.
//!
//! [`CurrentRecords::next`]: super::record::CurrentRecords::next

use super::plain::{Part, PlainRecord, PlainRun, PlainSink};

/// Behind the length: attributes, two deltas, the key's length and, without a key, the value's.
const BODY: usize = 14;
/// What is looked at without another check of the length.
const HEAD: usize = 2 + BODY;
const MORE: u8 = 0x80;

/// Where a reader of plain records stands, and what its records are counted from.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlainReader<'a> {
    pub(super) rest: &'a [u8],
    pub(super) left: usize,
    pub(super) base_offset: i64,
    pub(super) last_offset_delta: usize,
    pub(super) base_timestamp: i64,
    /// Zero if the broker sets the timestamp, and no bit is zero otherwise.
    pub(super) timestamp_mask: i64,
}

/// Records whose deltas take so many bytes, with a key and a value or without.
struct Form<'a, const TIMESTAMP: usize, const OFFSET: usize, const KEY: bool, const VALUE: bool>(
    PlainReader<'a>,
);

/// A varint of one or two bytes, still in zigzag form, and how many bytes it is.
#[inline(always)]
fn short(a: u8, b: u8) -> Option<(usize, usize)> {
    if a < MORE {
        Some((a.into(), 1))
    } else if b < MORE {
        Some((two(a, b), 2))
    } else {
        None
    }
}

/// The varint of two bytes.
#[inline(always)]
fn two(a: u8, b: u8) -> usize {
    usize::from(a) + (usize::from(b) << 7) - usize::from(MORE)
}

/// Half of the varint of so many bytes.
#[inline(always)]
fn half<const SIZE: usize>(body: &[u8; BODY], at: usize) -> usize {
    let half = usize::from((body[at] & !MORE) >> 1);
    match SIZE {
        1 => half,
        2 => half | usize::from(body[at + 1]) << 6,
        _ => half | usize::from(body[at + 1] & !MORE) << 6 | usize::from(body[at + 2]) << 13,
    }
}

/// The length, in zigzag form, where it ends, and what is behind it.
#[inline(always)]
fn split(head: &[u8; HEAD]) -> Option<(usize, usize, &[u8; BODY])> {
    let [a, b, ..] = *head;
    if a < MORE {
        Some((a.into(), 1, head.get(1..)?.first_chunk()?))
    } else if b < MORE {
        Some((two(a, b), 2, head.get(2..)?.first_chunk()?))
    } else {
        None
    }
}

impl PlainReader<'_> {
    /// Reads up to the first record that is not plain.
    #[inline(always)]
    pub(super) fn read(&mut self, sink: &mut impl PlainSink) {
        loop {
            let before = self.left;
            match self.form() {
                Some((1, 1, key, value)) => self.runs::<1, 1>(key, value, sink),
                Some((1, 2, key, value)) => self.runs::<1, 2>(key, value, sink),
                Some((1, 3, key, value)) => self.runs::<1, 3>(key, value, sink),
                Some((2, 1, key, value)) => self.runs::<2, 1>(key, value, sink),
                Some((2, 2, key, value)) => self.runs::<2, 2>(key, value, sink),
                Some((2, 3, key, value)) => self.runs::<2, 3>(key, value, sink),
                Some((3, 1, key, value)) => self.runs::<3, 1>(key, value, sink),
                Some((3, 2, key, value)) => self.runs::<3, 2>(key, value, sink),
                Some((3, 3, key, value)) => self.runs::<3, 3>(key, value, sink),
                _ => return,
            }
            if self.left == before {
                return;
            }
        }
    }

    /// How many bytes the deltas of the next record take, and whether it has a key and a value.
    #[inline(never)]
    fn form(&self) -> Option<(usize, usize, bool, bool)> {
        if self.left == 0 {
            return None;
        }
        let (_, start, body) = split(self.rest.first_chunk()?)?;
        let size = |at: usize| body.iter().skip(at).position(|byte| *byte < MORE).map(|last| last + 1);
        let timestamp = size(1)?;
        let offset = size(1 + timestamp)?;
        let at = 1 + timestamp + offset;
        let (key_len, size) = short(*body.get(at)?, *body.get(at + 1)?)?;
        let value_at = start + at + size + if key_len == 1 { 0 } else { key_len / 2 };
        Some((timestamp, offset, key_len != 1, *self.rest.get(value_at)? != 1))
    }

    #[inline(always)]
    fn runs<const TIMESTAMP: usize, const OFFSET: usize>(
        &mut self,
        key: bool,
        value: bool,
        sink: &mut impl PlainSink,
    ) {
        match (key, value) {
            (false, true) => self.run::<TIMESTAMP, OFFSET, false, true>(sink),
            (true, true) => self.run::<TIMESTAMP, OFFSET, true, true>(sink),
            (true, false) => self.run::<TIMESTAMP, OFFSET, true, false>(sink),
            (false, false) => self.run::<TIMESTAMP, OFFSET, false, false>(sink),
        }
    }

    #[inline(never)]
    fn run<const TIMESTAMP: usize, const OFFSET: usize, const KEY: bool, const VALUE: bool>(
        &mut self,
        sink: &mut impl PlainSink,
    ) {
        let mut records = Form::<'_, TIMESTAMP, OFFSET, KEY, VALUE>(*self);
        let count = sink.take(&mut records);
        self.rest = records.0.rest;
        self.left = self.left.saturating_sub(count);
    }
}

impl<'a, const TIMESTAMP: usize, const OFFSET: usize, const KEY: bool, const VALUE: bool>
    Form<'a, TIMESTAMP, OFFSET, KEY, VALUE>
{
    const OFFSET_AT: usize = 1 + TIMESTAMP;
    const KEY_AT: usize = Self::OFFSET_AT + OFFSET;

    /// Which bits of a body's first eight bytes the form settles, and how: where varints go on, and
    /// that the offset's is not negative. That the key starts within them is checked when this is
    /// compiled.
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
        // Negative numbers are odd.
        let delta = half::<TIMESTAMP>(body, 1) as i64 ^ -i64::from(body[1] & 1);
        let offset_delta = half::<OFFSET>(body, Self::OFFSET_AT);
        let first = body[Self::KEY_AT];
        let at = start + Self::KEY_AT;
        let (key, at, a, b) = if KEY {
            let (key_len, size) = short(first, body[Self::KEY_AT + 1])?;
            // Odd numbers are negative ones: -1 is null, and all others are wrong.
            if key_len % 2 != 0 {
                return None;
            }
            let at = at + size;
            let len = key_len / 2;
            let &[a, b] = bytes.get(at + len..at + len + 2)?.first_chunk()?;
            (Some(Part { bytes, at, len }), at + len, a, b)
        } else {
            if first != 1 {
                return None;
            }
            (None, at + 1, body[Self::KEY_AT + 1], body[Self::KEY_AT + 2])
        };
        let value = if VALUE {
            let (value_len, size) = short(a, b)?;
            let at = at + size;
            // It ends before the count of the headers, the record's last byte. An odd length is negative,
            // and equals nothing.
            if 2 * at + value_len != 2 * (end - 1) {
                return None;
            }
            let len = end - 1 - at;
            Some(Part { bytes, at, len })
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
            // The batch was refused if its last offset overflows.
            offset: self.0.base_offset + offset_delta as i64,
            timestamp: self.0.base_timestamp.wrapping_add(delta & self.0.timestamp_mask),
            key,
            value,
        };
        Some((record, rest))
    }
}

impl<'a, const TIMESTAMP: usize, const OFFSET: usize, const KEY: bool, const VALUE: bool> PlainRun<'a>
    for Form<'a, TIMESTAMP, OFFSET, KEY, VALUE>
{
    const KEY: bool = KEY;
    const VALUE: bool = VALUE;

    #[inline(always)]
    fn left(&self) -> usize {
        self.0.left
    }

    #[inline(always)]
    fn next(&mut self) -> Option<PlainRecord<'a>> {
        let (record, rest) = self.read()?;
        self.0.rest = rest;
        Some(record)
    }
}
