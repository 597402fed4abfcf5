//! ShareGroupHeartbeat: members join, stay and leave.
//!
//! Invariant: a rejected heartbeat changes nothing.

use ottla_protocol::ErrorCode;
use tokio::time::Instant;

use super::{ShareGroup, ShareMember};
use crate::config::ShareGroupConfig;
use crate::group::consumer::{HeartbeatError, JOIN_GROUP_MEMBER_EPOCH, Partitions, TopicSizes};

/// The member epoch of a member that leaves.
const LEAVE_GROUP_MEMBER_EPOCH: i32 = -1;

/// A ShareGroupHeartbeat request.
#[derive(Debug, Clone)]
pub(crate) struct ShareHeartbeat<'a> {
    pub(crate) member_id: &'a str,
    pub(crate) epoch: i32,
    pub(crate) rack_id: Option<&'a str>,
    pub(crate) client_id: String,
    pub(crate) client_host: String,
    pub(crate) subscribed_topic_names: Option<&'a [String]>,
}

/// The result of a heartbeat.
#[derive(Debug)]
pub(crate) struct ShareHeartbeatResult {
    pub(crate) epoch: i32,
    /// Set only if it must be sent.
    pub(crate) assignment: Option<Partitions>,
}

fn reject<T>(code: ErrorCode, why: impl Into<String>) -> Result<T, HeartbeatError> {
    Err((code, why.into()))
}

impl ShareHeartbeat<'_> {
    /// Validates the request without the group.
    pub(crate) fn check(&self) -> Result<(), HeartbeatError> {
        let invalid = |why: &str| reject(ErrorCode::InvalidRequest, why);
        if self.member_id.is_empty() {
            return invalid("MemberId can't be empty.");
        }
        if self.rack_id == Some("") {
            return invalid("RackId can't be empty.");
        }
        if self.joins() && self.subscribed_topic_names.is_none_or(<[String]>::is_empty) {
            return invalid("SubscribedTopicNames must be set in first request.");
        }
        if self.epoch < LEAVE_GROUP_MEMBER_EPOCH {
            return invalid("MemberEpoch is invalid.");
        }
        Ok(())
    }

    pub(crate) fn joins(&self) -> bool {
        self.epoch == JOIN_GROUP_MEMBER_EPOCH
    }

    pub(crate) fn is_leave(&self) -> bool {
        self.epoch == LEAVE_GROUP_MEMBER_EPOCH
    }
}

impl ShareGroup {
    /// Handles the heartbeat of a member that joins or stays.
    pub(crate) fn heartbeat(
        &mut self,
        heartbeat: &ShareHeartbeat<'_>,
        topics: &TopicSizes,
        (config, now): (&ShareGroupConfig, Instant),
    ) -> Result<ShareHeartbeatResult, HeartbeatError> {
        let id = heartbeat.member_id;
        self.admit(heartbeat, config)?;
        let joined = !self.members.contains_key(id);
        let member = self.members.entry(id.to_owned()).or_insert_with(|| ShareMember::new(now));
        let changed = update(member, heartbeat);
        member.expires = now + config.session_timeout;
        self.update_targets(topics, joined || changed);
        let target = self.targets.get(id).cloned().unwrap_or_default();
        let Some(member) = self.members.get_mut(id) else {
            return reject(ErrorCode::UnknownMemberId, "The member is gone.");
        };
        if member.epoch != self.epoch {
            member.previous_epoch = member.epoch;
            member.epoch = self.epoch;
        }
        let is_full = heartbeat.subscribed_topic_names.is_some();
        let must_send = heartbeat.joins() || is_full || member.assigned != target;
        member.assigned.clone_from(&target);
        Ok(ShareHeartbeatResult { epoch: member.epoch, assignment: must_send.then_some(target) })
    }

    fn admit(&self, heartbeat: &ShareHeartbeat<'_>, config: &ShareGroupConfig) -> Result<(), HeartbeatError> {
        let (id, epoch) = (heartbeat.member_id, heartbeat.epoch);
        let Some(member) = self.members.get(id) else {
            if !heartbeat.joins() {
                let why = format!("Member {id} is not a member of group.");
                return reject(ErrorCode::UnknownMemberId, why);
            }
            let most = config.max_size;
            if self.members.len() >= most {
                let why = format!("The share group has reached its maximum capacity of {most} members.");
                return reject(ErrorCode::GroupMaxSizeReached, why);
            }
            return Ok(());
        };
        // The response with the newer epoch may have been lost.
        if heartbeat.joins() || epoch == member.epoch || epoch == member.previous_epoch {
            return Ok(());
        }
        let (how, known) = (if epoch > member.epoch { "greater" } else { "smaller" }, member.epoch);
        let why = format!(
            "The share group member has a {how} member epoch ({epoch}) than the one known by the group coordinator \
             ({known}). The member must abandon all its partitions and rejoin."
        );
        reject(ErrorCode::FencedMemberEpoch, why)
    }

    /// Handles the heartbeat of a member that leaves.
    pub(crate) fn leave(
        &mut self,
        heartbeat: &ShareHeartbeat<'_>,
    ) -> Result<ShareHeartbeatResult, HeartbeatError> {
        let id = heartbeat.member_id;
        if !self.members.contains_key(id) {
            return reject(ErrorCode::UnknownMemberId, format!("Member {id} is not a member of group."));
        }
        self.remove(id);
        Ok(ShareHeartbeatResult { epoch: LEAVE_GROUP_MEMBER_EPOCH, assignment: None })
    }
}

/// Updates a member from a heartbeat; returns whether its subscription changed.
fn update(member: &mut ShareMember, heartbeat: &ShareHeartbeat<'_>) -> bool {
    member.client_id.clone_from(&heartbeat.client_id);
    member.client_host.clone_from(&heartbeat.client_host);
    if let Some(rack) = heartbeat.rack_id {
        member.rack_id = Some(rack.to_owned());
    }
    let Some(names) = heartbeat.subscribed_topic_names else { return false };
    let names = names.iter().cloned().collect();
    let changed = member.subscribed_topic_names != names;
    member.subscribed_topic_names = names;
    changed
}
