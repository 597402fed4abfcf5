//! A consumer with what is on its way from it to a program: shared by the sync and the asyncio side.
//!
//! Invariants: records are on their way as objects or as columns, never both. What a call has taken
//! and not handed out, because it was cancelled or failed, the next call hands out. A call that was
//! cancelled while it ran on another thread takes nothing once the next call has begun: the position
//! would move past what it took. Nothing here waits for the GIL.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arrow_array::RecordBatch as ArrowBatch;
use ottla_client::config::IsolationLevel;
use ottla_client::consumer::assignor::Assignor;
use ottla_client::consumer::group::RebalanceEvent;
use ottla_client::consumer::{Consumer, PollOutcome};
use ottla_client::{Client, Error, Kind, ListedOffset, OffsetSpec, Result, TopicPartition};
use parking_lot::Mutex;
use pyo3::prelude::*;
use tokio::time::Instant;

use super::deserializers::Deserializers;
use super::record::Record;
use crate::client::client_ops;
use crate::consumer::arrow_buffer::{Columns, Shape};
use crate::consumer::commit_callbacks::Outcomes;
use crate::consumer::poll_guard::Turn;
use crate::consumer::rebalance_change::Listeners;
use crate::consumer::record_buffer::Held;
use crate::runtime::seconds;

/// An iteration looks for changes and errors at least this often, however many records it has.
const LOOK: Duration = Duration::from_millis(100);

/// What a poll found.
pub(super) enum Found {
    /// There may be something to hand out.
    Something,
    Nothing,
    Change(RebalanceEvent),
}

pub(super) struct Engine {
    pub(super) core: Consumer,
    /// The client was made for this consumer and goes with it.
    own_client: bool,
    deserializers: Deserializers,
    pub(super) turn: Turn,
    pub(super) listeners: Listeners,
    pub(super) outcomes: Outcomes,
    /// The number of the latest call that looks for records. Locked before the two below.
    call: Mutex<u64>,
    records: Mutex<Held>,
    columns: Mutex<Columns>,
    /// When the engine was last polled.
    polled: Mutex<Option<Instant>>,
    closing: AtomicBool,
    closed: AtomicBool,
}

impl Engine {
    /// Inside of the runtime.
    pub(super) fn new(
        client: Client,
        own_client: bool,
        deserializers: Deserializers,
        assignors: Vec<Arc<dyn Assignor>>,
    ) -> Self {
        // What a consumer has brokers wait for would hold up whoever shares its connections.
        let client = if own_client { client } else { client.with_dedicated_connections() };
        Self {
            core: Consumer::new(client).with_assignors(assignors),
            own_client,
            deserializers,
            turn: Turn::default(),
            listeners: Listeners::default(),
            outcomes: Outcomes::default(),
            call: Mutex::default(),
            records: Mutex::default(),
            columns: Mutex::default(),
            polled: Mutex::default(),
            closing: AtomicBool::new(false),
            closed: AtomicBool::new(false),
        }
    }

    /// Records that one poll hands out unless told otherwise.
    pub(super) fn most(&self, given: Option<usize>) -> usize {
        given.unwrap_or(self.core.client().config().max_poll_records).max(1)
    }

    async fn poll(&self, deadline: Instant) -> Result<PollOutcome> {
        let polled = self.core.poll(deadline).await;
        *self.polled.lock() = Some(Instant::now());
        match polled {
            Err(error) if error.kind() == Kind::Wakeup && self.closing.load(Ordering::Acquire) => {
                Err(Error::new(Kind::Closed, "this consumer was closed while it was polled"))
            }
            polled => polled,
        }
    }

    /// Begins a call: its number, and what `prepare` says. From here on the calls before take nothing.
    fn begin_call<T>(&self, prepare: impl FnOnce() -> T) -> (u64, T) {
        let mut latest = self.call.lock();
        *latest += 1;
        (*latest, prepare())
    }

    /// Gets records ready, `most` at most; waits for them until the deadline. Cancel-safe.
    pub(super) async fn find_records(&self, deadline: Instant, most: usize) -> Result<Found> {
        let (call, has_some) = self.begin_call(|| {
            self.columns.lock().give_back(&self.core);
            self.records.lock().check(&self.core)
        });
        match self.poll(if has_some { Instant::now() } else { deadline }).await? {
            PollOutcome::Rebalance(change) => Ok(Found::Change(change)),
            PollOutcome::TimedOut if !has_some => Ok(Found::Nothing),
            PollOutcome::TimedOut | PollOutcome::Ready => {
                let latest = self.call.lock();
                if *latest == call {
                    self.records.lock().fill(&self.core, most);
                }
                Ok(Found::Something)
            }
        }
    }

    /// As [`Engine::find_records`], as Arrow.
    pub(super) async fn find_columns(&self, deadline: Instant, shape: &Shape) -> Result<Found> {
        let (call, has_some) = self.begin_call(|| {
            self.records.lock().give_back(&self.core);
            self.columns.lock().check(&self.core)
        });
        match self.poll(if has_some { Instant::now() } else { deadline }).await? {
            PollOutcome::Rebalance(change) => Ok(Found::Change(change)),
            PollOutcome::TimedOut if !has_some => Ok(Found::Nothing),
            PollOutcome::TimedOut | PollOutcome::Ready => {
                let latest = self.call.lock();
                if *latest == call {
                    self.columns.lock().fill(&self.core, shape)?;
                }
                Ok(Found::Something)
            }
        }
    }

    /// Does something with the records, outside of their lock: it may call Python.
    fn with_records<T>(&self, work: impl FnOnce(&mut Held) -> T) -> T {
        let mut held = std::mem::take(&mut *self.records.lock());
        let done = work(&mut held);
        held.return_to(&mut self.records.lock());
        done
    }

    pub(super) fn hand_out(&self, py: Python<'_>, most: usize) -> PyResult<Vec<Py<Record>>> {
        self.with_records(|held| {
            if !held.check(&self.core) {
                return Ok(Vec::new());
            }
            held.hand_out(py, &self.core, &self.deserializers, most)
        })
    }

    /// The next record, if there is one.
    pub(super) fn hand_out_one(&self, py: Python<'_>) -> PyResult<Option<Py<Record>>> {
        self.with_records(|held| {
            if !held.check(&self.core) {
                return Ok(None);
            }
            held.hand_out_one(py, &self.core, &self.deserializers)
        })
    }

    /// The next record, if there is one and it is not time to poll again.
    pub(super) fn hand_out_at_hand(&self, py: Python<'_>) -> PyResult<Option<Py<Record>>> {
        let lately = self.polled.lock().is_some_and(|polled| polled.elapsed() < LOOK);
        if lately && !self.closing.load(Ordering::Acquire) { self.hand_out_one(py) } else { Ok(None) }
    }

    pub(super) fn hand_out_columns(&self) -> Option<ArrowBatch> {
        let mut columns = self.columns.lock();
        if columns.check(&self.core) { columns.hand_out(&self.core) } else { None }
    }

    /// Offsets of any partitions, at the consumer's isolation level.
    pub(super) fn list_offsets(
        &self,
        wanted: Vec<(TopicPartition, OffsetSpec)>,
        timeout: Option<f64>,
    ) -> PyResult<impl Future<Output = Result<HashMap<TopicPartition, ListedOffset>>> + Send + 'static> {
        let client = self.core.client();
        let config = client.config();
        let timeout = seconds(timeout, config.default_api_timeout)?;
        let read_committed = config.isolation_level == IsolationLevel::ReadCommitted;
        Ok(client_ops::list_offsets(client.clone(), wanted, read_committed, timeout))
    }

    /// Has whoever polls stop. Says whether there is still something to close.
    pub(super) fn start_closing(&self) -> bool {
        if self.closed.load(Ordering::Acquire) {
            return false;
        }
        self.closing.store(true, Ordering::Release);
        self.core.wakeup();
        true
    }

    /// Begins to end: what is under way comes first.
    pub(super) async fn begin_close(&self, timeout: Duration) {
        let deadline = Instant::now() + timeout;
        self.outcomes.settled(deadline).await;
        self.core.begin_close(deadline.saturating_duration_since(Instant::now())).await;
    }

    /// Ends: leaves the group, within the time.
    pub(super) async fn end_close(&self, timeout: Duration) -> Result<()> {
        let left = self.core.end_close(timeout).await;
        self.closed.store(true, Ordering::Release);
        if self.own_client {
            self.core.client().close();
        }
        left
    }

    /// Lets go of what belongs to Python, so that no circle keeps this alive.
    pub(super) fn forget_callbacks(&self) {
        self.listeners.set(None, None, None);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }
}
