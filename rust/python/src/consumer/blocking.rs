//! The blocking consumer's calls: runs the steps of a `CallSequence` on the calling thread.
//!
//! Invariants: callbacks run on the thread that polls, inside a poll, and their exceptions are raised by it.
//! Ctrl-C ends any call at once.

use std::time::Duration;

use ottla_client::consumer::group::RebalanceEvent;
use ottla_client::consumer::{CallSequence, PollTarget, Progress, Step, TimeKeeper};
use ottla_client::{Error, Kind};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use tokio::time::Instant;

use crate::client::first_connect::FirstConnect;
use crate::consumer::consumer_handle::ConsumerHandle;
use crate::consumer::poll_guard::Activity;
use crate::consumer::rebalance_listener::changed_partitions;
use crate::consumer::record::Record;
use crate::consumer::steps::{CallError, PollArgs, progress, run_step};
use crate::convert::{callback, errors};
use crate::runtime::{seconds, wait, wait_at_most, wait_for};

/// Returns the deadline for a timeout that begins now.
pub(super) fn deadline_after(timeout: f64) -> PyResult<Instant> {
    Ok(Instant::now() + seconds(Some(timeout), Duration::ZERO)?)
}

/// What a poll waits for, for `timeout` seconds from now. The thread that waits keeps the time.
pub(crate) fn poll_args(target: PollTarget, timeout: f64) -> PyResult<PollArgs> {
    Ok(PollArgs { target, deadline: deadline_after(timeout)?, keeper: TimeKeeper::Caller })
}

/// Returns the deadline for operations without a timeout of their own.
pub(super) fn default_deadline(handle: &ConsumerHandle) -> Instant {
    Instant::now() + handle.core.client().config().default_api_timeout
}

/// Handles a change of the assignment, and calls the callback for it. Its exception is raised once the
/// change is finished.
fn handle_rebalance(
    consumer: &Bound<'_, PyAny>,
    handle: &ConsumerHandle,
    change: &RebalanceEvent,
    deadline: Option<Instant>,
) -> PyResult<Progress> {
    let py = consumer.py();
    handle.poll_lock.set_activity(Activity::Rebalancing);
    wait(py, handle.core.prepare_rebalance(change))?;
    let callback = handle.listener.callback_for(py, change);
    let is_called = callback.is_some();
    handle.poll_lock.set_activity(Activity::Callback);
    let called = callback.map_or(Ok(()), |callback| {
        let partitions = changed_partitions(py, change)?;
        callback::ended(callback.bind(py).call1((consumer, partitions))?.as_any())
    });
    handle.poll_lock.set_activity(Activity::Rebalancing);
    let finished = wait_for(py, handle.core.finish_rebalance(change, called.is_ok(), deadline));
    called.and(finished).map(|()| progress(is_called))
}

/// Runs the steps of a call to its end.
fn run<T>(
    consumer: &Bound<'_, PyAny>,
    handle: &ConsumerHandle,
    mut sequence: CallSequence<CallError>,
    poll: Option<&PollArgs>,
    mut pop: impl FnMut(&ConsumerHandle) -> PyResult<Option<T>>,
) -> PyResult<Option<T>> {
    let py = consumer.py();
    let (mut popped, mut guard) = (None, None);
    loop {
        let (step, deadline) = (sequence.step().clone(), sequence.deadline());
        handle.poll_lock.set_activity(match step {
            Step::CommitCallbacks => Activity::Callback,
            _ => Activity::Interruptible,
        });
        let result = match &step {
            Step::Done => {
                drop(guard);
                return sequence.finish().map(|()| popped).map_err(|CallError(error)| error);
            }
            Step::CommitCallbacks => handle.invoke_commit_callbacks(py).map(progress),
            Step::Take => {
                popped = pop(handle)?;
                // A signal handler may have closed the consumer while records were converted.
                handle.check_not_closed()?;
                Ok(progress(popped.is_some()))
            }
            Step::NextRebalance => {
                Ok(handle.core.next_closing_event().map_or(Progress::Nothing, Progress::Rebalance))
            }
            Step::Rebalance(change) => handle_rebalance(consumer, handle, change, deadline),
            Step::Wait => {
                let left = poll.map(|poll| poll.deadline.saturating_duration_since(Instant::now()));
                let ended =
                    wait_at_most(py, left.unwrap_or_default(), run_step(handle, &step, poll, deadline))?;
                ended
                    .transpose()
                    .map(|ended| ended.unwrap_or(Progress::Nothing))
                    .map_err(|error| errors::raise(py, &error))
            }
            step => wait_for(py, run_step(handle, step, poll, deadline)),
        };
        if let Err(error) = &result
            && !error.is_instance_of::<PyException>(py)
        {
            // Ctrl-C ends the call at once; a later `close` closes what is left.
            return result.map(|_| None);
        }
        sequence.advance(result.map_err(CallError), Instant::now()).map_err(|CallError(error)| error)?;
        if guard.is_none() && matches!(step, Step::AcquirePollLock) && sequence.is_locked() {
            // This thread may be another one than the runtime's that acquired the lock.
            guard = Some(handle.poll_lock.adopt());
        }
    }
}

/// Handles the remaining changes of a membership that ends. The caller holds the lock of polling.
pub(super) fn handle_pending_rebalances(
    consumer: &Bound<'_, PyAny>,
    handle: &ConsumerHandle,
    deadline: Instant,
) -> PyResult<()> {
    run(consumer, handle, CallSequence::unsubscribe(deadline), None, |_| Ok(None::<()>)).map(drop)
}

/// Waits for the target, and pops what is ready; returns `None` at the deadline.
pub(crate) fn poll<T>(
    consumer: &Bound<'_, PyAny>,
    handle: &ConsumerHandle,
    args: &PollArgs,
    pop: impl FnMut(&ConsumerHandle) -> PyResult<Option<T>>,
) -> PyResult<Option<T>> {
    let py = consumer.py();
    let _guard = handle.poll_lock.lock(Activity::Callback).map_err(|error| errors::raise(py, &error))?;
    handle.poll_lock.set_activity(Activity::Interruptible);
    FirstConnect::wait(&handle.first_connect, py, args.deadline)?;
    run(consumer, handle, CallSequence::poll(), Some(args), pop)
}

/// Returns the next record: a buffered one, or else one that a poll waits for.
pub(super) fn next_record(consumer: &Bound<'_, PyAny>, handle: &ConsumerHandle) -> PyResult<Py<Record>> {
    let py = consumer.py();
    {
        let _guard =
            handle.poll_lock.lock(Activity::Interruptible).map_err(|error| errors::raise(py, &error))?;
        handle.on_poll(py)?;
        let record = handle.take_buffered_record(py)?;
        handle.check_not_closed()?;
        if let Some(record) = record {
            return Ok(record);
        }
    }
    let target = PollTarget::records(handle.max_records(None));
    let args = poll_args(target, f64::MAX)?;
    loop {
        if let Some(record) = poll(consumer, handle, &args, |handle| handle.take_record(py))? {
            return Ok(record);
        }
    }
}

/// Leaves the group and closes the consumer, within the timeout.
///
/// The poll that a signal handler interrupts ends afterwards: it returns nothing, and what it would have
/// returned is not committed.
pub(super) fn close(consumer: &Bound<'_, PyAny>, handle: &ConsumerHandle, timeout: f64) -> PyResult<()> {
    let deadline = deadline_after(timeout)?;
    let interrupted = handle.poll_lock.activity_of_this_thread();
    if interrupted == Some(Activity::Callback) {
        let message = "close() in a callback of the consumer: return first, or call wakeup()";
        return Err(errors::raise(consumer.py(), &Error::new(Kind::State, message)));
    }
    if !handle.start_closing() {
        return Ok(());
    }
    let sequence = match interrupted {
        None => CallSequence::close(deadline),
        Some(activity) => {
            handle.take_back(consumer.py())?;
            CallSequence::close_in_handler(deadline, activity != Activity::Rebalancing)
        }
    };
    let closed = run(consumer, handle, sequence, None, |_| Ok(None::<()>));
    if let Some(activity) = interrupted {
        handle.poll_lock.set_activity(activity);
    }
    if handle.is_closed() {
        handle.release(consumer.py())?;
    }
    closed.map(drop)
}
