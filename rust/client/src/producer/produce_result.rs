//! The result of one batch, shared by everything that waits for a record of it
//! (`ProduceRequestResult` in the Java client).
//!
//! Invariant: each segment of a batch completes exactly once, with an offset or an error, and waiters
//! wake when the last one has. A batch has one segment unless a broker rejected it as too large and
//! it was split.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::error::{Error, Kind, Result};
use crate::topic_partition::TopicPartition;

/// The place in the log where a record, or the first record of a batch, was appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppendInfo {
    /// The offset, or -1 if it is unknown: with `acks=0`, or if the broker only reports that an
    /// earlier attempt succeeded.
    pub offset: i64,
    /// The broker's timestamp if the topic uses LogAppendTime, else -1.
    pub log_append_time: i64,
}

impl AppendInfo {
    /// Appended at an unknown place.
    pub const UNKNOWN: Self = Self { offset: -1, log_append_time: -1 };

    /// The place of the record that is `index` records further on.
    #[must_use]
    pub fn at_index(self, index: usize) -> Self {
        let offset = if self.offset < 0 { -1 } else { self.offset + index as i64 };
        Self { offset, ..self }
    }
}

/// Consecutive records that share a result.
#[derive(Debug)]
struct Segment {
    /// The index of its first record in the batch.
    first: usize,
    result: Option<Result<AppendInfo>>,
}

/// Functions to call when the batch is done.
#[derive(Default)]
struct Callbacks(Mutex<Vec<Box<dyn FnOnce() + Send>>>);

impl fmt::Debug for Callbacks {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} callbacks", self.0.lock().len())
    }
}

/// The result of a batch.
#[derive(Debug)]
pub struct ProduceResult {
    partition: TopicPartition,
    /// Ordered by `first`; the first segment starts at 0.
    segments: Mutex<Vec<Segment>>,
    is_done: AtomicBool,
    done: Notify,
    callbacks: Callbacks,
    /// The records whose failure was reported to the application, as ranges of indexes.
    observed: Mutex<Vec<(usize, usize)>>,
}

impl ProduceResult {
    /// The batch's topic and partition.
    #[must_use]
    pub fn partition(&self) -> &TopicPartition {
        &self.partition
    }

    /// Whether the result of every record is known.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.is_done.load(Ordering::Acquire)
    }

    /// The result of the record at `index`, if it is known.
    #[must_use]
    pub fn result_of(&self, index: usize) -> Option<Result<AppendInfo>> {
        // Checked without the lock, because this is called often.
        if !self.is_done() {
            return None;
        }
        let segments = self.segments.lock();
        let after = segments.partition_point(|segment| segment.first <= index);
        let segment = segments.get(after.checked_sub(1)?)?;
        let result = segment.result.as_ref()?;
        Some(result.clone().map(|info| info.at_index(index - segment.first)))
    }

    /// The result of the record at `index`, once the batch is done.
    pub fn final_result(&self, index: usize) -> Result<AppendInfo> {
        let lost = || Error::new(Kind::Closed, "the batch has lost its record");
        self.result_of(index).unwrap_or_else(|| Err(lost()))
    }

    /// The known results of the records `first..end`: index of the first record, number of records,
    /// and where the first of them was appended or why all of them failed.
    #[must_use]
    pub fn results_in(&self, first: usize, end: usize) -> Vec<(usize, usize, Result<AppendInfo>)> {
        let segments = self.segments.lock();
        let ends = segments.iter().skip(1).map(|segment| segment.first).chain([usize::MAX]);
        segments
            .iter()
            .zip(ends)
            .map(|(segment, segment_end)| (segment, segment.first.max(first), segment_end.min(end)))
            .filter(|(_, from, to)| from < to)
            .filter_map(|(segment, from, to)| {
                let result = segment.result.clone()?;
                Some((from, to - from, result.map(|info| info.at_index(from - segment.first))))
            })
            .collect()
    }

    /// The known failures among the records `first..end`: index of the first record, number of
    /// records, and the error.
    #[must_use]
    pub fn failures(&self, first: usize, end: usize) -> Vec<(usize, usize, Error)> {
        let failed =
            |(at, count, result): (usize, usize, Result<AppendInfo>)| Some((at, count, result.err()?));
        self.results_in(first, end).into_iter().filter_map(failed).collect()
    }

    /// The result of a record that was rejected before it was in a batch.
    pub(super) fn rejected(topic: &Arc<str>, error: Error) -> Arc<Self> {
        let produce_result = Self::new((Arc::clone(topic), -1));
        produce_result.complete(0, Err(error));
        Arc::new(produce_result)
    }

    pub(super) fn new(partition: TopicPartition) -> Self {
        Self {
            partition,
            segments: Mutex::new(vec![Segment { first: 0, result: None }]),
            is_done: AtomicBool::new(false),
            done: Notify::new(),
            callbacks: Callbacks::default(),
            observed: Mutex::default(),
        }
    }

    /// Notes that the results of the records `first..end` were reported to the application: their
    /// failures need not be logged.
    pub fn mark_observed(&self, first: usize, end: usize) {
        let mut observed = self.observed.lock();
        match observed.last_mut() {
            Some((_, last)) if *last == first => *last = end,
            _ => observed.push((first, end)),
        }
    }

    /// The number of records, of `count` from index `first` on, whose results were not reported yet.
    pub(super) fn unobserved(&self, first: usize, count: usize) -> usize {
        let mut observed = self.observed.lock();
        observed.sort_unstable();
        let (mut unobserved, mut at) = (0, first);
        for (from, to) in observed.iter().copied() {
            unobserved += from.min(first + count).saturating_sub(at);
            at = at.max(to);
        }
        unobserved + (first + count).saturating_sub(at)
    }

    /// Waits until the result of every record is known.
    pub async fn wait(&self) {
        loop {
            let done = self.done.notified();
            tokio::pin!(done);
            done.as_mut().enable();
            if self.is_done() {
                // Taking the lock waits for the callbacks that are running.
                drop(self.callbacks.0.lock());
                return;
            }
            done.await;
        }
    }

    /// Calls `call` once the result of every record is known: on the completing thread, before
    /// waiters wake, or immediately if the batch is already done. `call` must not block, and may only
    /// query results.
    pub fn on_done(&self, call: impl FnOnce() + Send + 'static) {
        let mut callbacks = self.callbacks.0.lock();
        // Checked under the lock: `complete` takes the list after it has set `is_done`.
        if !self.is_done() {
            return callbacks.push(Box::new(call));
        }
        drop(callbacks);
        call();
    }

    /// Starts a new segment at the record `first`, which has its own result.
    pub(super) fn split_at(&self, first: usize) {
        let mut segments = self.segments.lock();
        let at = segments.partition_point(|segment| segment.first < first);
        segments.insert(at, Segment { first, result: None });
    }

    /// Completes the segment that starts at `first`. Only the first call for a segment counts.
    pub(super) fn complete(&self, first: usize, result: Result<AppendInfo>) {
        let mut segments = self.segments.lock();
        let Some(segment) =
            segments.iter_mut().find(|segment| segment.first == first && segment.result.is_none())
        else {
            return;
        };
        segment.result = Some(result);
        if segments.iter().all(|segment| segment.result.is_some()) {
            drop(segments);
            let mut callbacks = self.callbacks.0.lock();
            self.is_done.store(true, Ordering::Release);
            callbacks.drain(..).for_each(|call| call());
            drop(callbacks);
            self.done.notify_waiters();
        }
    }
}

/// The result of one record: its batch's result and its index there (`FutureRecordMetadata` in the
/// Java client).
#[derive(Debug, Clone)]
pub struct Delivery {
    /// The result of the record's batch.
    pub produce_result: Arc<ProduceResult>,
    /// The record's index in the batch.
    pub index: usize,
}

impl Delivery {
    /// The result of the record, if it is known.
    #[must_use]
    pub fn result(&self) -> Option<Result<AppendInfo>> {
        self.produce_result.result_of(self.index)
    }

    /// Waits for the result of the record.
    pub async fn wait(&self) -> Result<AppendInfo> {
        self.produce_result.wait().await;
        self.produce_result.final_result(self.index)
    }
}
