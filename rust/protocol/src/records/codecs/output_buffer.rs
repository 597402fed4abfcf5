//! The buffer that a codec decompresses into, or one that only counts the bytes.
//!
//! Invariant: a buffer never grows while it holds a batch. One that is too small is freed before its
//! successor is allocated, so that two of them never exist at once.

use crate::records::error::CodecError;

/// Up to this size, capacities are powers of two, so that batches of slightly different sizes share one.
const POWER_OF_TWO_MAX: usize = 1 << 20;
/// Up to this size, capacities have an eighth to spare. Larger buffers are not retained.
pub(super) const MAX_RETAINED: usize = 8 << 20;
/// The buffer that is overwritten again and again while bytes are counted.
const COUNTING_CAPACITY: usize = 64 << 10;

/// A buffer that is zeroed once and then overwritten by batch after batch.
#[derive(Default)]
pub(super) struct OutputBuffer {
    /// One byte longer than `capacity`, to detect output that is too large.
    buffer: Vec<u8>,
    len: usize,
    /// The number of bytes that may be written in all.
    capacity: usize,
    counting: bool,
}

impl OutputBuffer {
    /// A buffer that keeps nothing and counts up to `limit` bytes.
    pub(super) fn counting(limit: usize) -> Self {
        Self { buffer: vec![0; COUNTING_CAPACITY], len: 0, capacity: limit, counting: true }
    }

    /// Whether bytes are only counted.
    pub(super) const fn is_counting(&self) -> bool {
        self.counting
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// The number of bytes that may be written in all.
    pub(super) const fn capacity(&self) -> usize {
        self.capacity
    }

    /// The bytes of memory that the buffer takes.
    pub(super) fn allocated(&self) -> usize {
        self.buffer.capacity()
    }

    /// Empties the buffer and makes room for at least `size` bytes, which must not exceed `limit`.
    pub(super) fn start(&mut self, size: usize, limit: usize) {
        self.len = 0;
        if size <= self.capacity && !self.buffer.is_empty() {
            return;
        }
        self.free();
        let size = if size <= POWER_OF_TWO_MAX {
            size.next_power_of_two()
        } else if size <= MAX_RETAINED {
            (size + size / 8).min(MAX_RETAINED)
        } else {
            size
        };
        self.capacity = size.min(limit);
        // The system maps large ones lazily: they take memory only as far as they are filled.
        self.buffer = vec![0; self.capacity + 1];
    }

    /// Frees the memory.
    pub(super) fn free(&mut self) {
        *self = Self::default();
    }

    /// Returns the bytes written, in the memory that they were written to.
    pub(super) fn take(&mut self) -> Vec<u8> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.truncate(self.len);
        self.free();
        buffer
    }

    pub(super) fn filled(&self) -> &[u8] {
        self.buffer.get(..self.len).unwrap_or_default()
    }

    /// The unfilled part; never empty, unless too much was written.
    pub(super) fn unfilled(&mut self) -> &mut [u8] {
        self.split().1
    }

    /// The bytes written so far, and the unfilled part.
    pub(super) fn split(&mut self) -> (&[u8], &mut [u8]) {
        let start = if self.counting { 0 } else { self.len };
        match self.buffer.split_at_mut_checked(start) {
            Some((filled, unfilled)) => (filled, unfilled),
            None => (&[], &mut []),
        }
    }

    /// Marks the first `written` bytes of [`OutputBuffer::unfilled`] as filled.
    pub(super) const fn advance(&mut self, written: usize) -> Result<(), CodecError> {
        let len = self.len.saturating_add(written);
        if len > self.capacity {
            return Err(CodecError::TooLarge);
        }
        self.len = len;
        Ok(())
    }

    pub(super) fn extend(&mut self, bytes: &[u8]) -> Result<(), CodecError> {
        if !self.counting {
            let unfilled = self.unfilled().get_mut(..bytes.len()).ok_or(CodecError::TooLarge)?;
            unfilled.copy_from_slice(bytes);
        }
        self.advance(bytes.len())
    }
}
