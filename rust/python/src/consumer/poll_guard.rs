//! The lock of polling: one thread or task polls a consumer at a time.
//!
//! Invariant: every poll releases the lock, also if it raises.

use std::thread::{self, ThreadId};

use ottla_client::{Error, Kind};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// What a poll does at the moment. A signal handler that closes the consumer may interrupt it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activity {
    /// It waits, or converts records, and nothing of what it does was returned.
    Interruptible,
    /// It waits for a rebalance, between whose parts no other may be handled.
    Rebalancing,
    /// It calls a callback.
    Callback,
}

#[derive(Clone, Copy)]
struct Holder {
    thread: ThreadId,
    activity: Activity,
}

#[derive(Default)]
pub(super) struct PollLock {
    /// The thread that polls, or whose event loop does.
    holder: Mutex<Option<Holder>>,
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
        *holder = Some(Holder { thread: thread::current().id(), activity: Activity::Callback });
        Ok(())
    }

    /// Returns a guard for a lock that is acquired already, perhaps on another thread.
    pub(super) fn adopt(&self) -> PollGuard<'_> {
        if let Some(holder) = &mut *self.holder.lock() {
            holder.thread = thread::current().id();
        }
        PollGuard(self)
    }

    /// Notes what the poll does from here on.
    pub(super) fn set_activity(&self, activity: Activity) {
        if let Some(holder) = &mut *self.holder.lock() {
            holder.activity = activity;
        }
    }

    /// What the poll of this thread does, if it polls: the caller is a callback or a signal handler.
    pub(super) fn activity_of_this_thread(&self) -> Option<Activity> {
        let holder = *self.holder.lock();
        holder.filter(|holder| holder.thread == thread::current().id()).map(|holder| holder.activity)
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
    fn is_held_by_this_thread(&self) -> bool {
        self.activity_of_this_thread().is_some()
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
