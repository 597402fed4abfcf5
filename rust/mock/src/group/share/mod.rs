//! A share group (KIP-932), as a state machine without I/O: members get partitions at once, without reconciliation.
//!
//! `heartbeat` handles requests, `assignor` computes assignments; this file has the group: its epoch, its members and
//! their expired sessions.
//!
//! Invariant: each member has the assignment of the group epoch once it has sent a heartbeat in that epoch.

mod assignor;
mod heartbeat;

use std::collections::{BTreeMap, BTreeSet};

use ottla_protocol::ErrorCode;
use tokio::time::Instant;

use super::consumer::{Partitions, TopicSizes};
use crate::config::ShareGroupConfig;
pub(crate) use assignor::ASSIGNOR;
pub(crate) use heartbeat::ShareHeartbeat;

/// A member of a share group.
#[derive(Debug)]
pub(crate) struct ShareMember {
    pub(crate) rack_id: Option<String>,
    pub(crate) client_id: String,
    pub(crate) client_host: String,
    pub(crate) subscribed_topic_names: BTreeSet<String>,
    pub(crate) epoch: i32,
    previous_epoch: i32,
    /// What its last response assigned.
    pub(crate) assigned: Partitions,
    expires: Instant,
}

impl ShareMember {
    fn new(now: Instant) -> Self {
        Self {
            rack_id: None,
            client_id: String::new(),
            client_host: String::new(),
            subscribed_topic_names: BTreeSet::new(),
            epoch: 0,
            previous_epoch: 0,
            assigned: Partitions::new(),
            expires: now,
        }
    }
}

/// A share group.
#[derive(Debug, Default)]
pub(crate) struct ShareGroup {
    epoch: i32,
    assignment_epoch: i32,
    members: BTreeMap<String, ShareMember>,
    targets: BTreeMap<String, Partitions>,
    /// The subscribed topics as of the group epoch.
    topics: TopicSizes,
}

impl ShareGroup {
    /// The name of its state in Kafka.
    pub(crate) fn state(&self) -> &'static str {
        if self.members.is_empty() { "Empty" } else { "Stable" }
    }

    pub(crate) fn epoch(&self) -> i32 {
        self.epoch
    }

    pub(crate) fn assignment_epoch(&self) -> i32 {
        self.assignment_epoch
    }

    pub(crate) fn members(&self) -> &BTreeMap<String, ShareMember> {
        &self.members
    }

    pub(crate) fn subscribes_to(&self, topic: &str) -> bool {
        self.topics.contains_key(topic)
    }

    /// Bumps the group epoch if subscriptions or topics have changed, and computes new targets.
    fn update_targets(&mut self, all: &TopicSizes, subscription_changed: bool) {
        let names: BTreeSet<&String> =
            self.members.values().flat_map(|member| &member.subscribed_topic_names).collect();
        let topics: TopicSizes = all
            .iter()
            .filter(|(name, _)| names.contains(name))
            .map(|(name, size)| (name.clone(), *size))
            .collect();
        if subscription_changed || topics != self.topics {
            self.epoch += 1;
            self.topics = topics;
        }
        if self.epoch > self.assignment_epoch {
            let ids = |member: &ShareMember| {
                let names = member.subscribed_topic_names.iter();
                names.filter_map(|name| Some(self.topics.get(name)?.0)).collect()
            };
            let members = self.members.iter().map(|(id, member)| (id, ids(member))).collect();
            self.targets = assignor::assign(&members, &self.topics.values().copied().collect());
            self.assignment_epoch = self.epoch;
        }
    }

    /// Removes a member, so that others get its partitions.
    fn remove(&mut self, id: &str) {
        self.members.remove(id);
        self.targets.remove(id);
        self.epoch += 1;
        if self.members.is_empty() {
            self.assignment_epoch = self.epoch;
            self.topics.clear();
        }
    }

    /// Expires a member's session.
    pub(crate) fn expire(&mut self, id: &str) -> Result<(), ErrorCode> {
        if !self.members.contains_key(id) {
            return Err(ErrorCode::UnknownMemberId);
        }
        self.remove(id);
        Ok(())
    }

    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.members.values().map(|member| member.expires).min()
    }

    /// Handles `deadline`: a session timed out.
    pub(crate) fn on_deadline(&mut self, deadline: Instant) {
        let expired = self.members.iter().find(|(_, member)| member.expires == deadline);
        if let Some(id) = expired.map(|(id, _)| id.clone()) {
            self.remove(&id);
        }
    }

    /// Restores the group on a new coordinator, which knows everything but the deadlines.
    pub(crate) fn reload(&mut self, config: &ShareGroupConfig, now: Instant) {
        for member in self.members.values_mut() {
            member.expires = now + config.session_timeout;
        }
    }
}
