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
pub(super) struct Turn {
    holder: Mutex<Option<ThreadId>>,
    freed: Notify,
}

/// The turn, for as long as this is held.
pub(super) struct Held<'a>(&'a Turn);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

impl Turn {
    /// Takes the turn until [`Turn::leave`]; `who` may be polling already.
    pub(super) fn enter(&self, who: &str) -> ottla_client::Result<()> {
        let mut holder = self.holder.lock();
        if holder.is_some() {
            let words = format!(
                "{who} is polling this consumer: a consumer is for one at a time; wakeup() ends the other's poll"
            );
            return Err(Error::new(Kind::State, words));
        }
        *holder = Some(thread::current().id());
        Ok(())
    }

    /// A turn that was taken already.
    pub(super) fn taken(&self) -> Held<'_> {
        Held(self)
    }

    pub(super) fn leave(&self) {
        *self.holder.lock() = None;
        self.freed.notify_waiters();
    }

    pub(super) fn hold(&self) -> ottla_client::Result<Held<'_>> {
        if self.is_mine() {
            let words = "a callback of a consumer cannot poll it: return first";
            return Err(Error::new(Kind::State, words));
        }
        self.enter("another thread").map(|()| Held(self))
    }

    /// Whether this thread is in a poll: it calls from a callback.
    pub(super) fn is_mine(&self) -> bool {
        *self.holder.lock() == Some(thread::current().id())
    }

    /// Waits for the turn; says whether it came in time.
    pub(super) async fn wait(&self, deadline: Instant) -> bool {
        loop {
            let freed = self.freed.notified();
            tokio::pin!(freed);
            freed.as_mut().enable();
            if self.enter("").is_ok() {
                return true;
            }
            if timeout_at(deadline, freed).await.is_err() {
                return false;
            }
        }
    }
}
