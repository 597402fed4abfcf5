//! A harness that drives a member's state machine with a manual clock.

use std::sync::Arc;

use ottla_client::consumer::group::{
    Action, GroupRequest, GroupResponse, GroupSettings, MembershipManager, RebalanceEvent, SubscribedTopics,
};
use ottla_client::environment::{Environment, SystemNetwork};
use ottla_client::group_offsets::ConsumerGroupMetadata;
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
pub(crate) struct Harness<M: MembershipManager> {
    pub(crate) member: M,
    pub(crate) now: Instant,
    start: Instant,
}

/// An environment with a fixed random seed.
pub(crate) fn fixed_environment() -> Environment {
    Environment::new(Arc::new(SystemNetwork::default()), fastrand::Rng::with_seed(7))
}

/// Settings of the group `g`: heartbeats every 3 s, a session of 10 s, polls every 60 s, and a backoff of
/// some 10 ms.
pub(crate) fn settings(pairs: &[(&str, &str)]) -> GroupSettings {
    let defaults = [("group.id", "g"), ("max.poll.interval.ms", "60000")];
    let all: Vec<_> = defaults.iter().chain(pairs).copied().collect();
    GroupSettings::try_from(&config("localhost:1", &all)).expect("settings")
}

impl<M: MembershipManager> Harness<M> {
    pub(crate) fn of(member: M, now: Instant) -> Self {
        Self { member, now, start: now }
    }

    pub(crate) fn subscribe(&mut self, topics: &[&str]) -> Vec<Action> {
        self.member.subscribe(self.now, names(topics));
        self.poll()
    }

    /// The actions that are due.
    pub(crate) fn poll(&mut self) -> Vec<Action> {
        self.member.poll(self.now)
    }

    /// The actions that are due after `millis`.
    pub(crate) fn after(&mut self, millis: u64) -> Vec<Action> {
        self.now += ms(millis);
        self.poll()
    }

    /// Advances to the next due time; returns how long that took and the actions.
    pub(crate) fn next(&mut self) -> (Duration, Vec<Action>) {
        let next = self.member.next_due().expect("something is due").max(self.now);
        let waited = next - self.now;
        self.now = next;
        (waited, self.poll())
    }

    pub(crate) fn respond(&mut self, request_id: u64, response: GroupResponse) -> Vec<Action> {
        self.member.process_response(self.now, request_id, response);
        self.poll()
    }

    /// Fails a request with a lost connection.
    pub(crate) fn lose_connection(&mut self, request_id: u64) -> Vec<Action> {
        self.respond(request_id, GroupResponse::Failed(Error::new(Kind::Connection, "connection lost")))
    }

    /// Starts the next rebalance event.
    pub(crate) fn start_event(&mut self) -> Option<RebalanceEvent> {
        self.member.core().events.start_next()
    }

    pub(crate) fn complete_event(&mut self) -> Vec<Action> {
        self.member.complete_event(self.now);
        self.poll()
    }

    pub(crate) fn on_poll(&mut self) -> Vec<Action> {
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

    /// Completes a revocation and returns its partitions.
    pub(crate) fn complete_revocation(&mut self) -> (Vec<TopicPartition>, Vec<Action>) {
        match self.start_event() {
            Some(RebalanceEvent::Revoke(partitions)) => (partitions, self.complete_event()),
            other => panic!("nothing is revoked: {other:?}"),
        }
    }

    /// Completes a loss and returns its partitions.
    pub(crate) fn complete_loss(&mut self) -> (Vec<TopicPartition>, Vec<Action>) {
        match self.start_event() {
            Some(RebalanceEvent::Lost(partitions)) => (partitions, self.complete_event()),
            other => panic!("nothing is lost: {other:?}"),
        }
    }

    /// Completes an assignment and returns the new and all partitions.
    pub(crate) fn complete_assignment(&mut self) -> (Vec<TopicPartition>, Vec<TopicPartition>, Vec<Action>) {
        match self.start_event() {
            Some(RebalanceEvent::Assign { added, all }) => (added, all, self.complete_event()),
            other => panic!("nothing is assigned: {other:?}"),
        }
    }

    /// Completes a failure and returns its error.
    pub(crate) fn complete_failure(&mut self) -> (Error, Vec<Action>) {
        match self.start_event() {
            Some(RebalanceEvent::Failed(error)) => (error, self.complete_event()),
            other => panic!("nothing has failed: {other:?}"),
        }
    }

    /// The time since the start of the test.
    pub(crate) fn elapsed(&self) -> Duration {
        self.now - self.start
    }
}

/// The only request among the actions.
pub(crate) fn sent(actions: &[Action]) -> (u64, GroupRequest) {
    let mut sent = actions.iter().filter_map(|action| match action {
        Action::Send { request_id, request } => Some((*request_id, (**request).clone())),
        _ => None,
    });
    let first = sent.next().unwrap_or_else(|| panic!("a request among {actions:?}"));
    assert!(sent.next().is_none(), "one request: {actions:?}");
    first
}

pub(crate) fn finds_coordinator(actions: &[Action]) -> bool {
    actions.contains(&Action::FindCoordinator)
}

/// Partitions by names such as `t-0`.
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

/// A topic id.
pub(crate) fn id(number: u8) -> Uuid {
    Uuid([number; 16])
}

/// Metadata of topics with so many partitions; their ids count from 1.
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
