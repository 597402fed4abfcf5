//! Retries within a deadline, shared by all calls.
//!
//! Invariant: no wait exceeds the deadline, and the error at the deadline contains the last failure.
//! Persistent failures are logged as warnings long before the deadline.

pub(crate) mod awaited;
pub mod backoff;
pub(crate) mod persistent_failures;
pub(crate) mod warning_pace;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::time::{Duration, Instant, sleep};

use crate::environment::Environment;
use crate::error::{Error, Kind, Result};
use crate::metrics::Metrics;
use crate::retry::backoff::Backoff;
use crate::retry::persistent_failures::{PersistentFailures, Place};

/// After this long without an attempt, earlier failures no longer count.
pub(crate) const FAILURES_FORGOTTEN_AFTER: Duration = Duration::from_secs(60);
/// Longer timeouts could overflow `Instant`.
const MAX_TIMEOUT: Duration = Duration::from_secs(10 * 365 * 86_400);

/// The deadline after `timeout`, however large that is.
pub(crate) fn deadline(timeout: Duration) -> Instant {
    Instant::now() + timeout.min(MAX_TIMEOUT)
}

/// The line that ends the warnings about `what`, which has failed for this long.
pub(crate) fn recovery_line(lasted: Duration, what: impl std::fmt::Display) -> String {
    format!("recovered after {} s: {what}", lasted.as_secs())
}

/// The attempts of one call.
#[derive(Debug)]
pub(crate) struct Retry {
    what: String,
    started: Instant,
    deadline: Instant,
    backoff: Backoff,
    environment: Environment,
    failures: u32,
    /// When the first of the consecutive failures occurred.
    failing_since: Option<Instant>,
    last: Option<Error>,
    /// Whether the last attempt succeeded.
    succeeded: AtomicBool,
    reports: Arc<PersistentFailures>,
    /// Where retries of requests to brokers are counted.
    metrics: Option<Arc<Metrics>>,
}

impl Retry {
    pub(crate) fn new(
        what: impl Into<String>,
        timeout: Duration,
        backoff: Backoff,
        environment: &Environment,
        reports: Arc<PersistentFailures>,
    ) -> Self {
        let (started, timeout) = (Instant::now(), timeout.min(MAX_TIMEOUT));
        Self {
            what: what.into(),
            started,
            deadline: started + timeout,
            backoff,
            environment: environment.clone(),
            failures: 0,
            failing_since: None,
            last: None,
            succeeded: AtomicBool::new(false),
            reports,
            metrics: None,
        }
    }

    /// Counts the retries in the client's request statistics.
    pub(crate) fn counted_in(mut self, metrics: &Arc<Metrics>) -> Self {
        self.metrics = Some(Arc::clone(metrics));
        self
    }

    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Runs one attempt, limited by the deadline.
    pub(crate) async fn attempt<T>(&self, attempt: impl Future<Output = Result<T>>) -> Result<T> {
        self.succeeded.store(false, Ordering::Relaxed);
        let result = match awaited::until(self.deadline, attempt).await {
            Ok(result) => result,
            Err(awaited) => Err(self.timed_out_awaiting(awaited)),
        };
        self.succeeded.store(result.is_ok(), Ordering::Relaxed);
        result
    }

    /// Whether a request that may be sent twice is repeated after `error`: while it is transient, and after
    /// an unexpected error of a broker for a limited time.
    pub(crate) fn repeats(&mut self, error: &Error) -> bool {
        let since = *self.failing_since.get_or_insert_with(Instant::now);
        error.is_repeated(since, Instant::now())
    }

    /// Records a failure and waits before the next attempt; fails if the deadline leaves no time for
    /// one.
    pub(crate) async fn pause(&mut self, error: Error) -> Result<()> {
        self.pause_at_least(error, Duration::ZERO).await
    }

    /// As [`pause`](Self::pause), for at least this long.
    pub(crate) async fn pause_at_least(&mut self, error: Error, least: Duration) -> Result<()> {
        if self.is_over(&error) {
            return Err(error);
        }
        self.failures += 1;
        // What responded may have refused a part.
        self.succeeded.store(false, Ordering::Relaxed);
        let wait = self.backoff.after(self.failures, self.environment.random()).max(least);
        tracing::debug!(target: "ottla.retry", what = %self.what, failures = self.failures, ?wait, %error, "retrying");
        self.report(&error);
        let has_time = Instant::now() + wait < self.deadline;
        if has_time && let Some(metrics) = &self.metrics {
            metrics.requests.retried(&error);
        }
        self.last = Some(error);
        if !has_time {
            tokio::time::sleep_until(self.deadline).await;
            return Err(self.timed_out());
        }
        sleep(wait).await;
        Ok(())
    }

    /// The failure of an attempt that the deadline ended: it may have had no time to fail for the reason of the
    /// failure before it, which is named first.
    #[cfg(feature = "arrow")]
    pub(crate) fn cut_short(&self, error: Error) -> Error {
        match &self.last {
            Some(last) => last.clone().with_message(format!(
                "{}; the last attempt: {}",
                last.message(),
                error.message()
            )),
            None => error,
        }
    }

    /// Warns if the failures have persisted.
    fn report(&mut self, error: &Error) {
        let since = *self.failing_since.get_or_insert_with(Instant::now);
        self.reports.record(&self.what, error, since);
    }

    /// Whether `error` is this call's own timeout.
    fn is_over(&self, error: &Error) -> bool {
        error.kind() == Kind::Timeout && Instant::now() >= self.deadline
    }

    /// Resets the failures after progress, which ends their warnings.
    pub(crate) fn progress(&mut self) {
        self.failures = 0;
        if self.failing_since.take().is_some() {
            self.reports.record_success(&self.what, Place::Everywhere);
        }
    }

    /// Resets the failures and the deadline: for calls that are limited by a lack of progress and not by
    /// their duration.
    pub(crate) fn restart(&mut self) {
        self.progress();
        let timeout = self.deadline - self.started;
        self.started = Instant::now();
        self.deadline = self.started + timeout;
    }

    pub(crate) fn timed_out(&self) -> Error {
        match &self.last {
            Some(last) => self.timed_out_after(last),
            None => Error::new(Kind::Timeout, self.late()),
        }
    }

    /// The error of a call that the deadline ended during an attempt, which still waited for this.
    fn timed_out_awaiting(&self, awaited: Vec<Error>) -> Error {
        match (&self.last, awaited.first()) {
            (None, Some(first)) => self.timed_out_after(&first.clone().with_attempts(awaited)),
            // What has failed is known; what was awaited might still have come.
            _ => self.timed_out(),
        }
    }

    /// The error of a call that the deadline ended, whose last failure was this. It keeps its context and code.
    pub(crate) fn timed_out_after(&self, last: &Error) -> Error {
        last.clone().prefixed(self.late()).as_kind(match last.kind() {
            kind @ (Kind::UnknownTopic | Kind::Authorization | Kind::DataLoss) => kind,
            _ => Kind::Timeout,
        })
    }

    fn late(&self) -> String {
        // What passed since the caller took the time is no part of the timeout that it gave.
        let millis = (self.deadline - self.started + Duration::from_micros(500)).as_millis();
        format!("{} did not succeed within {millis} ms", self.what)
    }
}

impl Drop for Retry {
    /// A call that ends with an attempt that succeeded has recovered from its failures.
    fn drop(&mut self) {
        if self.succeeded.load(Ordering::Relaxed) {
            self.progress();
        }
    }
}
