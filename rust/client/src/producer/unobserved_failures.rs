//! Failures of records that nobody has asked about, so that none is silent.
//!
//! Invariants: a record that was accepted and has failed stays here until somebody asks what became of it;
//! it is reported once. At most [`MAX_BATCHES`] batches are remembered; of what is beyond, the number is.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::{Duration, Instant};

use crate::error::Error;
use crate::producer::produce_result::Completion;

/// Batches with failed records that are remembered.
const MAX_BATCHES: usize = 10_000;

/// How long a program may take to ask about a failure, if it never flushes.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// Records that failed for the same reason, and about which nobody has asked.
#[derive(Debug, Clone)]
pub struct UnseenFailure {
    /// Why the first of them failed, and where.
    pub error: Error,
    /// How many records there are.
    pub count: usize,
}

impl UnseenFailure {
    /// The same failures, those of one place and for one reason together.
    #[must_use]
    pub fn grouped(failures: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for failure in failures {
            match groups.iter_mut().find(|known| is_same(&known.error, &failure.error)) {
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
        self.error.prefixed(what)
    }

    /// Logs it.
    pub fn warn(&self) {
        let Self { error, count } = self;
        tracing::warn!(target: "ottla.producer", count, %error, "records were not written, and nobody has asked for their results");
    }
}

/// Failed records of one batch that follow each other.
#[derive(Debug)]
struct Entry {
    completion: Arc<Completion>,
    first: usize,
    count: usize,
    error: Error,
    since: Instant,
    reported: bool,
}

#[derive(Debug, Default)]
struct State {
    entries: Vec<Entry>,
    /// What there was no room for.
    beyond: Option<UnseenFailure>,
    beyond_reported: bool,
}

/// The failures of one producer.
#[derive(Debug, Default)]
pub(super) struct UnseenFailures(Mutex<State>);

impl Entry {
    /// How many of the records nobody has asked about.
    fn unseen(&self) -> usize {
        self.completion.unseen(self.first, self.count)
    }

    fn failure(&self) -> Option<UnseenFailure> {
        let count = self.unseen();
        (count > 0).then(|| UnseenFailure { error: self.error.clone(), count })
    }
}

impl UnseenFailures {
    /// Records of a batch have failed.
    pub(super) fn add(&self, completion: &Arc<Completion>, first: usize, count: usize, error: &Error) {
        let mut state = self.0.lock();
        if state.entries.len() >= MAX_BATCHES {
            state.entries.retain(|entry| entry.unseen() > 0);
        }
        if state.entries.len() >= MAX_BATCHES {
            let none = || UnseenFailure { error: error.clone(), count: 0 };
            state.beyond.get_or_insert_with(none).count += count;
            state.beyond_reported = false;
            return;
        }
        let (completion, error, since) = (Arc::clone(completion), error.clone(), Instant::now());
        state.entries.push(Entry { completion, first, count, error, since, reported: false });
    }

    /// What was not reported yet and is older than `age`, by place and cause.
    pub(super) fn take_unreported(&self, age: Duration) -> Vec<UnseenFailure> {
        let now = Instant::now();
        let mut state = self.0.lock();
        state.entries.retain(|entry| entry.unseen() > 0);
        let old = |entry: &&mut Entry| !entry.reported && now.duration_since(entry.since) >= age;
        let mut failures = UnseenFailure::grouped(state.entries.iter_mut().filter(old).filter_map(|entry| {
            entry.reported = true;
            entry.failure()
        }));
        if !state.beyond_reported {
            state.beyond_reported = true;
            failures.extend(state.beyond.clone());
        }
        failures
    }

    /// The first failure that nobody has asked about, reported or not, and how many records there are in
    /// all.
    pub(super) fn first(&self) -> Option<UnseenFailure> {
        let state = self.0.lock();
        UnseenFailure::total(state.entries.iter().filter_map(Entry::failure).chain(state.beyond.clone()))
    }
}

/// Whether two failures are of one place and for one reason.
fn is_same(a: &Error, b: &Error) -> bool {
    let place = |error: &Error| (error.context().topic.clone(), error.context().partition);
    (a.kind(), a.code(), place(a)) == (b.kind(), b.code(), place(b))
}
