//! A pool for the buffer of one column: memory that a dropped column returns is filled again.
//!
//! Fresh memory costs a page fault for each 4 KiB. Invariant: a decoder retains at most one buffer for
//! each column that it fills, none larger than a usual batch, and none after it is dropped.

use std::mem;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use arrow_buffer::{ArrowNativeType, Buffer, ScalarBuffer, ToByteSlice};
use bytes::Bytes;

/// Smaller buffers are not pooled, since they are cheap to allocate.
const MIN_POOLED_BYTES: usize = 64 * 1024;

/// At most one buffer of a column.
#[derive(Debug)]
pub(super) struct BufferPool<T> {
    /// The pooled buffer; without capacity if there is none.
    free: Arc<Mutex<Vec<T>>>,
    max_len: usize,
}

impl<T: ArrowNativeType> BufferPool<T> {
    /// Creates a pool for columns of at most `max_len` items. The memory of a column that a single huge
    /// record filled is not pooled.
    pub(super) fn new(max_len: usize) -> Self {
        Self { free: Arc::default(), max_len }
    }

    /// Returns `filled` as a shared buffer, and an empty vector for the next column. The vector's capacity
    /// is `capacity` to twice that, since a reader that keeps a column keeps all of its memory.
    pub(super) fn exchange(&self, filled: Vec<T>, capacity: usize) -> (ScalarBuffer<T>, Vec<T>) {
        let next = self.take();
        let next = match (capacity..=capacity.saturating_mul(2)).contains(&next.capacity()) {
            true => next,
            false if capacity > self.max_len => Vec::new(),
            false => Vec::with_capacity(capacity),
        };
        (ScalarBuffer::from(self.share(filled)), next)
    }

    fn take(&self) -> Vec<T> {
        mem::take(&mut *self.free.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn share(&self, mut filled: Vec<T>) -> Buffer {
        if filled.capacity() > 2 * filled.len() {
            filled.shrink_to_fit();
            return Buffer::from_vec(filled);
        }
        if mem::size_of_val(&*filled) < MIN_POOLED_BYTES || filled.len() > self.max_len {
            return Buffer::from_vec(filled);
        }
        Buffer::from(Bytes::from_owner(PooledBuffer { filled, pool: Arc::downgrade(&self.free) }))
    }
}

/// A column's memory, which returns to the pool when the last reader drops it.
struct PooledBuffer<T> {
    filled: Vec<T>,
    pool: Weak<Mutex<Vec<T>>>,
}

impl<T: ArrowNativeType> AsRef<[u8]> for PooledBuffer<T> {
    fn as_ref(&self) -> &[u8] {
        self.filled.as_slice().to_byte_slice()
    }
}

impl<T> Drop for PooledBuffer<T> {
    fn drop(&mut self) {
        let Some(pool) = self.pool.upgrade() else { return };
        let mut buffer = mem::take(&mut self.filled);
        buffer.clear();
        // Free the replaced buffer after the lock is released.
        let replaced = mem::replace(&mut *pool.lock().unwrap_or_else(PoisonError::into_inner), buffer);
        drop(replaced);
    }
}
