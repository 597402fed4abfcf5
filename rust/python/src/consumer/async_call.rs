//! `ConsumerCall`: the steps of a call of `AsyncConsumer`, for `python/ottla/_internal/async_consumer.py` to await.
//!
//! Invariant: Python learns each step from `next_step` and reports those that it runs itself; the others
//! are futures, which report their own results.

use std::sync::Arc;

use ottla_client::consumer::{CallSequence, PollTarget, Progress, Step, TimeKeeper};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::{IntoPyObjectExt, intern};
use tokio::time::Instant;

use crate::asyncio::start;
use crate::consumer::consumer_handle::ConsumerHandle;
use crate::consumer::rebalance_change::RebalanceChange;
use crate::consumer::steps::{CallError, PollArgs, progress, run_step};
use crate::runtime::ProcessLocal;

type Sequence = Arc<Mutex<CallSequence<CallError>>>;

/// The steps of a poll, an ``unsubscribe`` or a ``close`` of ``AsyncConsumer``.
#[pyclass(frozen, module = "ottla._core")]
pub(crate) struct ConsumerCall {
    handle: ProcessLocal<Arc<ConsumerHandle>>,
    sequence: Sequence,
    poll: Option<Arc<PollArgs>>,
}

fn advance(sequence: &Sequence, result: Result<Progress, CallError>) -> PyResult<()> {
    sequence.lock().advance(result, Instant::now()).map_err(|CallError(error)| error)
}

impl ConsumerCall {
    fn new(
        handle: &Arc<ConsumerHandle>,
        sequence: CallSequence<CallError>,
        poll: Option<Arc<PollArgs>>,
    ) -> Self {
        let sequence = Arc::new(Mutex::new(sequence));
        Self { handle: ProcessLocal::new(Arc::clone(handle)), sequence, poll }
    }

    pub(super) fn poll(handle: &Arc<ConsumerHandle>, target: PollTarget, deadline: Instant) -> Self {
        Self::new(
            handle,
            CallSequence::poll(),
            Some(Arc::new(PollArgs { target, deadline, keeper: TimeKeeper::Timer })),
        )
    }

    pub(super) fn unsubscribe(handle: &Arc<ConsumerHandle>, deadline: Instant) -> Self {
        Self::new(handle, CallSequence::unsubscribe(deadline), None)
    }

    pub(super) fn close(handle: &Arc<ConsumerHandle>, deadline: Instant) -> Self {
        Self::new(handle, CallSequence::close(deadline), None)
    }

    /// Starts a step of the core, as a future that reports its result.
    fn start_step<'py>(&self, py: Python<'py>, step: Step) -> PyResult<Bound<'py, PyAny>> {
        let (handle, sequence) = (Arc::clone(self.handle.get()?), Arc::clone(&self.sequence));
        let (poll, deadline) = (self.poll.clone(), sequence.lock().deadline());
        let work = async move { Ok(run_step(&handle, &step, poll.as_deref(), deadline).await) };
        start(py, work, move |py, result| {
            advance(&sequence, result.map_err(CallError::from))?;
            Ok(py.None())
        })
    }
}

#[pymethods]
impl ConsumerCall {
    /// Return the next step: a name or change to handle, a future to await, or None at the end.
    ///
    /// Raises:
    ///     Exception: the first error of an ``unsubscribe`` or ``close`` that is done.
    fn next_step<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (step, deadline) = {
            let sequence = self.sequence.lock();
            (sequence.step().clone(), sequence.deadline())
        };
        let named = |name: &Bound<'py, pyo3::types::PyString>| Ok(Some(name.clone().into_any()));
        match step {
            Step::CommitCallbacks => named(intern!(py, "commit_callbacks")),
            Step::Take => named(intern!(py, "take")),
            Step::NextRebalance => named(intern!(py, "next_rebalance")),
            Step::Rebalance(change) => {
                let handle = Arc::clone(self.handle.get()?);
                RebalanceChange::new(handle, change, deadline).into_bound_py_any(py).map(Some)
            }
            Step::Done => {
                let ended = std::mem::replace(&mut *self.sequence.lock(), CallSequence::poll());
                if ended.is_locked() && self.poll.is_none() {
                    self.handle.get()?.poll_lock.release();
                }
                ended.finish().map(|()| None).map_err(|CallError(error)| error)
            }
            step => self.start_step(py, step).map(Some),
        }
    }

    /// Report that a step ended, and whether there was something to do or to take.
    fn completed(&self, is_done: bool) -> PyResult<()> {
        advance(&self.sequence, Ok(progress(is_done)))
    }

    /// Report the exception of a step; a poll raises it.
    fn failed(&self, error: Bound<'_, PyAny>) -> PyResult<()> {
        advance(&self.sequence, Err(CallError(PyErr::from_value(error))))
    }

    /// Take the next change of a membership that ends, as the next step.
    fn take_rebalance(&self) -> PyResult<()> {
        let event = self.handle.get()?.core.next_closing_event();
        advance(&self.sequence, Ok(event.map_or(Progress::Nothing, Progress::Rebalance)))
    }

    /// The seconds until all steps must end; None for a poll.
    fn time_left(&self) -> Option<f64> {
        let deadline = self.sequence.lock().deadline()?;
        Some(deadline.saturating_duration_since(Instant::now()).as_secs_f64())
    }
}
