//! Failures of records that nobody has asked about, so that none is silent.
//!
//! Invariants: a record that was accepted and has failed stays here until somebody asks what became of it;
//! it is reported once. At most [`MAX_BATCHES`] batches are remembered; of what is overflow, the number is.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::{Duration, Instant};

use crate::error::Error;
use crate::producer::produce_result::ProduceResult;

/// Batches with failed records that are remembered.
const MAX_BATCHES: usize = 10_000;

/// How long a program may take to ask about a failure, if it never flushes.
pub(super) const REPORT_AFTER: Duration = Duration::from_secs(30);

/// Records that failed for the same reason, and about which nobody has asked.
#[derive(Debug, Clone)]
pub struct UnobservedFailure {
    /// Why the first of them failed, and where.
    pub error: Error,
    /// How many records there are.
    pub count: usize,
}

impl UnobservedFailure {
    /// The same failures, those of one place and for one reason together.
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

    /// All of them as one: the first, with the number of all.
    #[must_use]
    pub fn total(failures: impl IntoIterator<Item = Self>) -> Option<Self> {
        failures.into_iter().reduce(|first, other| Self { count: first.count + other.count, ..first })
    }

    /// The error of a block that ends without anybody having asked.
    #[must_use]
    pub fn into_error(self) -> Error {
        let what = match self.count {
            1 => "1 record was not written, and nobody has asked for its result".to_owned(),
            count => format!("{count} records were not written, and nobody has asked for their results"),
        };
        self.error.because(what)
    }

    /// Logs it.
    pub fn warn(&self) {
        let Self { error, count } = self;
        tracing::warn!(target: "ottla.producer", count, %error, "records were not written, and nobody has asked for their results");
    }
}

/// Failed records of one batch that follow each other.
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
    /// What there was no room for.
    overflow: Option<UnobservedFailure>,
    overflow_reported: bool,
}

/// The failures of one producer.
#[derive(Debug, Default)]
pub(super) struct UnobservedFailures(Mutex<Log>);

impl FailedRecords {
    /// How many of the records nobody has asked about.
    fn unobserved(&self) -> usize {
        self.produce_result.unobserved(self.first, self.count)
    }

    fn failure(&self) -> Option<UnobservedFailure> {
        let count = self.unobserved();
        (count > 0).then(|| UnobservedFailure { error: self.error.clone(), count })
    }
}

impl UnobservedFailures {
    /// Records of a batch have failed.
    pub(super) fn add(&self, produce_result: &Arc<ProduceResult>, first: usize, count: usize, error: &Error) {
        let mut log = self.0.lock();
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

    /// What was not reported yet and is older than `age`, by place and cause.
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

    /// The first failure that nobody has asked about, reported or not, and how many records there are in
    /// all.
    pub(super) fn first(&self) -> Option<UnobservedFailure> {
        let log = self.0.lock();
        UnobservedFailure::total(
            log.failed.iter().filter_map(FailedRecords::failure).chain(log.overflow.clone()),
        )
    }
}

/// Whether two failures are of one place and for one reason.
fn same_cause(a: &Error, b: &Error) -> bool {
    let place = |error: &Error| (error.context().topic.clone(), error.context().partition);
    (a.kind(), a.code(), place(a)) == (b.kind(), b.code(), place(b))
}
