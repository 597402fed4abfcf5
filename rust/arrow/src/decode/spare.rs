//! Memory of columns that came back once nobody held them any more: the next ones need not be made of
//! fresh memory, of which each 4 KiB cost a page fault.
//!
//! Invariant: a decoder keeps the memory of one column at most for each that it fills, none that is
//! larger than batches usually are, and nothing once it is gone.

use std::mem;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use arrow_buffer::{ArrowNativeType, Buffer, ScalarBuffer, ToByteSlice};
use bytes::Bytes;

/// What takes less is cheap to make.
const LEAST_BYTES: usize = 64 * 1024;

/// The memory of one column, if it is here.
#[derive(Debug)]
pub(super) struct Spare<T> {
    home: Arc<Mutex<Vec<T>>>,
    most: usize,
}

impl<T: ArrowNativeType> Spare<T> {
    /// For columns of so many items at most: what a single huge record took is not made room for again.
    pub(super) fn new(most: usize) -> Self {
        Self { home: Arc::default(), most }
    }

    /// Hands out what was filled, and gives an empty vector for the next: with room for as much again,
    /// and not for much more, since whoever keeps a column keeps all of its memory.
    pub(super) fn exchange(&self, filled: Vec<T>, room: usize) -> (ScalarBuffer<T>, Vec<T>) {
        let next = self.take();
        let next = match (room..=room.saturating_mul(2)).contains(&next.capacity()) {
            true => next,
            false if room > self.most => Vec::new(),
            false => Vec::with_capacity(room),
        };
        (ScalarBuffer::from(self.lend(filled)), next)
    }

    fn take(&self) -> Vec<T> {
        mem::take(&mut *self.home.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn lend(&self, mut filled: Vec<T>) -> Buffer {
        if filled.capacity() > 2 * filled.len() {
            filled.shrink_to_fit();
            return Buffer::from_vec(filled);
        }
        if mem::size_of_val(&*filled) < LEAST_BYTES || filled.len() > self.most {
            return Buffer::from_vec(filled);
        }
        Buffer::from(Bytes::from_owner(Lent { filled, home: Arc::downgrade(&self.home) }))
    }
}

/// A column that is held by somebody.
struct Lent<T> {
    filled: Vec<T>,
    home: Weak<Mutex<Vec<T>>>,
}

impl<T: ArrowNativeType> AsRef<[u8]> for Lent<T> {
    fn as_ref(&self) -> &[u8] {
        self.filled.as_slice().to_byte_slice()
    }
}

impl<T> Drop for Lent<T> {
    fn drop(&mut self) {
        let Some(home) = self.home.upgrade() else { return };
        let mut back = mem::take(&mut self.filled);
        back.clear();
        // What lay there goes after the lock.
        let before = mem::replace(&mut *home.lock().unwrap_or_else(PoisonError::into_inner), back);
        drop(before);
    }
}
