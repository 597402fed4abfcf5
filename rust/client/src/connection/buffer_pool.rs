//! Memory of large frames that waits for the next ones.
//!
//! Invariants: no more of it waits than [`KEPT`], and none once it is closed, until the next large frame
//! is lent. A frame never holds more than twice what it needs, so that who counts the bytes of frames
//! knows what they take.

use std::sync::{Arc, Weak};

use bytes::Bytes;
use parking_lot::Mutex;

/// Bytes that wait at most.
const KEPT: usize = 8 << 20;

/// What waits.
#[derive(Debug, Default)]
pub(super) struct BufferPool(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
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
        let mut waiting = self.0.lock();
        let fits = |buffer: &Vec<u8>| (announced..=announced.saturating_mul(2)).contains(&buffer.capacity());
        if let Some(at) = waiting.buffers.iter().rposition(fits) {
            let buffer = waiting.buffers.remove(at);
            waiting.bytes -= buffer.capacity();
            return buffer;
        }
        let fresh = announced.min(waiting.largest.max(least));
        drop(waiting);
        Vec::with_capacity(fresh)
    }

    /// The frame; its memory comes back when nobody holds it any more.
    pub(super) fn lend(this: &Arc<Self>, bytes: Vec<u8>) -> Bytes {
        let mut waiting = this.0.lock();
        waiting.open = true;
        waiting.largest = waiting.largest.max(bytes.len());
        drop(waiting);
        Bytes::from_owner(PooledBuffer { bytes, home: Arc::downgrade(this) })
    }

    /// Gives back what waits, and what is lent when it comes.
    pub(super) fn close(&self) {
        *self.0.lock() = Waiting::default();
    }

    /// The oldest make room: frames may have become larger or smaller.
    fn put(&self, mut buffer: Vec<u8>) {
        buffer.clear();
        let mut given_up = Vec::new();
        let mut waiting = self.0.lock();
        if !waiting.open || buffer.capacity() > KEPT {
            return;
        }
        waiting.bytes += buffer.capacity();
        waiting.buffers.push(buffer);
        while waiting.bytes > KEPT {
            let oldest = waiting.buffers.remove(0);
            waiting.bytes -= oldest.capacity();
            given_up.push(oldest);
        }
        drop(waiting);
    }
}

/// A frame that is held by somebody.
struct PooledBuffer {
    bytes: Vec<u8>,
    home: Weak<BufferPool>,
}

impl AsRef<[u8]> for PooledBuffer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for PooledBuffer {
    fn drop(&mut self) {
        if let Some(home) = self.home.upgrade() {
            home.put(std::mem::take(&mut self.bytes));
        }
    }
}
