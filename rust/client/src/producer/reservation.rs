//! Buffer memory that a caller has waited for, until a record uses it.
//!
//! Invariant: the bytes are released exactly once: here, or by the appender that takes them over.

use std::sync::Arc;

use super::inner::ProducerInner;

/// Bytes of `buffer.memory` reserved for one record. Dropping the reservation releases them.
#[derive(Debug)]
pub struct BufferReservation {
    inner: Arc<ProducerInner>,
    bytes: usize,
}

impl BufferReservation {
    /// Takes over `bytes` that are already reserved.
    pub(super) fn new(inner: Arc<ProducerInner>, bytes: usize) -> Self {
        Self { inner, bytes }
    }

    /// Hands the bytes to the caller, which must release them.
    pub(super) fn into_bytes(mut self) -> usize {
        std::mem::take(&mut self.bytes)
    }
}

impl Drop for BufferReservation {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.inner.accumulator.memory.release(self.bytes);
        }
    }
}
