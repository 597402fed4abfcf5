//! Interceptors of consumers: they see records before the application does, and may replace them, and
//! are notified of commits. The chain itself is `python/ottla/interceptors.py`.
//!
//! Invariants: interceptors run on the thread that polls, commits or closes, never on one of the engine. A
//! call that Ctrl-C interrupts loses no record: the positions go back. Queued commits are bounded, and their
//! newest offsets are never dropped.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;

use ottla_client::TopicPartition;
use ottla_client::config::Config;
use ottla_client::consumer::{CommitListener, Consumer};
use ottla_client::group_offsets::CommittedOffset;
use parking_lot::Mutex;
use pyo3::PyVisit;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::commit_callbacks::{Offsets, offsets_to_dict};
use super::record::Record;
use crate::client::interceptor_chain;
use crate::convert::record_batch::RecordBatch;
use crate::garbage::{Traverse, Visited};

/// The maximum number of commits that wait for a poll; further ones are merged.
const MAX_QUEUED: usize = 1_000;

/// Commits that the interceptors were not notified of yet, in order.
#[derive(Default)]
struct CommitQueue(Mutex<VecDeque<Offsets>>);

impl fmt::Debug for CommitQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CommitQueue").field(&self.0.lock().len()).finish()
    }
}

impl CommitListener for CommitQueue {
    fn on_commit(&self, offsets: &HashMap<TopicPartition, CommittedOffset>) {
        let mut queue = self.0.lock();
        if queue.len() < MAX_QUEUED {
            queue.push_back(offsets.clone());
        } else if let Some(last) = queue.back_mut() {
            last.extend(offsets.clone());
        }
    }
}

impl CommitQueue {
    fn pop(&self) -> Option<Offsets> {
        self.0.lock().pop_front()
    }
}

/// A consumer's interceptors.
pub(super) struct Interceptors {
    chain: Py<PyAny>,
    commits: Arc<CommitQueue>,
    /// What is passed through the chain, and was not returned to the application.
    passing: Mutex<Option<Passing>>,
}

/// Records, or rows, on their way through the chain.
enum Passing {
    Records(Py<PyList>),
    /// A batch: the positions before it.
    Batch(HashMap<TopicPartition, i64>),
}

impl Interceptors {
    /// Creates the chain; `None` without interceptors.
    pub(super) fn new(interceptors: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Self>> {
        let chain = interceptor_chain::new(interceptors, "_ConsumerChain")?;
        Ok(chain.map(|chain| Self { chain, commits: Arc::default(), passing: Mutex::default() }))
    }

    pub(super) fn configure(&self, py: Python<'_>, config: &Config) -> PyResult<()> {
        interceptor_chain::configure(py, &self.chain, config)
    }

    /// The listener that queues the consumer's commits.
    pub(super) fn commit_listener(&self) -> Arc<dyn CommitListener> {
        Arc::clone(&self.commits) as Arc<dyn CommitListener>
    }

    /// Notifies the interceptors that a poll begins.
    pub(super) fn on_poll(&self, py: Python<'_>) -> PyResult<()> {
        self.chain.call_method0(py, "on_poll").map(drop)
    }

    /// Passes records through the chain. An `only` record becomes at most one.
    pub(super) fn on_consume<'py>(
        &self,
        consumer: &Consumer,
        records: &Bound<'py, PyList>,
        only: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let py = records.py();
        *self.passing.lock() = Some(Passing::Records(records.clone().unbind()));
        let returned = self.chain.bind(py).call_method1("on_consume", (records, only));
        if let Err(interrupted) = returned {
            self.take_back(py, consumer)?;
            return Err(interrupted);
        }
        *self.passing.lock() = None;
        Ok(returned?.cast_into::<PyList>()?)
    }

    /// Sets the positions back before what is passed through the chain.
    pub(super) fn take_back(&self, py: Python<'_>, consumer: &Consumer) -> PyResult<()> {
        let passing = self.passing.lock().take();
        let before = match passing {
            None => return Ok(()),
            Some(Passing::Records(records)) => positions_before(records.bind(py))?,
            Some(Passing::Batch(before)) => {
                let moved = consumer.positions();
                let is_moved = |(partition, offset): &(TopicPartition, i64)| {
                    moved.get(partition).is_some_and(|position| position.offset != *offset)
                };
                before.into_iter().filter(is_moved).collect()
            }
        };
        rewind(consumer, before);
        Ok(())
    }

    /// Raises an error if one of the interceptors cannot see Arrow batches.
    pub(super) fn check_arrow(&self, py: Python<'_>) -> PyResult<()> {
        self.chain.call_method0(py, "check_arrow").map(drop)
    }

    /// Pops an Arrow batch, and shows it to the interceptors.
    pub(super) fn pop_batch(&self, py: Python<'_>, consumer: &Consumer) -> PyResult<Option<Py<RecordBatch>>> {
        let before = consumer.positions();
        let Some(batch) = consumer.pop_batch() else { return Ok(None) };
        let batch = Py::new(py, RecordBatch(batch))?;
        let before = before.into_iter().map(|(partition, position)| (partition, position.offset));
        *self.passing.lock() = Some(Passing::Batch(before.collect()));
        if let Err(interrupted) = self.chain.call_method1(py, "on_consume_arrow", (&batch,)) {
            self.take_back(py, consumer)?;
            return Err(interrupted);
        }
        *self.passing.lock() = None;
        Ok(Some(batch))
    }

    /// Notifies the interceptors of the commits since the last call.
    pub(super) fn report_commits(&self, py: Python<'_>) -> PyResult<()> {
        while let Some(offsets) = self.commits.pop() {
            let offsets: Bound<'_, PyDict> = offsets_to_dict(py, offsets)?;
            self.chain.call_method1(py, "on_commit", (offsets,))?;
        }
        Ok(())
    }

    /// Notifies the interceptors that the consumer was closed.
    pub(super) fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.chain.call_method0(py, "close").map(drop)
    }
}

impl Traverse for Interceptors {
    fn traverse(&self, visit: &PyVisit<'_>) -> Visited {
        self.chain.traverse(visit)
    }
}

/// The offset of the first of `records` of each partition.
fn positions_before(records: &Bound<'_, PyList>) -> PyResult<HashMap<TopicPartition, i64>> {
    let mut positions = HashMap::new();
    for record in records {
        let (partition, offset) = record.cast::<Record>()?.get().location(record.py())?;
        positions.entry(partition).or_insert(offset);
    }
    Ok(positions)
}

/// Sets positions back, so that records that did not reach the application are read again.
fn rewind(consumer: &Consumer, positions: HashMap<TopicPartition, i64>) {
    for (partition, offset) in positions {
        // A partition that was revoked meanwhile has no position; its next owner reads the records.
        let _ = consumer.seek(&partition, offset, None);
    }
}
