//! Commits of acknowledgements, with a result for each partition.
//!
//! Invariant: a commit that ends at its deadline reports the partitions without a result, and their
//! acknowledgements stay queued.

use std::collections::BTreeMap;
use std::pin::pin;

use tokio::time::{Duration, Instant, timeout_at};

use super::ShareConsumer;
use super::shared::Shared;
use crate::error::{Error, Kind, Result};
use crate::retry;
use crate::topic_partition::TopicPartition;

impl ShareConsumer {
    /// Sends the acknowledgements of all delivered records (`implicit`: as accepted; `explicit`: those that
    /// the application acknowledged), and waits for the results.
    ///
    /// # Errors
    /// An error of the consumer as a whole. Those of partitions are in the result.
    pub async fn commit(&self, timeout: Duration) -> Result<BTreeMap<TopicPartition, Option<Error>>> {
        self.check_open()?;
        let deadline = retry::deadline(timeout);
        {
            let mut state = self.shared.state.lock();
            state.begin_commit(Instant::now());
            state.commit = Some(BTreeMap::new());
        }
        let _ended = EndCommit(&self.shared);
        self.shared.fetcher_wakeup.notify_one();
        let settled = timeout_at(deadline, self.shared.settled()).await;
        let mut state = self.shared.state.lock();
        let mut results = state.commit.take().unwrap_or_default();
        if let Ok(outcome) = settled {
            outcome?;
            return Ok(results);
        }
        let in_flight = state.leaders.values().filter_map(|leader| leader.in_flight.as_ref());
        let in_flight = in_flight.flat_map(|request| request.acknowledgements.values());
        let pending = state.leaders.values().flat_map(|leader| leader.waiting().map(|(_, waiting)| waiting));
        for acknowledgements in in_flight.chain(pending) {
            let message = format!("the broker did not respond within {} ms", timeout.as_millis());
            let (topic, partition) = &acknowledgements.partition;
            let error = Error::new(Kind::Timeout, message).at(topic, *partition).maybe_done();
            if let Some(late) = acknowledgements.result(Some(error)) {
                results.insert(late.partition, late.error);
            }
        }
        Ok(results)
    }

    /// Sends the acknowledgements of all delivered records without waiting for the results.
    pub fn commit_async(&self) -> Result<()> {
        self.check_open()?;
        self.shared.state.lock().begin_commit(Instant::now());
        self.shared.fetcher_wakeup.notify_one();
        Ok(())
    }
}

/// Ends a commit, also one whose future is dropped.
struct EndCommit<'a>(&'a Shared);

impl Drop for EndCommit<'_> {
    fn drop(&mut self) {
        self.0.state.lock().commit = None;
    }
}

impl Shared {
    /// Waits until all acknowledgements have a result.
    pub(super) async fn settled(&self) -> Result<()> {
        loop {
            let mut changed = pin!(self.poll_wakeup.notified());
            changed.as_mut().enable();
            if let Some(error) = self.fatal_error.get() {
                return Err(error.clone());
            }
            {
                let mut state = self.state.lock();
                if state.is_settled() {
                    state.is_flushing = false;
                    return Ok(());
                }
            }
            self.client.check_open()?;
            changed.await;
        }
    }
}
