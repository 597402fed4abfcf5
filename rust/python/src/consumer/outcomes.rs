//! Commits that nobody waits for, and who is to be told how they ended.
//!
//! Invariants: they go out in the order in which they were asked for, and what they commit is what it
//! was when they were. Callbacks are called by the thread that polls, or its task, as in Java, in the
//! order of the outcomes; a consumer that is closed waits for what is under way, in its time.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use ottla_client::consumer::offsets::Committed;
use ottla_client::{Error, Kind, Result, TopicPartition};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use super::engine::Engine;
use super::partitions::OffsetAndMetadata;
use super::partitions::to_dict;
use crate::errors;
use crate::runtime::runtime;

/// Commits that may be under way at once; each has its time-out.
const MOST: usize = 10_000;

type Offsets = HashMap<TopicPartition, Committed>;

/// A commit that has ended.
struct Outcome {
    callback: Py<PyAny>,
    offsets: Offsets,
    result: Result<()>,
}

/// Whom to tell, of what error, if any, and of which offsets.
pub(super) type Ended = (Py<PyAny>, Py<PyAny>, Py<PyDict>);

#[derive(Default)]
pub(super) struct Outcomes {
    ended: Mutex<VecDeque<Outcome>>,
    under_way: Mutex<usize>,
    /// One less is under way.
    fewer: Notify,
}

impl Outcomes {
    /// The next of those that have ended.
    pub(super) fn next(&self, py: Python<'_>) -> PyResult<Option<Ended>> {
        let next = self.ended.lock().pop_front();
        let Some(Outcome { callback, offsets, result }) = next else { return Ok(None) };
        let offsets = to_dict(py, offsets, |committed| {
            Py::new(py, OffsetAndMetadata::from(committed)).map(Py::into_any)
        })?;
        let error = match result {
            Ok(()) => py.None(),
            Err(error) => errors::value(py, &error)?,
        };
        Ok(Some((callback, error, offsets.unbind())))
    }

    /// Calls the callbacks of what has ended; the first that raises ends this, the others wait.
    pub(super) fn tell(&self, py: Python<'_>) -> PyResult<()> {
        while let Some((callback, error, offsets)) = self.next(py)? {
            callback.call1(py, (error, offsets))?;
        }
        Ok(())
    }

    /// Waits until none is under way, or until the deadline.
    pub(super) async fn settled(&self, deadline: Instant) {
        loop {
            let mut fewer = pin!(self.fewer.notified());
            fewer.as_mut().enable();
            if *self.under_way.lock() == 0 || timeout_at(deadline, fewer).await.is_err() {
                return;
            }
        }
    }
}

/// Begins work now, before it is awaited, so that it has its place in the queue of commits before
/// whatever comes later.
pub(super) fn begin<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> PyResult<impl Future<Output = T> + Send + 'static> {
    let runtime = runtime()?;
    let _entered = runtime.enter();
    let mut work = Box::pin(work);
    let done = match work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => Some(done),
        Poll::Pending => None,
    };
    Ok(async move {
        match done {
            Some(done) => done,
            None => work.await,
        }
    })
}

/// Starts a commit; the callback is called with the error, or None, and the offsets.
pub(super) fn commit_async(
    engine: &Arc<Engine>,
    offsets: Option<Offsets>,
    callback: Option<Py<PyAny>>,
) -> PyResult<()> {
    let outcomes = &engine.outcomes;
    {
        let mut under_way = outcomes.under_way.lock();
        if *under_way >= MOST {
            let words = format!("{MOST} commits are under way: wait for some of them, or commit less often");
            return Err(Python::attach(|py| errors::raise(py, &Error::new(Kind::State, words))));
        }
        *under_way += 1;
    }
    // What is committed is what was handed out by now.
    let offsets = offsets.unwrap_or_else(|| engine.core.positions());
    let shared = Arc::clone(engine);
    let work = begin(async move {
        let timeout = shared.core.client().config().default_api_timeout;
        let result = shared.core.commit(Some(offsets.clone()), timeout).await;
        match (callback, &result) {
            (None, Err(error)) => {
                tracing::warn!(target: "ottla.group", %error, "a commit that nobody waited for has failed");
            }
            (None, Ok(())) => {}
            (Some(callback), _) => {
                shared.outcomes.ended.lock().push_back(Outcome { callback, offsets, result });
            }
        }
        *shared.outcomes.under_way.lock() -= 1;
        shared.outcomes.fewer.notify_waiters();
    })?;
    runtime()?.spawn(work);
    Ok(())
}
