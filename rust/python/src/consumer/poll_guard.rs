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
pub(crate) enum Activity {
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

impl Holder {
    fn is_this_thread(&self) -> bool {
        THIS_THREAD.with(|id| self.thread == *id)
    }
}

/// The lock of polling.
#[derive(Default)]
pub(crate) struct PollLock {
    state: Mutex<LockState>,
    released: Notify,
}

#[derive(Default)]
struct LockState {
    /// The thread that polls, or whose event loop does.
    holder: Option<Holder>,
    /// How many wait for the lock. Mostly none, so that iteration notifies nobody for each record.
    waiting: usize,
}

thread_local! {
    static THIS_THREAD: ThreadId = thread::current().id();
}

/// Holds a [`PollLock`] until it is dropped.
pub(crate) struct PollGuard<'a>(&'a PollLock);

impl Drop for PollGuard<'_> {
    fn drop(&mut self) {
        self.0.release();
    }
}

impl PollLock {
    /// Acquires the lock until [`PollLock::release`]. An error says that `other` is polling.
    pub(super) fn acquire(&self, other: &str) -> ottla_client::Result<()> {
        self.try_acquire(Activity::Callback).map_err(|_| is_polled_by(other))
    }

    /// Acquires the lock for this thread, and notes what the poll does at first.
    pub(crate) fn lock(&self, activity: Activity) -> ottla_client::Result<PollGuard<'_>> {
        match self.try_acquire(activity) {
            Ok(()) => Ok(PollGuard(self)),
            Err(holder) if holder.is_this_thread() => {
                let message = "a callback of a consumer cannot poll it: return first";
                Err(Error::new(Kind::State, message))
            }
            Err(_) => Err(is_polled_by("another thread")),
        }
    }

    /// Acquires the lock, or returns who holds it.
    fn try_acquire(&self, activity: Activity) -> Result<(), Holder> {
        let mut state = self.state.lock();
        match state.holder {
            Some(holder) => Err(holder),
            None => {
                state.holder = Some(Holder { thread: THIS_THREAD.with(|id| *id), activity });
                Ok(())
            }
        }
    }

    /// Returns a guard for a lock that is acquired already, perhaps on another thread.
    pub(super) fn adopt(&self) -> PollGuard<'_> {
        if let Some(holder) = &mut self.state.lock().holder {
            holder.thread = THIS_THREAD.with(|id| *id);
        }
        PollGuard(self)
    }

    /// Notes what the poll does from here on.
    pub(super) fn set_activity(&self, activity: Activity) {
        if let Some(holder) = &mut self.state.lock().holder {
            holder.activity = activity;
        }
    }

    /// What the poll of this thread does, if it polls: the caller is a callback or a signal handler.
    pub(super) fn activity_of_this_thread(&self) -> Option<Activity> {
        let holder = self.state.lock().holder;
        holder.filter(Holder::is_this_thread).map(|holder| holder.activity)
    }

    pub(super) fn release(&self) {
        let is_awaited = {
            let mut state = self.state.lock();
            state.holder = None;
            state.waiting > 0
        };
        if is_awaited {
            self.released.notify_waiters();
        }
    }

    /// Waits for the lock; returns whether it was acquired before the deadline.
    pub(super) async fn acquire_by(&self, deadline: Instant) -> bool {
        // Counted before the first attempt: a release after it notifies.
        let _waiting = Waiting::new(&self.state);
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

fn is_polled_by(other: &str) -> Error {
    let message = format!(
        "{other} is polling this consumer: only one may poll at a time; wakeup() ends the other's poll"
    );
    Error::new(Kind::State, message)
}

/// Counts one that waits for the lock, until it is dropped.
struct Waiting<'a>(&'a Mutex<LockState>);

impl<'a> Waiting<'a> {
    fn new(state: &'a Mutex<LockState>) -> Self {
        state.lock().waiting += 1;
        Self(state)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.lock().waiting -= 1;
    }
}
