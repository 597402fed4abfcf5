//! One poll at a time: a consumer is for one thread, or one task, at a time.
//!
//! Invariant: whoever has the turn gives it back, also when it is ended by an exception.

use std::thread::{self, ThreadId};

use ottla_client::{Error, Kind};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// Who polls.
#[derive(Default)]
pub(super) struct PollLock {
    holder: Mutex<Option<ThreadId>>,
    released: Notify,
}

/// The turn, for as long as this is held.
pub(super) struct PollGuard<'a>(&'a PollLock);

impl Drop for PollGuard<'_> {
    fn drop(&mut self) {
        self.0.release();
    }
}

impl PollLock {
    /// Takes the turn until [`PollLock::release`]; `who` may be polling already.
    pub(super) fn acquire(&self, who: &str) -> ottla_client::Result<()> {
        let mut holder = self.holder.lock();
        if holder.is_some() {
            let message = format!(
                "{who} is polling this consumer: a consumer is for one at a time; wakeup() ends the other's poll"
            );
            return Err(Error::new(Kind::State, message));
        }
        *holder = Some(thread::current().id());
        Ok(())
    }

    /// A turn that was taken already.
    pub(super) fn adopt(&self) -> PollGuard<'_> {
        PollGuard(self)
    }

    pub(super) fn release(&self) {
        *self.holder.lock() = None;
        self.released.notify_waiters();
    }

    pub(super) fn lock(&self) -> ottla_client::Result<PollGuard<'_>> {
        if self.is_held_by_this_thread() {
            let message = "a callback of a consumer cannot poll it: return first";
            return Err(Error::new(Kind::State, message));
        }
        self.acquire("another thread").map(|()| PollGuard(self))
    }

    /// Whether this thread is in a poll: it calls from a callback.
    pub(super) fn is_held_by_this_thread(&self) -> bool {
        *self.holder.lock() == Some(thread::current().id())
    }

    /// Waits for the turn; says whether it came in time.
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
