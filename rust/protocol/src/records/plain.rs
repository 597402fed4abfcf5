//! Plain records: the shapes that nearly all records have, read faster than by iterating.
//!
//! A plain record has no headers, and varints no longer than its fields usually need. `plain_reader`
//! reads them. Invariant: their contents equal those of iterating over [`Records`](super::Records).

/// A key or value, and the bytes that follow it in the batch.
#[derive(Debug, Clone, Copy)]
pub struct PaddedSlice<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    pub(super) len: usize,
}

impl<'a> PaddedSlice<'a> {
    /// The bytes of the key or value.
    #[must_use]
    #[inline(always)]
    pub fn bytes(self) -> &'a [u8] {
        self.bytes.get(self.at..self.at + self.len).unwrap_or_default()
    }

    /// The length of the key or value.
    #[must_use]
    #[inline(always)]
    pub const fn len(self) -> usize {
        self.len
    }

    /// Whether the key or value is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }

    /// `N` bytes from the first on, including those that follow the slice, if the batch has as many.
    /// Copying a constant number of bytes takes no call.
    #[must_use]
    #[inline(always)]
    pub fn padded<const N: usize>(self) -> Option<&'a [u8; N]> {
        self.bytes.get(self.at..self.at + N)?.first_chunk()
    }
}

/// One record without headers, borrowed.
#[derive(Debug, Clone, Copy)]
pub struct PlainRecord<'a> {
    /// The offset in the partition.
    pub offset: i64,
    /// Milliseconds since the epoch, -1 if there is no timestamp.
    pub timestamp: i64,
    /// The key, or null.
    pub key: Option<PaddedSlice<'a>>,
    /// The value, or null.
    pub value: Option<PaddedSlice<'a>>,
}

/// Receives plain records in runs; see [`Records::read_plain`](super::Records::read_plain).
pub trait PlainSink {
    /// Reads all records of a run, at most [`PlainRun::max_remaining`], and returns their number.
    /// Implementations should be inlined, since each kind of run calls them.
    fn read_run<'a, R: PlainRun<'a>>(&mut self, records: &mut R) -> usize;
}

/// A run of plain records: all have a key or none has, and likewise for the value.
pub trait PlainRun<'a> {
    /// Whether the records have keys.
    const KEY: bool;
    /// Whether the records have values.
    const VALUE: bool;
    /// An upper bound of the number of remaining records.
    fn max_remaining(&self) -> usize;
    /// The next record of this run.
    fn next(&mut self) -> Option<PlainRecord<'a>>;
}
