//! The metadata cache: the current snapshot, the topics of the next one, and who may refresh it.
//!
//! Invariants: reading costs one atomic load. A caller that asks for a refresh of an old generation gets
//! the newer snapshot that exists already. A response is merged into the snapshot that is current when
//! it arrives, not into the one that was current when the request was sent.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use ottla_protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse};
use parking_lot::Mutex;
use tokio::sync::{Notify, broadcast, watch};
use tokio::time::{Duration, Instant};

use super::events::{Event, diff};
use super::refresh_schedule::{NextRefresh, Pace, RefreshNeed};
use super::refresh_state::{RefreshAttempt, RefreshOutcome, RefreshState};
use super::{Broker, NewLeader, Pattern, Snapshot};
use crate::error::Error;
use crate::metadata::tracked_topics::TrackedTopics;

/// The topics that a caller needs metadata of.
#[derive(Debug, Clone, Copy)]
pub enum TopicSelector<'a> {
    /// The topics that the client tracks anyway.
    Tracked,
    /// These topics, which are tracked from now on.
    Topics(&'a [Arc<str>]),
    /// These topics, which the broker creates if it allows that: for topics that the application has named, as
    /// in Java.
    Create(&'a [Arc<str>]),
    /// The topics that match, which are tracked until the pattern is dropped.
    Matching(&'a Pattern),
    /// All topics, once: those that are not tracked are dropped by the next refresh.
    All,
}

/// The metadata of one client.
#[derive(Debug)]
pub struct Cache {
    current: ArcSwap<Snapshot>,
    /// Held while the snapshot is replaced, so that events are in the order of the changes.
    replacing: Mutex<()>,
    /// Incremented after each replacement of the snapshot.
    version: AtomicU64,
    events: broadcast::Sender<Event>,
    /// The topics that each refresh asks for.
    tracked: Mutex<TrackedTopics>,
    max_idle: Duration,
    refreshed: Mutex<Option<Instant>>,
    refreshes: RefreshState,
}

/// Maximum number of unread events per subscriber; beyond that, the oldest are dropped and counted.
const EVENT_CAPACITY: usize = 1024;

impl Default for Cache {
    /// Uses the default of `metadata.max.idle.ms`.
    fn default() -> Self {
        Self::new(Duration::from_secs(300))
    }
}

/// The result of waiting for permission to refresh.
pub(crate) enum RefreshPermit<'a> {
    /// The caller refreshes.
    Granted(RefreshAttempt<'a>),
    /// Another caller has refreshed meanwhile, and the needed topics are known.
    AlreadyRefreshed,
    /// Another caller's refresh failed while this one waited.
    Failed(Error),
}

fn named(name: &Arc<str>) -> MetadataRequestTopic {
    MetadataRequestTopic { name: Some(name.to_string()), ..Default::default() }
}

impl Cache {
    /// Creates an empty cache, which drops topics that have been idle for `max_idle`.
    #[must_use]
    pub fn new(max_idle: Duration) -> Self {
        Self {
            current: ArcSwap::default(),
            replacing: Mutex::default(),
            version: AtomicU64::new(0),
            events: broadcast::Sender::new(EVENT_CAPACITY),
            tracked: Mutex::default(),
            max_idle,
            refreshed: Mutex::default(),
            refreshes: RefreshState::default(),
        }
    }

    /// The current snapshot.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// The current snapshot without counting a reference: for lookups.
    #[must_use]
    pub fn peek(&self) -> arc_swap::Guard<Arc<Snapshot>> {
        self.current.load()
    }

    /// A number that changes with the snapshot. A lookup made after reading it is valid until the number
    /// changes.
    #[must_use]
    pub fn update_version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The channel for changes of the metadata and of connections.
    #[must_use]
    pub fn events(&self) -> &broadcast::Sender<Event> {
        &self.events
    }

    /// Replaces the snapshot with the result of `next`, if any, and publishes the changes to brokers and
    /// to tracked topics.
    fn replace(&self, next: impl FnOnce(&Snapshot) -> Option<Snapshot>) -> Option<Arc<Snapshot>> {
        let _replacing = self.replacing.lock();
        let before = self.snapshot();
        let after = Arc::new(next(&before)?);
        self.current.store(Arc::clone(&after));
        self.version.fetch_add(1, Ordering::Release);
        if self.events.receiver_count() > 0 {
            let tracked = self.tracked.lock();
            let mut news = diff(&before, &after);
            news.retain(|event| event.topic().is_none_or(|topic| tracked.contains(topic)));
            drop(tracked);
            for event in news {
                // An error only says that there is no subscriber.
                let _ = self.events.send(event);
            }
        }
        Some(after)
    }

    /// Marks topics as used now, so that refreshes ask for them. Returns whether one is newly tracked.
    pub fn touch<'a>(&self, topics: impl IntoIterator<Item = &'a Arc<str>>) -> bool {
        self.tracked.lock().touch(topics, Instant::now())
    }

    /// Forgets that brokers may create these topics.
    pub(crate) fn forbid_creation(&self, topics: &[Arc<str>]) {
        self.tracked.lock().set_creatable(topics, false);
    }

    /// Tracks the topics that match, which makes refreshes ask for all topics. Returns whether the
    /// pattern is newly tracked.
    pub fn track_pattern(&self, pattern: &Pattern) -> bool {
        self.tracked.lock().track_pattern(pattern)
    }

    /// Tracks the selected topics from now on. Returns whether any are newly tracked.
    fn track(&self, selector: TopicSelector<'_>) -> bool {
        match selector {
            TopicSelector::Topics(topics) | TopicSelector::Create(topics) => {
                let newly_tracked = self.touch(topics);
                if matches!(selector, TopicSelector::Create(_)) {
                    self.tracked.lock().set_creatable(topics, true);
                }
                newly_tracked
            }
            TopicSelector::Matching(pattern) => self.track_pattern(pattern),
            TopicSelector::Tracked | TopicSelector::All => false,
        }
    }

    /// When the metadata was last refreshed.
    #[must_use]
    pub fn refreshed(&self) -> Option<Instant> {
        *self.refreshed.lock()
    }

    /// Tracks the selected topics and states a need of the metadata, which makes a refresh due. Returns
    /// the number of the last refresh that has started: later ones serve the need.
    pub(crate) fn request_refresh(&self, need: RefreshNeed, selector: TopicSelector<'_>) -> u64 {
        // Tracked first: a refresh that starts after the need was stated asks for the topics.
        let newly_tracked = self.track(selector);
        self.refreshes.request(need, newly_tracked, matches!(selector, TopicSelector::Create(_)))
    }

    /// States that a connection was lost, which makes a refresh due after a pause.
    pub(crate) fn connection_lost(&self, pace: &Pace) {
        self.refreshes.connection_lost(pace);
    }

    /// The next refresh, unless one is in flight. The random number changes after each refresh.
    pub(crate) fn next_refresh(&self, pace: &Pace, random: f64) -> Option<NextRefresh> {
        self.refreshes.next(pace, random)
    }

    /// Notified when [`Cache::next_refresh`] may have changed.
    pub(crate) fn schedule_changed(&self) -> Arc<Notify> {
        self.refreshes.changed()
    }

    /// The outcome of the last refresh, from any part of the client.
    pub(crate) fn refresh_outcomes(&self) -> watch::Receiver<RefreshOutcome> {
        self.refreshes.subscribe()
    }

    /// Waits until no other refresh is running, and checks whether this one is still necessary.
    pub(crate) async fn refresh_permit(&self, stale: u64, selector: TopicSelector<'_>) -> RefreshPermit<'_> {
        let last = self.refreshes.last();
        self.track(selector);
        let in_flight = self.refreshes.lock().await;
        let snapshot = self.peek();
        let satisfied = match selector {
            TopicSelector::Tracked => true,
            TopicSelector::Topics(topics) | TopicSelector::Create(topics) => {
                topics.iter().all(|topic| snapshot.peek_topic(topic).is_some())
            }
            TopicSelector::Matching(_) | TopicSelector::All => false,
        };
        if snapshot.generation > stale && satisfied {
            return RefreshPermit::AlreadyRefreshed;
        }
        // Another attempt right after a failure would only delay the waiters.
        match self.refreshes.failure_after(last) {
            Some(error) => RefreshPermit::Failed(error),
            None => RefreshPermit::Granted(self.refreshes.start(in_flight)),
        }
    }

    /// Stops tracking those of `names` that are not known to exist.
    pub(crate) fn forget(&self, names: &[Arc<str>]) {
        let snapshot = self.peek();
        let unknown =
            |name: &&Arc<str>| snapshot.peek_topic(name).is_none_or(|known| known.partitions.is_empty());
        let unknown: Vec<&Arc<str>> = names.iter().filter(unknown).collect();
        if !unknown.is_empty() {
            self.tracked.lock().drop_names(&unknown);
            self.replace(|current| Some(current.without(unknown)));
        }
    }

    /// Builds the requests of a refresh that may `create` topics: one, or a first one that names only the topics
    /// that the brokers may create. A request allows that for all topics that it names, and a topic that was
    /// found by a pattern, or assigned by a group, must not come back after it was deleted.
    #[must_use]
    pub(crate) fn build_requests(
        &self,
        selector: TopicSelector<'_>,
        create: bool,
    ) -> (Option<MetadataRequest>, MetadataRequest) {
        let mut request = self.build_request(selector);
        request.allow_auto_topic_creation = false;
        if !create {
            return (None, request);
        }
        let creatable: Vec<_> = self.tracked.lock().creatable().map(named).collect();
        if request.topics.as_ref().is_some_and(|topics| topics.len() == creatable.len()) {
            request.allow_auto_topic_creation = true;
            return (None, request);
        }
        let first = MetadataRequest {
            topics: Some(creatable),
            allow_auto_topic_creation: true,
            ..Default::default()
        };
        (Some(first), request)
    }

    /// Builds the request of a refresh, without topics that have been idle for too long. A request for
    /// all topics has no list of topics.
    #[must_use]
    pub fn build_request(&self, selector: TopicSelector<'_>) -> MetadataRequest {
        let snapshot = self.snapshot();
        let mut tracked = self.tracked.lock();
        tracked.expire(Instant::now(), self.max_idle, &snapshot);
        let all = match selector {
            TopicSelector::All | TopicSelector::Matching(_) => true,
            // Only a request that names a topic creates it, and only its response says that it does not
            // exist: one for all topics leaves it out.
            TopicSelector::Topics(names) | TopicSelector::Create(names)
                if names
                    .iter()
                    .any(|name| !snapshot.peek_topic(name).is_some_and(|topic| topic.exists())) =>
            {
                false
            }
            TopicSelector::Tracked | TopicSelector::Topics(_) | TopicSelector::Create(_) => {
                tracked.has_patterns()
            }
        };
        MetadataRequest {
            topics: (!all).then(|| tracked.names().map(named).collect()),
            allow_auto_topic_creation: matches!(selector, TopicSelector::Create(_)),
            ..Default::default()
        }
    }

    /// Merges the response to a refresh.
    ///
    /// `full` means that all topics were requested: missing ones are removed. Topics that are not
    /// tracked are kept only with `TopicSelector::All`, until the next refresh.
    pub fn process_response(
        &self,
        response: MetadataResponse,
        full: bool,
        selector: TopicSelector<'_>,
    ) -> Arc<Snapshot> {
        let changed = self.replace(|current| {
            let next = current.updated(response, full);
            if matches!(selector, TopicSelector::All) {
                return Some(next);
            }
            let tracked = self.tracked.lock();
            let idle = next.topics().filter(|topic| !tracked.contains(&topic.name));
            let idle: Vec<Arc<str>> = idle.map(|topic| Arc::clone(&topic.name)).collect();
            Some(if idle.is_empty() { next } else { next.without(&idle) })
        });
        *self.refreshed.lock() = Some(Instant::now());
        changed.unwrap_or_else(|| self.snapshot())
    }

    /// Merges new leaders that a response contains (KIP-951), in one step. Returns how many were new.
    pub fn process_leaders(&self, leaders: &[NewLeader], brokers: &BTreeMap<i32, Broker>) -> usize {
        let mut news = 0;
        if !leaders.is_empty() {
            self.replace(|current| {
                let (next, count) = current.with_leaders(leaders, brokers)?;
                news = count;
                Some(next)
            });
        }
        news
    }
}
