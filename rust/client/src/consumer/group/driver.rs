//! The task that does what a member wants: sends its requests, looks after the metadata that it
//! depends on, and wakes it when something has come or its time has.
//!
//! Invariants: it waits for nothing but time, answers and wishes: not for the application, and not for
//! fetches, so that heartbeats are on time. Each request is a job of its own, and none outlives the
//! member.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant, sleep_until, timeout};

use super::classic::Strategy;
use super::exchange::exchange;
use super::machine::{Action, Answer, Machine, Topics};
use super::settings::GroupSettings;
use super::subscription::Subscription;
use super::timers::Pause;
use super::topics::{names_of, refused_topics};
use crate::cluster::Client;
use crate::cluster::CoordinatorKind;
use crate::consumer::group::rebalance_queue::Change;
use crate::error::Error;
use crate::metadata::no_leader::missing_topic;
use crate::metadata::{Snapshot, TopicSelector};
use crate::tasks::panics::{catch, try_catch};

/// Even when nothing is due it looks after its member this often: the application's polls move
/// deadlines without waking it.
const IDLE: Duration = Duration::from_secs(1);

/// What the group's handle and its task share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) client: Client,
    pub(super) settings: GroupSettings,
    pub(super) strategy: Strategy,
    pub(super) machine: Mutex<Box<dyn Machine>>,
    /// What the application wants. Locked before the member where both are.
    pub(super) wish: Mutex<Wish>,
    /// There may be something to do for the member.
    pub(super) wake: Notify,
    /// There may be something to do for the application, or nothing is left to do.
    pub(super) changed: Notify,
    /// Why nothing is done for the member any more: its task has died.
    pub(super) died: OnceLock<Error>,
}

/// What the application wants to be subscribed to.
#[derive(Debug, Default)]
pub(super) struct Wish {
    pub(super) subscription: Option<Subscription>,
    /// Grows with each wish.
    pub(super) number: u64,
}

impl Wish {
    pub(super) fn set(&mut self, subscription: Option<Subscription>) {
        self.subscription = subscription;
        self.number += 1;
    }
}

/// What a job came to.
enum Done {
    /// Something came for the member, from this broker.
    Answer(u64, Option<i32>, Answer),
    /// The metadata was refreshed, or could not be.
    Refreshed { wish: u64, looked: bool },
    /// Nothing to be done about it.
    Nothing,
}

/// What the task remembers.
struct Driver {
    shared: Arc<Shared>,
    jobs: JoinSet<Done>,
    /// The broker that was the coordinator when it was last asked.
    broker: Option<i32>,
    refreshing: bool,
    /// Since when a topic that the member needs has been missing.
    missing_since: Option<Instant>,
    /// Between refreshes for topics that are not known.
    pause: Pause,
    /// The wish that was last seen.
    wish: u64,
    /// Whether all topics were looked at since then.
    looked: bool,
    /// The topics that its pattern came to.
    matching: Option<BTreeSet<Arc<str>>>,
    /// The metadata that the member has seen.
    seen: Option<u64>,
    /// Topics about which the application was told that they cannot be read.
    refused: BTreeSet<Arc<str>>,
}

/// Runs until the group is dropped.
pub(super) async fn run(shared: Arc<Shared>) {
    let mut events = shared.client.events();
    let pause = Pause::new(shared.settings.backoff);
    let mut driver = Driver {
        jobs: JoinSet::new(),
        broker: None,
        refreshing: false,
        missing_since: None,
        pause,
        wish: 0,
        looked: false,
        matching: None,
        seen: None,
        refused: BTreeSet::new(),
        shared,
    };
    loop {
        let now = Instant::now();
        let next = driver.step(now).unwrap_or(now + IDLE).min(now + IDLE);
        tokio::select! {
            () = driver.shared.wake.notified() => {}
            () = sleep_until(next) => {}
            // What has changed is looked up in the snapshot, once for all events that have come.
            _ = events.recv() => while events.try_recv().is_ok() {},
            Some(done) = driver.jobs.join_next() => driver.finish(done.unwrap_or(Done::Nothing)),
        }
    }
}

impl Driver {
    /// Does what is due, and says when the next thing will be.
    fn step(&mut self, now: Instant) -> Option<Instant> {
        let snapshot = self.shared.client.snapshot();
        self.subscribe(now, &snapshot);
        let (actions, next, topics, news) = {
            let mut machine = self.shared.machine.lock();
            if self.seen.replace(snapshot.generation) != Some(snapshot.generation) {
                machine.metadata(now, &snapshot);
            }
            let actions = machine.poll(now);
            let news = machine.is_idle() || !machine.core().desk.is_clear();
            (actions, machine.next(), machine.topics(), news)
        };
        if news {
            self.shared.changed.notify_waiters();
        }
        for action in actions {
            self.start(action);
        }
        let refresh = self.refresh(now, &snapshot, &topics);
        [next, refresh].into_iter().flatten().min()
    }

    /// Tells the member which topics the application's pattern comes to, when that has changed.
    fn subscribe(&mut self, now: Instant, snapshot: &Snapshot) {
        let wish = self.shared.wish.lock();
        if wish.number != self.wish {
            (self.wish, self.looked, self.matching) = (wish.number, false, None);
            self.pause.reset();
        }
        let Some(Subscription::Matching(pattern)) = &wish.subscription else { return };
        if !self.looked {
            return;
        }
        let exclude = self.shared.settings.exclude_internal;
        let topics = pattern.topics(snapshot).filter(|topic| !(exclude && topic.is_internal));
        let names: BTreeSet<Arc<str>> = topics.map(|topic| Arc::clone(&topic.name)).collect();
        if self.matching.as_ref() != Some(&names) {
            self.matching = Some(names.clone());
            self.shared.machine.lock().subscribe(now, Topics { names, regex: None });
        }
    }

    fn start(&mut self, action: Action) {
        let shared = Arc::clone(&self.shared);
        match action {
            Action::Send { ticket, ask } => {
                self.jobs.spawn(async move {
                    let asked = catch("a request of a group's member", exchange(shared, *ask)).await;
                    let (broker, answer) = asked.unwrap_or_else(|died| (None, Answer::Failed(died)));
                    Done::Answer(ticket, broker, answer)
                });
            }
            Action::FindCoordinator => {
                if let Some(broker) = self.broker.take() {
                    let group = &self.shared.settings.group_id;
                    self.shared.client.forget_coordinator(CoordinatorKind::Group, group, broker);
                }
            }
            Action::Assign { ticket, protocol, members, skip } => {
                self.jobs.spawn(async move {
                    let assigning = shared.strategy.assign(&shared.client, &protocol, &members, skip);
                    let assigned = try_catch("an assignor", assigning).await;
                    Done::Answer(ticket, None, assigned.map_or_else(Answer::Failed, Answer::Assigned))
                });
            }
            Action::Tell { protocol, assignment, generation } => {
                self.jobs.spawn(async move {
                    if let Err(error) = shared.strategy.tell(&protocol, assignment, generation).await {
                        tracing::warn!(target: "ottla.group", %error, "the assignor was not told of the assignment");
                    }
                    Done::Nothing
                });
            }
            Action::Resolve(ids) => {
                self.jobs.spawn(async move {
                    let patience = shared.settings.request_timeout;
                    let found = timeout(patience, names_of(&shared.client, &ids)).await;
                    if let Ok(Err(error)) = found {
                        tracing::debug!(target: "ottla.group", %error, "the assigned topics are not known yet");
                    }
                    Done::Nothing
                });
            }
        }
    }

    /// Has the metadata refreshed while it lacks something that the member depends on; says when to
    /// look again.
    fn refresh(&mut self, now: Instant, snapshot: &Snapshot, topics: &[Arc<str>]) -> Option<Instant> {
        self.shared.client.inner.metadata.touch(topics);
        self.tell_refused(snapshot);
        let is_missing = |name: &&Arc<str>| snapshot.topic(name).is_none_or(|topic| !topic.exists());
        let missing: Vec<&Arc<str>> = topics.iter().filter(is_missing).collect();
        let unknown = !missing.is_empty();
        self.missing_since = unknown.then(|| self.missing_since.unwrap_or(now));
        for name in missing {
            let error = missing_topic().topic(name);
            let since = self.missing_since.unwrap_or(now);
            self.shared.client.record_failure(format_args!("reading {name}"), &error, since);
        }
        let pattern = match &self.shared.wish.lock().subscription {
            Some(Subscription::Matching(pattern)) if !self.looked => Some(pattern.clone()),
            _ => None,
        };
        if !unknown && pattern.is_none() {
            self.pause.reset();
            return None;
        }
        if self.refreshing {
            return None;
        }
        if !self.pause.is_over(now) {
            return self.pause.until();
        }
        self.refreshing = true;
        let (client, generation) = (self.shared.client.clone(), snapshot.generation);
        let (topics, create) = (topics.to_vec(), self.shared.settings.create_topics);
        let (wish, patience) = (self.wish, self.shared.settings.request_timeout);
        self.jobs.spawn(async move {
            let want = match &pattern {
                Some(pattern) => TopicSelector::Matching(pattern),
                None if create => TopicSelector::Create(&topics),
                None => TopicSelector::Topics(&topics),
            };
            let refresh = try_catch("a refresh of the metadata", client.refresh(generation, want));
            let refreshed = timeout(patience, refresh).await;
            if let Ok(Err(error)) = &refreshed {
                tracing::debug!(target: "ottla.group", %error, "the subscribed topics cannot be looked up");
            }
            Done::Refreshed { wish, looked: pattern.is_some() && matches!(refreshed, Ok(Ok(_))) }
        });
        None
    }

    /// Tells the application, once each, of topics that it has named and cannot read. What other
    /// members have subscribed to is their matter.
    fn tell_refused(&mut self, snapshot: &Snapshot) {
        let refused = match &self.shared.wish.lock().subscription {
            Some(Subscription::Topics(names)) => refused_topics(snapshot, names),
            _ => BTreeMap::new(),
        };
        self.refused.retain(|name| refused.contains_key(name));
        for (name, error) in refused {
            if self.refused.insert(name) {
                self.shared.machine.lock().core().desk.put(Change::Failed(error));
                self.shared.changed.notify_waiters();
            }
        }
    }

    fn finish(&mut self, done: Done) {
        let now = Instant::now();
        match done {
            Done::Answer(ticket, broker, answer) => {
                self.broker = broker.or(self.broker);
                self.shared.machine.lock().process(now, ticket, answer);
                // It may look for something else now.
                self.seen = None;
            }
            Done::Refreshed { wish, looked } => {
                self.refreshing = false;
                self.looked |= looked && wish == self.wish;
                // The next one, if it is still needed, after a while.
                self.pause.fail(now, &self.shared.client.inner.environment);
            }
            Done::Nothing => {}
        }
    }
}
