//! Failed records whose results the application has not checked: they are logged, so that no failure
//! is silent.
//!
//! Invariants: the failure of an accepted record stays here until the application checks it, and is
//! logged once. At most [`MAX_BATCHES`] batches are kept; beyond that, records are only counted.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::{Duration, Instant};

use crate::error::Error;
use crate::producer::produce_result::ProduceResult;

/// The maximum number of batches with failed records to keep.
const MAX_BATCHES: usize = 10_000;

/// How long the application may take to check a result before the failure is logged. `flush` and
/// `close` log it at once.
pub(super) const REPORT_AFTER: Duration = Duration::from_secs(30);

/// Records that failed for the same reason and whose results were not checked.
#[derive(Debug, Clone)]
pub struct UnobservedFailure {
    /// The error of the first of them.
    pub error: Error,
    /// The number of records.
    pub count: usize,
}

impl UnobservedFailure {
    /// Merges failures of the same partition and cause.
    #[must_use]
    pub fn grouped(failures: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for failure in failures {
            match groups.iter_mut().find(|known| same_cause(&known.error, &failure.error)) {
                Some(known) => known.count += failure.count,
                None => groups.push(failure),
            }
        }
        groups
    }

    /// Merges all failures into one: the first error, with the total number of records.
    #[must_use]
    pub fn total(failures: impl IntoIterator<Item = Self>) -> Option<Self> {
        failures.into_iter().reduce(|first, other| Self { count: first.count + other.count, ..first })
    }

    /// The error that ends a `with` block whose application has not checked the results.
    #[must_use]
    pub fn into_error(self) -> Error {
        let message = match self.count {
            1 => "1 record was not written, and its result was not checked".to_owned(),
            count => format!("{count} records were not written, and their results were not checked"),
        };
        self.error.prefixed(message)
    }

    /// Logs the failure.
    pub fn warn(&self) {
        let Self { error, count } = self;
        tracing::warn!(target: "ottla.producer", count, %error, "records were not written, and their results were not checked");
    }
}

/// Consecutive failed records of one batch.
#[derive(Debug)]
struct FailedRecords {
    produce_result: Arc<ProduceResult>,
    first: usize,
    count: usize,
    error: Error,
    since: Instant,
    reported: bool,
}

#[derive(Debug, Default)]
struct Log {
    failed: Vec<FailedRecords>,
    /// The failures beyond [`MAX_BATCHES`].
    overflow: Option<UnobservedFailure>,
    overflow_reported: bool,
    /// Whether the application knows that no later record is written either.
    is_told: bool,
}

/// The unobserved failures of one producer.
#[derive(Debug, Default)]
pub(super) struct UnobservedFailures(Mutex<Log>);

impl FailedRecords {
    /// The number of these records whose results were not checked.
    fn unobserved(&self) -> usize {
        self.produce_result.unobserved(self.first, self.count)
    }

    fn failure(&self) -> Option<UnobservedFailure> {
        let count = self.unobserved();
        (count > 0).then(|| UnobservedFailure { error: self.error.clone(), count })
    }
}

impl UnobservedFailures {
    /// Adds failed records of a batch.
    pub(super) fn add(&self, produce_result: &Arc<ProduceResult>, first: usize, count: usize, error: &Error) {
        let mut log = self.0.lock();
        if log.is_told {
            return;
        }
        if log.failed.len() >= MAX_BATCHES {
            log.failed.retain(|records| records.unobserved() > 0);
        }
        if log.failed.len() >= MAX_BATCHES {
            let none = || UnobservedFailure { error: error.clone(), count: 0 };
            log.overflow.get_or_insert_with(none).count += count;
            log.overflow_reported = false;
            return;
        }
        let (produce_result, error, since) = (Arc::clone(produce_result), error.clone(), Instant::now());
        log.failed.push(FailedRecords { produce_result, first, count, error, since, reported: false });
    }

    /// Forgets all failures: the application has aborted the transaction.
    pub(super) fn forget(&self) {
        *self.0.lock() = Log::default();
    }

    /// Forgets all failures, and later ones: a call has raised the error that ends the producer.
    pub(super) fn forget_from_now_on(&self) {
        *self.0.lock() = Log { is_told: true, ..Log::default() };
    }

    /// Takes the failures that were not logged yet and are older than `age`, merged by partition and
    /// cause.
    pub(super) fn take_unreported(&self, age: Duration) -> Vec<UnobservedFailure> {
        let now = Instant::now();
        let mut log = self.0.lock();
        log.failed.retain(|records| records.unobserved() > 0);
        let old =
            |records: &&mut FailedRecords| !records.reported && now.duration_since(records.since) >= age;
        let mut failures =
            UnobservedFailure::grouped(log.failed.iter_mut().filter(old).filter_map(|records| {
                records.reported = true;
                records.failure()
            }));
        if !log.overflow_reported {
            log.overflow_reported = true;
            failures.extend(log.overflow.clone());
        }
        failures
    }

    /// Whether there is anything to log now or later.
    pub(super) fn is_empty(&self) -> bool {
        let log = self.0.lock();
        log.failed.is_empty() && log.overflow.is_none()
    }

    /// The first unobserved failure, logged or not, with the total number of records.
    pub(super) fn first(&self) -> Option<UnobservedFailure> {
        let log = self.0.lock();
        UnobservedFailure::total(
            log.failed.iter().filter_map(FailedRecords::failure).chain(log.overflow.clone()),
        )
    }
}

/// Whether two failures have the same partition and cause.
fn same_cause(a: &Error, b: &Error) -> bool {
    let place = |error: &Error| (error.context().topic.clone(), error.context().partition);
    (a.kind(), a.code(), place(a)) == (b.kind(), b.code(), place(b))
}
