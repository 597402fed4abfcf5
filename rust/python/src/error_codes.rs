//! Kafka's error codes by name, and what administrative calls do about them.
//!
//! Invariant: Python has no table of its own: `ottla/error_code.py` is made from these.

use ottla_client::error::repetition::{self, Repetition};
use ottla_protocol::ErrorCode;
use pyo3::prelude::*;

/// Return Kafka's error codes: their names and numbers.
#[pyfunction]
pub(crate) fn error_codes() -> Vec<(&'static str, i16)> {
    ErrorCode::ALL.iter().map(|code| (code.name(), code.code())).collect()
}

/// Return when to repeat a request for an item with an error code.
///
/// Args:
///     code: Kafka's error code.
///
/// Returns:
///     ``never``; ``propagation``: a few times, since brokers learn of new items one after the
///     other; ``always``: until the deadline; ``passing``: for some seconds, if nothing is changed.
#[pyfunction]
pub(crate) fn repetition_of(code: i16) -> &'static str {
    Repetition::of(ErrorCode::from(code)).name()
}

/// Return whether a broker with this error code has certainly changed nothing.
///
/// Args:
///     code: Kafka's error code.
#[pyfunction]
pub(crate) fn proves_no_change(code: i16) -> bool {
    repetition::proves_no_change(ErrorCode::from(code))
}
