//! ConsumerGroupHeartbeat: members join, stay, reconcile their assignments and leave.
//!
//! Invariant: a rejected heartbeat changes nothing.

use std::time::Duration;

use ottla_protocol::ErrorCode;
use regex::Regex;
use tokio::time::Instant;

use super::assignor::Assignor;
use super::member::{Member, MemberState};
use super::{ConsumerGroup, Partitions, TopicSizes};
use crate::config::GroupConfig;

/// The member epoch of a joining member.
pub(crate) const JOIN_GROUP_MEMBER_EPOCH: i32 = 0;
/// The member epoch of a static member that leaves temporarily; -1 leaves for good.
const LEAVE_GROUP_STATIC_MEMBER_EPOCH: i32 = -2;
/// The first version in which clients choose their member ids.
const CLIENT_CHOSEN_ID: i16 = 1;

/// A ConsumerGroupHeartbeat request.
#[derive(Debug, Clone)]
pub(crate) struct Heartbeat<'a> {
    pub(crate) version: i16,
    pub(crate) member_id: &'a str,
    /// The id for a version-0 member without one.
    pub(crate) new_id: String,
    pub(crate) epoch: i32,
    pub(crate) instance_id: Option<&'a str>,
    pub(crate) rack_id: Option<&'a str>,
    pub(crate) client_id: String,
    pub(crate) client_host: String,
    pub(crate) rebalance_timeout: Option<Duration>,
    pub(crate) subscribed_topic_names: Option<&'a [String]>,
    pub(crate) regex: Option<&'a str>,
    pub(crate) assignor: Option<&'a str>,
    pub(crate) owned: Option<Partitions>,
}

/// The result of a heartbeat.
#[derive(Debug)]
pub(crate) struct HeartbeatResult {
    pub(crate) member_id: String,
    pub(crate) epoch: i32,
    /// Set only if it must be sent.
    pub(crate) assignment: Option<Partitions>,
}

/// An error code and its message; empty for the default message.
pub(crate) type HeartbeatError = (ErrorCode, String);

fn reject<T>(code: ErrorCode, why: impl Into<String>) -> Result<T, HeartbeatError> {
    Err((code, why.into()))
}

impl Heartbeat<'_> {
    /// Validates the request without the group; returns the compiled regular expression.
    pub(crate) fn check(&self) -> Result<Option<Regex>, HeartbeatError> {
        let invalid = |why: &str| reject(ErrorCode::InvalidRequest, why);
        if self.instance_id == Some("") {
            return invalid("InstanceId can't be empty.");
        }
        if self.rack_id == Some("") {
            return invalid("RackId can't be empty.");
        }
        if self.member_id.is_empty()
            && (self.version >= CLIENT_CHOSEN_ID || self.epoch != JOIN_GROUP_MEMBER_EPOCH)
        {
            return invalid("MemberId can't be empty.");
        }
        match self.epoch {
            JOIN_GROUP_MEMBER_EPOCH if self.rebalance_timeout.is_none() => {
                return invalid("RebalanceTimeoutMs must be provided in first request.");
            }
            JOIN_GROUP_MEMBER_EPOCH if !self.owned.as_ref().is_some_and(Partitions::is_empty) => {
                return invalid("TopicPartitions must be empty when (re-)joining.");
            }
            JOIN_GROUP_MEMBER_EPOCH
                if self.subscribed_topic_names.is_none_or(<[String]>::is_empty)
                    && self.regex.is_none_or(str::is_empty) =>
            {
                return invalid(
                    "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
                );
            }
            LEAVE_GROUP_STATIC_MEMBER_EPOCH if self.instance_id.is_none() => {
                return invalid("InstanceId can't be null.");
            }
            ..LEAVE_GROUP_STATIC_MEMBER_EPOCH => return invalid("MemberEpoch is invalid."),
            _ => {}
        }
        if let Some(name) = self.assignor.filter(|name| Assignor::named(name).is_none()) {
            let why = format!("ServerAssignor {name} is not supported. Supported assignors: uniform, range.");
            return reject(ErrorCode::UnsupportedAssignor, why);
        }
        // The whole name must match, as with `matches` of RE2/J.
        let regex =
            self.regex.filter(|text| !text.is_empty()).map(|text| Regex::new(&format!("^(?:{text})$")));
        regex.transpose().map_err(|error| {
            let why = format!(
                "SubscribedTopicRegex `{}` is not a valid regular expression: {error}.",
                self.regex.unwrap_or_default()
            );
            (ErrorCode::InvalidRegularExpression, why)
        })
    }

    pub(crate) fn is_leave(&self) -> bool {
        self.epoch < 0
    }
}

impl ConsumerGroup {
    /// Handles the heartbeat of a member that joins or stays.
    pub(crate) fn heartbeat(
        &mut self,
        heartbeat: &Heartbeat<'_>,
        regex: Option<Regex>,
        topics: &TopicSizes,
        (config, now): (&GroupConfig, Instant),
    ) -> Result<HeartbeatResult, HeartbeatError> {
        let id = if heartbeat.member_id.is_empty() {
            heartbeat.new_id.clone()
        } else {
            heartbeat.member_id.to_owned()
        };
        self.admit(&id, heartbeat, config, now)?;
        let mut subscription_changed = false;
        if let Some(member) = self.members.get_mut(&id) {
            subscription_changed = update(member, heartbeat, regex);
            member.expires = now + config.consumer_session_timeout;
        }
        self.update_target_assignment(topics, subscription_changed);
        let before = self.members.get(&id).map(|member| member.assigned.clone()).unwrap_or_default();
        self.reconcile(&id, heartbeat.owned.as_ref(), now);
        let Some(member) = self.members.get(&id) else {
            return reject(ErrorCode::UnknownMemberId, "The member is gone.");
        };
        // A member that sends all fields may have missed a response.
        let subscribes = heartbeat.subscribed_topic_names.is_some() || heartbeat.regex.is_some();
        let full = heartbeat.rebalance_timeout.is_some() && subscribes && heartbeat.owned.is_some();
        let send_assignment = heartbeat.epoch == JOIN_GROUP_MEMBER_EPOCH || full || member.assigned != before;
        let assignment = send_assignment.then(|| member.assigned.clone());
        Ok(HeartbeatResult { epoch: member.epoch, member_id: id, assignment })
    }

    /// Admits a member: checks its id, epoch and instance id, and replaces a static member that left.
    fn admit(
        &mut self,
        id: &str,
        heartbeat: &Heartbeat<'_>,
        config: &GroupConfig,
        now: Instant,
    ) -> Result<(), HeartbeatError> {
        if !self.members.contains_key(id) && self.members.len() >= config.max_size {
            return reject(
                ErrorCode::GroupMaxSizeReached,
                "The consumer group has reached its maximum capacity.",
            );
        }
        let known = heartbeat.instance_id.and_then(|instance| self.static_id(instance));
        match (heartbeat.epoch, heartbeat.instance_id, known) {
            (JOIN_GROUP_MEMBER_EPOCH, Some(_), Some(old)) => {
                if self
                    .members
                    .get(&old)
                    .is_some_and(|member| member.epoch != LEAVE_GROUP_STATIC_MEMBER_EPOCH)
                {
                    let why = format!(
                        "Static member {id} cannot join the group because the instance id is owned by {old} member."
                    );
                    return reject(ErrorCode::UnreleasedInstanceId, why);
                }
                self.replace(&old, id);
            }
            (JOIN_GROUP_MEMBER_EPOCH, _, _) => {
                self.members.entry(id.to_owned()).or_insert_with(|| Member::new(now));
            }
            (_, Some(instance), None) => {
                return reject(ErrorCode::UnknownMemberId, format!("Instance id {instance} is unknown."));
            }
            (_, Some(instance), Some(known)) if known != id => {
                let why =
                    format!("Static member {id} with instance id {instance} was fenced by member {known}.");
                return reject(ErrorCode::FencedInstanceId, why);
            }
            (epoch, _, _) => {
                let Some(member) = self.members.get(id) else {
                    return reject(
                        ErrorCode::UnknownMemberId,
                        format!("Member {id} is not a member of the group."),
                    );
                };
                check_epoch(member, epoch, heartbeat.owned.as_ref())?;
            }
        }
        Ok(())
    }

    fn replace(&mut self, old: &str, id: &str) {
        if let Some(mut member) = self.members.remove(old) {
            (member.epoch, member.previous_epoch) = (JOIN_GROUP_MEMBER_EPOCH, JOIN_GROUP_MEMBER_EPOCH);
            self.members.insert(id.to_owned(), member);
        }
        if let Some(target) = self.targets.remove(old) {
            self.targets.insert(id.to_owned(), target);
        }
    }

    /// Handles the heartbeat of a member that leaves.
    pub(crate) fn leave(&mut self, heartbeat: &Heartbeat<'_>) -> Result<HeartbeatResult, HeartbeatError> {
        let id = heartbeat.member_id;
        if let Some(instance) = heartbeat.instance_id {
            match self.static_id(instance) {
                None => {
                    return reject(ErrorCode::UnknownMemberId, format!("Instance id {instance} is unknown."));
                }
                Some(known) if known != id => {
                    let why = format!(
                        "Static member {id} with instance id {instance} was fenced by member {known}."
                    );
                    return reject(ErrorCode::FencedInstanceId, why);
                }
                Some(_) => {}
            }
        }
        let Some(member) = self.members.get_mut(id) else {
            return reject(ErrorCode::UnknownMemberId, format!("Member {id} is not a member of the group."));
        };
        if heartbeat.epoch == LEAVE_GROUP_STATIC_MEMBER_EPOCH {
            member.epoch = LEAVE_GROUP_STATIC_MEMBER_EPOCH;
            member.revoking.clear();
            member.revoke_until = None;
            member.state = MemberState::Stable;
        } else {
            self.fence(id);
        }
        Ok(HeartbeatResult { member_id: id.to_owned(), epoch: heartbeat.epoch, assignment: None })
    }
}

/// Fails unless the epoch is the member's, or the previous one: the response with the newer epoch may have
/// been lost.
fn check_epoch(member: &Member, epoch: i32, owned: Option<&Partitions>) -> Result<(), HeartbeatError> {
    let lost = epoch == member.previous_epoch && owned.is_some_and(|owned| owned.is_subset(&member.assigned));
    if epoch == member.epoch || (epoch < member.epoch && lost) {
        return Ok(());
    }
    let how = if epoch > member.epoch { "greater" } else { "smaller" };
    let known = member.epoch;
    let why = format!(
        "The consumer group member has a {how} member epoch ({epoch}) than the one known by the group coordinator ({known}). The member must abandon all its partitions and rejoin."
    );
    reject(ErrorCode::FencedMemberEpoch, why)
}

/// Updates a member from a heartbeat; returns whether its subscription changed.
fn update(member: &mut Member, heartbeat: &Heartbeat<'_>, regex: Option<Regex>) -> bool {
    member.client_id.clone_from(&heartbeat.client_id);
    member.client_host.clone_from(&heartbeat.client_host);
    if let Some(instance) = heartbeat.instance_id {
        member.instance_id = Some(instance.to_owned());
    }
    if let Some(rack) = heartbeat.rack_id {
        member.rack_id = Some(rack.to_owned());
    }
    if let Some(timeout) = heartbeat.rebalance_timeout {
        member.rebalance_timeout = timeout;
    }
    if let Some(assignor) = heartbeat.assignor {
        member.assignor = Some(assignor.to_owned());
    }
    let mut changed = false;
    if let Some(subscribed_topic_names) = heartbeat.subscribed_topic_names {
        let subscribed_topic_names = subscribed_topic_names.iter().cloned().collect();
        changed |= member.subscribed_topic_names != subscribed_topic_names;
        member.subscribed_topic_names = subscribed_topic_names;
    }
    if let Some(text) = heartbeat.regex {
        let text = Some(text.to_owned()).filter(|text| !text.is_empty());
        changed |= member.subscribed_topic_regex != text;
        member.subscribed_topic_regex = text;
        member.regex = regex;
    }
    changed
}
