//! Closing a share consumer: it sends pending acknowledgements, closes its share sessions, which releases all other
//! records, and leaves the group.
//!
//! Invariants: closing accepts nothing implicitly, whatever the mode, because the application may have failed or
//! stopped before it processed the records of the last poll. Whatever fails, the consumer is closed in the end.

use std::pin::pin;
use std::sync::atomic::Ordering;

use tokio::time::{Duration, Instant, timeout_at};

use super::ShareConsumer;
use crate::error::{Error, Kind, Result};
use crate::retry;

impl ShareConsumer {
    /// Ends the poll in progress, or else the next one, with an error of [`Kind::Closed`]. Returns whether
    /// the consumer was open.
    pub fn start_closing(&self) -> bool {
        self.closing.store(true, Ordering::Release);
        self.wakeup();
        !self.closed.load(Ordering::Acquire)
    }

    /// Sends pending acknowledgements, releases all other records and leaves the group, all within
    /// the timeout. With `share.acknowledgement.mode=implicit`, the records of the last poll are released: only
    /// the next poll or a commit accepts them. Closing a closed consumer has no effect.
    ///
    /// # Errors
    /// [`Kind::Timeout`] if a leader or the coordinator did not respond in time; the records are delivered
    /// again when their locks expire.
    pub async fn close(&self, timeout: Duration) -> Result<()> {
        if !self.start_closing() {
            return Ok(());
        }
        let deadline = retry::deadline(timeout);
        {
            let mut state = self.shared.state.lock();
            state.is_polling = false;
            state.begin_flush(Instant::now());
            state.is_closing = true;
            state.buffered.clear();
        }
        let is_running = self.fetcher.lock().is_some();
        self.shared.fetcher_wakeup.notify_one();
        let mut result = Ok(());
        if is_running && timeout_at(deadline, self.sessions_closed()).await.is_err() {
            let message = "a broker did not confirm in time that it closed the share session: records that were not acknowledged are delivered again when their locks expire";
            result = Err(Error::new(Kind::Timeout, message));
        }
        self.stop();
        if let Some(group) = self.shared.group.get() {
            let left = group.leave(deadline.saturating_duration_since(Instant::now())).await;
            result = result.and(left);
        }
        self.shared.poll_wakeup.notify_waiters();
        result
    }

    /// Waits until all share sessions are closed.
    async fn sessions_closed(&self) {
        loop {
            let mut changed = pin!(self.shared.poll_wakeup.notified());
            changed.as_mut().enable();
            let is_over = {
                let state = self.shared.state.lock();
                let mut leaders = state.leaders.values();
                !leaders
                    .any(|leader| leader.epoch > 0 || leader.in_flight.is_some() || leader.has_unresolved())
            };
            if is_over || self.shared.fatal_error.get().is_some() || self.shared.client.is_closed() {
                return;
            }
            changed.await;
        }
    }
}
