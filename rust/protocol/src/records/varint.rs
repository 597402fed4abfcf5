//! Zigzag varints, the integers inside records.
//!
//! Invariant: a varint longer than its type's longest encoding, or with bits that its type cannot hold,
//! is an error.

use super::InvalidRecord;

/// The longest encoding of a 64-bit varint, in bytes.
pub(super) const MAX_LEN_64: usize = 10;

#[inline]
pub(super) const fn zigzag_32(value: i32) -> u32 {
    ((value << 1) ^ (value >> 31)) as u32
}

#[inline]
pub(super) const fn zigzag_64(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

#[inline]
const fn unzigzag_32(value: u32) -> i32 {
    ((value >> 1) as i32) ^ -((value & 1) as i32)
}

#[inline]
const fn unzigzag_64(value: u64) -> i64 {
    ((value >> 1) as i64) ^ -((value & 1) as i64)
}

/// The encoded length of `value`, a zigzag value: one byte for every seven bits, at least one.
#[inline]
pub(super) const fn len_of(value: u64) -> usize {
    let bits = 64 - (value | 1).leading_zeros();
    // (bits + 6) / 7 for 1..=64 bits, without a division.
    ((bits * 9 + 64) >> 6) as usize
}

/// Writes `value` into `out` at `at` and returns the end. `out` must have room for ten more bytes.
#[inline]
pub(super) fn write<const N: usize>(out: &mut [u8; N], at: usize, value: u64) -> usize {
    if value < 0x80 {
        if let Some(byte) = out.get_mut(at) {
            *byte = value as u8;
        }
        return at + 1;
    }
    write_long(out, at, value)
}

#[inline]
fn write_long<const N: usize>(out: &mut [u8; N], mut at: usize, mut value: u64) -> usize {
    while value >= 0x80 {
        if let Some(byte) = out.get_mut(at) {
            *byte = (value as u8) | 0x80;
        }
        at += 1;
        value >>= 7;
    }
    if let Some(byte) = out.get_mut(at) {
        *byte = value as u8;
    }
    at + 1
}

/// A read position in the bytes of one record.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
}

impl<'a> Cursor<'a> {
    #[inline(always)]
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    #[inline(always)]
    pub(super) const fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    #[inline(always)]
    pub(super) fn byte(&mut self) -> Result<u8, InvalidRecord> {
        let (&byte, rest) = self.bytes.split_first().ok_or(InvalidRecord::Truncated)?;
        self.bytes = rest;
        Ok(byte)
    }

    #[inline(always)]
    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8], InvalidRecord> {
        let (bytes, rest) = self.bytes.split_at_checked(len).ok_or(InvalidRecord::Truncated)?;
        self.bytes = rest;
        Ok(bytes)
    }

    /// A 32-bit varint. Those of one and two bytes, nearly all, take no loop.
    #[inline(always)]
    pub(super) fn varint(&mut self) -> Result<i32, InvalidRecord> {
        match self.bytes {
            [a, rest @ ..] if *a < 0x80 => {
                self.bytes = rest;
                Ok(unzigzag_32(u32::from(*a)))
            }
            [a, b, rest @ ..] if *b < 0x80 => {
                self.bytes = rest;
                Ok(unzigzag_32(u32::from(*a & 0x7f) | u32::from(*b) << 7))
            }
            _ => {
                let value = self.long(5)?;
                u32::try_from(value).map(unzigzag_32).map_err(|_| InvalidRecord::Varint)
            }
        }
    }

    /// A 64-bit varint.
    #[inline(always)]
    pub(super) fn varlong(&mut self) -> Result<i64, InvalidRecord> {
        match self.bytes {
            [a, rest @ ..] if *a < 0x80 => {
                self.bytes = rest;
                Ok(unzigzag_64(u64::from(*a)))
            }
            [a, b, rest @ ..] if *b < 0x80 => {
                self.bytes = rest;
                Ok(unzigzag_64(u64::from(*a & 0x7f) | u64::from(*b) << 7))
            }
            // Three bytes hold timestamp deltas of up to 17 minutes.
            [a, b, c, rest @ ..] if *c < 0x80 => {
                self.bytes = rest;
                let low = u64::from(*a & 0x7f) | u64::from(*b & 0x7f) << 7;
                Ok(unzigzag_64(low | u64::from(*c) << 14))
            }
            _ => self.long(MAX_LEN_64).map(unzigzag_64),
        }
    }

    /// A nullable length, -1 for null, and that many bytes.
    #[inline(always)]
    pub(super) fn nullable(&mut self) -> Result<Option<&'a [u8]>, InvalidRecord> {
        let len = self.varint()?;
        match usize::try_from(len) {
            Ok(len) => self.take(len).map(Some),
            Err(_) if len == -1 => Ok(None),
            Err(_) => Err(InvalidRecord::Negative),
        }
    }

    /// A length or count, which must not be negative.
    #[inline(always)]
    pub(super) fn length(&mut self) -> Result<usize, InvalidRecord> {
        usize::try_from(self.varint()?).map_err(|_| InvalidRecord::Negative)
    }

    #[inline(always)]
    fn long(&mut self, longest: usize) -> Result<u64, InvalidRecord> {
        let (value, len) = long(self.bytes, longest)?;
        self.bytes = self.bytes.get(len..).unwrap_or_default();
        Ok(value)
    }
}

/// The value and the length of a longer varint. Takes the bytes instead of the cursor, so that the
/// cursor's address is never taken and it stays in registers.
#[cold]
#[inline(never)]
fn long(bytes: &[u8], longest: usize) -> Result<(u64, usize), InvalidRecord> {
    let mut value = 0u64;
    for (index, &byte) in bytes.iter().take(longest).enumerate() {
        let bits = u64::from(byte & 0x7f);
        if index == 9 && bits > 1 {
            return Err(InvalidRecord::Varint);
        }
        value |= bits << (7 * index);
        if byte < 0x80 {
            return Ok((value, index + 1));
        }
    }
    Err(if bytes.len() < longest { InvalidRecord::Truncated } else { InvalidRecord::Varint })
}
