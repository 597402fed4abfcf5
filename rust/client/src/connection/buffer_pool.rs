//! A pool of the buffers of large frames, which `frames.rs` reuses.
//!
//! Invariants: at most [`MAX_IDLE_BYTES`] are idle, and none after `close` until the next large frame. A
//! buffer's capacity is at most twice its frame's length, so that the length of frames bounds their
//! memory.

use std::sync::{Arc, Weak};

use bytes::Bytes;
use parking_lot::Mutex;

/// Maximum capacity of all idle buffers, in bytes.
const MAX_IDLE_BYTES: usize = 8 << 20;

/// The idle buffers, oldest first.
#[derive(Debug, Default)]
pub(super) struct BufferPool(Mutex<IdleBuffers>);

#[derive(Debug, Default)]
struct IdleBuffers {
    buffers: Vec<Vec<u8>>,
    bytes: usize,
    /// The length of the largest frame received so far.
    largest: usize,
    open: bool,
}

impl BufferPool {
    /// Returns an empty buffer for a frame with `announced` bytes: an idle one of a fitting size, or a
    /// new one. The capacity of a new one is at most that of the largest frame received, or `least`.
    pub(super) fn take(&self, announced: usize, least: usize) -> Vec<u8> {
        let mut idle = self.0.lock();
        let fits = |buffer: &Vec<u8>| (announced..=announced.saturating_mul(2)).contains(&buffer.capacity());
        if let Some(at) = idle.buffers.iter().rposition(fits) {
            let buffer = idle.buffers.remove(at);
            idle.bytes -= buffer.capacity();
            return buffer;
        }
        let fresh = announced.min(idle.largest.max(least));
        drop(idle);
        Vec::with_capacity(fresh)
    }

    /// Turns `bytes` into a frame whose buffer returns to the pool when its last reference is dropped.
    pub(super) fn into_pooled(this: &Arc<Self>, bytes: Vec<u8>) -> Bytes {
        let mut idle = this.0.lock();
        idle.open = true;
        idle.largest = idle.largest.max(bytes.len());
        drop(idle);
        Bytes::from_owner(PooledBuffer { bytes, pool: Arc::downgrade(this) })
    }

    /// Frees the idle buffers. Buffers in use are freed, too, when they return.
    pub(super) fn close(&self) {
        *self.0.lock() = IdleBuffers::default();
    }

    /// Evicts the oldest buffers to make room: the size of frames may have changed.
    fn put_back(&self, mut buffer: Vec<u8>) {
        buffer.clear();
        let mut evicted = Vec::new();
        let mut idle = self.0.lock();
        if !idle.open || buffer.capacity() > MAX_IDLE_BYTES {
            return;
        }
        idle.bytes += buffer.capacity();
        idle.buffers.push(buffer);
        while idle.bytes > MAX_IDLE_BYTES {
            let oldest = idle.buffers.remove(0);
            idle.bytes -= oldest.capacity();
            evicted.push(oldest);
        }
        drop(idle);
    }
}

/// A frame in use.
struct PooledBuffer {
    bytes: Vec<u8>,
    pool: Weak<BufferPool>,
}

impl AsRef<[u8]> for PooledBuffer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for PooledBuffer {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.upgrade() {
            pool.put_back(std::mem::take(&mut self.bytes));
        }
    }
}
