//! Commits that nobody waits for, and who is to be told how they ended.
//!
//! Invariants: they go out in the order in which they were asked for, and what they commit is what it
//! was when they were. Callbacks are called by the thread that polls, or its task, as in Java, in the
//! order in which the commits were asked for; a consumer that is closed waits for what is under way, in
//! its time.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use ottla_client::consumer::offsets::CommittedOffset;
use ottla_client::tasks::panics::try_catch;
use ottla_client::{Error, Kind, Result, TopicPartition};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use super::partitions::OffsetAndMetadata;
use super::partitions::to_dict;
use crate::consumer::consumer_handle::Engine;
use crate::convert::errors;
use crate::runtime::runtime;

/// Commits that may be under way at once; each has its time-out.
const MOST: usize = 10_000;

type Offsets = HashMap<TopicPartition, CommittedOffset>;

/// A commit that has ended.
struct Outcome {
    callback: Py<PyAny>,
    offsets: Offsets,
    result: Result<()>,
}

/// What is known of a commit.
enum Progress {
    UnderWay,
    /// Nobody is to be told.
    Silent,
    Ended(Outcome),
}

/// Commits whose callbacks were not called yet, in the order in which they were asked for.
#[derive(Default)]
struct Commits {
    /// The number of the first; they are numbered as they come.
    first: u64,
    progress: VecDeque<Progress>,
    under_way: usize,
}

impl Commits {
    fn begin(&mut self) -> u64 {
        self.progress.push_back(Progress::UnderWay);
        self.under_way += 1;
        self.first + self.progress.len() as u64 - 1
    }

    fn end(&mut self, number: u64, how: Progress) {
        self.under_way -= 1;
        let at = number.checked_sub(self.first).and_then(|at| usize::try_from(at).ok());
        if let Some(progress) = at.and_then(|at| self.progress.get_mut(at)) {
            *progress = how;
        }
    }

    /// The first that has ended, if none before it is under way.
    fn pop(&mut self) -> Option<Outcome> {
        while !matches!(self.progress.front()?, Progress::UnderWay) {
            self.first += 1;
            if let Some(Progress::Ended(outcome)) = self.progress.pop_front() {
                return Some(outcome);
            }
        }
        None
    }
}

/// Whom to tell, of what error, if any, and of which offsets.
pub(super) type Ended = (Py<PyAny>, Py<PyAny>, Py<PyDict>);

#[derive(Default)]
pub(super) struct Outcomes {
    commits: Mutex<Commits>,
    /// One less is under way.
    fewer: Notify,
}

impl Outcomes {
    /// The next of those that have ended.
    pub(super) fn next(&self, py: Python<'_>) -> PyResult<Option<Ended>> {
        let next = self.commits.lock().pop();
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
            if self.commits.lock().under_way == 0 || timeout_at(deadline, fewer).await.is_err() {
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
    let number = {
        let mut commits = engine.outcomes.commits.lock();
        if commits.under_way >= MOST {
            let words = format!("{MOST} commits are under way: wait for some of them, or commit less often");
            return Err(Python::attach(|py| errors::raise(py, &Error::new(Kind::State, words))));
        }
        commits.begin()
    };
    // What is committed is what was handed out by now.
    let offsets = offsets.unwrap_or_else(|| engine.core.positions());
    let shared = Arc::clone(engine);
    let work = begin(async move {
        let timeout = shared.core.client().config().default_api_timeout;
        let commit = shared.core.commit(Some(offsets.clone()), timeout);
        // Those behind it wait for its end.
        let result = try_catch("a commit", commit).await;
        let progress = match (callback, &result) {
            (None, Err(error)) => {
                tracing::warn!(target: "ottla.group", %error, "a commit that nobody waited for has failed");
                Progress::Silent
            }
            (None, Ok(())) => Progress::Silent,
            (Some(callback), _) => Progress::Ended(Outcome { callback, offsets, result }),
        };
        shared.outcomes.commits.lock().end(number, progress);
        shared.outcomes.fewer.notify_waiters();
    })?;
    runtime()?.spawn(work);
    Ok(())
}
