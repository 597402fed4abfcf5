//! `buffer.memory`: a bound on the bytes of unacknowledged records, and the wait for free bytes.
//!
//! Invariants: reserved bytes are released exactly once, when their batch is complete. A cancelled wait
//! reserves nothing. Waiters are served in order, and released bytes go to the first one alone:
//! otherwise small records could starve a large one for ever.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Semaphore, SemaphorePermit};

#[derive(Debug)]
pub(super) struct BufferMemory {
    limit: usize,
    /// One permit is one byte. The semaphore is fair: the first waiter gets all released permits.
    permits: Semaphore,
    /// The number of senders that wait for memory; while there are any, no batch may linger.
    waiters: AtomicUsize,
}

/// Counts a waiter until it is dropped.
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

    /// The reserved bytes, including those set aside for a waiter.
    pub(super) fn used(&self) -> usize {
        self.limit.saturating_sub(self.permits.available_permits())
    }

    /// Reserves `bytes` if they are free and no waiter comes first.
    pub(super) fn try_reserve(&self, bytes: usize) -> bool {
        let permit = u32::try_from(bytes).ok().and_then(|bytes| self.permits.try_acquire_many(bytes).ok());
        permit.map(SemaphorePermit::forget).is_some()
    }

    pub(super) fn release(&self, bytes: usize) {
        self.permits.add_permits(bytes);
    }

    /// Counts the caller as a waiter until the guard is dropped.
    pub(super) fn register_waiter(&self) -> WaiterGuard<'_> {
        self.waiters.fetch_add(1, Ordering::AcqRel);
        WaiterGuard(self)
    }

    pub(super) fn has_waiters(&self) -> bool {
        self.waiters() > 0
    }

    /// The number of senders that wait for memory.
    pub(super) fn waiters(&self) -> usize {
        self.waiters.load(Ordering::Acquire)
    }

    /// Waits in line and reserves `bytes`. Cancel-safe.
    pub(super) async fn reserve(&self, bytes: usize) {
        // No record has a size beyond 32 bits.
        if let Ok(permit) = self.permits.acquire_many(u32::try_from(bytes).unwrap_or(u32::MAX)).await {
            permit.forget();
        }
    }
}
