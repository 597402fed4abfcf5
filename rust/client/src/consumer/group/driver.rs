//! The task of a group member: runs the actions of its state machine, requests the metadata that it
//! depends on, and wakes it on responses, timers and metadata changes.
//!
//! Invariants: it never waits for the application or for fetches, so heartbeats are on time. Each request
//! is a job of its own, and none outlives the member.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant, sleep_until, timeout};

use super::group_state::GroupState;
use super::membership_manager::{Action, GroupResponse, SubscribedTopics};
use super::release_watch::{ReleaseWatch, WatchStep};
use super::send_to_coordinator::send_to_coordinator;
use super::subscription::Subscription;
use super::topics::{names_of, rejected_topics};
use super::unreleased_partitions::{Unreleased, describe, log_over, log_unknown, warn};
use crate::cluster::CoordinatorKind;
use crate::consumer::group::rebalance_queue::RebalanceEvent;
use crate::error::Result;
use crate::metadata::no_leader::missing_topic;
use crate::metadata::{RefreshNeed, RefreshOutcome, Snapshot, TopicSelector};
use crate::retry::persistent_failures::Place;
use crate::tasks::panics::{catch, try_catch};

/// The longest sleep: polls of the application move deadlines without waking this task.
const MAX_IDLE: Duration = Duration::from_secs(1);

/// The outcome of a job.
enum JobResult {
    /// The request id, the broker if one was reached, and the response.
    Response(u64, Option<i32>, GroupResponse),
    /// A description of the group, for the log.
    Described(Result<Unreleased>),
    /// Nothing to handle.
    Nothing,
}

/// The state of the task.
struct Driver {
    shared: Arc<GroupState>,
    jobs: JoinSet<JobResult>,
    /// The broker that was the coordinator at the last request.
    broker: Option<i32>,
    /// Since when a topic that the member needs has been missing.
    missing_since: Option<Instant>,
    /// The outcomes of metadata refreshes.
    refreshes: watch::Receiver<RefreshOutcome>,
    /// The version of the last subscription request.
    request_version: u64,
    /// The number of the last refresh that had started when all topics were first requested since then.
    pattern_requested: Option<u64>,
    /// The number of the last refresh that included all topics.
    all_topics: u64,
    /// The topics that match the pattern.
    matching: Option<BTreeSet<Arc<str>>>,
    /// The generation of the metadata that the member has seen.
    seen_generation: Option<u64>,
    /// Topics whose rejection was reported to the application.
    rejected_topics: BTreeSet<Arc<str>>,
    /// Whether it waits for partitions of other members.
    release_watch: ReleaseWatch,
}

/// Runs until the group is dropped.
pub(super) async fn run(shared: Arc<GroupState>) {
    let mut events = shared.client.events();
    let mut driver = Driver {
        jobs: JoinSet::new(),
        broker: None,
        missing_since: None,
        refreshes: shared.client.refresh_outcomes(),
        request_version: 0,
        pattern_requested: None,
        all_topics: 0,
        matching: None,
        seen_generation: None,
        rejected_topics: BTreeSet::new(),
        release_watch: ReleaseWatch::new(Instant::now()),
        shared,
    };
    loop {
        let now = Instant::now();
        let next = driver.step(now).unwrap_or(now + MAX_IDLE).min(now + MAX_IDLE);
        tokio::select! {
            () = driver.shared.wake.notified() => {}
            () = sleep_until(next) => {}
            // Changes are read from the snapshot, once for all queued events.
            _ = events.recv() => while events.try_recv().is_ok() {},
            Ok(()) = driver.refreshes.changed() => {}
            Some(result) = driver.jobs.join_next() => driver.finish(result.unwrap_or(JobResult::Nothing)),
        }
    }
}

impl Driver {
    /// Runs what is due. Returns when to run again.
    fn step(&mut self, now: Instant) -> Option<Instant> {
        // The snapshot is that of this outcome or a newer one.
        self.all_topics = self.refreshes.borrow_and_update().all_topics;
        let snapshot = self.shared.client.snapshot();
        self.subscribe(now, &snapshot);
        let (actions, next, topics, has_event, watched) = {
            let mut membership_manager = self.shared.membership_manager.lock();
            if self.seen_generation.replace(snapshot.generation) != Some(snapshot.generation) {
                membership_manager.update_metadata(now, &snapshot);
            }
            let actions = membership_manager.poll(now);
            let has_event = membership_manager.is_idle() || !membership_manager.core().events.is_empty();
            let watched = self.release_watch.poll(now, membership_manager.assigned());
            (actions, membership_manager.next_due(), membership_manager.topics(), has_event, watched)
        };
        if has_event {
            self.shared.event_notify.notify_waiters();
        }
        for action in actions {
            self.start(action);
        }
        match watched {
            Some(WatchStep::Describe) => self.describe(),
            Some(WatchStep::Over(lasted)) => log_over(&self.shared.settings.group_id, lasted),
            _ => {}
        }
        self.request_refresh(now, &snapshot, &topics);
        next.into_iter().chain(self.release_watch.next_due()).min()
    }

    /// Passes the topics that match the application's pattern to the member, when they have changed.
    fn subscribe(&mut self, now: Instant, snapshot: &Snapshot) {
        let requested = self.shared.requested.lock();
        if requested.version != self.request_version {
            (self.request_version, self.pattern_requested, self.matching) = (requested.version, None, None);
            // The member compares its new topics with the metadata.
            self.seen_generation = None;
        }
        let Some(Subscription::Matching(pattern)) = &requested.subscription else { return };
        if !self.all_topics_known() {
            return;
        }
        let exclude = self.shared.settings.exclude_internal;
        let topics = pattern.topics(snapshot).filter(|topic| !(exclude && topic.is_internal));
        let names: BTreeSet<Arc<str>> = topics.map(|topic| Arc::clone(&topic.name)).collect();
        if self.matching.as_ref() != Some(&names) {
            (self.matching, self.seen_generation) = (Some(names.clone()), None);
            self.shared.membership_manager.lock().subscribe(now, SubscribedTopics { names, regex: None });
        }
    }

    fn describe(&mut self) {
        let shared = Arc::clone(&self.shared);
        self.jobs.spawn(async move {
            JobResult::Described(try_catch("a description of a group", describe(&shared)).await)
        });
    }

    fn start(&mut self, action: Action) {
        let shared = Arc::clone(&self.shared);
        match action {
            Action::Send { request_id, request } => {
                self.jobs.spawn(async move {
                    let sent =
                        catch("a request of a group's member", send_to_coordinator(shared, *request)).await;
                    let (broker, response) =
                        sent.unwrap_or_else(|error| (None, GroupResponse::Failed(error)));
                    JobResult::Response(request_id, broker, response)
                });
            }
            Action::FindCoordinator => {
                if let Some(broker) = self.broker.take() {
                    let group = &self.shared.settings.group_id;
                    self.shared.client.forget_coordinator(CoordinatorKind::Group, group, broker);
                }
            }
            Action::Assign { request_id, protocol, members, skip_assignment } => {
                self.jobs.spawn(async move {
                    let assigning =
                        shared.assignors.assign(&shared.client, &protocol, &members, skip_assignment);
                    let assigned = try_catch("an assignor", assigning).await;
                    JobResult::Response(
                        request_id,
                        None,
                        assigned.map_or_else(GroupResponse::Failed, GroupResponse::Assigned),
                    )
                });
            }
            Action::NotifyAssignor { protocol, assignment, generation } => {
                self.jobs.spawn(async move {
                    if let Err(error) = shared.assignors.notify_assignor(&protocol, assignment, generation).await {
                        tracing::warn!(target: "ottla.group", %error, "the assignor could not be notified of the assignment");
                    }
                    JobResult::Nothing
                });
            }
            Action::Resolve(ids) => {
                self.jobs.spawn(async move {
                    let request_timeout = shared.settings.request_timeout;
                    let found = timeout(request_timeout, names_of(&shared.client, &ids)).await;
                    if let Ok(Err(error)) = found {
                        tracing::debug!(target: "ottla.group", %error, "the metadata of assigned topics is not known yet");
                    }
                    JobResult::Nothing
                });
            }
        }
    }

    /// Whether the metadata has included all topics since the pattern was tracked.
    fn all_topics_known(&self) -> bool {
        self.pattern_requested.is_some_and(|started| self.all_topics > started)
    }

    /// Requests a metadata refresh while the member needs topics that are missing.
    fn request_refresh(&mut self, now: Instant, snapshot: &Snapshot, topics: &[Arc<str>]) {
        self.report_rejected_topics(snapshot);
        let is_missing = |name: &&Arc<str>| snapshot.topic(name).is_none_or(|topic| !topic.exists());
        let missing: Vec<&Arc<str>> = topics.iter().filter(is_missing).collect();
        let is_incomplete = !missing.is_empty();
        if self.missing_since.is_some() {
            for name in topics.iter().filter(|name| !is_missing(name)) {
                self.shared.client.record_success(format_args!("reading {name}"), Place::Everywhere);
            }
        }
        self.missing_since = is_incomplete.then(|| self.missing_since.unwrap_or(now));
        // Until a broker has responded, nothing is known about topics: what fails then has its own report.
        for name in missing.into_iter().filter(|_| snapshot.generation > 0) {
            let error = missing_topic().topic(name);
            let since = self.missing_since.unwrap_or(now);
            self.shared.client.record_failure(format_args!("reading {name}"), &error, since);
        }
        let need = RefreshNeed::Missing(snapshot.generation);
        // A closed client fails the member's requests.
        if is_incomplete {
            let metadata = &self.shared.client.inner.metadata;
            let (creatable, others) = self.partition_creatable(topics);
            metadata.forbid_creation(&others);
            let selectors = [TopicSelector::Create(&creatable), TopicSelector::Topics(&others)];
            for (selector, topics) in selectors.into_iter().zip([&creatable, &others]) {
                if topics.iter().any(|topic| is_missing(&topic)) {
                    let _ = self.shared.client.request_refresh(need, selector);
                } else {
                    metadata.touch(topics);
                }
            }
        } else {
            self.shared.client.inner.metadata.touch(topics);
        }
        let requested = self.shared.requested.lock();
        if let Some(Subscription::Matching(pattern)) = &requested.subscription
            && requested.version == self.request_version
            && !self.all_topics_known()
        {
            let selector = TopicSelector::Matching(pattern);
            let started = self.shared.client.request_refresh(need, selector).ok();
            self.pattern_requested = self.pattern_requested.or(started);
        }
    }

    /// The topics that the brokers may create, and the others. Only the application's own names may be created:
    /// a topic that a pattern has found, that the group has assigned or that other members subscribe to must
    /// not come back after it was deleted.
    fn partition_creatable(&self, topics: &[Arc<str>]) -> (Vec<Arc<str>>, Vec<Arc<str>>) {
        let requested = self.shared.requested.lock();
        let named: &[Arc<str>] = match &requested.subscription {
            Some(Subscription::Topics(names)) if self.shared.settings.create_topics => names,
            _ => &[],
        };
        topics.iter().cloned().partition(|topic| named.contains(topic))
    }

    /// Reports, once each, subscribed topics that cannot be read. Topics of other members are left to them.
    fn report_rejected_topics(&mut self, snapshot: &Snapshot) {
        let rejected = match &self.shared.requested.lock().subscription {
            Some(Subscription::Topics(names)) => rejected_topics(snapshot, names),
            _ => BTreeMap::new(),
        };
        self.rejected_topics.retain(|name| rejected.contains_key(name));
        for (name, error) in rejected {
            if self.rejected_topics.insert(name) {
                self.shared.membership_manager.lock().core().events.push(RebalanceEvent::Failed(error));
                self.shared.event_notify.notify_waiters();
            }
        }
    }

    fn finish(&mut self, result: JobResult) {
        let now = Instant::now();
        match result {
            JobResult::Response(request_id, broker, response) => {
                self.broker = broker.or(self.broker);
                if let Some(error) = response.retry_cause() {
                    self.shared.client.count_retry(&error);
                }
                self.shared.membership_manager.lock().process_response(now, request_id, response);
                // It may need other topics now.
                self.seen_generation = None;
            }
            JobResult::Described(described) => self.process_description(now, &described),
            JobResult::Nothing => {}
        }
    }

    /// Reports what a description says about the partitions that the member waits for.
    fn process_description(&mut self, now: Instant, described: &Result<Unreleased>) {
        let missing = described.as_ref().ok().map(|unreleased| unreleased.partitions.clone());
        let step = {
            let membership_manager = self.shared.membership_manager.lock();
            self.release_watch.process_description(now, missing, membership_manager.assigned())
        };
        let group = &self.shared.settings.group_id;
        match (step, described) {
            (Some(WatchStep::Warn(lasted)), Ok(unreleased)) => warn(group, unreleased, lasted),
            (Some(WatchStep::Over(lasted)), _) => log_over(group, lasted),
            (Some(WatchStep::Unknown), Err(error)) => log_unknown(group, error),
            _ => {}
        }
    }
}
