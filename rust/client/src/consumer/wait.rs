//! The wait of a poll: until a rebalance, an error or records are ready.
//!
//! Invariant: a poll reports rebalances first, then errors, then records. The poll timer of the group runs
//! only between polls.

use std::future::{Future, poll_fn};
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use tokio::time::{Instant, sleep_until};

use crate::consumer::Consumer;
use crate::consumer::group::{Group, RebalanceEvent};
use crate::consumer::read::partition_filter::PartitionFilter;
use crate::error::{Error, Kind, Result};

/// The outcome of a poll.
#[derive(Debug)]
pub enum PollOutcome {
    /// Records can be taken.
    Ready,
    /// The assignment changes. Call [`Consumer::prepare_rebalance`], the application's callback and
    /// [`Consumer::finish_rebalance`], in this order.
    Rebalance(RebalanceEvent),
    /// The deadline passed.
    TimedOut,
}

/// Who notices that the deadline of a wait has passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeKeeper {
    /// A timer of the runtime.
    Timer,
    /// The thread that polls the future: it polls it again at the deadline. That costs no timer, and wakes no other
    /// thread.
    Caller,
}

/// Returns the error of a poll of a `what` that was woken, and forgets that it was.
pub(super) fn check_woken(woken: &AtomicBool, closing: &AtomicBool, what: &str) -> Result<()> {
    if !woken.swap(false, Ordering::AcqRel) {
        return Ok(());
    }
    // Read last: closing is noted before the poll is woken.
    if closing.load(Ordering::Acquire) {
        return Err(Error::new(Kind::Closed, format!("this {what} was closed while it was polled")));
    }
    Err(Error::new(Kind::Wakeup, "the poll was ended by wakeup()"))
}

impl Consumer {
    /// Waits until there is something for the application, or until the deadline. Cancel-safe.
    pub async fn wait_until_ready(&self, deadline: Instant) -> Result<PollOutcome> {
        self.wait_with(deadline, TimeKeeper::Timer, &PartitionFilter::default()).await
    }

    /// Waits for records of these partitions, among others.
    pub(super) async fn wait_with(
        &self,
        deadline: Instant,
        keeper: TimeKeeper,
        of: &PartitionFilter,
    ) -> Result<PollOutcome> {
        let _in_poll = self.shared.enter_poll();
        let mut poll_scope = self.shared.group.get().map(Group::enter_poll);
        loop {
            let ready = self.shared.poll_wakeup.notified();
            tokio::pin!(ready);
            // From here on no wakeup is missed.
            ready.as_mut().enable();
            self.check_woken()?;
            self.check_open()?;
            self.join()?;
            let group = self.shared.group.get();
            if poll_scope.is_none() {
                poll_scope = group.map(Group::enter_poll);
            }
            if group.is_none() && self.subscription.is_unset() {
                let message = "nothing to poll: subscribe to topics or assign partitions first";
                return Err(Error::new(Kind::State, message));
            }
            let now = Instant::now();
            if let Some(event) = group.and_then(Group::try_next_event) {
                return Ok(PollOutcome::Rebalance(event));
            }
            self.commits.maybe_auto_commit(now);
            if let Some(error) = self.shared.take_error() {
                return Err(error);
            }
            let is_ready = self.shared.subscriptions.lock().has_deliverable(of);
            if deadline <= now {
                return Ok(if is_ready { PollOutcome::Ready } else { PollOutcome::TimedOut });
            }
            let (must_send, more_until) = {
                let mut rhythm = self.shared.rhythm.lock();
                (rhythm.begin_wait(now), rhythm.wait_for_more(now).filter(|_| is_ready))
            };
            if must_send {
                self.shared.fetcher_wakeup.notify_one();
            }
            if is_ready && more_until.is_none() {
                return Ok(PollOutcome::Ready);
            }
            let event = async {
                match group {
                    Some(group) => group.wait_for_event().await,
                    None => std::future::pending().await,
                }
            };
            let look_at = self.commits.next_auto_commit(now).min(more_until.unwrap_or(deadline));
            let has_timer = keeper == TimeKeeper::Timer;
            tokio::select! {
                () = ready => {}
                () = event => {}
                () = sleep_until(deadline.min(look_at)), if has_timer || look_at < deadline => {}
                () = noticed_by_caller(deadline), if !has_timer => {}
            }
        }
    }

    /// Returns the error of a poll that was ended by [`Consumer::wakeup`] or by closing.
    pub(super) fn check_woken(&self) -> Result<()> {
        check_woken(&self.woken, &self.closing, "consumer")
    }

    /// Ends the current or the next poll with an error of [`Kind::Wakeup`].
    pub fn wakeup(&self) {
        self.woken.store(true, Ordering::Release);
        self.shared.poll_wakeup.notify_waiters();
    }
}

/// Is ready once it is polled at the deadline or later.
fn noticed_by_caller(deadline: Instant) -> impl Future<Output = ()> {
    poll_fn(move |_| if Instant::now() >= deadline { Poll::Ready(()) } else { Poll::Pending })
}
