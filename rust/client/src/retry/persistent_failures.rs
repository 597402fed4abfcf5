//! Persistent failures: logged as warnings after two seconds, or at once if a broker's error was unexpected, then
//! at growing intervals. Once what failed succeeds, one line says that it has recovered.
//!
//! Invariants: one warning per cause and interval, however many calls, partitions and connection attempts
//! fail because of it. Only the success of what a warning named ends it. At most [`MAX_CAUSES`] causes are
//! remembered.

use std::collections::HashMap;
use std::fmt::{self, Display};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::time::{Duration, Instant, timeout};

use crate::error::{Error, Kind};
use crate::retry::recovery_line;
use crate::retry::warning_pace::WarningPace;

/// How long a failure must last to be reported.
pub(crate) const REPORTED_AFTER: Duration = Duration::from_secs(2);
const MAX_CAUSES: usize = 1_000;

/// Awaits what may hang, and calls `report` at intervals while it does.
pub(crate) async fn report_while<T>(attempt: impl Future<Output = T>, report: impl Fn()) -> T {
    let mut attempt = pin!(attempt);
    loop {
        match timeout(REPORTED_AFTER, &mut attempt).await {
            Ok(outcome) => return outcome,
            Err(_) => report(),
        }
    }
}

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

/// A cause that was reported.
#[derive(Debug)]
struct Report {
    pace: WarningPace,
    /// The warning that no recovery has followed yet.
    open: Option<OpenWarning>,
}

#[derive(Debug)]
struct OpenWarning {
    what: String,
    /// What the warning named beside it.
    partition: Option<i32>,
    address: Option<String>,
    since: Instant,
}

/// Where something has succeeded. Does not end the warning about another place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place<'a> {
    /// As a whole.
    Everywhere,
    /// For this partition of the topic that is named.
    Partition(i32),
    /// At this address.
    Address(&'a str),
}

impl Place<'_> {
    fn is_of(self, open: &OpenWarning) -> bool {
        match self {
            Self::Everywhere => true,
            Self::Partition(partition) => open.partition.is_none_or(|named| named == partition),
            Self::Address(address) => open.address.as_deref().is_none_or(|named| named == address),
        }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everywhere => Ok(()),
            Self::Partition(partition) => write!(f, ", partition {partition}"),
            Self::Address(address) => write!(f, " from {address}"),
        }
    }
}

/// The current failures of one client.
#[derive(Debug, Default)]
pub(crate) struct PersistentFailures {
    /// Whether the client's caller reports all failures itself.
    unreported: bool,
    reports: Mutex<HashMap<Cause, Report>>,
    /// The number of open warnings: a success has nothing to do while there are none.
    open: AtomicUsize,
}

impl PersistentFailures {
    /// For a client whose caller reports all failures itself.
    pub(crate) fn unreported() -> Self {
        Self { unreported: true, ..Self::default() }
    }

    /// Records that the client has been waiting for `what` since `since`, most recently with `error`.
    pub(crate) fn record_waiting(&self, what: impl Display, error: &Error, since: Instant) {
        let now = Instant::now();
        let what = format_args!("waiting for {what}");
        if self.is_due(error, what, since, now) {
            let seconds = now.saturating_duration_since(since).as_secs();
            tracing::warn!(target: "ottla.client", %error, "{what} for {seconds} s");
        }
    }

    /// Records that `what` has been failing since `since`, most recently with `error`.
    pub(crate) fn record(&self, what: impl Display, error: &Error, since: Instant) {
        let now = Instant::now();
        let lasted = now.saturating_duration_since(since);
        if lasted < REPORTED_AFTER && error.is_unexpected() {
            if self.is_next(error, &what, since, now) {
                tracing::warn!(target: "ottla.client", %error, "{what} met an unexpected error of a broker, and is repeated");
            }
        } else if self.is_due(error, &what, since, now) {
            tracing::warn!(target: "ottla.client", %error, "{what} has been failing for {} s", lasted.as_secs());
        }
    }

    /// Whether to log a failure of `what` now, of which the caller warns in its own words.
    pub(crate) fn opens(&self, what: impl Display, error: &Error, since: Instant) -> bool {
        self.is_next(error, what, since, Instant::now())
    }

    /// Records that `what` has succeeded, which ends its warning.
    pub(crate) fn record_success(&self, what: impl Display, place: Place<'_>) {
        if self.open.load(Ordering::Relaxed) == 0 {
            return;
        }
        if let Some(lasted) = self.end(&what.to_string(), place, Instant::now()) {
            let line = recovery_line(lasted, format_args!("{what}{place}"));
            tracing::info!(target: "ottla.client", "{line}");
        }
    }

    /// Ends the warnings about `what`. Returns how long the longest has lasted.
    fn end(&self, what: &str, place: Place<'_>, now: Instant) -> Option<Duration> {
        let mut reports = self.reports.lock();
        let ended = reports.values_mut().filter_map(|report| {
            let open = report.open.take_if(|open| open.what == what && place.is_of(open))?;
            self.open.fetch_sub(1, Ordering::Relaxed);
            // It may have passed long ago, when nobody was looking.
            (!report.pace.is_forgotten(now)).then(|| now.saturating_duration_since(open.since))
        });
        ended.max()
    }

    /// Whether to warn about `error` now.
    fn is_due(&self, error: &Error, what: impl Display, since: Instant, now: Instant) -> bool {
        now.saturating_duration_since(since) >= REPORTED_AFTER && self.is_next(error, what, since, now)
    }

    /// Whether the last warning about the cause of `error` was long enough ago. If so, the warning is open.
    fn is_next(&self, error: &Error, what: impl Display, since: Instant, now: Instant) -> bool {
        if self.unreported {
            return false;
        }
        let cause = Cause::from(error);
        let mut reports = self.reports.lock();
        if reports.len() >= MAX_CAUSES && !reports.contains_key(&cause) {
            reports.retain(|_, report| {
                let stays = !report.pace.is_forgotten(now);
                if !stays && report.open.is_some() {
                    self.open.fetch_sub(1, Ordering::Relaxed);
                }
                stays
            });
            if reports.len() >= MAX_CAUSES {
                return false;
            }
        }
        let report =
            reports.entry(cause).or_insert_with(|| Report { pace: WarningPace::new(now), open: None });
        let is_next = report.pace.is_next(now);
        if is_next {
            let context = error.context();
            let (partition, address) = (context.partition, context.address.clone());
            let open = OpenWarning { what: what.to_string(), partition, address, since };
            if report.open.replace(open).is_none() {
                self.open.fetch_add(1, Ordering::Relaxed);
            }
        }
        is_next
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
        seconds.filter(|second| failures.is_due(&missing("t"), "reading t", since, at(second))).collect()
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
        assert!(failures.is_due(&partition(0), "reading t", since, now));
        assert!(!failures.is_due(&partition(1), "reading t", since, now));
        assert!(failures.is_due(&missing("u"), "reading u", since, now));
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
            failures.is_due(&missing(&format!("t{number}")), "reading", since, now)
        };
        assert!((0..MAX_CAUSES).all(|number| due(number, 3)));
        assert!(!due(MAX_CAUSES, 4));
        assert!(due(MAX_CAUSES, 200), "older causes are forgotten");
        assert_eq!(failures.reports.lock().len(), 1);
        assert_eq!(failures.open.load(Ordering::Relaxed), 1, "and their warnings with them");
    }

    #[test]
    fn what_succeeds_ends_its_own_warning_once() {
        let failures = PersistentFailures::default();
        let since = Instant::now();
        let at = |seconds| since + Duration::from_secs(seconds);
        assert_eq!(failures.end("reading t", Place::Everywhere, at(0)), None, "nothing was reported");
        assert!(failures.is_due(&missing("t"), "reading t", since, at(3)));
        assert!(failures.is_due(&missing("u"), "reading u", since, at(3)));
        assert_eq!(failures.end("reading t", Place::Partition(0), at(5)), Some(Duration::from_secs(5)));
        assert_eq!(failures.end("reading t", Place::Partition(0), at(6)), None, "it is told once");
        assert_eq!(failures.end("reading u", Place::Everywhere, at(7)), Some(Duration::from_secs(7)));
        assert_eq!(failures.open.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn another_partition_does_not_end_the_warning_of_one() {
        let failures = PersistentFailures::default();
        let since = Instant::now();
        let error = missing("t").at(&"t".into(), 1);
        assert!(failures.is_due(&error, "reading t", since, since + Duration::from_secs(3)));
        let end = |place| failures.end("reading t", place, since + Duration::from_secs(4));
        assert_eq!(end(Place::Partition(0)), None);
        assert_eq!(end(Place::Partition(1)), Some(Duration::from_secs(4)));
    }

    #[test]
    fn a_warning_that_nobody_followed_is_not_said_to_have_recovered() {
        let failures = PersistentFailures::default();
        let since = Instant::now();
        assert!(failures.is_due(&missing("t"), "reading t", since, since + Duration::from_secs(3)));
        let later = since + Duration::from_secs(4) + FORGOTTEN_AFTER;
        assert_eq!(failures.end("reading t", Place::Everywhere, later), None);
    }
}
