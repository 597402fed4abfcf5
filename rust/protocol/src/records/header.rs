//! Record headers: a list, not a map. Keys may repeat and need not be UTF-8.
//!
//! Invariant: [`Headers`] are handed out only after the reader has walked them once, so that
//! iterating cannot fail.

use super::Flaw;
use super::varint::Cursor;

/// One header of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header<'a> {
    /// The key. Kafka means it to be UTF-8, and nothing enforces that.
    pub key: &'a [u8],
    /// The value, or null.
    pub value: Option<&'a [u8]>,
}

/// The headers of a record, still in their encoded form.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Headers<'a> {
    bytes: &'a [u8],
    count: usize,
}

impl<'a> Headers<'a> {
    /// `count` headers that fill `bytes`.
    #[inline(always)]
    pub(super) fn read(bytes: &'a [u8], count: usize) -> Result<Self, Flaw> {
        if count == 0 {
            return if bytes.is_empty() { Ok(Self { bytes, count }) } else { Err(Flaw::Length) };
        }
        match check(bytes, count) {
            None => Ok(Self { bytes, count }),
            Some(flaw) => Err(flaw),
        }
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes they take in the record: an upper bound of what their keys and values hold.
    #[must_use]
    pub const fn encoded_len(&self) -> usize {
        self.bytes.len()
    }

    /// In the order in which they were written.
    #[must_use]
    pub const fn iter(&self) -> HeaderIter<'a> {
        HeaderIter { cursor: Cursor::new(self.bytes), left: self.count }
    }
}

/// Walks headers as a reader will. Not inlined: most records have none.
#[inline(never)]
fn check(bytes: &[u8], count: usize) -> Option<Flaw> {
    // A header takes two bytes at least: an absurd count ends here, not after billions of turns.
    if count > bytes.len() / 2 {
        return Some(Flaw::Truncated);
    }
    let mut cursor = Cursor::new(bytes);
    for _ in 0..count {
        let header = cursor.length().and_then(|len| cursor.take(len)).and_then(|_| cursor.nullable());
        if let Err(flaw) = header {
            return Some(flaw);
        }
    }
    (!cursor.rest().is_empty()).then_some(Flaw::Length)
}

impl<'a> IntoIterator for Headers<'a> {
    type Item = Header<'a>;
    type IntoIter = HeaderIter<'a>;

    fn into_iter(self) -> HeaderIter<'a> {
        self.iter()
    }
}

/// Iterates over [`Headers`].
pub struct HeaderIter<'a> {
    cursor: Cursor<'a>,
    left: usize,
}

impl<'a> Iterator for HeaderIter<'a> {
    type Item = Header<'a>;

    fn next(&mut self) -> Option<Header<'a>> {
        self.left = self.left.checked_sub(1)?;
        let len = self.cursor.length().ok()?;
        let key = self.cursor.take(len).ok()?;
        let value = self.cursor.nullable().ok()?;
        Some(Header { key, value })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for HeaderIter<'_> {}
