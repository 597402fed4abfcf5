//! The state of a `Producer` besides its hooks: the core producer, its client and its callbacks.
//!
//! Invariant: `flush` and `close` return once everything they wait for is acknowledged or failed and
//! its callbacks were called. Both are bounded in time.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ottla_client::producer::{Producer as CoreProducer, TopicWriter, UnobservedFailure};
use pyo3::PyVisit;
use pyo3::prelude::*;
use tokio::time::Instant;

use crate::convert::errors;
use crate::garbage::{Traverse, Visited};
use crate::producer::base::HasCore;
use crate::producer::callbacks::{CallbackPermit, Callbacks};
use crate::runtime::exit::CloseAtExit;
use crate::runtime::wait_for;
use crate::token_callback;

/// The minimum time that `close` waits for callbacks.
const MIN_CALLBACK_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) struct ProducerHandle {
    pub(crate) core: CoreProducer,
    /// Created with the first callback.
    callbacks: OnceLock<Callbacks>,
    /// The client was created for this producer and is closed with it.
    own_client: bool,
}

impl ProducerHandle {
    pub(crate) fn new(core: CoreProducer, own_client: bool) -> Self {
        Self { core, callbacks: OnceLock::new(), own_client }
    }

    /// The writer of a topic that includes `partition`, looked up if necessary.
    pub(crate) fn topic_writer(
        &self,
        py: Python<'_>,
        topic: &str,
        partition: Option<i32>,
        until: impl FnOnce() -> Instant,
    ) -> PyResult<Arc<TopicWriter>> {
        match self.core.cached_topic_writer(topic) {
            Some(writer) if !writer.lacks_partition(partition) => Ok(writer),
            _ => wait_for(py, self.core.topic_writer_for(topic, partition, until())),
        }
    }

    /// A permit for one more callback.
    pub(crate) fn callback_permit(
        &self,
        py: Python<'_>,
        until: impl FnOnce() -> Instant,
    ) -> PyResult<CallbackPermit<'_>> {
        self.callbacks(py)?.permit(py, until)
    }

    /// The callbacks; their thread starts on the first call.
    pub(crate) fn callbacks(&self, py: Python<'_>) -> PyResult<&Callbacks> {
        if let Some(callbacks) = self.callbacks.get() {
            return Ok(callbacks);
        }
        let callbacks = Callbacks::start(py)?;
        // If another thread was faster, this callback thread ends.
        Ok(self.callbacks.get_or_init(|| callbacks))
    }

    pub(crate) fn flush(&self, py: Python<'_>, timeout: Duration) -> PyResult<()> {
        let began = Instant::now();
        wait_for(py, self.core.flush(timeout))?;
        let called = match self.callbacks.get() {
            Some(callbacks) => callbacks.flush(py, timeout.saturating_sub(began.elapsed())),
            None => Ok(()),
        };
        self.core.warn_unobserved_failures();
        called
    }

    pub(crate) fn close(&self, py: Python<'_>, timeout: Duration) -> PyResult<()> {
        let began = Instant::now();
        let closed = wait_for(py, self.core.close(timeout));
        if self.own_client {
            py.detach(|| self.core.client().close());
        }
        let called = self.callbacks.get().map_or(Ok(()), |callbacks| {
            callbacks.close();
            // Records that failed have callbacks too, which need some time.
            callbacks.flush(py, timeout.saturating_sub(began.elapsed()).max(MIN_CALLBACK_TIMEOUT))
        });
        self.core.warn_unobserved_failures();
        closed.and(called)
    }

    /// Ends a `with` block. Without an exception in the block, raises the first failure of a record
    /// whose result was not checked; the block's own exception takes precedence.
    pub(crate) fn leave(&self, py: Python<'_>, failed: bool, closed: PyResult<()>) -> PyResult<()> {
        leave(py, failed, closed, || self.core.unobserved_failure())
    }
}

impl Traverse for ProducerHandle {
    fn traverse(&self, visit: &PyVisit<'_>) -> Visited {
        self.callbacks.get().map_or(Ok(()), |callbacks| callbacks.traverse(visit))?;
        if self.own_client { token_callback::traverse(self.core.client(), visit) } else { Ok(()) }
    }
}

impl HasCore for ProducerHandle {
    fn core(&self) -> &CoreProducer {
        &self.core
    }
}

/// Raises what ends a `with` block, where `closed` is the result of closing.
pub(crate) fn leave(
    py: Python<'_>,
    failed: bool,
    closed: PyResult<()>,
    unobserved: impl FnOnce() -> Option<UnobservedFailure>,
) -> PyResult<()> {
    if failed {
        return errors::prefer_block_error(py, closed, |error| {
            tracing::warn!(target: "ottla.producer", error, "closing the producer failed after the exception in its with block");
        });
    }
    closed?;
    unobserved().map_or(Ok(()), |failure| Err(errors::raise(py, &failure.into_error())))
}

impl CloseAtExit for ProducerHandle {
    fn close_at_exit(&self, py: Python<'_>, timeout: Duration) -> PyResult<()> {
        self.close(py, timeout)
    }
}
