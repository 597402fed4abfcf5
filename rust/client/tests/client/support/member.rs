//! A group member's state machine with a clock that the test advances.

use std::sync::Arc;

use ottla_client::consumer::Member;
use ottla_client::consumer::group::{Action, Answer, Ask, Change, GroupSettings, Machine, Topics};
use ottla_client::environment::{Environment, SystemNetwork};
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
pub(crate) struct Bench<M: Machine> {
    pub(crate) member: M,
    pub(crate) now: Instant,
    start: Instant,
}

/// An environment with a fixed random seed.
pub(crate) fn fixed() -> Environment {
    Environment::new(Arc::new(SystemNetwork::default()), fastrand::Rng::with_seed(7))
}

/// Settings of the group `g`: a heartbeat every 3 s, a session timeout of 10 s, a poll interval of 60 s,
/// and a backoff of about 10 ms.
pub(crate) fn settings(pairs: &[(&str, &str)]) -> GroupSettings {
    let defaults = [("group.id", "g"), ("max.poll.interval.ms", "60000")];
    let all: Vec<_> = defaults.iter().chain(pairs).copied().collect();
    GroupSettings::try_from(&config("localhost:1", &all)).expect("settings")
}

impl<M: Machine> Bench<M> {
    pub(crate) fn of(member: M, now: Instant) -> Self {
        Self { member, now, start: now }
    }

    pub(crate) fn subscribe(&mut self, topics: &[&str]) -> Vec<Action> {
        self.member.subscribe(self.now, names(topics));
        self.poll()
    }

    /// The actions that are due now.
    pub(crate) fn poll(&mut self) -> Vec<Action> {
        self.member.poll(self.now)
    }

    /// The actions that are due after `millis`.
    pub(crate) fn after(&mut self, millis: u64) -> Vec<Action> {
        self.now += ms(millis);
        self.poll()
    }

    /// Advances to the next time at which the member wants to be polled. Returns how long that took.
    pub(crate) fn next(&mut self) -> (Duration, Vec<Action>) {
        let next = self.member.next().expect("something is due").max(self.now);
        let waited = next - self.now;
        self.now = next;
        (waited, self.poll())
    }

    pub(crate) fn answer(&mut self, ticket: u64, answer: Answer) -> Vec<Action> {
        self.member.process(self.now, ticket, answer);
        self.poll()
    }

    /// Reports that the connection was lost.
    pub(crate) fn lost(&mut self, ticket: u64) -> Vec<Action> {
        self.answer(ticket, Answer::Failed(Error::new(Kind::Connection, "connection lost")))
    }

    /// Takes the pending rebalance event.
    pub(crate) fn look(&mut self) -> Option<Change> {
        self.member.core().desk.take()
    }

    pub(crate) fn acknowledge(&mut self) -> Vec<Action> {
        self.member.acknowledge(self.now);
        self.poll()
    }

    pub(crate) fn polled(&mut self) -> Vec<Action> {
        self.member.polled(self.now);
        self.poll()
    }

    pub(crate) fn trouble(&mut self, code: ErrorCode) -> Vec<Action> {
        let me = self.member.member();
        self.trouble_of(&me, code)
    }

    pub(crate) fn trouble_of(&mut self, sent_as: &Member, code: ErrorCode) -> Vec<Action> {
        self.member.trouble(self.now, sent_as, code);
        self.poll()
    }

    /// Takes a revocation and acknowledges it.
    pub(crate) fn revoke(&mut self) -> (Vec<TopicPartition>, Vec<Action>) {
        match self.look() {
            Some(Change::Revoke(gone)) => (gone, self.acknowledge()),
            other => panic!("nothing is revoked: {other:?}"),
        }
    }

    /// Takes a loss of partitions and acknowledges it.
    pub(crate) fn lose(&mut self) -> (Vec<TopicPartition>, Vec<Action>) {
        match self.look() {
            Some(Change::Lost(gone)) => (gone, self.acknowledge()),
            other => panic!("nothing is lost: {other:?}"),
        }
    }

    /// Takes an assignment and acknowledges it. Returns the added partitions and all of them.
    pub(crate) fn take_up(&mut self) -> (Vec<TopicPartition>, Vec<TopicPartition>, Vec<Action>) {
        match self.look() {
            Some(Change::Assign { added, all }) => (added, all, self.acknowledge()),
            other => panic!("nothing is assigned: {other:?}"),
        }
    }

    /// Takes a failure and acknowledges it.
    pub(crate) fn failed(&mut self) -> (Error, Vec<Action>) {
        match self.look() {
            Some(Change::Failed(error)) => (error, self.acknowledge()),
            other => panic!("nothing has failed: {other:?}"),
        }
    }

    /// The time since the test began.
    pub(crate) fn elapsed(&self) -> Duration {
        self.now - self.start
    }
}

/// The one request among the actions.
pub(crate) fn sent(actions: &[Action]) -> (u64, Ask) {
    let mut sent = actions.iter().filter_map(|action| match action {
        Action::Send { ticket, ask } => Some((*ticket, (**ask).clone())),
        _ => None,
    });
    let first = sent.next().unwrap_or_else(|| panic!("a request among {actions:?}"));
    assert!(sent.next().is_none(), "one request: {actions:?}");
    first
}

pub(crate) fn looks_for_coordinator(actions: &[Action]) -> bool {
    actions.contains(&Action::FindCoordinator)
}

/// Partitions from names such as `t-0`.
pub(crate) fn partitions(names: &[&str]) -> Vec<TopicPartition> {
    let one = |name: &&str| {
        let (topic, partition) = name.rsplit_once('-').expect("a partition");
        (topic.into(), partition.parse().expect("a number"))
    };
    names.iter().map(one).collect()
}

pub(crate) fn names(topics: &[&str]) -> Topics {
    Topics { names: topics.iter().map(|topic| (*topic).into()).collect(), regex: None }
}

/// A topic id.
pub(crate) fn id(number: u8) -> Uuid {
    Uuid([number; 16])
}

/// Metadata with these topics and numbers of partitions; the ids count from 1.
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
