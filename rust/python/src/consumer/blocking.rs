//! The blocking consumer's poll, rebalances and close, apart from its methods.
//!
//! Invariants: callbacks run on the thread that polls, inside a poll, and their exceptions are raised
//! by it. The first error is raised after everything else was done.

use std::future::Future;
use std::time::Duration;

use ottla_client::consumer::group::RebalanceEvent;
use ottla_client::{Error, Kind};
use pyo3::prelude::*;
use tokio::time::{Instant, timeout_at};

use crate::consumer::arrow_buffer::BatchLayout;
use crate::consumer::consumer_handle::{ConsumerHandle, PollOutcome};
use crate::consumer::rebalance_listener::changed_partitions;
use crate::consumer::record::Record;
use crate::convert::errors;
use crate::runtime::{seconds, wait, wait_for};

/// Returns the deadline for a timeout that begins now.
pub(super) fn deadline_after(timeout: f64) -> PyResult<Instant> {
    Ok(Instant::now() + seconds(Some(timeout), Duration::ZERO)?)
}

/// Returns the deadline for operations without a timeout of their own.
pub(super) fn default_deadline(handle: &ConsumerHandle) -> Instant {
    Instant::now() + handle.core.client().config().default_api_timeout
}

fn time_left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

/// Handles a change of the assignment, and calls the callback for it. Its exception is raised once the
/// change is finished. Waits for commits until the deadline.
fn handle_rebalance(
    consumer: &Bound<'_, PyAny>,
    handle: &ConsumerHandle,
    change: &RebalanceEvent,
    deadline: Instant,
) -> PyResult<()> {
    let py = consumer.py();
    wait(py, handle.core.prepare_rebalance(change))?;
    let called = match handle.listener.callback_for(py, change) {
        Some(callback) => changed_partitions(py, change)
            .and_then(|partitions| callback.call1(py, (consumer, partitions)))
            .map(drop),
        None => Ok(()),
    };
    // A callback that raises does not wait for its commits.
    let settled = async { timeout_at(deadline, handle.core.await_pending_commits(change)).await };
    let called = called.and_then(|()| wait(py, settled).map(drop));
    let finished = handle.core.complete_rebalance(change).map_err(|error| errors::raise(py, &error));
    called.and(finished)
}

/// Handles the remaining changes of a membership that ends.
pub(super) fn handle_pending_rebalances(
    consumer: &Bound<'_, PyAny>,
    handle: &ConsumerHandle,
    deadline: Instant,
) -> PyResult<()> {
    let mut result = Ok(());
    while Instant::now() < deadline
        && let Some(change) = handle.core.next_closing_event()
    {
        result = result.and(handle_rebalance(consumer, handle, &change, deadline));
    }
    result
}

/// What a poll waits for: records or a batch.
pub(super) trait PollTarget {
    fn wait(
        &self,
        handle: &ConsumerHandle,
        deadline: Instant,
    ) -> impl Future<Output = ottla_client::Result<PollOutcome>> + Send;
}

/// Records, at most so many.
pub(super) struct MaxRecords(pub(super) usize);

impl PollTarget for MaxRecords {
    async fn wait(&self, handle: &ConsumerHandle, deadline: Instant) -> ottla_client::Result<PollOutcome> {
        handle.wait_for_records(deadline, self.0).await
    }
}

impl PollTarget for BatchLayout {
    async fn wait(&self, handle: &ConsumerHandle, deadline: Instant) -> ottla_client::Result<PollOutcome> {
        handle.wait_for_batch(deadline, self).await
    }
}

/// Waits for the target, and pops what is ready; returns `None` at the deadline.
pub(super) fn poll<T>(
    consumer: &Bound<'_, PyAny>,
    handle: &ConsumerHandle,
    deadline: Instant,
    target: &impl PollTarget,
    mut pop: impl FnMut(&ConsumerHandle) -> PyResult<Option<T>>,
) -> PyResult<Option<T>> {
    let py = consumer.py();
    let _guard = handle.poll_lock.lock().map_err(|error| errors::raise(py, &error))?;
    loop {
        handle.commit_callbacks.invoke_completed(py)?;
        match wait_for(py, target.wait(handle, deadline))? {
            PollOutcome::Rebalance(change) => {
                handle_rebalance(consumer, handle, &change, default_deadline(handle))?;
            }
            PollOutcome::Empty => return Ok(None),
            PollOutcome::Ready => {
                if let Some(popped) = pop(handle)? {
                    return Ok(Some(popped));
                }
            }
        }
    }
}

/// Returns the next record: a buffered one, or else one that a poll waits for.
pub(super) fn next_record(consumer: &Bound<'_, PyAny>, handle: &ConsumerHandle) -> PyResult<Py<Record>> {
    let py = consumer.py();
    {
        let _guard = handle.poll_lock.lock().map_err(|error| errors::raise(py, &error))?;
        if let Some(record) = handle.pop_buffered_record(py)? {
            return Ok(record);
        }
    }
    let target = MaxRecords(handle.max_records(None));
    loop {
        let deadline = deadline_after(f64::MAX)?;
        if let Some(record) = poll(consumer, handle, deadline, &target, |handle| handle.pop_record(py))? {
            return Ok(record);
        }
    }
}

/// Leaves the group and closes the consumer, within the timeout.
pub(super) fn close(consumer: &Bound<'_, PyAny>, handle: &ConsumerHandle, timeout: f64) -> PyResult<()> {
    let py = consumer.py();
    let deadline = deadline_after(timeout)?;
    if handle.poll_lock.is_held_by_this_thread() {
        let message = "close() in a callback of the consumer: return first, or call wakeup()";
        return Err(errors::raise(py, &Error::new(Kind::State, message)));
    }
    if !handle.start_closing() {
        return Ok(());
    }
    let guard = wait(py, handle.poll_lock.acquire_by(deadline))?.then(|| handle.poll_lock.adopt());
    let mut result = handle.commit_callbacks.invoke_completed(py);
    wait(py, handle.begin_close(time_left(deadline)))?;
    // Without the lock, another thread is still in a callback, and closing does not wait for it.
    if guard.is_some() {
        result = result.and(handle_pending_rebalances(consumer, handle, deadline));
    }
    let left_group = wait_for(py, handle.end_close(time_left(deadline)));
    result = result.and(handle.commit_callbacks.invoke_completed(py)).and(left_group);
    handle.forget_callbacks();
    result
}
