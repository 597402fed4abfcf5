//! Where the application wants to be: seeking, pausing, and asking where it is.
//!
//! Invariant: what is named is checked as a whole before anything changes.

use tokio::time::{Duration, timeout_at};

use super::Consumer;
use crate::consumer::partition_state::{Phase, Standing};
use crate::error::{Error, Kind, Result};
use crate::requests::OffsetSpec;
use crate::retry;
use crate::topic_partition::TopicPartition;

impl Consumer {
    /// Goes on at `offset`.
    pub fn seek(&self, partition: &TopicPartition, offset: i64, leader_epoch: Option<i32>) -> Result<()> {
        self.check_open()?;
        if offset < 0 {
            let words = format!("an offset of {offset}: offsets begin at 0");
            return Err(Error::new(Kind::Config, words).at(&partition.0, partition.1));
        }
        let at = Standing { offset, epoch: leader_epoch.unwrap_or(-1) };
        self.shared.assignment.lock().seek(partition, Phase::Fetch, at)?;
        self.shared.news.notify_one();
        Ok(())
    }

    /// Goes on at an offset that is yet to be looked up; all assigned partitions if none is named.
    pub fn seek_to(&self, partitions: &[TopicPartition], spec: OffsetSpec) -> Result<()> {
        self.check_open()?;
        let mut assignment = self.shared.assignment.lock();
        let all: Vec<TopicPartition>;
        let partitions = if partitions.is_empty() {
            all = assignment.partitions().cloned().collect();
            &all
        } else {
            partitions
        };
        for partition in partitions {
            assignment.assigned(partition)?;
        }
        for partition in partitions {
            assignment.seek(partition, Phase::LookUp(spec), Standing::NOWHERE)?;
        }
        drop(assignment);
        self.shared.news.notify_one();
        Ok(())
    }

    /// Stops handing out and fetching partitions, or goes on with them.
    pub fn pause(&self, partitions: &[TopicPartition], paused: bool) -> Result<()> {
        self.check_open()?;
        let mut assignment = self.shared.assignment.lock();
        for partition in partitions {
            assignment.assigned(partition)?;
        }
        for partition in partitions {
            assignment.pause(partition, paused)?;
        }
        drop(assignment);
        self.shared.news.notify_one();
        self.shared.ready.notify_waiters();
        Ok(())
    }

    /// The partitions that are paused, sorted.
    #[must_use]
    pub fn paused(&self) -> Vec<TopicPartition> {
        let mut assignment = self.shared.assignment.lock();
        let paused = assignment.slots().filter(|(_, slot)| slot.paused);
        let mut paused: Vec<_> = paused.map(|(partition, _)| partition.clone()).collect();
        paused.sort();
        paused
    }

    /// The offset of the next record that is handed out; waits until it is known.
    pub async fn position(&self, partition: &TopicPartition, timeout: Duration) -> Result<i64> {
        let deadline = retry::deadline(timeout);
        loop {
            let ready = self.shared.ready.notified();
            tokio::pin!(ready);
            ready.as_mut().enable();
            self.check_open()?;
            {
                let mut assignment = self.shared.assignment.lock();
                let slot = assignment.assigned(partition)?;
                if slot.position.offset >= 0 && !matches!(slot.phase, Phase::LookUp(_) | Phase::Committed) {
                    return Ok(slot.position.offset);
                }
                if let Some(error) = &slot.failed {
                    return Err(error.clone());
                }
            }
            if timeout_at(deadline, ready).await.is_err() {
                let words = format!("the position is not known after {} ms", timeout.as_millis());
                return Err(Error::new(Kind::Timeout, words).at(&partition.0, partition.1));
            }
        }
    }

    /// How many records lie between the position and the end, as far as the last fetch told; `None`
    /// if nothing is known yet.
    #[must_use]
    pub fn lag(&self) -> Vec<(TopicPartition, Option<i64>)> {
        let committed = self.shared.read_committed();
        let mut assignment = self.shared.assignment.lock();
        let lag = assignment.slots().map(|(partition, slot)| {
            let end = if committed { slot.last_stable } else { slot.high_watermark };
            let known = end >= 0 && slot.position.offset >= 0;
            (partition.clone(), known.then(|| (end - slot.position.offset).max(0)))
        });
        let mut lag: Vec<_> = lag.collect();
        lag.sort();
        lag
    }
}
