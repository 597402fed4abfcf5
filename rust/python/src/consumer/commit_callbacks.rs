//! Asynchronous commits: their order, and the callbacks that report their results.
//!
//! Invariants: commits are sent in the order of the calls, each with the offsets as they were at its
//! call. As in Java, callbacks run on the thread or task that polls, in the same order. `close` waits
//! for the commits in flight within its timeout.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use ottla_client::group_offsets::CommittedOffset;
use ottla_client::{Error, Kind, Result, TopicPartition};
use parking_lot::Mutex;
use pyo3::PyVisit;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use super::partitions::OffsetAndMetadata;
use super::partitions::to_dict;
use crate::convert::{callback, errors};
use crate::garbage::{Traverse, Visited, visit_locked};
use crate::runtime::runtime;

/// The maximum number of commits in flight; each has its own timeout.
const MAX_IN_FLIGHT: usize = 10_000;

pub(super) type Offsets = HashMap<TopicPartition, CommittedOffset>;

/// A commit that succeeded or failed, and the callback to call with its result.
pub(super) struct CompletedCommit {
    pub(super) callback: Py<PyAny>,
    pub(super) offsets: Offsets,
    pub(super) result: Result<()>,
}

enum CommitState {
    InFlight,
    /// `None` if the commit has no callback.
    Completed(Option<CompletedCommit>),
}

/// Commits whose callbacks were not called yet, in the order of the calls.
#[derive(Default)]
struct CommitQueue {
    /// The number of the first commit in `states`; numbers are consecutive.
    first: u64,
    states: VecDeque<CommitState>,
    in_flight: usize,
}

impl CommitQueue {
    fn begin(&mut self) -> u64 {
        self.states.push_back(CommitState::InFlight);
        self.in_flight += 1;
        self.first + self.states.len() as u64 - 1
    }

    fn complete(&mut self, number: u64, completed: Option<CompletedCommit>) {
        self.in_flight -= 1;
        let index = number.checked_sub(self.first).and_then(|index| usize::try_from(index).ok());
        if let Some(state) = index.and_then(|index| self.states.get_mut(index)) {
            *state = CommitState::Completed(completed);
        }
    }

    /// Removes the first completed commit that has a callback, unless an earlier one is in flight.
    fn pop(&mut self) -> Option<CompletedCommit> {
        while !matches!(self.states.front()?, CommitState::InFlight) {
            self.first += 1;
            if let Some(CommitState::Completed(Some(completed))) = self.states.pop_front() {
                return Some(completed);
            }
        }
        None
    }
}

/// Without the GIL, a commit that completes adds its callback.
impl Traverse for CommitQueue {
    fn traverse(&self, visit: &PyVisit<'_>) -> Visited {
        self.states.iter().try_for_each(|state| match state {
            CommitState::Completed(Some(completed)) => completed.callback.traverse(visit),
            CommitState::Completed(None) | CommitState::InFlight => Ok(()),
        })
    }
}

/// A callback and its arguments: an error or None, and the offsets.
pub(super) type CallbackCall = (Py<PyAny>, Py<PyAny>, Py<PyDict>);

/// The asynchronous commits of one consumer.
#[derive(Default)]
pub(super) struct CommitCallbacks {
    queue: Mutex<CommitQueue>,
    /// Notified when a commit completes.
    completion: Notify,
}

impl CommitCallbacks {
    /// Adds a commit and returns its number, for [`CommitCallbacks::complete`].
    pub(super) fn begin(&self) -> Result<u64> {
        let mut queue = self.queue.lock();
        if queue.in_flight >= MAX_IN_FLIGHT {
            let message =
                format!("{MAX_IN_FLIGHT} commits are in flight: wait for some of them, or commit less often");
            return Err(Error::new(Kind::State, message));
        }
        Ok(queue.begin())
    }

    /// Records the result of a commit; `None` if it has no callback.
    pub(super) fn complete(&self, number: u64, completed: Option<CompletedCommit>) {
        self.queue.lock().complete(number, completed);
        self.completion.notify_waiters();
    }

    /// Returns the next callback to call, with its arguments.
    pub(super) fn next_call(&self, py: Python<'_>) -> PyResult<Option<CallbackCall>> {
        let next = self.queue.lock().pop();
        let Some(CompletedCommit { callback, offsets, result }) = next else { return Ok(None) };
        let offsets = offsets_to_dict(py, offsets)?;
        let error = match result {
            Ok(()) => py.None(),
            Err(error) => errors::value(py, &error)?,
        };
        Ok(Some((callback, error, offsets.unbind())))
    }

    /// Calls the callbacks of completed commits; returns whether there were any. If one raises, the rest
    /// wait for the next call.
    pub(super) fn invoke_completed(&self, py: Python<'_>) -> PyResult<bool> {
        let mut is_called = false;
        while let Some((callback, error, offsets)) = self.next_call(py)? {
            callback::ended(&callback.bind(py).call1((error, offsets))?)?;
            is_called = true;
        }
        Ok(is_called)
    }

    /// Drops the callbacks of completed commits.
    pub(super) fn forget_completed(&self) {
        loop {
            // Dropped outside of the lock: dropping may run Python code.
            let next = self.queue.lock().pop();
            if next.is_none() {
                return;
            }
        }
    }

    /// Waits until no commit is in flight, or until the deadline.
    pub(super) async fn wait_until_idle(&self, deadline: Instant) {
        loop {
            let mut completion = pin!(self.completion.notified());
            completion.as_mut().enable();
            if self.queue.lock().in_flight == 0 || timeout_at(deadline, completion).await.is_err() {
                return;
            }
        }
    }
}

impl Traverse for CommitCallbacks {
    fn traverse(&self, visit: &PyVisit<'_>) -> Visited {
        visit_locked(&self.queue, visit)
    }
}

/// Returns committed offsets as callbacks and interceptors get them.
pub(super) fn offsets_to_dict(py: Python<'_>, offsets: Offsets) -> PyResult<Bound<'_, PyDict>> {
    to_dict(py, offsets, |committed| Py::new(py, OffsetAndMetadata::from(committed)).map(Py::into_any))
}

/// Polls `work` once, now, so that a commit is queued before any later one; returns the rest of it.
pub(super) fn start_now<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> PyResult<impl Future<Output = T> + Send + 'static> {
    let runtime = runtime()?;
    let _entered = runtime.enter();
    let mut work = Box::pin(work);
    let ready = match work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    };
    Ok(async move {
        match ready {
            Some(output) => output,
            None => work.await,
        }
    })
}
