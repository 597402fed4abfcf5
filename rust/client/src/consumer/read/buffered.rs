//! Waits until records or an Arrow batch are buffered, and delivers them.
//!
//! Invariants: either records or Arrow batches are buffered, never both. What a cancelled or failed call has
//! buffered, the next call delivers. A call that was cancelled while it ran on another thread buffers
//! nothing once the next call has begun: the position would move past it.

use parking_lot::Mutex;
use tokio::time::{Duration, Instant};

#[cfg(feature = "arrow")]
use super::arrow_buffer::ArrowBuffer;
#[cfg(feature = "arrow")]
use super::arrow_decoding::ArrowLayout;
use super::partition_filter::PartitionFilter;
use super::record_buffer::{ConvertError, RecordBuffer};
use super::record_set::{RecordEntry, RecordSet};
#[cfg(feature = "arrow")]
use super::typed_set;
use crate::consumer::Consumer;
use crate::consumer::wait::{PollOutcome, TimeKeeper};
use crate::error::Result;
use crate::topic_partition::TopicPartition;
#[cfg(feature = "arrow")]
use crate::typed::TypedColumns;

/// How often iteration polls for rebalances and errors while it has buffered records.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The result that a poll waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PollTarget {
    /// Records, at most so many, of these partitions.
    Records(usize, PartitionFilter),
    /// An Arrow batch.
    #[cfg(feature = "arrow")]
    Batch(ArrowLayout),
}

impl PollTarget {
    /// Records, at most so many, of all partitions.
    #[must_use]
    pub fn records(max_records: usize) -> Self {
        Self::Records(max_records, PartitionFilter::default())
    }
}

/// What was collected and not delivered.
#[derive(Debug, Default)]
pub(crate) struct ReadBuffers {
    /// The number of the latest call that waits. Locked before the buffers.
    latest_call: Mutex<u64>,
    records: Mutex<RecordBuffer>,
    #[cfg(feature = "arrow")]
    arrow: Mutex<ArrowBuffer>,
    /// The time of the last poll.
    polled_at: Mutex<Option<Instant>>,
}

impl Consumer {
    /// Begins a call: earlier ones buffer nothing from here on. Returns its number, and whether something
    /// is buffered for the target.
    fn begin_wait(&self, target: &PollTarget) -> (u64, bool) {
        let buffers = &self.buffers;
        let mut latest = buffers.latest_call.lock();
        *latest += 1;
        let is_buffered = match target {
            PollTarget::Records(_, of) => {
                #[cfg(feature = "arrow")]
                buffers.arrow.lock().discard(self);
                buffers.records.lock().select(self, of)
            }
            #[cfg(feature = "arrow")]
            PollTarget::Batch(_) => {
                buffers.records.lock().discard(self);
                buffers.arrow.lock().drop_stale(self)
            }
        };
        (*latest, is_buffered)
    }

    /// Waits until the target is buffered, a rebalance begins or the deadline passes. Cancel-safe.
    /// After [`PollOutcome::Ready`] there may be something to pop.
    pub async fn wait_for(
        &self,
        target: &PollTarget,
        deadline: Instant,
        keeper: TimeKeeper,
    ) -> Result<PollOutcome> {
        let (call, is_buffered) = self.begin_wait(target);
        let began = Instant::now();
        #[cfg(feature = "arrow")]
        let all = PartitionFilter::default();
        let of = match target {
            PollTarget::Records(_, of) => of,
            #[cfg(feature = "arrow")]
            PollTarget::Batch(_) => &all,
        };
        let polled = self.wait_with(if is_buffered { began } else { deadline }, keeper, of).await;
        let ended = Instant::now();
        if let Some(before) = self.buffers.polled_at.lock().replace(ended) {
            self.shared.metrics.record_poll(before, began, ended);
        }
        match polled? {
            PollOutcome::Rebalance(event) => return Ok(PollOutcome::Rebalance(event)),
            PollOutcome::TimedOut if !is_buffered => return Ok(PollOutcome::TimedOut),
            PollOutcome::TimedOut | PollOutcome::Ready => {}
        }
        {
            let latest = self.buffers.latest_call.lock();
            if *latest == call {
                match target {
                    PollTarget::Records(max_records, of) => {
                        self.buffers.records.lock().fill(self, *max_records, of);
                    }
                    #[cfg(feature = "arrow")]
                    PollTarget::Batch(layout) => self.buffers.arrow.lock().fill(self, layout)?,
                }
            }
        }
        match target {
            #[cfg(feature = "arrow")]
            PollTarget::Batch(layout) if !layout.typed.is_empty() => {
                self.decode_typed(call, layout, deadline).await
            }
            #[cfg(feature = "arrow")]
            PollTarget::Records(..) if !self.typed.is_empty() => {
                self.decode_typed_records(call, deadline).await
            }
            _ => Ok(PollOutcome::Ready),
        }
    }

    /// Decodes the typed columns of the next batch, once their schemas were looked up and its dead letters
    /// written.
    #[cfg(feature = "arrow")]
    async fn decode_typed(&self, call: u64, layout: &ArrowLayout, deadline: Instant) -> Result<PollOutcome> {
        loop {
            let Some(batch) = self.buffers.arrow.lock().undecoded() else { return Ok(PollOutcome::Ready) };
            let loading = layout.typed.load(&layout.columns, &batch);
            let Some(invalid) = self.wait_before_decoding(loading, deadline).await? else {
                return Ok(PollOutcome::TimedOut);
            };
            let dead_letters = {
                let latest = self.buffers.latest_call.lock();
                if *latest != call {
                    return Ok(PollOutcome::Ready);
                }
                self.buffers.arrow.lock().decode_typed(self, &invalid)?
            };
            if dead_letters.is_empty() {
                return Ok(PollOutcome::Ready);
            }
            if self.wait_before_decoding(TypedColumns::write(dead_letters), deadline).await?.is_none() {
                return Ok(PollOutcome::TimedOut);
            }
        }
    }

    /// Decodes the keys and values of the buffered records, once their schemas were looked up.
    #[cfg(feature = "arrow")]
    async fn decode_typed_records(&self, call: u64, deadline: Instant) -> Result<PollOutcome> {
        let loading = typed_set::look_up(&self.typed, |visit| {
            self.buffers.records.lock().undecoded().for_each(|set| visit(set));
        });
        let Some(invalid) = self.wait_before_decoding(loading, deadline).await? else {
            return Ok(PollOutcome::TimedOut);
        };
        let latest = self.buffers.latest_call.lock();
        if *latest == call {
            self.buffers.records.lock().decode_typed(&self.typed, &invalid)?;
        }
        Ok(PollOutcome::Ready)
    }

    /// Whether a set may be delivered: its keys and values were decoded, if they are to be.
    pub(super) fn is_decoded(&self, set: &RecordSet) -> bool {
        #[cfg(feature = "arrow")]
        return self.typed.is_empty() || set.typed.is_some();
        #[cfg(not(feature = "arrow"))]
        {
            let _ = set;
            true
        }
    }

    /// Waits for what decoding needs; returns it if it came before the deadline.
    #[cfg(feature = "arrow")]
    async fn wait_before_decoding<T>(
        &self,
        needed: impl Future<Output = Result<T>>,
        deadline: Instant,
    ) -> Result<Option<T>> {
        let check_woken = || self.check_woken();
        typed_set::wait_before_decoding(needed, &self.shared.poll_wakeup, check_woken, deadline).await
    }

    /// Works on the record buffer outside of its lock, since `work` may run code of the application.
    fn with_records<T>(&self, work: impl FnOnce(&mut RecordBuffer) -> T) -> T {
        let mut buffer = std::mem::take(&mut *self.buffers.records.lock());
        buffer.drop_stale(self);
        let result = work(&mut buffer);
        #[cfg(feature = "arrow")]
        if !self.typed.is_empty() && buffer.has_undecoded() {
            // Only a poll decodes them.
            *self.buffers.polled_at.lock() = None;
        }
        buffer.restore_to(&mut self.buffers.records.lock());
        result
    }

    /// Moves a partition forward to an offset within its buffered records, so that they are not fetched again; returns
    /// whether it could.
    pub(in crate::consumer) fn skip_buffered(&self, partition: &TopicPartition, offset: i64) -> bool {
        // No call buffers anything meanwhile.
        let _latest = self.buffers.latest_call.lock();
        let mut records = self.buffers.records.lock();
        if records.drop_stale(self) {
            return records.skip_to(self, partition, offset);
        }
        drop(records);
        #[cfg(feature = "arrow")]
        {
            let mut arrow = self.buffers.arrow.lock();
            arrow.drop_stale(self) && arrow.skip_to(self, partition, offset)
        }
        #[cfg(not(feature = "arrow"))]
        false
    }

    /// Converts and delivers the next buffered records, at most `max_records`.
    pub fn pop_records<T, E>(
        &self,
        max_records: usize,
        convert: impl FnMut(&RecordSet, &RecordEntry) -> Result<T, ConvertError<E>>,
    ) -> Result<Vec<T>, E> {
        self.with_records(|buffer| buffer.pop_records(self, max_records, convert))
    }

    /// Converts and delivers the next buffered record, if there is one.
    pub fn pop_record<T, E>(
        &self,
        convert: impl FnOnce(&RecordSet, &RecordEntry) -> Result<T, E>,
    ) -> Result<Option<T>, E> {
        self.with_records(|buffer| buffer.pop_record(self, convert))
    }

    /// Delivers the next buffered records, at most `max_records`.
    #[must_use]
    pub fn pop_sets(&self, max_records: usize) -> Vec<RecordSet> {
        self.with_records(|buffer| buffer.pop_sets(self, max_records))
    }

    /// Delivers the next buffered Arrow batch, if there is one.
    #[cfg(feature = "arrow")]
    #[must_use]
    pub fn pop_batch(&self) -> Option<arrow_array::RecordBatch> {
        let mut arrow = self.buffers.arrow.lock();
        if arrow.drop_stale(self) { arrow.pop(self) } else { None }
    }

    /// Whether buffered records may be delivered without another poll: the last one is recent, and the
    /// consumer is not closing.
    #[must_use]
    pub fn polled_recently(&self) -> bool {
        let polled_at = *self.buffers.polled_at.lock();
        polled_at.is_some_and(|polled| polled.elapsed() < POLL_INTERVAL) && !self.is_closing()
    }
}
