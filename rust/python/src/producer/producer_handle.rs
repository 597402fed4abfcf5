//! What a `Producer` holds besides its hooks: the engine's producer, its client and its callbacks.
//!
//! Invariant: `flush` and `close` return when all that they waited for is acknowledged or failed, and
//! its callbacks were called; both are bounded in time.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ottla_client::producer::{Producer as Core, Target, UnseenFailure};
use pyo3::prelude::*;
use tokio::time::Instant;

use crate::convert::errors;
use crate::producer::callbacks::{Callbacks, Place};
use crate::producer::exit::Ending;
use crate::runtime::wait_for;

/// How long `close` waits for callbacks at least.
const CALLBACKS: Duration = Duration::from_secs(5);

pub(crate) struct Engine {
    pub(crate) core: Core,
    /// From the first record with one on.
    callbacks: OnceLock<Callbacks>,
    /// The client was made for this producer and goes with it.
    own_client: bool,
}

impl Engine {
    pub(crate) fn new(core: Core, own_client: bool) -> Self {
        Self { core, callbacks: OnceLock::new(), own_client }
    }

    /// The topic, looked up if it has to be, for records that go to partitions up to this one.
    pub(crate) fn target(
        &self,
        py: Python<'_>,
        topic: &str,
        partition: Option<i32>,
        until: impl FnOnce() -> Instant,
    ) -> PyResult<Arc<Target>> {
        match self.core.known_target(topic) {
            Some(target) if !target.ends_before(partition) => Ok(target),
            _ => wait_for(py, self.core.target_up_to(topic, partition, until())),
        }
    }

    /// A place for one more callback.
    pub(crate) fn place(&self, py: Python<'_>, until: impl FnOnce() -> Instant) -> PyResult<Place<'_>> {
        self.callbacks(py)?.place(py, until)
    }

    /// The callbacks, and their thread from the first time on.
    pub(crate) fn callbacks(&self, py: Python<'_>) -> PyResult<&Callbacks> {
        if let Some(callbacks) = self.callbacks.get() {
            return Ok(callbacks);
        }
        let made = Callbacks::start(py)?;
        // If another thread was quicker, this one's thread ends.
        Ok(self.callbacks.get_or_init(|| made))
    }

    pub(crate) fn flush(&self, py: Python<'_>, timeout: Duration) -> PyResult<()> {
        let began = Instant::now();
        wait_for(py, self.core.flush(timeout))?;
        let called = match self.callbacks.get() {
            Some(callbacks) => callbacks.flush(py, timeout.saturating_sub(began.elapsed())),
            None => Ok(()),
        };
        self.core.warn_of_unseen_failures();
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
            // Also those of what failed, so that there is some time for them.
            callbacks.flush(py, timeout.saturating_sub(began.elapsed()).max(CALLBACKS))
        });
        self.core.warn_of_unseen_failures();
        closed.and(called)
    }

    /// Closes it at the end of a `with` block. Without an exception in the block, raises the first failure
    /// of a record that nobody has asked about; with one, nothing takes its place.
    pub(crate) fn leave(&self, py: Python<'_>, failed: bool, closed: PyResult<()>) -> PyResult<()> {
        leave(py, failed, closed, || self.core.unseen_failure())
    }
}

/// What the end of a `with` block raises, if closing came to `closed`.
pub(crate) fn leave(
    py: Python<'_>,
    failed: bool,
    closed: PyResult<()>,
    unseen: impl FnOnce() -> Option<UnseenFailure>,
) -> PyResult<()> {
    if failed {
        return errors::prefer_block_error(py, closed, |error| {
            tracing::warn!(target: "ottla.producer", error, "the producer could not be closed as it should after the exception in its with block");
        });
    }
    closed?;
    unseen().map_or(Ok(()), |unseen| Err(errors::raise(py, &unseen.into_error())))
}

impl Ending for Engine {
    fn end(&self, py: Python<'_>, timeout: Duration) -> PyResult<()> {
        self.close(py, timeout)
    }
}
