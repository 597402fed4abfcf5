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
use crate::producer::unobserved_failures::UnseenFailures;
use crate::topic_partition::TopicPartition;

/// Where a record was written, or the first record of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Its offset; -1 if the broker does not tell: with `acks=0`, or when all that is known is that
    /// an earlier attempt has succeeded.
    pub offset: i64,
    /// The broker's timestamp if the topic uses LogAppendTime, else -1.
    pub log_append_time: i64,
}

impl Written {
    /// Nobody knows where.
    pub const UNKNOWN: Self = Self { offset: -1, log_append_time: -1 };

    /// The same for the record that is `index` records further on.
    #[must_use]
    pub fn of(self, index: usize) -> Self {
        let offset = if self.offset < 0 { -1 } else { self.offset + index as i64 };
        Self { offset, ..self }
    }
}

/// Consecutive records with the same fate.
#[derive(Debug)]
struct Piece {
    /// The index of the first.
    first: usize,
    result: Option<Result<Written>>,
}

/// Whom to call when a batch is done.
#[derive(Default)]
struct Watchers(Mutex<Vec<Box<dyn FnOnce() + Send>>>);

impl fmt::Debug for Watchers {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} watchers", self.0.lock().len())
    }
}

/// What became of a batch: shared by all who sent a record of it.
#[derive(Debug)]
pub struct Completion {
    partition: TopicPartition,
    /// In order; the first starts at 0.
    pieces: Mutex<Vec<Piece>>,
    is_done: AtomicBool,
    done: Notify,
    watchers: Watchers,
    /// Records whose failure somebody has asked about: from which index to before which.
    seen: Mutex<Vec<(usize, usize)>>,
}

impl Completion {
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
    pub fn result_of(&self, index: usize) -> Option<Result<Written>> {
        // Without the lock, since this is asked often.
        if !self.is_done() {
            return None;
        }
        let pieces = self.pieces.lock();
        let after = pieces.partition_point(|piece| piece.first <= index);
        let piece = pieces.get(after.checked_sub(1)?)?;
        let result = piece.result.as_ref()?;
        Some(result.clone().map(|written| written.of(index - piece.first)))
    }

    /// What became of the record at `index` of a batch that is done.
    pub fn settled(&self, index: usize) -> Result<Written> {
        let lost = || Error::new(Kind::Closed, "the batch has lost its record");
        self.result_of(index).unwrap_or_else(|| Err(lost()))
    }

    /// What became of the records from index `first` to before `end`, as far as that is known: first
    /// index, how many in a row, and where the first of them was written or why none of them was.
    #[must_use]
    pub fn outcomes(&self, first: usize, end: usize) -> Vec<(usize, usize, Result<Written>)> {
        let pieces = self.pieces.lock();
        let ends = pieces.iter().skip(1).map(|piece| piece.first).chain([usize::MAX]);
        pieces
            .iter()
            .zip(ends)
            .map(|(piece, piece_end)| (piece, piece.first.max(first), piece_end.min(end)))
            .filter(|(_, from, to)| from < to)
            .filter_map(|(piece, from, to)| {
                let result = piece.result.clone()?;
                Some((from, to - from, result.map(|written| written.of(from - piece.first))))
            })
            .collect()
    }

    /// Which of the records from index `first` to before `end` have failed, if that is known: first
    /// index, how many in a row, why.
    #[must_use]
    pub fn failures(&self, first: usize, end: usize) -> Vec<(usize, usize, Error)> {
        let failed = |(at, count, result): (usize, usize, Result<Written>)| Some((at, count, result.err()?));
        self.outcomes(first, end).into_iter().filter_map(failed).collect()
    }

    /// The promise of a record that is in no batch, and why.
    pub(super) fn refused(topic: &Arc<str>, error: Error) -> Arc<Self> {
        let completion = Self::new((Arc::clone(topic), -1));
        completion.settle(0, Err(error));
        Arc::new(completion)
    }

    fn new(partition: TopicPartition) -> Self {
        Self {
            partition,
            pieces: Mutex::new(vec![Piece { first: 0, result: None }]),
            is_done: AtomicBool::new(false),
            done: Notify::new(),
            watchers: Watchers::default(),
            seen: Mutex::default(),
        }
    }

    /// Notes that somebody has asked what became of the records from index `first` to before `end`: if
    /// they failed, nobody else needs to hear of it.
    pub fn mark_seen(&self, first: usize, end: usize) {
        let mut seen = self.seen.lock();
        match seen.last_mut() {
            Some((_, last)) if *last == first => *last = end,
            _ => seen.push((first, end)),
        }
    }

    /// How many of `count` records from index `first` on nobody has asked about.
    pub(super) fn unseen(&self, first: usize, count: usize) -> usize {
        let mut seen = self.seen.lock();
        seen.sort_unstable();
        let (mut unseen, mut at) = (0, first);
        for (from, to) in seen.iter().copied() {
            unseen += from.min(first + count).saturating_sub(at);
            at = at.max(to);
        }
        unseen + (first + count).saturating_sub(at)
    }

    /// Waits until it is known what became of all records.
    pub async fn wait(&self) {
        loop {
            let done = self.done.notified();
            tokio::pin!(done);
            done.as_mut().enable();
            if self.is_done() {
                // Those who are to be called have been, then.
                drop(self.watchers.0.lock());
                return;
            }
            done.await;
        }
    }

    /// Has `call` called once it is known what became of all records: on the thread that finds out,
    /// before those who wait go on, or at once if it is known already. It must not wait for anything,
    /// nor ask this for anything but results.
    pub fn on_done(&self, call: impl FnOnce() + Send + 'static) {
        let mut watchers = self.watchers.0.lock();
        // Looked at under the lock: whoever settles takes the list after it has said that it is done.
        if !self.is_done() {
            return watchers.push(Box::new(call));
        }
        drop(watchers);
        call();
    }

    /// Settles the part that starts at `first`; only the first call for a part counts.
    fn settle(&self, first: usize, result: Result<Written>) {
        let mut pieces = self.pieces.lock();
        let Some(piece) = pieces.iter_mut().find(|piece| piece.first == first && piece.result.is_none())
        else {
            return;
        };
        piece.result = Some(result);
        if pieces.iter().all(|piece| piece.result.is_some()) {
            drop(pieces);
            let mut watchers = self.watchers.0.lock();
            self.is_done.store(true, Ordering::Release);
            watchers.drain(..).for_each(|call| call());
            drop(watchers);
            self.done.notify_waiters();
        }
    }
}

/// The sender's end of the promise, for one part of a batch. Dropping it unsettled tells those who
/// wait: nobody waits for ever.
#[derive(Debug)]
pub(super) struct Part {
    completion: Arc<Completion>,
    first: usize,
    /// This and the next are of one order for all threads: either who settles sees that it may have
    /// been written, or who sends sees that it is settled.
    settled: AtomicBool,
    /// A broker may have written the records although no answer says so.
    maybe_written: AtomicBool,
    /// How many records it has, once it has left its queue.
    count: AtomicUsize,
    /// Where it is noted if they fail.
    failures: Arc<UnseenFailures>,
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.is_settled() {
            self.settle(Err(super::accumulator::closed().prefixed("not acknowledged")));
        }
    }
}

impl Part {
    /// The promise of a new batch.
    pub(super) fn new(partition: TopicPartition, failures: Arc<UnseenFailures>) -> Self {
        Self {
            completion: Arc::new(Completion::new(partition)),
            first: 0,
            settled: AtomicBool::new(false),
            maybe_written: AtomicBool::new(false),
            count: AtomicUsize::new(0),
            failures,
        }
    }

    /// Notes how many records it has; none come any more.
    pub(super) fn set_count(&self, count: usize) {
        self.count.store(count, Ordering::Release);
    }

    pub(super) fn completion(&self) -> &Arc<Completion> {
        &self.completion
    }

    pub(super) fn partition(&self) -> &TopicPartition {
        &self.completion.partition
    }

    /// The index of its first record in the batch as it was sent.
    pub(super) fn first(&self) -> usize {
        self.first
    }

    pub(super) fn is_settled(&self) -> bool {
        self.settled.load(Ordering::SeqCst)
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
        let mut pieces = self.completion.pieces.lock();
        let at = pieces.partition_point(|piece| piece.first < first);
        pieces.insert(at, Piece { first, result: None });
        drop(pieces);
        Self {
            completion: Arc::clone(&self.completion),
            first,
            settled: AtomicBool::new(false),
            maybe_written: AtomicBool::new(self.maybe_written()),
            count: AtomicUsize::new(0),
            failures: Arc::clone(&self.failures),
        }
    }

    /// Settles it. An error carries the partition, and whether the records may be in the log all
    /// the same. Only the first call counts.
    pub(super) fn settle(&self, result: Result<Written>) {
        if self.settled.swap(true, Ordering::SeqCst) {
            return;
        }
        let (topic, partition) = self.partition();
        let result = result.map_err(|error| match self.maybe_written() {
            true => error.at(topic, *partition).maybe_done(),
            false => error.at(topic, *partition),
        });
        // Before anybody who waits for the result can look for what nobody has seen.
        if let Err(error) = &result {
            let count = self.count.load(Ordering::Acquire).max(1);
            self.failures.add(&self.completion, self.first, count, error);
        }
        self.completion.settle(self.first, result);
    }
}

/// The promise of one record.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// What becomes of the record's batch.
    pub completion: Arc<Completion>,
    /// The record's place in the batch.
    pub index: usize,
}

impl Delivery {
    /// What became of the record, if that is known.
    #[must_use]
    pub fn result(&self) -> Option<Result<Written>> {
        self.completion.result_of(self.index)
    }

    /// Waits until it is known.
    pub async fn wait(&self) -> Result<Written> {
        self.completion.wait().await;
        self.completion.settled(self.index)
    }
}
