//! Closing: commits what was delivered, gives up the partitions and leaves the group.
//!
//! Invariant: a poll in progress ends first. Whatever fails, the consumer is closed in the end.

use std::sync::atomic::Ordering;

use tokio::time::{Duration, Instant, timeout_at};

use crate::consumer::group::RebalanceEvent;
use crate::consumer::{CallSequence, Consumer, Progress, Step};
use crate::error::Result;
use crate::retry;

impl Consumer {
    /// Ends the poll in progress, or else the next one, with an error of [`crate::Kind::Closed`].
    pub fn start_closing(&self) {
        self.closing.store(true, Ordering::Release);
        self.wakeup();
    }

    /// Whether closing has begun.
    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    /// Commits the positions (with `enable.auto.commit`), gives up the partitions, which calls the rebalance
    /// listener, and leaves the group; all within the timeout. Closing a closed consumer has no effect.
    ///
    /// # Errors
    ///
    /// [`crate::Kind::Timeout`] if the group's coordinator did not respond in time, and the first error of
    /// the rebalance listener. The consumer is closed in any case.
    pub async fn close(&self, timeout: Duration) -> Result<()> {
        if self.closed.load(Ordering::Acquire) {
            return Ok(());
        }
        self.start_closing();
        let mut sequence = CallSequence::close(retry::deadline(timeout));
        let mut polling = None;
        loop {
            let deadline = sequence.deadline();
            let left =
                deadline.map_or(timeout, |deadline| deadline.saturating_duration_since(Instant::now()));
            let result = match sequence.step() {
                Step::AcquirePollLock => {
                    polling = timeout_at(Instant::now() + left, self.polling.lock()).await.ok();
                    Ok(if polling.is_some() { Progress::Something } else { Progress::Nothing })
                }
                Step::BeginClose => {
                    self.begin_close(left).await;
                    Ok(Progress::Something)
                }
                Step::NextRebalance => {
                    Ok(self.next_closing_event().map_or(Progress::Nothing, Progress::Rebalance))
                }
                Step::Rebalance(event) => self.handle_rebalance(&event.clone(), deadline).await,
                Step::EndClose => self.end_close(left).await.map(|()| Progress::Something),
                Step::Done => break,
                Step::CommitCallbacks | Step::Wait | Step::Take => Ok(Progress::Nothing),
            };
            sequence.advance(result, Instant::now())?;
        }
        drop(polling);
        sequence.finish()
    }

    /// Begins to close: commits delivered records and gives up the partitions. Handle the remaining
    /// rebalance events with [`Consumer::next_closing_event`].
    pub async fn begin_close(&self, timeout: Duration) {
        if self.check_open().is_err() {
            return;
        }
        self.commits.auto_commit_now(timeout).await;
        // The consumer is open, so this cannot fail.
        let _ = self.unsubscribe();
    }

    /// The next rebalance event of a closing consumer.
    #[must_use]
    pub fn next_closing_event(&self) -> Option<RebalanceEvent> {
        self.shared.group.get()?.try_next_event()
    }

    /// Finishes closing: leaves the group within the timeout.
    pub async fn end_close(&self, timeout: Duration) -> Result<()> {
        self.stop();
        let deadline = retry::deadline(timeout);
        // Together with leaving, so that the last push still has the member's id and costs no time.
        let pushed = async {
            if let Some(Some(telemetry)) = self.telemetry.get() {
                telemetry.close(deadline).await;
            }
        };
        let leave = async {
            match self.shared.group.get() {
                Some(group) => group.leave(timeout).await,
                None => Ok(()),
            }
        };
        let (left, ()) = tokio::join!(leave, pushed);
        self.shared.poll_wakeup.notify_waiters();
        left
    }
}
