//! Record headers: a list, not a map. Keys may repeat and need not be UTF-8.
//!
//! Invariant: [`Headers`] exist only after all of them were checked, so iterating cannot fail.

use super::InvalidRecord;
use super::varint::Cursor;

/// One header of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header<'a> {
    /// The key. Kafka specifies UTF-8 but does not enforce it.
    pub key: &'a [u8],
    /// The value, or null.
    pub value: Option<&'a [u8]>,
}

/// The headers of a record, in their encoded form.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Headers<'a> {
    bytes: &'a [u8],
    count: usize,
}

impl<'a> Headers<'a> {
    /// Checks that `count` headers fill `bytes`.
    #[inline(always)]
    pub(super) fn read(bytes: &'a [u8], count: usize) -> Result<Self, InvalidRecord> {
        if count == 0 {
            return if bytes.is_empty() { Ok(Self { bytes, count }) } else { Err(InvalidRecord::Length) };
        }
        match check(bytes, count) {
            None => Ok(Self { bytes, count }),
            Some(reason) => Err(reason),
        }
    }

    /// The number of headers.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether there are no headers.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The encoded length in bytes: an upper bound of the length of all keys and values.
    #[must_use]
    pub const fn encoded_len(&self) -> usize {
        self.bytes.len()
    }

    /// Iterates over the headers in the order in which they were written.
    #[must_use]
    pub const fn iter(&self) -> HeaderIter<'a> {
        HeaderIter { cursor: Cursor::new(self.bytes), left: self.count }
    }
}

/// Decodes the headers as iterating does. Not inlined: most records have no headers.
#[inline(never)]
fn check(bytes: &[u8], count: usize) -> Option<InvalidRecord> {
    // A header takes at least two bytes. This refuses an absurd count before the loop.
    if count > bytes.len() / 2 {
        return Some(InvalidRecord::Truncated);
    }
    let mut cursor = Cursor::new(bytes);
    for _ in 0..count {
        let header = cursor.length().and_then(|len| cursor.take(len)).and_then(|_| cursor.nullable());
        if let Err(reason) = header {
            return Some(reason);
        }
    }
    (!cursor.rest().is_empty()).then_some(InvalidRecord::Length)
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
