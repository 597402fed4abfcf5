//! The current snapshot and its refreshing: single-flight, generation-checked.
//!
//! Invariants: reading is one atomic load. A caller who saw an old generation and asks for a
//! refresh gets the newer snapshot that is there already. An answer is merged into the snapshot
//! that is current when it comes, never into the one that was current when it was asked for.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arc_swap::ArcSwap;
use ottla_protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse};
use parking_lot::Mutex;
use tokio::sync::broadcast;
use tokio::time::{Duration, Instant};

use super::events::{Event, changes};
use super::{Broker, Snapshot};
use crate::error::Error;

/// Which topics a caller wants to know about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Want<'a> {
    /// Those that the client uses anyway.
    Known,
    /// These, from now on too.
    Topics(&'a [Arc<str>]),
    /// These, which the broker may make if it makes topics on its own: for producers, as in Java.
    Create(&'a [Arc<str>]),
    /// All that there are, this once.
    All,
}

/// The metadata of one client.
#[derive(Debug)]
pub struct Cache {
    current: ArcSwap<Snapshot>,
    /// Held while the snapshot is replaced, so that events come in the order of the changes.
    changing: Mutex<()>,
    events: broadcast::Sender<Event>,
    /// Topics that are in use and so belong into each refresh, and when that was last seen.
    used: Mutex<HashMap<Arc<str>, Instant>>,
    refreshed: Mutex<Option<Instant>>,
    /// Held while a refresh is under way.
    turn: tokio::sync::Mutex<()>,
    /// How many refreshes have failed, and how the last one did.
    failed: Mutex<(u64, Option<Error>)>,
}

/// Events that wait for a subscriber; of more, the oldest are lost and counted.
const EVENTS: usize = 1024;

impl Default for Cache {
    fn default() -> Self {
        Self {
            current: ArcSwap::default(),
            changing: Mutex::default(),
            events: broadcast::Sender::new(EVENTS),
            used: Mutex::default(),
            refreshed: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
            failed: Mutex::default(),
        }
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

    /// Where changes are announced; also those of connections.
    #[must_use]
    pub fn events(&self) -> &broadcast::Sender<Event> {
        &self.events
    }

    /// Replaces the snapshot by what `next` makes of it, if anything, and announces the changes.
    fn change(&self, next: impl FnOnce(&Snapshot) -> Option<Snapshot>) -> Option<Arc<Snapshot>> {
        let _changing = self.changing.lock();
        let before = self.snapshot();
        let after = Arc::new(next(&before)?);
        self.current.store(Arc::clone(&after));
        // The generation stays where a topic only is not of interest any more.
        if after.generation > before.generation && self.events.receiver_count() > 0 {
            for event in changes(&before, &after) {
                // Who has stopped listening does not miss it.
                let _ = self.events.send(event);
            }
        }
        Some(after)
    }

    /// When the metadata was last refreshed.
    #[must_use]
    pub fn refreshed(&self) -> Option<Instant> {
        *self.refreshed.lock()
    }

    /// Waits for this caller's turn to refresh, if a refresh is still needed then.
    pub(crate) async fn turn(&self, stale: u64, want: Want<'_>) -> Turn<'_> {
        let failures = self.failed.lock().0;
        if let Want::Topics(topics) | Want::Create(topics) = want {
            let now = Instant::now();
            self.used.lock().extend(topics.iter().map(|topic| (Arc::clone(topic), now)));
        }
        let turn = self.turn.lock().await;
        let snapshot = self.peek();
        let satisfied = match want {
            Want::Known => true,
            Want::Topics(topics) | Want::Create(topics) => {
                topics.iter().all(|topic| snapshot.known(topic).is_some())
            }
            Want::All => false,
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
        self.drop_topics(&names.iter().filter(unknown).collect::<Vec<_>>());
    }

    /// Asks no more for topics that nobody has looked up for as long as `idle`
    /// (`metadata.max.idle.ms`). What was looked up is seen when this is called, before a refresh.
    pub fn forget_idle(&self, idle: Duration) {
        let (snapshot, now) = (self.peek(), Instant::now());
        let mut forgotten = Vec::new();
        for (name, seen) in &mut *self.used.lock() {
            if snapshot.known(name).is_some_and(|topic| topic.used.is_noted()) {
                *seen = now;
            } else if now.duration_since(*seen) >= idle {
                forgotten.push(Arc::clone(name));
            }
        }
        if !forgotten.is_empty() {
            tracing::debug!(target: "ottla.metadata", ?forgotten, "topics that nobody uses");
        }
        self.drop_topics(&forgotten.iter().collect::<Vec<_>>());
    }

    fn drop_topics(&self, names: &[&Arc<str>]) {
        if !names.is_empty() {
            self.used.lock().retain(|used, _| !names.contains(&used));
            self.change(|current| Some(current.without(names)));
        }
    }

    /// The request that a refresh sends.
    #[must_use]
    pub fn build_request(&self, want: Want<'_>) -> MetadataRequest {
        let topics = match want {
            Want::All => None,
            Want::Known | Want::Topics(_) | Want::Create(_) => Some(
                self.used
                    .lock()
                    .keys()
                    .map(|name| MetadataRequestTopic { name: Some(name.to_string()), ..Default::default() })
                    .collect(),
            ),
        };
        MetadataRequest {
            topics,
            allow_auto_topic_creation: matches!(want, Want::Create(_)),
            ..Default::default()
        }
    }

    /// Takes in the answer to a refresh.
    ///
    /// The answer to `Want::All` replaces what is known; topics that are missing from it are gone.
    pub fn process_response(&self, response: &MetadataResponse, want: Want<'_>) -> Arc<Snapshot> {
        let changed = self.change(|current| Some(current.updated(response.clone(), want == Want::All)));
        *self.refreshed.lock() = Some(Instant::now());
        changed.unwrap_or_else(|| self.snapshot())
    }

    /// Takes in a new leader that an answer told of (KIP-951).
    pub fn process_leader(
        &self,
        topic: &str,
        partition: i32,
        leader: i32,
        epoch: i32,
        brokers: &BTreeMap<i32, Broker>,
    ) -> bool {
        let broker = brokers.get(&leader).cloned();
        self.change(|current| current.with_leader(topic, partition, leader, epoch, broker)).is_some()
    }
}
