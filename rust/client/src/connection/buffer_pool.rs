//! Memory of large frames that waits for the next ones.
//!
//! Invariants: no more of it waits than [`MAX_IDLE_BYTES`], and none once it is closed, until the next large frame
//! is lent. A frame never holds more than twice what it needs, so that who counts the bytes of frames
//! knows what they take.

use std::sync::{Arc, Weak};

use bytes::Bytes;
use parking_lot::Mutex;

/// Bytes that wait at most.
const MAX_IDLE_BYTES: usize = 8 << 20;

/// What waits.
#[derive(Debug, Default)]
pub(super) struct BufferPool(Mutex<IdleBuffers>);

#[derive(Debug, Default)]
struct IdleBuffers {
    buffers: Vec<Vec<u8>>,
    bytes: usize,
    /// The largest frame that came whole.
    largest: usize,
    open: bool,
}

impl BufferPool {
    /// Empty memory for a frame that announces so many bytes: what waits, or, fresh, no more than a
    /// frame was that came, or `least`.
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

    /// The frame; its memory comes back when nobody holds it any more.
    pub(super) fn into_pooled(this: &Arc<Self>, bytes: Vec<u8>) -> Bytes {
        let mut idle = this.0.lock();
        idle.open = true;
        idle.largest = idle.largest.max(bytes.len());
        drop(idle);
        Bytes::from_owner(PooledBuffer { bytes, pool: Arc::downgrade(this) })
    }

    /// Gives back what waits, and what is lent when it comes.
    pub(super) fn close(&self) {
        *self.0.lock() = IdleBuffers::default();
    }

    /// The oldest make room: frames may have become larger or smaller.
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

/// A frame that is held by somebody.
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
