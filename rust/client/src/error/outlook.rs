//! Whether the cause of an error is transient, which decides whether the client retries.

use tokio::time::Instant;

use super::{Error, Kind};
use crate::error::recovery::{PASSES_WITHIN, Recovery, recovery};

/// Whether the cause of an error can go away by itself, in order of increasing certainty that it cannot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Outlook {
    /// The cause may go away: a broker is restarting, a network is down.
    #[default]
    Transient,
    /// The cause is probably a setting that does not match the server, but a failing server looks alike.
    ProbablyPermanent,
    /// The cause stays until it is fixed.
    Permanent,
}

impl Error {
    /// Sets the outlook.
    #[must_use]
    pub(crate) fn with_outlook(self, outlook: Outlook) -> Self {
        self.with(|inner| inner.outlook = outlook)
    }

    /// Whether the cause can go away by itself. Of several attempts, one with a transient cause is enough.
    #[must_use]
    pub(crate) fn outlook(&self) -> Outlook {
        if !self.is_transient() {
            return Outlook::Permanent;
        }
        self.attempts().iter().map(Self::outlook).min().unwrap_or(self.0.outlook)
    }

    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_retriable(&self) -> bool {
        match self.0.code {
            Some(code) => code.is_retriable(),
            None => matches!(self.0.kind, Kind::Connection | Kind::Timeout | Kind::Bootstrap),
        }
    }

    /// Whether the client repeats a request without effects after this error, at least for a while: see
    /// [`Error::is_repeated`].
    #[must_use]
    pub(crate) fn may_pass(&self) -> bool {
        self.is_transient() || self.is_unexpected()
    }

    /// Whether a request without effects is repeated after this error, which has lasted since `since`.
    #[must_use]
    pub(crate) fn is_repeated(&self, since: Instant, now: Instant) -> bool {
        let is_new = now.saturating_duration_since(since) < PASSES_WITHIN;
        self.is_transient() || (self.is_unexpected() && is_new)
    }

    /// Whether a broker met something that it did not expect, which may be over soon.
    #[must_use]
    pub(crate) fn is_unexpected(&self) -> bool {
        self.0.code.is_some_and(|code| recovery(code) == Recovery::Passing)
    }

    /// Whether the client itself retries after this error. Includes errors that are not retriable for the
    /// application: malformed data may be well-formed on another connection.
    #[must_use]
    pub(crate) fn is_transient(&self) -> bool {
        match self.0.code {
            Some(code) => code.is_retriable() || recovery(code).retries(),
            None => self.is_retriable() || self.0.kind == Kind::Protocol,
        }
    }
}
