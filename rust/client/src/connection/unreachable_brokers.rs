//! Errors and warnings about a broker that is unreachable at the address that the cluster advertises.
//!
//! Invariant: an attempt that hangs is reported within seconds, long before it times out.

use std::fmt;
use std::future::Future;

use tokio::time::Instant;

use super::overdue_responses::record_response;
use super::{Settings, SetupProgress};
use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::retry::persistent_failures::{Place, report_while};

/// A broker that a connection is being opened to.
pub(super) struct UnreachableBroker<'a> {
    pub(super) broker: i32,
    pub(super) endpoint: &'a Endpoint,
    pub(super) settings: &'a Settings,
}

impl fmt::Display for UnreachableBroker<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "connecting to broker {}", self.broker)
    }
}

impl UnreachableBroker<'_> {
    /// Awaits an attempt to connect, and reports it while it hangs.
    pub(super) async fn report_while<T>(&self, attempt: impl Future<Output = T>, since: Instant) -> T {
        let report = || self.report(&self.unended(&self.settings.progress), since);
        report_while(attempt, report).await
    }

    /// The error of an attempt that has not ended.
    pub(super) fn unended(&self, progress: &SetupProgress) -> Error {
        self.explain(progress.unended("the broker does not respond"))
    }

    /// Adds the broker's id, the origin of its address and a hint to run the doctor.
    pub(super) fn explain(&self, error: Error) -> Error {
        let Self { broker, endpoint, settings } = self;
        let message = format!(
            "{}; the cluster advertises {endpoint} for broker {broker}: `ottla doctor {}` checks each step",
            error.message(),
            settings.bootstrap
        );
        let error = error.with_message(message).broker(*broker);
        if error.context().address.is_some() { error } else { error.address(endpoint.to_string()) }
    }

    /// Logs a warning if the broker has been unreachable for long enough.
    pub(super) fn report(&self, error: &Error, since: Instant) {
        self.settings.failures.record(self, error, since);
    }

    /// Ends the warnings: the broker has responded at this address.
    pub(super) fn record_success(&self) {
        self.settings.failures.record_success(self, Place::Everywhere);
        record_response(&self.settings.failures, &self.endpoint.to_string());
    }
}
