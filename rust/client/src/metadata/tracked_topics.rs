//! The topics that refreshes ask for: recently used ones, and those that match a pattern. No I/O; the
//! caller passes the time.
//!
//! Invariant: a topic in use stays. One that has not been used for `metadata.max.idle.ms` is dropped,
//! and one that does not exist much sooner, so that refreshes do not ask for it for ever.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Weak};

use tokio::time::{Duration, Instant};

use super::{Snapshot, Topic};
use crate::names::MAX_NAME;

/// How long a topic that does not exist is tracked after its last use.
const MISSING_TOPIC_IDLE: Duration = Duration::from_secs(10);

type Matches = dyn Fn(&str) -> bool + Send + Sync;

/// A predicate on topic names, which also covers future topics. It is tracked while it lives.
#[derive(Clone)]
pub struct Pattern(Arc<Matches>);

impl Pattern {
    /// Creates a pattern from a predicate on names.
    pub fn new(matches: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(matches))
    }

    /// A pattern that matches every topic.
    #[must_use]
    pub fn all() -> Self {
        Self::new(|_| true)
    }

    /// Whether the pattern matches a name.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        (self.0)(name)
    }

    /// The matching topics of a snapshot, in no particular order.
    pub fn topics<'a>(&'a self, snapshot: &'a Snapshot) -> impl Iterator<Item = &'a Arc<Topic>> {
        snapshot.topics().filter(|topic| topic.exists() && self.matches(&topic.name))
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pattern").finish_non_exhaustive()
    }
}

/// The use of a topic.
#[derive(Debug, Clone, Copy)]
struct TopicUse {
    /// When it was last used.
    at: Instant,
    /// Whether the brokers may create it: the application has named it.
    creatable: bool,
}

#[derive(Default)]
pub(super) struct TrackedTopics {
    used: HashMap<Arc<str>, TopicUse>,
    patterns: Vec<Weak<Matches>>,
}

impl fmt::Debug for TrackedTopics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrackedTopics").field("used", &self.used.len()).finish_non_exhaustive()
    }
}

impl TrackedTopics {
    /// Tracks topics, or keeps them. Returns whether one of them is newly tracked.
    pub(super) fn touch<'a>(&mut self, topics: impl IntoIterator<Item = &'a Arc<str>>, now: Instant) -> bool {
        let mut newly_tracked = false;
        for topic in topics {
            match self.used.get_mut(topic) {
                Some(known) => known.at = now,
                // No request has room for it, and those for others would fail with it.
                None if topic.len() > MAX_NAME => {}
                None => {
                    self.used.insert(Arc::clone(topic), TopicUse { at: now, creatable: false });
                    newly_tracked = true;
                }
            }
        }
        newly_tracked
    }

    /// Sets whether the brokers may create tracked topics.
    pub(super) fn set_creatable(&mut self, topics: &[Arc<str>], creatable: bool) {
        for topic in topics {
            if let Some(known) = self.used.get_mut(topic) {
                known.creatable = creatable;
            }
        }
    }

    /// The topics that the brokers may create.
    pub(super) fn creatable(&self) -> impl Iterator<Item = &Arc<str>> {
        self.used.iter().filter(|(_, known)| known.creatable).map(|(name, _)| name)
    }

    /// Tracks a pattern. Returns whether it is newly tracked.
    pub(super) fn track_pattern(&mut self, pattern: &Pattern) -> bool {
        let watched = Arc::downgrade(&pattern.0);
        let newly_tracked = !self.patterns.iter().any(|known| known.ptr_eq(&watched));
        if newly_tracked {
            self.patterns.push(watched);
        }
        newly_tracked
    }

    /// Whether there is a pattern; then refreshes must ask for all topics.
    pub(super) fn has_patterns(&mut self) -> bool {
        self.patterns.retain(|pattern| pattern.strong_count() > 0);
        !self.patterns.is_empty()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.used.keys()
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        let matches = |pattern: &Weak<Matches>| pattern.upgrade().is_some_and(|matches| matches(name));
        self.used.contains_key(name) || self.patterns.iter().any(matches)
    }

    pub(super) fn drop_names(&mut self, names: &[&Arc<str>]) {
        for name in names {
            self.used.remove(*name);
        }
    }

    /// Drops topics that have been idle for too long. Counts the lookups in `snapshot` as uses.
    pub(super) fn expire(&mut self, now: Instant, max_idle: Duration, snapshot: &Snapshot) {
        self.used.retain(|name, used| {
            let topic = snapshot.peek_topic(name);
            if topic.is_some_and(|topic| topic.used.take()) {
                used.at = now;
            }
            let idle = now.saturating_duration_since(used.at);
            let exists = topic.is_none_or(|topic| topic.exists());
            let keep = idle < max_idle && (exists || idle < MISSING_TOPIC_IDLE);
            if !keep {
                tracing::debug!(target: "ottla.metadata", topic = %name, exists, "topic is not used any more: no longer tracked");
            }
            keep
        });
    }
}
