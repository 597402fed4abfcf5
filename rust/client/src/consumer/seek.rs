//! Seeking, pausing, positions and lag.
//!
//! Invariant: all named partitions are checked before anything changes.

use tokio::time::{Duration, timeout_at};

use super::Consumer;
use crate::consumer::partition_state::{FetchPosition, FetchState, Watermarks};
use crate::error::{Error, Kind, Result};
use crate::requests::OffsetSpec;
use crate::retry;
use crate::topic_partition::TopicPartition;

impl Consumer {
    /// Continues at `offset`. Records from there on that are buffered are not fetched again.
    pub fn seek(&self, partition: &TopicPartition, offset: i64, leader_epoch: Option<i32>) -> Result<()> {
        self.check_open()?;
        if offset < 0 {
            let message = format!("invalid offset {offset}: offsets start at 0");
            return Err(Error::new(Kind::Config, message).at(&partition.0, partition.1));
        }
        if leader_epoch.is_none() && self.skip_buffered(partition, offset) {
            return Ok(());
        }
        let at = FetchPosition { offset, epoch: leader_epoch.unwrap_or(-1) };
        self.shared.subscriptions.lock().seek(partition, FetchState::Fetching, at)?;
        self.shared.fetcher_wakeup.notify_one();
        Ok(())
    }

    /// Continues at an offset that is looked up in the background; all assigned partitions if none are
    /// named.
    pub fn seek_to(&self, partitions: &[TopicPartition], spec: OffsetSpec) -> Result<()> {
        self.check_open()?;
        let mut subscriptions = self.shared.subscriptions.lock();
        let all: Vec<TopicPartition>;
        let partitions = if partitions.is_empty() {
            all = subscriptions.partitions().cloned().collect();
            &all
        } else {
            partitions
        };
        for partition in partitions {
            subscriptions.assigned_state(partition)?;
        }
        for partition in partitions {
            subscriptions.seek(partition, FetchState::AwaitOffset(spec), FetchPosition::UNKNOWN)?;
        }
        drop(subscriptions);
        self.shared.fetcher_wakeup.notify_one();
        Ok(())
    }

    /// Pauses or resumes delivery and fetching of partitions.
    pub fn pause(&self, partitions: &[TopicPartition], paused: bool) -> Result<()> {
        self.check_open()?;
        let mut subscriptions = self.shared.subscriptions.lock();
        for partition in partitions {
            subscriptions.assigned_state(partition)?;
        }
        for partition in partitions {
            subscriptions.pause(partition, paused)?;
        }
        drop(subscriptions);
        self.shared.fetcher_wakeup.notify_one();
        self.shared.poll_wakeup.notify_waiters();
        Ok(())
    }

    /// The paused partitions, sorted.
    #[must_use]
    pub fn paused(&self) -> Vec<TopicPartition> {
        let mut subscriptions = self.shared.subscriptions.lock();
        let paused = subscriptions.states().filter(|(_, state)| state.paused);
        let mut paused: Vec<_> = paused.map(|(partition, _)| partition.clone()).collect();
        paused.sort();
        paused
    }

    /// The offset of the next record to deliver; waits until it is known.
    pub async fn position(&self, partition: &TopicPartition, timeout: Duration) -> Result<i64> {
        let deadline = retry::deadline(timeout);
        let places = [partition.clone()];
        // Another partition than those of its topic never has a position.
        let mut check = std::pin::pin!(self.shared.client.check_partitions(&places, timeout));
        let mut is_checked = false;
        loop {
            let ready = self.shared.poll_wakeup.notified();
            tokio::pin!(ready);
            ready.as_mut().enable();
            self.check_open()?;
            {
                let mut subscriptions = self.shared.subscriptions.lock();
                let state = subscriptions.assigned_state(partition)?;
                if state.position.offset >= 0
                    && !matches!(state.fetch_state, FetchState::AwaitOffset(_) | FetchState::AwaitCommitted)
                {
                    return Ok(state.position.offset);
                }
                if let Some(error) = &state.error {
                    return Err(error.clone());
                }
            }
            let changed = async {
                tokio::select! {
                    () = ready => Ok(()),
                    checked = &mut check, if !is_checked => {
                        is_checked = true;
                        checked
                    }
                }
            };
            if let Ok(changed) = timeout_at(deadline, changed).await {
                changed?;
            } else {
                let message = format!("the position is still unknown after {} ms", timeout.as_millis());
                return Err(Error::new(Kind::Timeout, message).at(&partition.0, partition.1));
            }
        }
    }

    /// The bounds of each log as of the last fetch; no request is sent.
    #[must_use]
    pub fn watermarks(&self) -> Vec<(TopicPartition, Watermarks)> {
        let mut subscriptions = self.shared.subscriptions.lock();
        let known = subscriptions.states().map(|(partition, state)| (partition.clone(), state.watermarks));
        let mut known: Vec<_> = known.collect();
        known.sort_by(|(a, _), (b, _)| a.cmp(b));
        known
    }

    /// The number of records between each position and the end of the log as of the last fetch; `None` if
    /// unknown.
    #[must_use]
    pub fn lag(&self) -> Vec<(TopicPartition, Option<i64>)> {
        let committed = self.shared.read_committed();
        let mut subscriptions = self.shared.subscriptions.lock();
        let lag = subscriptions.states().map(|(partition, state)| (partition.clone(), state.lag(committed)));
        let mut lag: Vec<_> = lag.collect();
        lag.sort();
        lag
    }
}
