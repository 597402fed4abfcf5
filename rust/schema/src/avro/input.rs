//! Reads the bytes of a payload, and counts the bytes that its columns take.
//!
//! Invariant: a length or count that exceeds the unread bytes is an error.

use super::fault::Fault;
use super::skip_step::RecursiveSkips;
use crate::budget::RowBudget;

pub(super) struct Input<'a> {
    rest: &'a [u8],
    budget: RowBudget,
    /// How records within themselves are skipped.
    skips: Option<&'a RecursiveSkips>,
}

impl<'a> Input<'a> {
    pub(super) fn new(payload: &'a [u8], budget: RowBudget) -> Self {
        Self { rest: payload, budget, skips: None }
    }

    /// The payload may have records within themselves, which the reader does not.
    pub(super) fn with_skips(self, skips: &'a RecursiveSkips) -> Self {
        Self { skips: Some(skips), ..self }
    }

    pub(super) fn skips(&self) -> Option<&'a RecursiveSkips> {
        self.skips
    }

    /// Reads other bytes, such as a default, within the same budget, and returns those that were not read.
    pub(super) fn replace(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        std::mem::replace(&mut self.rest, bytes)
    }

    /// Reads other bytes, such as a default, within the same budget.
    pub(super) fn within<T>(
        &mut self,
        bytes: &[u8],
        read: impl FnOnce(&mut Input<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let mut inner = Input { rest: bytes, budget: self.budget, skips: self.skips };
        let value = read(&mut inner)?;
        self.budget = inner.budget;
        Ok(value)
    }

    /// Takes column bytes from the budget.
    #[inline]
    pub(super) fn spend(&mut self, bytes: usize) -> Result<(), Fault> {
        self.budget.spend(bytes).map_err(|_| Fault::Budget)
    }

    /// Takes the bytes of several values of the same size from the budget.
    #[inline]
    pub(super) fn spend_each(&mut self, count: usize, bytes: usize) -> Result<(), Fault> {
        self.budget.spend_each(count, bytes).map_err(|_| Fault::Budget)
    }

    /// Returns the column bytes that this payload has taken so far.
    pub(super) fn spent(&self) -> usize {
        self.budget.spent()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    #[inline]
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], Fault> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Fault::End)?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(Fault::End)?;
        self.rest = rest;
        Ok(*taken)
    }

    #[inline]
    pub(super) fn long(&mut self) -> Result<i64, Fault> {
        let bits = self.varint::<10>(1)?;
        Ok((bits >> 1).cast_signed() ^ -(bits & 1).cast_signed())
    }

    #[inline]
    pub(super) fn int(&mut self) -> Result<i32, Fault> {
        let bits = self.varint::<5>(0x0f)? as u32;
        Ok((bits >> 1).cast_signed() ^ -(bits & 1).cast_signed())
    }

    /// Reads a number of at most `MAX` bytes. The last byte is at most `last`.
    #[inline]
    fn varint<const MAX: usize>(&mut self, last: u8) -> Result<u64, Fault> {
        match self.rest {
            [byte, rest @ ..] if *byte < 0x80 => {
                self.rest = rest;
                Ok(u64::from(*byte))
            }
            _ => self.long_varint::<MAX>(last),
        }
    }

    fn long_varint<const MAX: usize>(&mut self, last: u8) -> Result<u64, Fault> {
        let mut value = 0;
        for (at, byte) in self.rest.iter().take(MAX).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * at);
            if at + 1 == MAX && *byte > last {
                return Err(Fault::NumberRange);
            }
            if *byte < 0x80 {
                self.rest = self.rest.get(at + 1..).unwrap_or_default();
                return Ok(value);
            }
        }
        Err(Fault::End)
    }

    pub(super) fn boolean(&mut self) -> Result<bool, Fault> {
        match self.array()? {
            [0] => Ok(false),
            [1] => Ok(true),
            [other] => Err(Fault::Boolean(other)),
        }
    }

    /// Reads a length and that many bytes.
    #[inline]
    pub(super) fn bytes(&mut self) -> Result<&'a [u8], Fault> {
        let length = self.long()?;
        self.take(usize::try_from(length).map_err(|_| Fault::Length)?)
    }

    #[inline]
    pub(super) fn text(&mut self) -> Result<&'a str, Fault> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Fault::Text)
    }

    /// Reads the header of a block: the number of array items or map entries in it. Each takes at least one byte. The
    /// last block has none.
    pub(super) fn block(&mut self) -> Result<usize, Fault> {
        let count = self.long()?;
        if count < 0 && self.long()? < 0 {
            return Err(Fault::Length);
        }
        match usize::try_from(count.unsigned_abs()) {
            Ok(count) if count <= self.rest.len() => Ok(count),
            _ => Err(Fault::End),
        }
    }

    /// Like `block`, but skips blocks that state their size.
    pub(super) fn skip_blocks(&mut self) -> Result<usize, Fault> {
        loop {
            let count = self.long()?;
            if count >= 0 {
                return usize::try_from(count)
                    .ok()
                    .filter(|count| *count <= self.rest.len())
                    .ok_or(Fault::End);
            }
            let size = usize::try_from(self.long()?).map_err(|_| Fault::Length)?;
            self.take(size)?;
        }
    }
}
