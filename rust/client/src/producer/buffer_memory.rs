//! `buffer.memory`: the bytes that may wait to be written, as a bound and a wait.
//!
//! Invariants: what is reserved is released exactly once, when its batch is complete; a wait that is
//! given up takes nothing. Who waits longest is served first, and what is released goes to it alone, or
//! small records would for ever take the room that a large one needs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Semaphore, SemaphorePermit};

use super::sender::Shared;

#[derive(Debug)]
pub(super) struct BufferMemory {
    limit: usize,
    /// A permit is a byte. Waiters are served in turn, each with all that is released.
    permits: Semaphore,
    /// Senders that wait for permits: while there are any, no batch may linger.
    waiters: AtomicUsize,
}

/// Somebody waits for permits, until this is dropped.
pub(super) struct WaiterGuard<'a>(&'a BufferMemory);

impl Drop for WaiterGuard<'_> {
    fn drop(&mut self) {
        self.0.waiters.fetch_sub(1, Ordering::AcqRel);
    }
}

impl BufferMemory {
    pub(super) fn new(limit: usize) -> Self {
        let limit = limit.min(Semaphore::MAX_PERMITS);
        Self { limit, permits: Semaphore::new(limit), waiters: AtomicUsize::new(0) }
    }

    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// What is taken, that which was put aside for who waits among it.
    pub(super) fn used(&self) -> usize {
        self.limit.saturating_sub(self.permits.available_permits())
    }

    /// Takes `bytes` if there is room for them that nobody waits for.
    pub(super) fn try_reserve(&self, bytes: usize) -> bool {
        let taken = u32::try_from(bytes).ok().and_then(|bytes| self.permits.try_acquire_many(bytes).ok());
        taken.map(SemaphorePermit::forget).is_some()
    }

    pub(super) fn release(&self, bytes: usize) {
        self.permits.add_permits(bytes);
    }

    /// Says that somebody waits for room.
    pub(super) fn register_waiter(&self) -> WaiterGuard<'_> {
        self.waiters.fetch_add(1, Ordering::AcqRel);
        WaiterGuard(self)
    }

    pub(super) fn has_waiters(&self) -> bool {
        self.waiters() > 0
    }

    /// How many wait for room.
    pub(super) fn waiters(&self) -> usize {
        self.waiters.load(Ordering::Acquire)
    }

    /// Takes `bytes` when it is this wait's turn. Cancel-safe.
    pub(super) async fn reserve(&self, bytes: usize) {
        // What does not fit in 32 bits is no record.
        if let Ok(taken) = self.permits.acquire_many(u32::try_from(bytes).unwrap_or(u32::MAX)).await {
            taken.forget();
        }
    }
}

/// BufferReservation that was waited for, for one record. Dropping it gives it back.
#[derive(Debug)]
pub struct BufferReservation {
    shared: Arc<Shared>,
    bytes: usize,
}

impl BufferReservation {
    /// `bytes` that were taken.
    pub(super) fn new(shared: Arc<Shared>, bytes: usize) -> Self {
        Self { shared, bytes }
    }

    /// The bytes, to be given back by the caller.
    pub(super) fn into_bytes(mut self) -> usize {
        std::mem::take(&mut self.bytes)
    }
}

impl Drop for BufferReservation {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.shared.accumulator.memory.release(self.bytes);
        }
    }
}
