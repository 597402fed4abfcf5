//! What became of a batch: the promise that its senders hold.
//!
//! Invariant: each part of a batch is settled exactly once, with where it was written or with an
//! error; whoever waits is told when the last part is. A batch has one part unless a broker found it
//! too large and it was split.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::error::{Error, Kind, Result};
use crate::producer::unobserved_failures::UnobservedFailures;
use crate::topic_partition::TopicPartition;

/// Where a record was written, or the first record of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppendInfo {
    /// Its offset; -1 if the broker does not tell: with `acks=0`, or when all that is known is that
    /// an earlier attempt has succeeded.
    pub offset: i64,
    /// The broker's timestamp if the topic uses LogAppendTime, else -1.
    pub log_append_time: i64,
}

impl AppendInfo {
    /// Nobody knows where.
    pub const UNKNOWN: Self = Self { offset: -1, log_append_time: -1 };

    /// The same for the record that is `index` records further on.
    #[must_use]
    pub fn at_index(self, index: usize) -> Self {
        let offset = if self.offset < 0 { -1 } else { self.offset + index as i64 };
        Self { offset, ..self }
    }
}

/// Consecutive records with the same fate.
#[derive(Debug)]
struct Segment {
    /// The index of the first.
    first: usize,
    result: Option<Result<AppendInfo>>,
}

/// Whom to call when a batch is done.
#[derive(Default)]
struct Callbacks(Mutex<Vec<Box<dyn FnOnce() + Send>>>);

impl fmt::Debug for Callbacks {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} callbacks", self.0.lock().len())
    }
}

/// What became of a batch: shared by all who sent a record of it.
#[derive(Debug)]
pub struct ProduceResult {
    partition: TopicPartition,
    /// In order; the first starts at 0.
    segments: Mutex<Vec<Segment>>,
    is_done: AtomicBool,
    done: Notify,
    callbacks: Callbacks,
    /// Records whose failure somebody has asked about: from which index to before which.
    observed: Mutex<Vec<(usize, usize)>>,
}

impl ProduceResult {
    /// The topic and the partition.
    #[must_use]
    pub fn partition(&self) -> &TopicPartition {
        &self.partition
    }

    /// Whether it is known what became of all records.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.is_done.load(Ordering::Acquire)
    }

    /// What became of the record at `index`, if that is known.
    #[must_use]
    pub fn result_of(&self, index: usize) -> Option<Result<AppendInfo>> {
        // Without the lock, since this is asked often.
        if !self.is_done() {
            return None;
        }
        let segments = self.segments.lock();
        let after = segments.partition_point(|segment| segment.first <= index);
        let segment = segments.get(after.checked_sub(1)?)?;
        let result = segment.result.as_ref()?;
        Some(result.clone().map(|info| info.at_index(index - segment.first)))
    }

    /// What became of the record at `index` of a batch that is done.
    pub fn final_result(&self, index: usize) -> Result<AppendInfo> {
        let lost = || Error::new(Kind::Closed, "the batch has lost its record");
        self.result_of(index).unwrap_or_else(|| Err(lost()))
    }

    /// What became of the records from index `first` to before `end`, as far as that is known: first
    /// index, how many in a row, and where the first of them was written or why none of them was.
    #[must_use]
    pub fn segments(&self, first: usize, end: usize) -> Vec<(usize, usize, Result<AppendInfo>)> {
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

    /// Which of the records from index `first` to before `end` have failed, if that is known: first
    /// index, how many in a row, why.
    #[must_use]
    pub fn failures(&self, first: usize, end: usize) -> Vec<(usize, usize, Error)> {
        let failed =
            |(at, count, result): (usize, usize, Result<AppendInfo>)| Some((at, count, result.err()?));
        self.segments(first, end).into_iter().filter_map(failed).collect()
    }

    /// The promise of a record that is in no batch, and why.
    pub(super) fn rejected(topic: &Arc<str>, error: Error) -> Arc<Self> {
        let produce_result = Self::new((Arc::clone(topic), -1));
        produce_result.complete(0, Err(error));
        Arc::new(produce_result)
    }

    fn new(partition: TopicPartition) -> Self {
        Self {
            partition,
            segments: Mutex::new(vec![Segment { first: 0, result: None }]),
            is_done: AtomicBool::new(false),
            done: Notify::new(),
            callbacks: Callbacks::default(),
            observed: Mutex::default(),
        }
    }

    /// Notes that somebody has asked what became of the records from index `first` to before `end`: if
    /// they failed, nobody else needs to hear of it.
    pub fn mark_observed(&self, first: usize, end: usize) {
        let mut observed = self.observed.lock();
        match observed.last_mut() {
            Some((_, last)) if *last == first => *last = end,
            _ => observed.push((first, end)),
        }
    }

    /// How many of `count` records from index `first` on nobody has asked about.
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

    /// Waits until it is known what became of all records.
    pub async fn wait(&self) {
        loop {
            let done = self.done.notified();
            tokio::pin!(done);
            done.as_mut().enable();
            if self.is_done() {
                // Those who are to be called have been, then.
                drop(self.callbacks.0.lock());
                return;
            }
            done.await;
        }
    }

    /// Has `call` called once it is known what became of all records: on the thread that finds out,
    /// before those who wait go on, or at once if it is known already. It must not wait for anything,
    /// nor ask this for anything but results.
    pub fn on_done(&self, call: impl FnOnce() + Send + 'static) {
        let mut callbacks = self.callbacks.0.lock();
        // Looked at under the lock: whoever settles takes the list after it has said that it is done.
        if !self.is_done() {
            return callbacks.push(Box::new(call));
        }
        drop(callbacks);
        call();
    }

    /// Settles the part that starts at `first`; only the first call for a part counts.
    fn complete(&self, first: usize, result: Result<AppendInfo>) {
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

/// The sender's end of the promise, for one part of a batch. Dropping it unsettled tells those who
/// wait: nobody waits for ever.
#[derive(Debug)]
pub(super) struct SplitPart {
    produce_result: Arc<ProduceResult>,
    first: usize,
    /// This and the next are of one order for all threads: either who settles sees that it may have
    /// been written, or who sends sees that it is settled.
    completed: AtomicBool,
    /// A broker may have written the records although no answer says so.
    maybe_written: AtomicBool,
    /// How many records it has, once it has left its queue.
    count: AtomicUsize,
    /// Where it is noted if they fail.
    failures: Arc<UnobservedFailures>,
}

impl Drop for SplitPart {
    fn drop(&mut self) {
        if !self.is_complete() {
            self.complete(Err(super::accumulator::closed().because("not acknowledged")));
        }
    }
}

impl SplitPart {
    /// The promise of a new batch.
    pub(super) fn new(partition: TopicPartition, failures: Arc<UnobservedFailures>) -> Self {
        Self {
            produce_result: Arc::new(ProduceResult::new(partition)),
            first: 0,
            completed: AtomicBool::new(false),
            maybe_written: AtomicBool::new(false),
            count: AtomicUsize::new(0),
            failures,
        }
    }

    /// Notes how many records it has; none come any more.
    pub(super) fn set_count(&self, count: usize) {
        self.count.store(count, Ordering::Release);
    }

    pub(super) fn produce_result(&self) -> &Arc<ProduceResult> {
        &self.produce_result
    }

    pub(super) fn partition(&self) -> &TopicPartition {
        &self.produce_result.partition
    }

    /// The index of its first record in the batch as it was sent.
    pub(super) fn first(&self) -> usize {
        self.first
    }

    pub(super) fn is_complete(&self) -> bool {
        self.completed.load(Ordering::SeqCst)
    }

    pub(super) fn maybe_written(&self) -> bool {
        self.maybe_written.load(Ordering::SeqCst)
    }

    /// Says whether a broker may have written the records; returns what was said before.
    pub(super) fn set_maybe_written(&self, maybe: bool) -> bool {
        self.maybe_written.swap(maybe, Ordering::SeqCst)
    }

    /// Parts with it: its records from `count` on become a part of their own.
    pub(super) fn split(&self, count: usize) -> Self {
        let first = self.first + count;
        let mut segments = self.produce_result.segments.lock();
        let at = segments.partition_point(|segment| segment.first < first);
        segments.insert(at, Segment { first, result: None });
        drop(segments);
        Self {
            produce_result: Arc::clone(&self.produce_result),
            first,
            completed: AtomicBool::new(false),
            maybe_written: AtomicBool::new(self.maybe_written()),
            count: AtomicUsize::new(0),
            failures: Arc::clone(&self.failures),
        }
    }

    /// Settles it. An error carries the partition, and whether the records may be in the log all
    /// the same. Only the first call counts.
    pub(super) fn complete(&self, result: Result<AppendInfo>) {
        if self.completed.swap(true, Ordering::SeqCst) {
            return;
        }
        let (topic, partition) = self.partition();
        let result = result.map_err(|error| match self.maybe_written() {
            true => error.at(topic, *partition).maybe_done(),
            false => error.at(topic, *partition),
        });
        // Before anybody who waits for the result can look for what nobody has observed.
        if let Err(error) = &result {
            let count = self.count.load(Ordering::Acquire).max(1);
            self.failures.add(&self.produce_result, self.first, count, error);
        }
        self.produce_result.complete(self.first, result);
    }
}

/// The promise of one record.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// What becomes of the record's batch.
    pub produce_result: Arc<ProduceResult>,
    /// The record's place in the batch.
    pub index: usize,
}

impl Delivery {
    /// What became of the record, if that is known.
    #[must_use]
    pub fn result(&self) -> Option<Result<AppendInfo>> {
        self.produce_result.result_of(self.index)
    }

    /// Waits until it is known.
    pub async fn wait(&self) -> Result<AppendInfo> {
        self.produce_result.wait().await;
        self.produce_result.final_result(self.index)
    }
}
