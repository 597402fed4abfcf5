//! The completing side of a `ProduceResult`: one for each part of a batch, held by the batch itself.
//!
//! Invariant: each part completes exactly once. An error says whether the records may have been
//! written.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::errors::closed;
use super::produce_result::{AppendInfo, ProduceResult};
use super::unobserved_failures::UnobservedFailures;
use crate::error::Result;
use crate::topic_partition::TopicPartition;

/// One part of a batch: the whole batch, unless it was split. Dropping an incomplete part fails its
/// records, so that no waiter waits for ever.
#[derive(Debug)]
pub(super) struct SplitPart {
    produce_result: Arc<ProduceResult>,
    first: usize,
    /// Ordered with `maybe_written` across threads (both are `SeqCst`): either the completing thread
    /// sees that the records may have been written, or the sending thread sees that the part is
    /// complete.
    completed: AtomicBool,
    /// A broker may have written the records although no response says so.
    maybe_written: AtomicBool,
    /// The number of records, set when the batch leaves its queue.
    count: AtomicUsize,
    /// Where failures are registered.
    failures: Arc<UnobservedFailures>,
}

impl Drop for SplitPart {
    fn drop(&mut self) {
        if !self.is_complete() {
            self.complete(Err(closed().prefixed("not acknowledged")));
        }
    }
}

impl SplitPart {
    /// The part that covers a new batch.
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

    /// Sets the number of records, which no longer changes.
    pub(super) fn set_count(&self, count: usize) {
        self.count.store(count, Ordering::Release);
    }

    pub(super) fn produce_result(&self) -> &Arc<ProduceResult> {
        &self.produce_result
    }

    pub(super) fn partition(&self) -> &TopicPartition {
        self.produce_result.partition()
    }

    /// The index of its first record in the original batch.
    pub(super) fn first(&self) -> usize {
        self.first
    }

    pub(super) fn is_complete(&self) -> bool {
        self.completed.load(Ordering::SeqCst)
    }

    pub(super) fn maybe_written(&self) -> bool {
        self.maybe_written.load(Ordering::SeqCst)
    }

    /// Sets whether a broker may have written the records, and returns the previous value.
    pub(super) fn set_maybe_written(&self, maybe: bool) -> bool {
        self.maybe_written.swap(maybe, Ordering::SeqCst)
    }

    /// Splits the part: the records from `count` on become a part of their own.
    pub(super) fn split(&self, count: usize) -> Self {
        let first = self.first + count;
        self.produce_result.split_at(first);
        Self {
            produce_result: Arc::clone(&self.produce_result),
            first,
            completed: AtomicBool::new(false),
            maybe_written: AtomicBool::new(self.maybe_written()),
            count: AtomicUsize::new(0),
            failures: Arc::clone(&self.failures),
        }
    }

    /// Completes the part. An error gets the partition, and is marked if the records may have been
    /// written all the same. Only the first call counts.
    pub(super) fn complete(&self, result: Result<AppendInfo>) {
        if self.completed.swap(true, Ordering::SeqCst) {
            return;
        }
        let (topic, partition) = self.partition();
        let result = result.map_err(|error| match self.maybe_written() {
            true => error.at(topic, *partition).maybe_done(),
            false => error.at(topic, *partition),
        });
        // Before any waiter wakes: it may look for unobserved failures at once.
        if let Err(error) = &result {
            let count = self.count.load(Ordering::Acquire).max(1);
            self.failures.add(&self.produce_result, self.first, count, error);
        }
        self.produce_result.complete(self.first, result);
    }
}
