//! Where a codec puts what it decompresses: a buffer of fixed size, or one that is only counted through.
//!
//! Invariant: a buffer never grows while it holds a batch. One that is too small is given back before
//! the next is made, so that no two of them exist at a time.

use crate::records::error::CodecError;

/// Up to this size buffers have sizes in powers of two, so that batches which differ a little share one.
const SMALL: usize = 1 << 20;
/// Up to this size they have an eighth more than is needed; larger ones are not worth keeping.
pub(super) const KEPT: usize = 8 << 20;
/// The buffer that is written over and over while bytes are counted.
const COUNTING: usize = 64 << 10;

/// A buffer that is zeroed once and then written over by batch after batch.
#[derive(Default)]
pub(super) struct Output {
    /// One byte longer than the room, by which too much is noticed.
    buffer: Vec<u8>,
    len: usize,
    /// Bytes that may be written in all.
    room: usize,
    counts: bool,
}

impl Output {
    /// An output that keeps nothing and counts up to `limit` bytes.
    pub(super) fn counting(limit: usize) -> Self {
        Self { buffer: vec![0; COUNTING], len: 0, room: limit, counts: true }
    }

    /// Whether the bytes themselves are not wanted.
    pub(super) const fn counts(&self) -> bool {
        self.counts
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Bytes that may be written in all.
    pub(super) const fn room(&self) -> usize {
        self.room
    }

    /// Bytes of memory that it takes.
    pub(super) fn capacity(&self) -> usize {
        self.buffer.capacity()
    }

    /// Starts anew with room for at least `size` bytes, which are no more than `limit`.
    pub(super) fn start(&mut self, size: usize, limit: usize) {
        self.len = 0;
        if size <= self.room && !self.buffer.is_empty() {
            return;
        }
        self.release();
        let size = if size <= SMALL {
            size.next_power_of_two()
        } else if size <= KEPT {
            (size + size / 8).min(KEPT)
        } else {
            size
        };
        self.room = size.min(limit);
        // The system hands large ones out unwritten: they take memory as far as they are filled.
        self.buffer = vec![0; self.room + 1];
    }

    /// Gives the memory back.
    pub(super) fn release(&mut self) {
        *self = Self::default();
    }

    /// The bytes that were written, in the memory that they were written to.
    pub(super) fn take(&mut self) -> Vec<u8> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.truncate(self.len);
        self.release();
        buffer
    }

    pub(super) fn filled(&self) -> &[u8] {
        self.buffer.get(..self.len).unwrap_or_default()
    }

    /// Where to write next; never empty, unless too much was written.
    pub(super) fn open(&mut self) -> &mut [u8] {
        self.split().1
    }

    /// The bytes written so far, and where to write next.
    pub(super) fn split(&mut self) -> (&[u8], &mut [u8]) {
        let start = if self.counts { 0 } else { self.len };
        match self.buffer.split_at_mut_checked(start) {
            Some((done, open)) => (done, open),
            None => (&[], &mut []),
        }
    }

    /// `written` bytes of what [`Output::open`] lent are filled.
    pub(super) const fn advance(&mut self, written: usize) -> Result<(), CodecError> {
        let len = self.len.saturating_add(written);
        if len > self.room {
            return Err(CodecError::TooLarge);
        }
        self.len = len;
        Ok(())
    }

    pub(super) fn extend(&mut self, bytes: &[u8]) -> Result<(), CodecError> {
        if !self.counts {
            let open = self.open().get_mut(..bytes.len()).ok_or(CodecError::TooLarge)?;
            open.copy_from_slice(bytes);
        }
        self.advance(bytes.len())
    }
}
