//! `buffer.memory`: the bytes that may wait to be written, as a bound and a wait.
//!
//! Invariant: what is reserved is released exactly once, when its batch is complete; a wait that
//! is given up takes nothing.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

#[derive(Debug)]
pub(super) struct Memory {
    limit: usize,
    used: AtomicUsize,
    /// Senders that wait for room: while there are any, no batch may linger.
    waiting: AtomicUsize,
    released: Notify,
}

/// Somebody waits for room, until this is dropped.
pub(super) struct Waiting<'a>(&'a Memory);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Memory {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, used: AtomicUsize::new(0), waiting: AtomicUsize::new(0), released: Notify::new() }
    }

    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    pub(super) fn used(&self) -> usize {
        self.used.load(Ordering::Acquire)
    }

    /// Takes `bytes` if there is room for them.
    pub(super) fn try_reserve(&self, bytes: usize) -> bool {
        let take = |used: usize| used.checked_add(bytes).filter(|total| *total <= self.limit);
        self.used.fetch_update(Ordering::AcqRel, Ordering::Acquire, take).is_ok()
    }

    pub(super) fn release(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::AcqRel);
        self.released.notify_waiters();
    }

    /// Says that somebody waits for room.
    pub(super) fn wait(&self) -> Waiting<'_> {
        self.waiting.fetch_add(1, Ordering::AcqRel);
        Waiting(self)
    }

    pub(super) fn is_short(&self) -> bool {
        self.waiting() > 0
    }

    /// How many wait for room.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Acquire)
    }

    /// Waits until there is room for `bytes`, without taking them.
    pub(super) async fn room_for(&self, bytes: usize) {
        loop {
            let released = self.released.notified();
            tokio::pin!(released);
            // Registered before looking, so that a release in between is not missed.
            released.as_mut().enable();
            if self.used().saturating_add(bytes) <= self.limit {
                return;
            }
            released.await;
        }
    }
}
