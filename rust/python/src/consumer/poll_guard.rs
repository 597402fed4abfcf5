//! The lock of polling: one thread or task polls a consumer at a time.
//!
//! Invariant: every poll releases the lock, also if it raises.

use std::thread::{self, ThreadId};

use ottla_client::{Error, Kind};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

#[derive(Default)]
pub(super) struct PollLock {
    /// The thread that polls, or whose event loop does.
    holder: Mutex<Option<ThreadId>>,
    released: Notify,
}

/// Holds a [`PollLock`] until it is dropped.
pub(super) struct PollGuard<'a>(&'a PollLock);

impl Drop for PollGuard<'_> {
    fn drop(&mut self) {
        self.0.release();
    }
}

impl PollLock {
    /// Acquires the lock until [`PollLock::release`]. An error says that `other` is polling.
    pub(super) fn acquire(&self, other: &str) -> ottla_client::Result<()> {
        let mut holder = self.holder.lock();
        if holder.is_some() {
            let message = format!(
                "{other} is polling this consumer: only one may poll at a time; wakeup() ends the other's poll"
            );
            return Err(Error::new(Kind::State, message));
        }
        *holder = Some(thread::current().id());
        Ok(())
    }

    /// Returns a guard for a lock that is acquired already.
    pub(super) fn adopt(&self) -> PollGuard<'_> {
        PollGuard(self)
    }

    pub(super) fn release(&self) {
        *self.holder.lock() = None;
        self.released.notify_waiters();
    }

    /// Acquires the lock for this thread.
    pub(super) fn lock(&self) -> ottla_client::Result<PollGuard<'_>> {
        if self.is_held_by_this_thread() {
            let message = "a callback of a consumer cannot poll it: return first";
            return Err(Error::new(Kind::State, message));
        }
        self.acquire("another thread").map(|()| PollGuard(self))
    }

    /// Whether this thread polls already, and so calls from a callback.
    pub(super) fn is_held_by_this_thread(&self) -> bool {
        *self.holder.lock() == Some(thread::current().id())
    }

    /// Waits for the lock; returns whether it was acquired before the deadline.
    pub(super) async fn acquire_by(&self, deadline: Instant) -> bool {
        loop {
            let released = self.released.notified();
            tokio::pin!(released);
            released.as_mut().enable();
            if self.acquire("").is_ok() {
                return true;
            }
            if timeout_at(deadline, released).await.is_err() {
                return false;
            }
        }
    }
}
