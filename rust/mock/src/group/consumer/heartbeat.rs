//! ConsumerGroupHeartbeat: a member comes, stays, gives up and gets partitions, and goes.
//!
//! Invariant: a heartbeat that is refused changes nothing.

use std::time::Duration;

use ottla_protocol::ErrorCode;
use regex::Regex;
use tokio::time::Instant;

use super::assignor::Assignor;
use super::member::{Member, Progress};
use super::{ConsumerGroup, Partitions, TopicSizes};
use crate::config::GroupConfig;

/// The epoch of a member that joins.
pub(crate) const JOINS: i32 = 0;
/// The epoch of a static member that leaves and may come back; -1 is that of one that leaves for good.
const LEAVES_FOR_NOW: i32 = -2;
/// The first version in which a client makes its own id.
const OWN_ID: i16 = 1;

/// A heartbeat.
#[derive(Debug, Clone)]
pub(crate) struct Beat<'a> {
    pub(crate) version: i16,
    pub(crate) member_id: &'a str,
    /// What a member of version 0 that has no id is called.
    pub(crate) new_id: String,
    pub(crate) epoch: i32,
    pub(crate) instance_id: Option<&'a str>,
    pub(crate) rack_id: Option<&'a str>,
    pub(crate) client_id: String,
    pub(crate) client_host: String,
    pub(crate) rebalance_timeout: Option<Duration>,
    pub(crate) names: Option<&'a [String]>,
    pub(crate) regex: Option<&'a str>,
    pub(crate) assignor: Option<&'a str>,
    pub(crate) owned: Option<Partitions>,
}

/// What the coordinator answers.
#[derive(Debug)]
pub(crate) struct Beaten {
    pub(crate) member_id: String,
    pub(crate) epoch: i32,
    /// Only when the member has to hear of it.
    pub(crate) assignment: Option<Partitions>,
}

/// A code and what there is to say about it.
pub(crate) type Refused = (ErrorCode, String);

fn refuse<T>(code: ErrorCode, why: impl Into<String>) -> Result<T, Refused> {
    Err((code, why.into()))
}

impl Beat<'_> {
    /// Checks what can be checked without the group; gives the regular expression, ready for use.
    pub(crate) fn check(&self) -> Result<Option<Regex>, Refused> {
        let invalid = |why: &str| refuse(ErrorCode::InvalidRequest, why);
        if self.instance_id == Some("") {
            return invalid("InstanceId can't be empty.");
        }
        if self.rack_id == Some("") {
            return invalid("RackId can't be empty.");
        }
        if self.member_id.is_empty() && (self.version >= OWN_ID || self.epoch != JOINS) {
            return invalid("MemberId can't be empty.");
        }
        match self.epoch {
            JOINS if self.rebalance_timeout.is_none() => {
                return invalid("RebalanceTimeoutMs must be provided in first request.");
            }
            JOINS if !self.owned.as_ref().is_some_and(Partitions::is_empty) => {
                return invalid("TopicPartitions must be empty when (re-)joining.");
            }
            JOINS if self.names.is_none_or(<[String]>::is_empty) && self.regex.is_none_or(str::is_empty) => {
                return invalid(
                    "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
                );
            }
            LEAVES_FOR_NOW if self.instance_id.is_none() => return invalid("InstanceId can't be null."),
            ..LEAVES_FOR_NOW => return invalid("MemberEpoch is invalid."),
            _ => {}
        }
        if let Some(name) = self.assignor.filter(|name| Assignor::named(name).is_none()) {
            let why = format!("ServerAssignor {name} is not supported. Supported assignors: uniform, range.");
            return refuse(ErrorCode::UnsupportedAssignor, why);
        }
        // The whole name has to match, as RE2/J's `matches` has it.
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

    pub(crate) fn leaves(&self) -> bool {
        self.epoch < 0
    }
}

impl ConsumerGroup {
    /// A member that comes or stays.
    pub(crate) fn beat(
        &mut self,
        beat: &Beat<'_>,
        regex: Option<Regex>,
        topics: &TopicSizes,
        (config, now): (&GroupConfig, Instant),
    ) -> Result<Beaten, Refused> {
        let id = if beat.member_id.is_empty() { beat.new_id.clone() } else { beat.member_id.to_owned() };
        self.admit(&id, beat, config, now)?;
        let mut subscription_changed = false;
        if let Some(member) = self.members.get_mut(&id) {
            subscription_changed = update(member, beat, regex);
            member.expires = now + config.consumer_session_timeout;
        }
        self.refresh(topics, subscription_changed);
        let before = self.members.get(&id).map(|member| member.assigned.clone()).unwrap_or_default();
        self.reconcile(&id, beat.owned.as_ref(), now);
        let Some(member) = self.members.get(&id) else {
            return refuse(ErrorCode::UnknownMemberId, "The member is gone.");
        };
        // A request with everything in it is one of a member that may have missed an answer.
        let subscribes = beat.names.is_some() || beat.regex.is_some();
        let full = beat.rebalance_timeout.is_some() && subscribes && beat.owned.is_some();
        let tell = beat.epoch == JOINS || full || member.assigned != before;
        let assignment = tell.then(|| member.assigned.clone());
        Ok(Beaten { epoch: member.epoch, member_id: id, assignment })
    }

    /// Lets a member in, by its id, its epoch and, if it is a static one, by whom it replaces.
    fn admit(
        &mut self,
        id: &str,
        beat: &Beat<'_>,
        config: &GroupConfig,
        now: Instant,
    ) -> Result<(), Refused> {
        if !self.members.contains_key(id) && self.members.len() >= config.max_size {
            return refuse(
                ErrorCode::GroupMaxSizeReached,
                "The consumer group has reached its maximum capacity.",
            );
        }
        let known = beat.instance_id.and_then(|instance| self.static_id(instance));
        match (beat.epoch, beat.instance_id, known) {
            (JOINS, Some(_), Some(old)) => {
                if self.members.get(&old).is_some_and(|member| member.epoch != LEAVES_FOR_NOW) {
                    let why = format!(
                        "Static member {id} cannot join the group because the instance id is owned by {old} member."
                    );
                    return refuse(ErrorCode::UnreleasedInstanceId, why);
                }
                self.replace(&old, id);
            }
            (JOINS, _, _) => {
                self.members.entry(id.to_owned()).or_insert_with(|| Member::new(now));
            }
            (_, Some(instance), None) => {
                return refuse(ErrorCode::UnknownMemberId, format!("Instance id {instance} is unknown."));
            }
            (_, Some(instance), Some(known)) if known != id => {
                let why =
                    format!("Static member {id} with instance id {instance} was fenced by member {known}.");
                return refuse(ErrorCode::FencedInstanceId, why);
            }
            (epoch, _, _) => {
                let Some(member) = self.members.get(id) else {
                    return refuse(
                        ErrorCode::UnknownMemberId,
                        format!("Member {id} is not a member of the group."),
                    );
                };
                check_epoch(member, epoch, beat.owned.as_ref())?;
            }
        }
        Ok(())
    }

    fn replace(&mut self, old: &str, id: &str) {
        if let Some(mut member) = self.members.remove(old) {
            (member.epoch, member.previous_epoch) = (JOINS, JOINS);
            self.members.insert(id.to_owned(), member);
        }
        if let Some(target) = self.targets.remove(old) {
            self.targets.insert(id.to_owned(), target);
        }
    }

    /// A member that goes.
    pub(crate) fn leave(&mut self, beat: &Beat<'_>) -> Result<Beaten, Refused> {
        let id = beat.member_id;
        if let Some(instance) = beat.instance_id {
            match self.static_id(instance) {
                None => {
                    return refuse(ErrorCode::UnknownMemberId, format!("Instance id {instance} is unknown."));
                }
                Some(known) if known != id => {
                    let why = format!(
                        "Static member {id} with instance id {instance} was fenced by member {known}."
                    );
                    return refuse(ErrorCode::FencedInstanceId, why);
                }
                Some(_) => {}
            }
        }
        let Some(member) = self.members.get_mut(id) else {
            return refuse(ErrorCode::UnknownMemberId, format!("Member {id} is not a member of the group."));
        };
        if beat.epoch == LEAVES_FOR_NOW {
            member.epoch = LEAVES_FOR_NOW;
            member.revoking.clear();
            member.revoke_until = None;
            member.progress = Progress::Stable;
        } else {
            self.fence(id);
        }
        Ok(Beaten { member_id: id.to_owned(), epoch: beat.epoch, assignment: None })
    }
}

/// Fails unless the epoch is the member's, or the one before: the answer with the newer one may have
/// been lost.
fn check_epoch(member: &Member, epoch: i32, owned: Option<&Partitions>) -> Result<(), Refused> {
    let lost = epoch == member.previous_epoch && owned.is_some_and(|owned| owned.is_subset(&member.assigned));
    if epoch == member.epoch || (epoch < member.epoch && lost) {
        return Ok(());
    }
    let how = if epoch > member.epoch { "greater" } else { "smaller" };
    let known = member.epoch;
    let why = format!(
        "The consumer group member has a {how} member epoch ({epoch}) than the one known by the group coordinator ({known}). The member must abandon all its partitions and rejoin."
    );
    refuse(ErrorCode::FencedMemberEpoch, why)
}

/// Takes over what a heartbeat says; says whether the member wants other topics now.
fn update(member: &mut Member, beat: &Beat<'_>, regex: Option<Regex>) -> bool {
    member.client_id.clone_from(&beat.client_id);
    member.client_host.clone_from(&beat.client_host);
    if let Some(instance) = beat.instance_id {
        member.instance_id = Some(instance.to_owned());
    }
    if let Some(rack) = beat.rack_id {
        member.rack_id = Some(rack.to_owned());
    }
    if let Some(timeout) = beat.rebalance_timeout {
        member.rebalance_timeout = timeout;
    }
    if let Some(assignor) = beat.assignor {
        member.assignor = Some(assignor.to_owned());
    }
    let mut changed = false;
    if let Some(names) = beat.names {
        let names = names.iter().cloned().collect();
        changed |= member.names != names;
        member.names = names;
    }
    if let Some(text) = beat.regex {
        let text = Some(text.to_owned()).filter(|text| !text.is_empty());
        changed |= member.regex_text != text;
        member.regex_text = text;
        member.regex = regex;
    }
    changed
}
