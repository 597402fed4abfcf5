//! Large buffers of batches that are done, for the batches to come: fresh memory would be cleared page
//! by page by the system, which costs more than filling it.
//!
//! Invariant: what rests here and what is in batches stay within `buffer.memory` together; a buffer
//! comes here only when nobody else has hold of its bytes.

use bytes::Bytes;
use parking_lot::Mutex;

/// Smaller ones are had from the allocator without a system call.
const MIN_POOLED: usize = 64 * 1024;

#[derive(Debug, Default)]
pub(super) struct BufferPool {
    free: Mutex<FreeBuffers>,
}

#[derive(Debug, Default)]
struct FreeBuffers {
    buffers: Vec<Vec<u8>>,
    bytes: usize,
}

impl BufferPool {
    /// A buffer that is empty, of this capacity or more if there is one.
    pub(super) fn allocate(&self, capacity: usize) -> Vec<u8> {
        if capacity >= MIN_POOLED {
            let mut free = self.free.lock();
            if let Some(at) = free.buffers.iter().rposition(|buffer| buffer.capacity() >= capacity) {
                let buffer = free.buffers.swap_remove(at);
                free.bytes -= buffer.capacity();
                return buffer;
            }
        }
        Vec::with_capacity(capacity)
    }

    /// Takes back the bytes of a batch, unless somebody else still has them; at most `limit` bytes rest
    /// here.
    pub(super) fn deallocate_bytes(&self, bytes: Bytes, limit: usize) {
        if bytes.len() >= MIN_POOLED / 2 && bytes.is_unique() {
            self.deallocate(bytes.into(), limit);
        }
    }

    /// Takes a buffer back.
    pub(super) fn deallocate(&self, mut buffer: Vec<u8>, limit: usize) {
        let capacity = buffer.capacity();
        if capacity < MIN_POOLED {
            return;
        }
        let mut free = self.free.lock();
        if free.bytes + capacity <= limit {
            buffer.clear();
            free.bytes += capacity;
            free.buffers.push(buffer);
        }
    }
}
