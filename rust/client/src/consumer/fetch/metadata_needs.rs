//! The reasons why the fetcher needs new metadata: it is stale, or partitions have no leader.
//!
//! Invariant: each need is stated again after each refresh until a newer response has arrived, because a
//! failed refresh uses it up; the client paces the refreshes. A consumer without partitions has no needs.

use std::collections::HashSet;
use std::sync::Arc;

use crate::consumer::state::ConsumerState;
use crate::error::Kind;
use crate::metadata::{RefreshNeed, RefreshOutcome, TopicSelector};

/// The generations of the metadata that the needs are about.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Needs {
    stale: Option<u64>,
    missing: Option<u64>,
}

#[derive(Debug, Default)]
pub(crate) struct MetadataNeeds {
    current: Needs,
    /// The needs stated since the last refresh.
    stated: Needs,
    /// The number of the last refresh that had started when a need was first stated.
    requested_after: Option<u64>,
}

impl MetadataNeeds {
    pub(crate) fn add(&mut self, need: RefreshNeed) {
        match need {
            RefreshNeed::Stale(generation) => self.current.stale = self.current.stale.max(Some(generation)),
            RefreshNeed::Missing(generation) => {
                self.current.missing = self.current.missing.max(Some(generation));
            }
        }
    }

    /// States the needs that have not been stated since the last refresh.
    pub(crate) fn request_refresh(&mut self, shared: &ConsumerState) {
        if self.current == self.stated {
            return;
        }
        let topics: HashSet<Arc<str>> =
            shared.subscriptions.lock().partitions().map(|(topic, _)| Arc::clone(topic)).collect();
        let topics: Vec<Arc<str>> = topics.into_iter().collect();
        if topics.is_empty() {
            *self = Self::default();
            return;
        }
        let Needs { stale, missing } = self.current;
        let needs = [stale.map(RefreshNeed::Stale), missing.map(RefreshNeed::Missing)];
        for need in needs.into_iter().flatten() {
            match shared.client.request_refresh(need, TopicSelector::Topics(&topics)) {
                Ok(started) => self.requested_after = self.requested_after.or(Some(started)),
                Err(error) => return shared.fail(error),
            }
        }
        self.stated = self.current;
    }

    /// Handles the end of a refresh. If it was requested here and failed for good, the next poll fails.
    pub(crate) fn refreshed(&mut self, shared: &ConsumerState, outcome: RefreshOutcome) {
        let is_unmet = |generation: &u64| *generation >= outcome.generation;
        let Needs { stale, missing } = self.current;
        self.current = Needs { stale: stale.filter(is_unmet), missing: missing.filter(is_unmet) };
        self.stated = Needs::default();
        let was_requested = self.requested_after.is_some_and(|started| outcome.number > started);
        if was_requested || self.current == Needs::default() {
            self.requested_after = None;
        }
        if let Some(error) = outcome.error.filter(|_| was_requested) {
            tracing::debug!(target: "ottla.fetch", %error, "the metadata refresh failed");
            if matches!(error.kind(), Kind::Authentication | Kind::Config | Kind::Closed) {
                shared.fail(error);
            }
        }
    }
}
