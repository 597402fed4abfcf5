//! A member of a classic group.
//!
//! Invariant: a request of the member that waits is answered by what is sent here, or by nothing: the
//! sender is dropped when the member is gone.

use std::time::Duration;

use bytes::Bytes;
use ottla_protocol::ErrorCode;
use tokio::sync::oneshot::Sender;
use tokio::time::Instant;

/// The answer to a JoinGroup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Joined {
    pub(crate) error: Option<ErrorCode>,
    pub(crate) member_id: String,
    pub(crate) generation: i32,
    pub(crate) protocol_type: Option<String>,
    pub(crate) protocol: Option<String>,
    pub(crate) leader: String,
    pub(crate) skip_assignment: bool,
    /// Of all members, for the leader.
    pub(crate) members: Vec<Subscription>,
}

/// What the leader hears of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Subscription {
    pub(crate) member_id: String,
    pub(crate) instance_id: Option<String>,
    pub(crate) metadata: Bytes,
}

/// The answer to a SyncGroup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Synced {
    pub(crate) error: Option<ErrorCode>,
    pub(crate) protocol_type: Option<String>,
    pub(crate) protocol: Option<String>,
    pub(crate) assignment: Bytes,
}

/// What a member says about itself when it joins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Profile {
    pub(crate) instance_id: Option<String>,
    pub(crate) client_id: String,
    pub(crate) client_host: String,
    pub(crate) session_timeout: Duration,
    pub(crate) rebalance_timeout: Duration,
    /// Its assignors, the preferred one first, each with its metadata.
    pub(crate) protocols: Vec<(String, Bytes)>,
}

/// A member.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) id: String,
    pub(crate) profile: Profile,
    pub(crate) assignment: Bytes,
    /// Its JoinGroup, if one waits.
    pub(super) joining: Option<Sender<Joined>>,
    /// Its SyncGroup, if one waits.
    pub(super) syncing: Option<Sender<Synced>>,
    /// Until its first generation: then its session is not counted yet.
    pub(super) is_new: bool,
    /// It was told of the generation and has not asked for its assignment.
    pub(super) owes_sync: bool,
    /// When its session ends, unless it is heard of before.
    pub(super) expires: Option<Instant>,
}

impl Joined {
    pub(crate) fn refused(error: ErrorCode, member_id: impl Into<String>) -> Self {
        Self {
            error: Some(error),
            member_id: member_id.into(),
            generation: -1,
            protocol_type: None,
            protocol: None,
            leader: String::new(),
            skip_assignment: false,
            members: Vec::new(),
        }
    }
}

impl Synced {
    pub(crate) fn refused(error: ErrorCode) -> Self {
        Self { error: Some(error), protocol_type: None, protocol: None, assignment: Bytes::new() }
    }
}

impl Member {
    pub(super) fn new(id: String, profile: Profile) -> Self {
        Self {
            id,
            profile,
            assignment: Bytes::new(),
            joining: None,
            syncing: None,
            is_new: true,
            owes_sync: false,
            expires: None,
        }
    }

    /// The member as the log of the coordinator has it.
    pub(super) fn stored(&self) -> Self {
        Self {
            assignment: self.assignment.clone(),
            is_new: false,
            ..Self::new(self.id.clone(), self.profile.clone())
        }
    }

    pub(super) fn heard_of(&mut self, now: Instant) {
        self.expires = Some(now + self.profile.session_timeout);
    }

    /// A member that waits for its group is alive, unless it is a new one.
    pub(super) fn is_kept_alive(&self) -> bool {
        !self.is_new && (self.joining.is_some() || self.syncing.is_some())
    }

    pub(super) fn answer_join(&mut self, joined: Joined) {
        if let Some(joining) = self.joining.take() {
            // Its client may be gone; then nobody hears.
            let _ = joining.send(joined);
        }
    }

    pub(super) fn answer_sync(&mut self, synced: Synced) -> bool {
        self.syncing.take().is_some_and(|syncing| syncing.send(synced).is_ok())
    }

    /// Its metadata for an assignor.
    pub(crate) fn metadata(&self, protocol: &str) -> Option<&Bytes> {
        self.profile.protocols.iter().find(|(name, _)| name == protocol).map(|(_, metadata)| metadata)
    }
}
