//! Repeats a request about a transaction until its outcome is known.
//!
//! Invariants: there is a pause before each attempt but the first. A request that may take effect later is
//! noted in the state, which then requires a new epoch before the next transaction. Failures that persist
//! are warnings.

use std::future::Future;

use tokio::time::{Duration, Instant, sleep_until, timeout_at};

use super::TransactionManager;
use super::error_class::{ErrorClass, TransactionRequest, error_class, is_in_doubt};
use super::state::TransactionProtocol;
use crate::cluster::{Client, Coordinator, CoordinatorKind};
use crate::error::{Error, Kind, Result};
use crate::retry::backoff::Backoff;
use crate::retry::persistent_failures::Place;

/// The first wait after CONCURRENT_TRANSACTIONS. The coordinator ends a transaction within milliseconds, and
/// `retry.backoff.ms` would make short transactions many times slower.
const SOON: Duration = Duration::from_millis(20);
/// The least wait between attempts, whatever `retry.backoff.ms` is.
pub(super) const MIN_PAUSE: Duration = Duration::from_millis(10);

/// A request that failed for good.
#[derive(Debug)]
pub(super) struct RequestFailure {
    pub(super) class: ErrorClass,
    pub(super) error: Error,
}

/// The wait after `failures` consecutive CONCURRENT_TRANSACTIONS.
pub(in crate::producer) fn concurrent_transactions_backoff(client: &Client, failures: u32) -> Duration {
    let max = client.config().retry_backoff_max.max(SOON);
    Backoff { first: SOON, max }.after(failures, client.inner.environment.random())
}

/// The attempts of one request.
pub(super) struct Attempts<'a> {
    client: &'a Client,
    manager: &'a TransactionManager,
    request: TransactionRequest,
    /// The operation, for messages.
    what: String,
    deadline: Option<Instant>,
    failures: u32,
    concurrent: u32,
    failing_since: Option<Instant>,
}

impl<'a> Attempts<'a> {
    pub(super) fn new(
        client: &'a Client,
        manager: &'a TransactionManager,
        request: TransactionRequest,
        what: impl Into<String>,
    ) -> Self {
        let what = what.into();
        Self {
            client,
            manager,
            request,
            what,
            deadline: None,
            failures: 0,
            concurrent: 0,
            failing_since: None,
        }
    }

    /// Gives up at a deadline.
    pub(super) fn until(mut self, deadline: Instant) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Sends the request until it succeeds or fails for good. `attempt` sends it once.
    pub(super) async fn run<T, F: Future<Output = Result<T>>>(
        mut self,
        (kind, key): (CoordinatorKind, &str),
        mut attempt: impl FnMut(Coordinator) -> F,
    ) -> Result<T, RequestFailure> {
        loop {
            let mut sent = false;
            let one = async {
                let coordinator = self.client.coordinator(kind, key).await?;
                let coordinator = coordinator.avoid_blocked_connection(self.client).await;
                sent = true;
                attempt(coordinator).await
            };
            let result = match self.deadline {
                Some(deadline) => {
                    timeout_at(deadline, one).await.unwrap_or_else(|_| Err(self.timed_out(None)))
                }
                None => one.await,
            };
            let error = match result {
                Ok(value) => {
                    if self.failing_since.is_some() {
                        self.client.record_success(&self.what, Place::Everywhere);
                    }
                    return Ok(value);
                }
                Err(error) => error.prefixed(&self.what),
            };
            if sent && is_in_doubt(&error) {
                self.note_doubt();
            }
            self.pause(error).await?;
        }
    }

    /// The request may take effect later. With protocol 2, the end of the transaction bumps the epoch, which
    /// makes any other request harmless.
    fn note_doubt(&self) {
        let mut shared = self.manager.shared.lock();
        match self.request {
            TransactionRequest::InitProducerId | TransactionRequest::Describe => return,
            TransactionRequest::End(_) => shared.state.require_new_epoch(),
            _ if shared.state.protocol() == TransactionProtocol::V1 => shared.state.require_new_epoch(),
            _ => {}
        }
        shared.state.start();
    }

    /// Waits before the next attempt, or fails if there must be none.
    async fn pause(&mut self, error: Error) -> Result<(), RequestFailure> {
        let class = error_class(self.request, &error);
        let wait = match class {
            ErrorClass::Fatal | ErrorClass::Abortable => return Err(RequestFailure { class, error }),
            ErrorClass::RetrySoon => {
                self.concurrent += 1;
                concurrent_transactions_backoff(self.client, self.concurrent)
            }
            ErrorClass::Retry => {
                self.failures += 1;
                self.client.backoff(self.failures).max(MIN_PAUSE)
            }
        };
        if let Err(closed) = self.client.check_open() {
            return Err(RequestFailure { class: ErrorClass::Fatal, error: closed });
        }
        // Both are pointless once the transaction is aborted.
        if matches!(self.request, TransactionRequest::AddPartitions | TransactionRequest::Describe)
            && let Some(reason) = self.manager.abort_reason()
        {
            return Err(RequestFailure { class: ErrorClass::Abortable, error: reason });
        }
        let now = Instant::now();
        let since = *self.failing_since.get_or_insert(now);
        self.client.record_failure(&self.what, &error, since);
        tracing::debug!(target: "ottla.transaction", ?wait, %error, "retrying");
        match self.deadline {
            Some(deadline) if now + wait >= deadline => {
                let error = self.timed_out(Some(error));
                Err(RequestFailure { class: ErrorClass::Abortable, error })
            }
            _ => {
                self.client.count_retry(&error);
                sleep_until(now + wait).await;
                Ok(())
            }
        }
    }

    fn timed_out(&self, last: Option<Error>) -> Error {
        let message = "no success within max.block.ms";
        match last {
            Some(last) => last.prefixed(message).as_kind(Kind::Timeout),
            None => Error::new(Kind::Timeout, message),
        }
    }
}
