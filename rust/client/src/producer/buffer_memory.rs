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
pub(super) struct Memory {
    limit: usize,
    /// A permit is a byte. Waiters are served in turn, each with all that is released.
    room: Semaphore,
    /// Senders that wait for room: while there are any, no batch may linger.
    waiting: AtomicUsize,
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
        let limit = limit.min(Semaphore::MAX_PERMITS);
        Self { limit, room: Semaphore::new(limit), waiting: AtomicUsize::new(0) }
    }

    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// What is taken, that which was put aside for who waits among it.
    pub(super) fn used(&self) -> usize {
        self.limit.saturating_sub(self.room.available_permits())
    }

    /// Takes `bytes` if there is room for them that nobody waits for.
    pub(super) fn try_reserve(&self, bytes: usize) -> bool {
        let taken = u32::try_from(bytes).ok().and_then(|bytes| self.room.try_acquire_many(bytes).ok());
        taken.map(SemaphorePermit::forget).is_some()
    }

    pub(super) fn release(&self, bytes: usize) {
        self.room.add_permits(bytes);
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

    /// Takes `bytes` when it is this wait's turn. Cancel-safe.
    pub(super) async fn reserve(&self, bytes: usize) {
        // What does not fit in 32 bits is no record.
        if let Ok(taken) = self.room.acquire_many(u32::try_from(bytes).unwrap_or(u32::MAX)).await {
            taken.forget();
        }
    }
}

/// Room that was waited for, for one record. Dropping it gives it back.
#[derive(Debug)]
pub struct Room {
    shared: Arc<Shared>,
    bytes: usize,
}

impl Room {
    /// `bytes` that were taken.
    pub(super) fn taken(shared: Arc<Shared>, bytes: usize) -> Self {
        Self { shared, bytes }
    }

    /// The bytes, to be given back by the caller.
    pub(super) fn into_bytes(mut self) -> usize {
        std::mem::take(&mut self.bytes)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.shared.accumulator.memory.release(self.bytes);
        }
    }
}
