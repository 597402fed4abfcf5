//! The wall-clock time of the mock, as brokers return it.
//!
//! Invariant: an instant has one wall-clock time, whatever happens to the system's clock.

use std::sync::LazyLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

/// Wall-clock time, in milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// The wall-clock time of an instant, in milliseconds since 1970: the same one for each call.
pub(crate) fn to_ms(instant: Instant) -> i64 {
    static REFERENCE: LazyLock<(Instant, i64)> = LazyLock::new(|| (Instant::now(), now_ms()));
    let (reference, at) = *REFERENCE;
    let millis = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
    let after = millis(instant.saturating_duration_since(reference));
    let before = millis(reference.saturating_duration_since(instant));
    at.saturating_add(after).saturating_sub(before)
}
