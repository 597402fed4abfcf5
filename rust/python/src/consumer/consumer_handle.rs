//! `ConsumerHandle`: the core's consumer and its buffers, shared by both Python consumers.
//!
//! Invariants: either records or Arrow batches are buffered, never both. What a cancelled or failed call
//! has buffered, the next call returns. A call that was cancelled while it ran on another thread buffers
//! nothing once the next call has begun: the position would move past it. Nothing here waits for the GIL.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arrow_array::RecordBatch as ArrowBatch;
use ottla_client::config::IsolationLevel;
use ottla_client::consumer::assignor::Assignor;
use ottla_client::consumer::group::RebalanceEvent;
use ottla_client::consumer::{Consumer, PollOutcome as CorePollOutcome};
use ottla_client::tasks::panics::try_catch;
use ottla_client::{Client, Error, Kind, ListedOffset, OffsetSpec, Result, TopicPartition};
use parking_lot::Mutex;
use pyo3::prelude::*;
use tokio::time::Instant;

use super::deserializers::Deserializers;
use super::record::Record;
use crate::client::client_ops;
use crate::consumer::arrow_buffer::{ArrowBuffer, BatchLayout};
use crate::consumer::commit_callbacks::{CommitCallbacks, CompletedCommit, Offsets, start_now};
use crate::consumer::poll_guard::PollLock;
use crate::consumer::rebalance_listener::RebalanceListener;
use crate::consumer::record_buffer::RecordBuffer;
use crate::convert::errors;
use crate::runtime::{ProcessLocal, runtime, seconds};

/// How often iteration polls for rebalances and errors while it has buffered records.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The outcome of a poll.
pub(super) enum PollOutcome {
    /// There may be records to pop.
    Ready,
    Empty,
    Rebalance(RebalanceEvent),
}

pub(super) struct ConsumerHandle {
    pub(super) core: Consumer,
    /// Whether the client was created for this consumer and is closed with it.
    own_client: bool,
    deserializers: Deserializers,
    pub(super) poll_lock: PollLock,
    pub(super) listener: RebalanceListener,
    pub(super) commit_callbacks: CommitCallbacks,
    /// The number of the latest call that waits for records. Locked before both buffers.
    latest_call: Mutex<u64>,
    records: Mutex<RecordBuffer>,
    arrow: Mutex<ArrowBuffer>,
    /// The time of the last poll.
    polled_at: Mutex<Option<Instant>>,
    closing: AtomicBool,
    closed: AtomicBool,
}

impl ConsumerHandle {
    /// Creates the core's consumer on a client.
    pub(super) fn new(
        client: Client,
        own_client: bool,
        deserializers: Deserializers,
        assignors: Vec<Arc<dyn Assignor>>,
    ) -> Self {
        // Long polls would delay other requests on shared connections.
        let client = if own_client { client } else { client.with_dedicated_connections() };
        Self {
            core: Consumer::new(client).with_assignors(assignors),
            own_client,
            deserializers,
            poll_lock: PollLock::default(),
            listener: RebalanceListener::default(),
            commit_callbacks: CommitCallbacks::default(),
            latest_call: Mutex::default(),
            records: Mutex::default(),
            arrow: Mutex::default(),
            polled_at: Mutex::default(),
            closing: AtomicBool::new(false),
            closed: AtomicBool::new(false),
        }
    }

    /// Returns the handle in a cell, unless the consumer was closed.
    pub(super) fn open(cell: &ProcessLocal<Arc<Self>>) -> PyResult<&Arc<Self>> {
        let handle = cell.get()?;
        if handle.is_closed() { Err(errors::closed("this consumer was closed")) } else { Ok(handle) }
    }

    /// Returns the maximum number of records of a poll. Default: `max.poll.records`.
    pub(super) fn max_records(&self, requested: Option<usize>) -> usize {
        requested.unwrap_or(self.core.client().config().max_poll_records).max(1)
    }

    /// Converts a timeout in seconds. Default: `default.api.timeout.ms`.
    pub(super) fn timeout(&self, timeout: Option<f64>) -> PyResult<Duration> {
        seconds(timeout, self.core.client().config().default_api_timeout)
    }

    async fn poll(&self, deadline: Instant) -> Result<CorePollOutcome> {
        let polled = self.core.poll(deadline).await;
        *self.polled_at.lock() = Some(Instant::now());
        match polled {
            Err(error) if error.kind() == Kind::Wakeup && self.closing.load(Ordering::Acquire) => {
                Err(Error::new(Kind::Closed, "this consumer was closed while it was polled"))
            }
            polled => polled,
        }
    }

    /// Begins a call, and returns its number and the result of `prepare`. Earlier calls buffer nothing from
    /// here on.
    fn begin_call<T>(&self, prepare: impl FnOnce() -> T) -> (u64, T) {
        let mut latest = self.latest_call.lock();
        *latest += 1;
        (*latest, prepare())
    }

    /// Waits until records are buffered, at most `max_records`, or until the deadline. Cancel-safe.
    pub(super) async fn wait_for_records(
        &self,
        deadline: Instant,
        max_records: usize,
    ) -> Result<PollOutcome> {
        let (call, is_buffered) = self.begin_call(|| {
            self.arrow.lock().discard(&self.core);
            self.records.lock().drop_stale(&self.core)
        });
        match self.poll(if is_buffered { Instant::now() } else { deadline }).await? {
            CorePollOutcome::Rebalance(change) => Ok(PollOutcome::Rebalance(change)),
            CorePollOutcome::TimedOut if !is_buffered => Ok(PollOutcome::Empty),
            CorePollOutcome::TimedOut | CorePollOutcome::Ready => {
                let latest = self.latest_call.lock();
                if *latest == call {
                    self.records.lock().fill(&self.core, max_records);
                }
                Ok(PollOutcome::Ready)
            }
        }
    }

    /// Waits until an Arrow batch is buffered, or until the deadline. Cancel-safe.
    pub(super) async fn wait_for_batch(
        &self,
        deadline: Instant,
        layout: &BatchLayout,
    ) -> Result<PollOutcome> {
        let (call, is_buffered) = self.begin_call(|| {
            self.records.lock().discard(&self.core);
            self.arrow.lock().drop_stale(&self.core)
        });
        match self.poll(if is_buffered { Instant::now() } else { deadline }).await? {
            CorePollOutcome::Rebalance(change) => Ok(PollOutcome::Rebalance(change)),
            CorePollOutcome::TimedOut if !is_buffered => Ok(PollOutcome::Empty),
            CorePollOutcome::TimedOut | CorePollOutcome::Ready => {
                let latest = self.latest_call.lock();
                if *latest == call {
                    self.arrow.lock().fill(&self.core, layout)?;
                }
                Ok(PollOutcome::Ready)
            }
        }
    }

    /// Works on the record buffer outside of its lock, since `work` may call Python.
    fn with_records<T>(&self, work: impl FnOnce(&mut RecordBuffer) -> T) -> T {
        let mut buffer = std::mem::take(&mut *self.records.lock());
        let result = work(&mut buffer);
        buffer.restore_to(&mut self.records.lock());
        result
    }

    pub(super) fn pop_records(&self, py: Python<'_>, max_records: usize) -> PyResult<Vec<Py<Record>>> {
        self.with_records(|buffer| {
            if !buffer.drop_stale(&self.core) {
                return Ok(Vec::new());
            }
            buffer.pop_records(py, &self.core, &self.deserializers, max_records)
        })
    }

    /// Returns the next record, if there is one.
    pub(super) fn pop_record(&self, py: Python<'_>) -> PyResult<Option<Py<Record>>> {
        self.with_records(|buffer| {
            if !buffer.drop_stale(&self.core) {
                return Ok(None);
            }
            buffer.pop_record(py, &self.core, &self.deserializers)
        })
    }

    /// Returns the next record, if there is one and no poll is due.
    pub(super) fn pop_buffered_record(&self, py: Python<'_>) -> PyResult<Option<Py<Record>>> {
        let is_recent = self.polled_at.lock().is_some_and(|polled| polled.elapsed() < POLL_INTERVAL);
        if is_recent && !self.closing.load(Ordering::Acquire) { self.pop_record(py) } else { Ok(None) }
    }

    pub(super) fn pop_batch(&self) -> Option<ArrowBatch> {
        let mut arrow = self.arrow.lock();
        if arrow.drop_stale(&self.core) { arrow.pop(&self.core) } else { None }
    }

    /// Looks up offsets at the consumer's isolation level.
    pub(super) fn list_offsets(
        &self,
        specs: Vec<(TopicPartition, OffsetSpec)>,
        timeout: Option<f64>,
    ) -> PyResult<impl Future<Output = Result<HashMap<TopicPartition, ListedOffset>>> + Send + 'static> {
        let client = self.core.client();
        let timeout = self.timeout(timeout)?;
        let read_committed = client.config().isolation_level == IsolationLevel::ReadCommitted;
        Ok(client_ops::list_offsets(client.clone(), specs, read_committed, timeout))
    }

    /// Starts a commit without waiting for it; `callback` is called with an error or None, and the offsets.
    /// By default it commits the current positions.
    pub(super) fn commit_async(
        self: &Arc<Self>,
        offsets: Option<Offsets>,
        callback: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let number = self.commit_callbacks.begin();
        let number = number.map_err(|error| Python::attach(|py| errors::raise(py, &error)))?;
        // The positions as of now: later polls must not change what is committed.
        let offsets = offsets.unwrap_or_else(|| self.core.positions());
        let handle = Arc::clone(self);
        let work = start_now(async move {
            let timeout = handle.core.client().config().default_api_timeout;
            let commit = handle.core.commit(Some(offsets.clone()), timeout);
            // Even after a panic the commit completes: the callbacks of later ones wait for it.
            let result = try_catch("a commit", commit).await;
            if callback.is_none()
                && let Err(error) = &result
            {
                tracing::warn!(target: "ottla.group", %error, "an asynchronous commit failed");
            }
            let completed = callback.map(|callback| CompletedCommit { callback, offsets, result });
            handle.commit_callbacks.complete(number, completed);
        })?;
        runtime()?.spawn(work);
        Ok(())
    }

    /// Ends a poll in progress; returns false if the consumer is closed already.
    pub(super) fn start_closing(&self) -> bool {
        if self.closed.load(Ordering::Acquire) {
            return false;
        }
        self.closing.store(true, Ordering::Release);
        self.core.wakeup();
        true
    }

    /// Begins to close: waits for commits in flight, and starts to leave the group.
    pub(super) async fn begin_close(&self, timeout: Duration) {
        let deadline = Instant::now() + timeout;
        self.commit_callbacks.wait_until_idle(deadline).await;
        self.core.begin_close(deadline.saturating_duration_since(Instant::now())).await;
    }

    /// Finishes closing: leaves the group, within the timeout.
    pub(super) async fn end_close(&self, timeout: Duration) -> Result<()> {
        let left = self.core.end_close(timeout).await;
        self.closed.store(true, Ordering::Release);
        if self.own_client {
            self.core.client().close();
        }
        left
    }

    /// Drops the rebalance callbacks, so that no reference cycle keeps the consumer alive.
    pub(super) fn forget_callbacks(&self) {
        self.listener.set(None, None, None);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }
}
