//! Errors that several parts of the producer report.

use std::time::Duration;

use crate::error::{Error, Kind};

/// The producer was closed.
pub(super) fn closed() -> Error {
    Error::new(Kind::Closed, "this producer was closed: create another one")
}

/// `delivery.timeout.ms` has expired; `last_error` is the reason of the last failed attempt.
pub(super) fn delivery_timed_out(timeout: Duration, last_error: Option<&Error>) -> Error {
    let message = format!("not acknowledged within delivery.timeout.ms ({} ms)", timeout.as_millis());
    match last_error {
        Some(error) => error.clone().prefixed(message).as_kind(Kind::Timeout),
        None => Error::new(Kind::Timeout, message),
    }
}
