//! The current snapshot and its refreshing: single-flight, generation-checked.
//!
//! Invariants: reading is one atomic load. A caller who saw an old generation and asks for a
//! refresh gets the newer snapshot that is there already. An answer is merged into the snapshot
//! that is current when it comes, never into the one that was current when it was asked for.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use ottla_protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse};
use parking_lot::Mutex;
use tokio::sync::broadcast;
use tokio::time::{Duration, Instant};

use super::events::{Event, diff};
use super::{Broker, NewLeader, Pattern, Snapshot};
use crate::error::Error;
use crate::metadata::tracked_topics::TrackedTopics;

/// Which topics a caller wants to know about.
#[derive(Debug, Clone, Copy)]
pub enum TopicSelector<'a> {
    /// Those that the client uses anyway.
    Tracked,
    /// These, from now on too.
    Topics(&'a [Arc<str>]),
    /// These, which the broker may make if it makes topics on its own: for producers, as in Java.
    Create(&'a [Arc<str>]),
    /// Those that match, from now on too and until the pattern is dropped.
    Matching(&'a Pattern),
    /// All that there are, this once: what is not used is gone with the next refresh.
    All,
}

/// The metadata of one client.
#[derive(Debug)]
pub struct Cache {
    current: ArcSwap<Snapshot>,
    /// Held while the snapshot is replaced, so that events come in the order of the changes.
    replacing: Mutex<()>,
    /// How often it was replaced; told after it was, so that who has looked since knows what is current.
    version: AtomicU64,
    events: broadcast::Sender<Event>,
    /// What belongs into each refresh.
    tracked: Mutex<TrackedTopics>,
    max_idle: Duration,
    refreshed: Mutex<Option<Instant>>,
    /// Held while a refresh is under way.
    refreshing: tokio::sync::Mutex<()>,
    /// How many refreshes have failed, and how the last one did.
    failed: Mutex<(u64, Option<Error>)>,
}

/// Events that wait for a subscriber; of more, the oldest are lost and counted.
const EVENT_CAPACITY: usize = 1024;

impl Default for Cache {
    /// With the default of `metadata.max.idle.ms`.
    fn default() -> Self {
        Self::new(Duration::from_secs(300))
    }
}

/// Whose turn it is to refresh.
pub(crate) enum RefreshPermit<'a> {
    /// The caller's.
    Granted(tokio::sync::MutexGuard<'a, ()>),
    /// Somebody else has refreshed since, and what is wanted is there.
    AlreadyRefreshed,
    /// Somebody else has tried while the caller waited, and failed.
    Failed(Error),
}

impl Cache {
    /// A cache that knows nothing yet and forgets topics that nobody has used for `max_idle`.
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
            refreshing: tokio::sync::Mutex::default(),
            failed: Mutex::default(),
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

    /// A number that changes with the snapshot: what was looked up after it was asked for holds for as
    /// long as it stays.
    #[must_use]
    pub fn update_version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Where changes are announced; also those of connections.
    #[must_use]
    pub fn events(&self) -> &broadcast::Sender<Event> {
        &self.events
    }

    /// Replaces the snapshot by what `next` makes of it, if anything, and announces the changes to
    /// the brokers and to the topics of tracked.
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
                // Who has stopped listening does not miss it.
                let _ = self.events.send(event);
            }
        }
        Some(after)
    }

    /// Notes that topics are in use, so that refreshes ask for them.
    pub fn touch<'a>(&self, topics: impl IntoIterator<Item = &'a Arc<str>>) {
        self.tracked.lock().touch(topics, Instant::now());
    }

    /// Has refreshes ask for all topics, and keeps those that match.
    pub fn track_pattern(&self, pattern: &Pattern) {
        self.tracked.lock().track_pattern(pattern);
    }

    /// When the metadata was last refreshed.
    #[must_use]
    pub fn refreshed(&self) -> Option<Instant> {
        *self.refreshed.lock()
    }

    /// Waits for this caller's turn to refresh, if a refresh is still needed then.
    pub(crate) async fn refresh_permit(&self, stale: u64, selector: TopicSelector<'_>) -> RefreshPermit<'_> {
        let failures = self.failed.lock().0;
        match selector {
            TopicSelector::Topics(topics) | TopicSelector::Create(topics) => self.touch(topics),
            TopicSelector::Matching(pattern) => self.track_pattern(pattern),
            TopicSelector::Tracked | TopicSelector::All => {}
        }
        let permit = self.refreshing.lock().await;
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
        match &*self.failed.lock() {
            // Nobody would be better off if each who waited tried in turn.
            (now, Some(error)) if *now > failures => RefreshPermit::Failed(error.clone()),
            _ => RefreshPermit::Granted(permit),
        }
    }

    /// A refresh has failed.
    pub(crate) fn process_failure(&self, error: Error) {
        let mut failed = self.failed.lock();
        *failed = (failed.0 + 1, Some(error));
    }

    /// Asks no more for those of `names` that are not known to exist.
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

    /// The request that a refresh sends; without topics it asks for all. What has been idle for too
    /// long is not in it any more.
    #[must_use]
    pub fn build_request(&self, selector: TopicSelector<'_>) -> MetadataRequest {
        let snapshot = self.snapshot();
        let mut tracked = self.tracked.lock();
        tracked.expire(Instant::now(), self.max_idle, &snapshot);
        let all =
            matches!(selector, TopicSelector::All | TopicSelector::Matching(_)) || tracked.has_patterns();
        let named =
            |name: &Arc<str>| MetadataRequestTopic { name: Some(name.to_string()), ..Default::default() };
        MetadataRequest {
            topics: (!all).then(|| tracked.names().map(named).collect()),
            allow_auto_topic_creation: matches!(selector, TopicSelector::Create(_)),
            ..Default::default()
        }
    }

    /// Takes in the answer to a refresh.
    ///
    /// `full` says that all topics were asked for: those that are missing are gone. Topics that
    /// nobody has an tracked in stay only with `TopicSelector::All`, until the next refresh.
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

    /// Takes in the new leaders that a response names (KIP-951), all of them in one step. Returns how many
    /// are news.
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
