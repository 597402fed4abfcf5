//! A member's state machine with a clock that the test turns.

use std::sync::Arc;

use ottla_client::consumer::ConsumerGroupMetadata;
use ottla_client::consumer::group::{
    Action, GroupRequest, GroupResponse, GroupSettings, MembershipManager, RebalanceEvent, SubscribedTopics,
};
use ottla_client::environment::{Environment, System};
use ottla_client::metadata::Snapshot;
use ottla_client::{Error, Kind, TopicPartition};
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::metadata::{
    MetadataResponse, MetadataResponsePartition, MetadataResponseTopic,
};
use ottla_protocol::wire::Uuid;
use tokio::time::{Duration, Instant};

use crate::support::{config, ms};

/// A member and its clock.
pub(crate) struct Bench<M: MembershipManager> {
    pub(crate) member: M,
    pub(crate) now: Instant,
    start: Instant,
}

/// An environment whose randomness is always the same.
pub(crate) fn fixed() -> Environment {
    Environment::new(Arc::new(System::default()), fastrand::Rng::with_seed(7))
}

/// Settings of the group `g`: heartbeats each 3 s, a session of 10 s, polls each 60 s, and a backoff
/// of some 10 ms.
pub(crate) fn settings(pairs: &[(&str, &str)]) -> GroupSettings {
    let defaults = [("group.id", "g"), ("max.poll.interval.ms", "60000")];
    let all: Vec<_> = defaults.iter().chain(pairs).copied().collect();
    GroupSettings::try_from(&config("localhost:1", &all)).expect("settings")
}

impl<M: MembershipManager> Bench<M> {
    pub(crate) fn of(member: M, now: Instant) -> Self {
        Self { member, now, start: now }
    }

    pub(crate) fn subscribe(&mut self, topics: &[&str]) -> Vec<Action> {
        self.member.subscribe(self.now, names(topics));
        self.poll()
    }

    /// What is to be done now.
    pub(crate) fn poll(&mut self) -> Vec<Action> {
        self.member.poll(self.now)
    }

    /// What is to be done after so much time.
    pub(crate) fn after(&mut self, millis: u64) -> Vec<Action> {
        self.now += ms(millis);
        self.poll()
    }

    /// Goes to when the member wants to be polled next, and says how long that took.
    pub(crate) fn next(&mut self) -> (Duration, Vec<Action>) {
        let next = self.member.next_due().expect("something is due").max(self.now);
        let waited = next - self.now;
        self.now = next;
        (waited, self.poll())
    }

    pub(crate) fn answer(&mut self, request_id: u64, answer: GroupResponse) -> Vec<Action> {
        self.member.process_response(self.now, request_id, answer);
        self.poll()
    }

    /// The connection was lost.
    pub(crate) fn lost(&mut self, request_id: u64) -> Vec<Action> {
        self.answer(request_id, GroupResponse::Failed(Error::new(Kind::Connection, "connection lost")))
    }

    /// What lies on the application's desk.
    pub(crate) fn look(&mut self) -> Option<RebalanceEvent> {
        self.member.core().events.start_next()
    }

    pub(crate) fn complete_event(&mut self) -> Vec<Action> {
        self.member.complete_event(self.now);
        self.poll()
    }

    pub(crate) fn polled(&mut self) -> Vec<Action> {
        self.member.on_poll(self.now);
        self.poll()
    }

    pub(crate) fn report_error(&mut self, code: ErrorCode) -> Vec<Action> {
        let me = self.member.group_metadata();
        self.report_error_as(&me, code)
    }

    pub(crate) fn report_error_as(
        &mut self,
        sent_as: &ConsumerGroupMetadata,
        code: ErrorCode,
    ) -> Vec<Action> {
        self.member.report_error(self.now, sent_as, code);
        self.poll()
    }

    /// Takes what is revoked, and gives it up.
    pub(crate) fn revoke(&mut self) -> (Vec<TopicPartition>, Vec<Action>) {
        match self.look() {
            Some(RebalanceEvent::Revoke(gone)) => (gone, self.complete_event()),
            other => panic!("nothing is revoked: {other:?}"),
        }
    }

    /// Takes what is lost, and lets go of it.
    pub(crate) fn lose(&mut self) -> (Vec<TopicPartition>, Vec<Action>) {
        match self.look() {
            Some(RebalanceEvent::Lost(gone)) => (gone, self.complete_event()),
            other => panic!("nothing is lost: {other:?}"),
        }
    }

    /// Takes up what is assigned: what is new, and all.
    pub(crate) fn take_up(&mut self) -> (Vec<TopicPartition>, Vec<TopicPartition>, Vec<Action>) {
        match self.look() {
            Some(RebalanceEvent::Assign { added, all }) => (added, all, self.complete_event()),
            other => panic!("nothing is assigned: {other:?}"),
        }
    }

    /// Takes note of a failure.
    pub(crate) fn failed(&mut self) -> (Error, Vec<Action>) {
        match self.look() {
            Some(RebalanceEvent::Failed(error)) => (error, self.complete_event()),
            other => panic!("nothing has failed: {other:?}"),
        }
    }

    /// How long ago the test began.
    pub(crate) fn elapsed(&self) -> Duration {
        self.now - self.start
    }
}

/// The one request among the actions.
pub(crate) fn sent(actions: &[Action]) -> (u64, GroupRequest) {
    let mut sent = actions.iter().filter_map(|action| match action {
        Action::Send { request_id, request } => Some((*request_id, (**request).clone())),
        _ => None,
    });
    let first = sent.next().unwrap_or_else(|| panic!("a request among {actions:?}"));
    assert!(sent.next().is_none(), "one request: {actions:?}");
    first
}

pub(crate) fn looks_for_coordinator(actions: &[Action]) -> bool {
    actions.contains(&Action::FindCoordinator)
}

/// Partitions of topics, as `t-0`.
pub(crate) fn partitions(names: &[&str]) -> Vec<TopicPartition> {
    let one = |name: &&str| {
        let (topic, partition) = name.rsplit_once('-').expect("a partition");
        (topic.into(), partition.parse().expect("a number"))
    };
    names.iter().map(one).collect()
}

pub(crate) fn names(topics: &[&str]) -> SubscribedTopics {
    SubscribedTopics { names: topics.iter().map(|topic| (*topic).into()).collect(), regex: None }
}

/// An id that tells topics apart.
pub(crate) fn id(number: u8) -> Uuid {
    Uuid([number; 16])
}

/// Metadata with topics of so many partitions; their ids count from 1.
pub(crate) fn metadata(topics: &[(&str, i32)]) -> Snapshot {
    let topic = |(at, (name, partitions)): (usize, &(&str, i32))| MetadataResponseTopic {
        name: Some((*name).to_owned()),
        topic_id: id(u8::try_from(at).unwrap_or(0) + 1),
        partitions: (0..*partitions)
            .map(|partition_index| MetadataResponsePartition { partition_index, ..Default::default() })
            .collect(),
        ..Default::default()
    };
    let topics = topics.iter().enumerate().map(topic).collect();
    Snapshot::default().updated(MetadataResponse { topics, ..Default::default() }, true)
}
