//! Large buffers of batches that are done, for the batches to come: fresh memory would be cleared page
//! by page by the system, which costs more than filling it.
//!
//! Invariant: what rests here and what is in batches stay within `buffer.memory` together; a buffer
//! comes here only when nobody else has hold of its bytes.

use bytes::Bytes;
use parking_lot::Mutex;

/// Smaller ones are had from the allocator without a system call.
const LARGE: usize = 64 * 1024;

#[derive(Debug, Default)]
pub(super) struct Buffers {
    resting: Mutex<Resting>,
}

#[derive(Debug, Default)]
struct Resting {
    buffers: Vec<Vec<u8>>,
    bytes: usize,
}

impl Buffers {
    /// A buffer that is empty, of this capacity or more if there is one.
    pub(super) fn take(&self, capacity: usize) -> Vec<u8> {
        if capacity >= LARGE {
            let mut resting = self.resting.lock();
            if let Some(at) = resting.buffers.iter().rposition(|buffer| buffer.capacity() >= capacity) {
                let buffer = resting.buffers.swap_remove(at);
                resting.bytes -= buffer.capacity();
                return buffer;
            }
        }
        Vec::with_capacity(capacity)
    }

    /// Takes back the bytes of a batch, unless somebody else still has them; at most `room` bytes rest
    /// here.
    pub(super) fn give_back(&self, bytes: Bytes, room: usize) {
        if bytes.len() >= LARGE / 2 && bytes.is_unique() {
            self.give(bytes.into(), room);
        }
    }

    /// Takes a buffer back.
    pub(super) fn give(&self, mut buffer: Vec<u8>, room: usize) {
        let capacity = buffer.capacity();
        if capacity < LARGE {
            return;
        }
        let mut resting = self.resting.lock();
        if resting.bytes + capacity <= room {
            buffer.clear();
            resting.bytes += capacity;
            resting.buffers.push(buffer);
        }
    }
}
