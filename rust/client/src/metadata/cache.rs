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

use super::events::{Event, changes};
use super::{Broker, NewLeader, Pattern, Snapshot};
use crate::error::Error;
use crate::metadata::tracked_topics::Interest;

/// Which topics a caller wants to know about.
#[derive(Debug, Clone, Copy)]
pub enum Want<'a> {
    /// Those that the client uses anyway.
    Known,
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
    changing: Mutex<()>,
    /// How often it was replaced; told after it was, so that who has looked since knows what is current.
    changes: AtomicU64,
    events: broadcast::Sender<Event>,
    /// What belongs into each refresh.
    interest: Mutex<Interest>,
    max_idle: Duration,
    refreshed: Mutex<Option<Instant>>,
    /// Held while a refresh is under way.
    turn: tokio::sync::Mutex<()>,
    /// How many refreshes have failed, and how the last one did.
    failed: Mutex<(u64, Option<Error>)>,
}

/// Events that wait for a subscriber; of more, the oldest are lost and counted.
const EVENTS: usize = 1024;

impl Default for Cache {
    /// With the default of `metadata.max.idle.ms`.
    fn default() -> Self {
        Self::new(Duration::from_secs(300))
    }
}

/// Whose turn it is to refresh.
pub(crate) enum Turn<'a> {
    /// The caller's.
    Mine(tokio::sync::MutexGuard<'a, ()>),
    /// Somebody else has refreshed since, and what is wanted is there.
    Done,
    /// Somebody else has tried while the caller waited, and failed.
    Failed(Error),
}

impl Cache {
    /// A cache that knows nothing yet and forgets topics that nobody has used for `max_idle`.
    #[must_use]
    pub fn new(max_idle: Duration) -> Self {
        Self {
            current: ArcSwap::default(),
            changing: Mutex::default(),
            changes: AtomicU64::new(0),
            events: broadcast::Sender::new(EVENTS),
            interest: Mutex::default(),
            max_idle,
            refreshed: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
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
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Where changes are announced; also those of connections.
    #[must_use]
    pub fn events(&self) -> &broadcast::Sender<Event> {
        &self.events
    }

    /// Replaces the snapshot by what `next` makes of it, if anything, and announces the changes to
    /// the brokers and to the topics of interest.
    fn change(&self, next: impl FnOnce(&Snapshot) -> Option<Snapshot>) -> Option<Arc<Snapshot>> {
        let _changing = self.changing.lock();
        let before = self.snapshot();
        let after = Arc::new(next(&before)?);
        self.current.store(Arc::clone(&after));
        self.changes.fetch_add(1, Ordering::Release);
        if self.events.receiver_count() > 0 {
            let interest = self.interest.lock();
            let mut news = changes(&before, &after);
            news.retain(|event| event.topic().is_none_or(|topic| interest.keeps(topic)));
            drop(interest);
            for event in news {
                // Who has stopped listening does not miss it.
                let _ = self.events.send(event);
            }
        }
        Some(after)
    }

    /// Notes that topics are in use, so that refreshes ask for them.
    pub fn touch<'a>(&self, topics: impl IntoIterator<Item = &'a Arc<str>>) {
        self.interest.lock().touch(topics, Instant::now());
    }

    /// Has refreshes ask for all topics, and keeps those that match.
    pub fn watch(&self, pattern: &Pattern) {
        self.interest.lock().watch(pattern);
    }

    /// When the metadata was last refreshed.
    #[must_use]
    pub fn refreshed(&self) -> Option<Instant> {
        *self.refreshed.lock()
    }

    /// Waits for this caller's turn to refresh, if a refresh is still needed then.
    pub(crate) async fn turn(&self, stale: u64, want: Want<'_>) -> Turn<'_> {
        let failures = self.failed.lock().0;
        match want {
            Want::Topics(topics) | Want::Create(topics) => self.touch(topics),
            Want::Matching(pattern) => self.watch(pattern),
            Want::Known | Want::All => {}
        }
        let turn = self.turn.lock().await;
        let snapshot = self.peek();
        let satisfied = match want {
            Want::Known => true,
            Want::Topics(topics) | Want::Create(topics) => {
                topics.iter().all(|topic| snapshot.known(topic).is_some())
            }
            Want::Matching(_) | Want::All => false,
        };
        if snapshot.generation > stale && satisfied {
            return Turn::Done;
        }
        match &*self.failed.lock() {
            // Nobody would be better off if each who waited tried in turn.
            (now, Some(error)) if *now > failures => Turn::Failed(error.clone()),
            _ => Turn::Mine(turn),
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
        let unknown = |name: &&Arc<str>| snapshot.known(name).is_none_or(|known| known.partitions.is_empty());
        let unknown: Vec<&Arc<str>> = names.iter().filter(unknown).collect();
        if !unknown.is_empty() {
            self.interest.lock().drop_names(&unknown);
            self.change(|current| Some(current.without(unknown)));
        }
    }

    /// The request that a refresh sends; without topics it asks for all. What has been idle for too
    /// long is not in it any more.
    #[must_use]
    pub fn build_request(&self, want: Want<'_>) -> MetadataRequest {
        let snapshot = self.snapshot();
        let mut interest = self.interest.lock();
        interest.expire(Instant::now(), self.max_idle, &snapshot);
        let all = matches!(want, Want::All | Want::Matching(_)) || interest.has_patterns();
        let named =
            |name: &Arc<str>| MetadataRequestTopic { name: Some(name.to_string()), ..Default::default() };
        MetadataRequest {
            topics: (!all).then(|| interest.names().map(named).collect()),
            allow_auto_topic_creation: matches!(want, Want::Create(_)),
            ..Default::default()
        }
    }

    /// Takes in the answer to a refresh.
    ///
    /// `whole` says that all topics were asked for: those that are missing are gone. Topics that
    /// nobody has an interest in stay only with `Want::All`, until the next refresh.
    pub fn process_response(&self, response: MetadataResponse, whole: bool, want: Want<'_>) -> Arc<Snapshot> {
        let changed = self.change(|current| {
            let next = current.updated(response, whole);
            if matches!(want, Want::All) {
                return Some(next);
            }
            let interest = self.interest.lock();
            let idle = next.topics().filter(|topic| !interest.keeps(&topic.name));
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
            self.change(|current| {
                let (next, count) = current.with_leaders(leaders, brokers)?;
                news = count;
                Some(next)
            });
        }
        news
    }
}
