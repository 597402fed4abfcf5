//! A pool of the large buffers of completed batches. The system clears fresh memory page by page, which
//! costs more than filling it.
//!
//! Invariants: pooled buffers and open batches together stay within `buffer.memory`. A buffer enters the
//! pool only when nothing else references its bytes.

use bytes::Bytes;
use parking_lot::Mutex;

/// The smallest buffer to pool: the allocator serves smaller ones without a system call.
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
    /// Returns an empty buffer of at least this capacity.
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

    /// Pools the bytes of a batch, unless something else still references them. The pool holds at most
    /// `limit` bytes.
    pub(super) fn deallocate_bytes(&self, bytes: Bytes, limit: usize) {
        if bytes.len() >= MIN_POOLED / 2 && bytes.is_unique() {
            self.deallocate(bytes.into(), limit);
        }
    }

    /// Pools a buffer. The pool holds at most `limit` bytes.
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
