//! How often requests and batches were sent again, by cause.
//!
//! Invariant: the causes are the names of error codes and the few names below.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use crate::error::{Error, Kind, Phase};

#[derive(Debug, Default)]
pub(super) struct RetryCauses(Mutex<BTreeMap<&'static str, u64>>);

impl RetryCauses {
    pub(super) fn count(&self, error: &Error) {
        *self.0.lock().entry(cause(error)).or_default() += 1;
    }

    /// The causes in alphabetical order.
    pub(super) fn all(&self) -> Vec<(&'static str, u64)> {
        self.0.lock().iter().map(|(cause, count)| (*cause, *count)).collect()
    }
}

/// The name of an error's cause.
fn cause(error: &Error) -> &'static str {
    if let Some(code) = error.code() {
        return code.name();
    }
    match (error.kind(), error.context().phase) {
        (Kind::Timeout, _) => "timeout",
        (Kind::Connection, _) if error.is_overdue() => "timeout",
        (Kind::Bootstrap, _)
        | (
            Kind::Connection,
            Some(Phase::Dns | Phase::Tcp | Phase::Proxy | Phase::Tls | Phase::ApiVersions | Phase::Sasl),
        ) => "cannot connect",
        // No connection has ended, since the error has no address: there was no broker to send it to.
        (Kind::Connection, _) if error.context().address.is_none() => "no broker",
        (Kind::Connection, _) => "connection lost",
        (Kind::Protocol, _) => "malformed response",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ottla_protocol::ErrorCode;

    #[test]
    fn causes_are_codes_or_a_few_names() {
        let lost = || Error::new(Kind::Connection, "lost");
        let at = || lost().address("kafka1:9092");
        for (error, expected) in [
            (Error::from_code(ErrorCode::NotLeaderOrFollower), "NOT_LEADER_OR_FOLLOWER"),
            (Error::from_code(ErrorCode::Unknown(31_000)), "UNKNOWN_ERROR_CODE"),
            (Error::new(Kind::Timeout, "late"), "timeout"),
            (at().overdue(), "timeout"),
            (at(), "connection lost"),
            (at().phase(Phase::Request), "connection lost"),
            (at().phase(Phase::Tcp), "cannot connect"),
            (Error::new(Kind::Bootstrap, "none"), "cannot connect"),
            (lost(), "no broker"),
            (Error::new(Kind::Protocol, "garbage"), "malformed response"),
            (Error::new(Kind::Internal, "?"), "other"),
        ] {
            assert_eq!(cause(&error), expected, "{error}");
        }
    }
}
