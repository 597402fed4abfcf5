//! The wire format: tags, varints, fixed numbers, bytes; and the skipping of unknown fields.
//!
//! Invariant: a length in the payload causes no allocation, and nothing is read beyond the payload.

use super::failure::Failure;

pub(super) const VARINT: u8 = 0;
pub(super) const FIXED64: u8 = 1;
pub(super) const BYTES: u8 = 2;
pub(super) const START_GROUP: u8 = 3;
pub(super) const END_GROUP: u8 = 4;
pub(super) const FIXED32: u8 = 5;

/// The maximum nesting depth of unknown groups, as in Google's libraries.
const MAX_GROUPS: usize = 100;

/// The unread bytes of a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Input<'a> {
    bytes: &'a [u8],
}

impl<'a> Input<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    pub(super) fn is_empty(self) -> bool {
        self.bytes.is_empty()
    }

    pub(super) fn rest(self) -> &'a [u8] {
        self.bytes
    }

    #[inline]
    pub(super) fn varint(&mut self) -> Result<u64, Failure> {
        match self.bytes {
            [byte, rest @ ..] if *byte < 0x80 => {
                self.bytes = rest;
                Ok(u64::from(*byte))
            }
            _ => self.long_varint(),
        }
    }

    /// Reads a long varint. Bits beyond the 64th are dropped, as in Google's libraries.
    fn long_varint(&mut self) -> Result<u64, Failure> {
        let mut value = 0;
        for (at, byte) in self.bytes.iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * at);
            if *byte < 0x80 {
                self.bytes = self.bytes.get(at + 1..).unwrap_or_default();
                return Ok(value);
            }
        }
        Err(Failure::malformed(match self.bytes.len() {
            0..10 => "it ends within a number",
            _ => "a number has more than ten bytes",
        }))
    }

    /// Reads the number and the wire type of a field.
    #[inline]
    pub(super) fn tag(&mut self) -> Result<(u32, u8), Failure> {
        let tag = self.varint()?;
        match u32::try_from(tag >> 3) {
            Ok(number) if number != 0 && number < 1 << 29 => Ok((number, (tag & 7) as u8)),
            _ => Err(Failure::malformed("a field has an invalid number")),
        }
    }

    #[inline]
    pub(super) fn fixed<const N: usize>(&mut self) -> Result<[u8; N], Failure> {
        let Some((value, rest)) = self.bytes.split_first_chunk::<N>() else {
            return Err(Failure::malformed("it ends within a number"));
        };
        self.bytes = rest;
        Ok(*value)
    }

    /// Reads a length and that many bytes.
    #[inline]
    pub(super) fn bytes(&mut self) -> Result<&'a [u8], Failure> {
        let length = self.varint()?;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let Some((value, rest)) = self.bytes.split_at_checked(length) else {
            return Err(Failure::malformed("a length exceeds the message"));
        };
        self.bytes = rest;
        Ok(value)
    }

    /// Skips the value of an unknown field.
    pub(super) fn skip(&mut self, number: u32, wire: u8) -> Result<(), Failure> {
        match wire {
            VARINT => self.varint().map(drop),
            FIXED64 => self.fixed::<8>().map(drop),
            BYTES => self.bytes().map(drop),
            FIXED32 => self.fixed::<4>().map(drop),
            START_GROUP => self.skip_group(number),
            END_GROUP => Err(Failure::malformed("a group ends that did not begin")),
            _ => Err(Failure::malformed("a field has an invalid wire type")),
        }
    }

    fn skip_group(&mut self, number: u32) -> Result<(), Failure> {
        let mut open = vec![number];
        while let Some(innermost) = open.last() {
            if self.is_empty() {
                return Err(Failure::malformed("it ends within a group"));
            }
            match self.tag()? {
                (number, END_GROUP) if number == *innermost => drop(open.pop()),
                (_, START_GROUP) if open.len() >= MAX_GROUPS => {
                    return Err(Failure::malformed("unknown groups are nested too deep"));
                }
                (number, START_GROUP) => open.push(number),
                (number, wire) => self.skip(number, wire)?,
            }
        }
        Ok(())
    }
}

/// Returns the signed number of a zigzag encoding.
#[inline]
pub(super) fn zigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}
