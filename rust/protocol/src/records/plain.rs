//! The records that nearly all are, without headers, as a reader in a hurry takes them.
//!
//! Invariant: what they hold is what iterating over [`Records`](super::Records) gives. `form` reads
//! them.

/// Bytes of a record, and what follows them in the batch.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    pub(super) len: usize,
}

impl<'a> Part<'a> {
    /// The bytes.
    #[must_use]
    #[inline(always)]
    pub fn bytes(self) -> &'a [u8] {
        self.bytes.get(self.at..self.at + self.len).unwrap_or_default()
    }

    /// The number of bytes.
    #[must_use]
    #[inline(always)]
    pub const fn len(self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }

    /// `N` bytes from the first on, whether they belong to it or follow it, if there are as many:
    /// copying a known number of bytes takes no call.
    #[must_use]
    #[inline(always)]
    pub fn padded<const N: usize>(self) -> Option<&'a [u8; N]> {
        self.bytes.get(self.at..self.at + N)?.first_chunk()
    }
}

/// One record without headers, borrowed.
#[derive(Debug, Clone, Copy)]
pub struct PlainRecord<'a> {
    /// Its offset in the partition.
    pub offset: i64,
    /// Milliseconds since the epoch, -1 if it has none.
    pub timestamp: i64,
    /// Its key, or null.
    pub key: Option<Part<'a>>,
    /// Its value, or null.
    pub value: Option<Part<'a>>,
}

/// Takes records in runs; see [`Records::plain`](super::Records::plain).
pub trait PlainSink {
    /// Takes all of them, at most [`PlainRun::left`], and gives their number. To be inlined, since it
    /// is called for several kinds of runs.
    fn take<'a, R: PlainRun<'a>>(&mut self, records: &mut R) -> usize;
}

/// Records to take: with a key and a value, or without, all of them.
pub trait PlainRun<'a> {
    /// Whether they have keys.
    const KEY: bool;
    /// Whether they have values.
    const VALUE: bool;
    /// No more than this are left.
    fn left(&self) -> usize;
    /// The next record of this run.
    fn next(&mut self) -> Option<PlainRecord<'a>>;
}
