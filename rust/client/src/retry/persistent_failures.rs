//! Persistent failures: logged as warnings after two seconds, or at once if a broker's error was unexpected, then
//! at growing intervals.
//!
//! Invariant: one warning per cause and interval, however many calls, partitions and connection attempts
//! fail because of it. At most [`MAX_CAUSES`] causes are remembered.

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::{Duration, Instant};

use crate::error::{Error, Kind};
use crate::retry::warning_pace::WarningPace;

/// How long a failure must last to be reported.
pub(crate) const REPORTED_AFTER: Duration = Duration::from_secs(2);
const MAX_CAUSES: usize = 1_000;

/// The common data of failures that share a warning.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Cause {
    kind: Kind,
    code: Option<i16>,
    topic: Option<Arc<str>>,
    broker: Option<i32>,
    address: Option<String>,
}

impl From<&Error> for Cause {
    fn from(error: &Error) -> Self {
        let context = error.context();
        let code = error.code().map(|code| code.code());
        // Only a broker's response is about the topic; a lost connection affects all topics.
        let topic = context.topic.clone().filter(|_| code.is_some());
        Self { kind: error.kind(), code, topic, broker: context.broker, address: context.address.clone() }
    }
}

/// The current failures of one client; `None` if it reports none.
#[derive(Debug)]
pub(crate) struct PersistentFailures(Option<Mutex<HashMap<Cause, WarningPace>>>);

impl Default for PersistentFailures {
    fn default() -> Self {
        Self(Some(Mutex::default()))
    }
}

impl PersistentFailures {
    /// For a client whose caller reports all failures itself.
    pub(crate) fn unreported() -> Self {
        Self(None)
    }

    /// Records that the client has been waiting for `what` since `since`, most recently with `error`.
    pub(crate) fn record_waiting(&self, what: impl Display, error: &Error, since: Instant) {
        let now = Instant::now();
        if self.is_due(error.into(), since, now) {
            let seconds = now.saturating_duration_since(since).as_secs();
            tracing::warn!(target: "ottla.client", %error, "waiting for {what} for {seconds} s");
        }
    }

    /// Records that `what` has been failing since `since`, most recently with `error`.
    pub(crate) fn record(&self, what: impl Display, error: &Error, since: Instant) {
        let now = Instant::now();
        let lasted = now.saturating_duration_since(since);
        if lasted < REPORTED_AFTER && error.is_unexpected() {
            if self.is_next(error.into(), now) {
                tracing::warn!(target: "ottla.client", %error, "{what} met an unexpected error of a broker, and is repeated");
            }
        } else if self.is_due(error.into(), since, now) {
            tracing::warn!(target: "ottla.client", %error, "{what} has been failing for {} s", lasted.as_secs());
        }
    }

    /// Whether to warn about `cause` now.
    fn is_due(&self, cause: Cause, since: Instant, now: Instant) -> bool {
        now.saturating_duration_since(since) >= REPORTED_AFTER && self.is_next(cause, now)
    }

    /// Whether the last warning about `cause` was long enough ago.
    fn is_next(&self, cause: Cause, now: Instant) -> bool {
        let Some(reports) = &self.0 else { return false };
        let mut reports = reports.lock();
        if reports.len() >= MAX_CAUSES && !reports.contains_key(&cause) {
            reports.retain(|_, report| !report.is_forgotten(now));
            if reports.len() >= MAX_CAUSES {
                return false;
            }
        }
        reports.entry(cause).or_insert_with(|| WarningPace::new(now)).is_next(now)
    }
}

#[cfg(test)]
mod tests {
    use ottla_protocol::ErrorCode;

    use super::*;
    use crate::retry::warning_pace::FORGOTTEN_AFTER;

    fn missing(topic: &str) -> Error {
        Error::from_code(ErrorCode::UnknownTopicOrPartition).topic(topic)
    }

    /// The seconds after `since` at which a failure that recurs every second is reported.
    fn reported(failures: &PersistentFailures, since: Instant, seconds: std::ops::Range<u64>) -> Vec<u64> {
        let at = |second: &u64| since + Duration::from_secs(*second);
        seconds.filter(|second| failures.is_due((&missing("t")).into(), since, at(second))).collect()
    }

    #[test]
    fn a_failure_that_lasts_is_reported_at_growing_intervals() {
        let failures = PersistentFailures::default();
        assert_eq!(reported(&failures, Instant::now(), 0..1_000), [2, 12, 32, 72, 152, 312, 612, 912]);
    }

    #[test]
    fn partitions_of_a_topic_share_a_warning_and_topics_do_not() {
        let failures = PersistentFailures::default();
        let (since, now) = (Instant::now(), Instant::now() + Duration::from_secs(3));
        let partition = |number| missing("t").at(&"t".into(), number);
        assert!(failures.is_due((&partition(0)).into(), since, now));
        assert!(!failures.is_due((&partition(1)).into(), since, now));
        assert!(failures.is_due((&missing("u")).into(), since, now));
    }

    #[test]
    fn a_cause_that_comes_back_is_new() {
        let failures = PersistentFailures::default();
        let since = Instant::now();
        assert_eq!(reported(&failures, since, 0..100), [2, 12, 32, 72]);
        let later = since + Duration::from_secs(99) + FORGOTTEN_AFTER;
        assert_eq!(reported(&failures, later, 0..20), [2, 12]);
    }

    #[test]
    fn the_number_of_causes_is_bounded() {
        let failures = PersistentFailures::default();
        let since = Instant::now();
        let due = |number: usize, seconds| {
            let now = since + Duration::from_secs(seconds);
            failures.is_due((&missing(&format!("t{number}"))).into(), since, now)
        };
        assert!((0..MAX_CAUSES).all(|number| due(number, 3)));
        assert!(!due(MAX_CAUSES, 4));
        assert!(due(MAX_CAUSES, 200), "older causes are forgotten");
        assert_eq!(failures.0.as_ref().map(|reports| reports.lock().len()), Some(1));
    }
}
