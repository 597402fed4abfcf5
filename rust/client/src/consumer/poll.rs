//! The polls of a Rust program: records or Arrow batches, with rebalances handled on the way.
//!
//! Invariant: one poll at a time. What a cancelled poll has collected, the next one returns.

use tokio::time::{Duration, Instant};

#[cfg(feature = "arrow")]
use crate::consumer::ArrowLayout;
use crate::consumer::wait::{PollOutcome, TimeKeeper};
use crate::consumer::{CallSequence, Consumer, PartitionFilter, PollTarget, Progress, RecordSet, Step};
use crate::error::{Error, Kind, Result};
use crate::retry;

impl Consumer {
    /// Returns records as soon as there are any, at most `max_records`, or none after the timeout. The
    /// positions move past them. Cancel-safe: records of a cancelled call are returned by the next.
    ///
    /// # Errors
    ///
    /// [`Kind::State`] if nothing is subscribed or assigned, or another call is polling; [`Kind::Wakeup`]
    /// after [`Consumer::wakeup`]; and the errors of partitions, of the group and of the rebalance listener.
    pub async fn poll(&self, timeout: Duration, max_records: usize) -> Result<Vec<RecordSet>> {
        self.poll_of(timeout, max_records, PartitionFilter::default()).await
    }

    /// Like [`Consumer::poll`], for records of some partitions. Those of others stay for later polls.
    ///
    /// # Errors
    ///
    /// As [`Consumer::poll`].
    pub async fn poll_of(
        &self,
        timeout: Duration,
        max_records: usize,
        of: PartitionFilter,
    ) -> Result<Vec<RecordSet>> {
        let max_records = max_records.max(1);
        let target = PollTarget::Records(max_records, of);
        let take = |consumer: &Self| Some(consumer.pop_sets(max_records)).filter(|sets| !sets.is_empty());
        Ok(self.poll_for(&target, timeout, take).await?.unwrap_or_default())
    }

    /// Returns records as an Arrow batch, or `None` after the timeout. The positions move past its rows.
    /// Cancel-safe, as [`Consumer::poll`], and with its errors.
    #[cfg(feature = "arrow")]
    pub async fn poll_arrow(
        &self,
        timeout: Duration,
        layout: &ArrowLayout,
    ) -> Result<Option<arrow_array::RecordBatch>> {
        self.poll_for(&PollTarget::Batch(layout.clone()), timeout, Self::pop_batch).await
    }

    async fn poll_for<T>(
        &self,
        target: &PollTarget,
        timeout: Duration,
        take: impl Fn(&Self) -> Option<T>,
    ) -> Result<Option<T>> {
        let deadline = retry::deadline(timeout);
        let Ok(_polling) = self.polling.try_lock() else {
            return Err(Error::new(
                Kind::State,
                "another task is polling this consumer: only one may at a time",
            ));
        };
        let (mut sequence, mut taken) = (CallSequence::poll(), None);
        loop {
            let result = match sequence.step() {
                Step::Wait => match self.wait_for(target, deadline, TimeKeeper::Timer).await {
                    Ok(PollOutcome::Ready) => Ok(Progress::Something),
                    Ok(PollOutcome::TimedOut) => Ok(Progress::Nothing),
                    Ok(PollOutcome::Rebalance(event)) => Ok(Progress::Rebalance(event)),
                    Err(error) => Err(error),
                },
                Step::Take => {
                    taken = take(self);
                    Ok(if taken.is_some() { Progress::Something } else { Progress::Nothing })
                }
                Step::Rebalance(event) => self.handle_rebalance(&event.clone(), None).await,
                Step::Done => return Ok(taken),
                _ => Ok(Progress::Nothing),
            };
            sequence.advance(result, Instant::now())?;
        }
    }
}
