//! A member of a classic group.
//!
//! Invariant: a waiting request of the member gets what is sent here; the sender is dropped with the member.

use std::time::Duration;

use bytes::Bytes;
use ottla_protocol::ErrorCode;
use tokio::sync::oneshot::Sender;
use tokio::time::Instant;

/// The result of a JoinGroup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JoinGroupResult {
    pub(crate) error: Option<ErrorCode>,
    pub(crate) member_id: String,
    pub(crate) generation: i32,
    pub(crate) protocol_type: Option<String>,
    pub(crate) protocol: Option<String>,
    pub(crate) leader: String,
    pub(crate) skip_assignment: bool,
    /// All members, for the leader only.
    pub(crate) members: Vec<JoinedMember>,
}

/// A member, as the leader's response describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JoinedMember {
    pub(crate) member_id: String,
    pub(crate) instance_id: Option<String>,
    pub(crate) metadata: Bytes,
}

/// The result of a SyncGroup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyncGroupResult {
    pub(crate) error: Option<ErrorCode>,
    pub(crate) protocol_type: Option<String>,
    pub(crate) protocol: Option<String>,
    pub(crate) assignment: Bytes,
}

/// The description of a member in its JoinGroup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Profile {
    pub(crate) instance_id: Option<String>,
    pub(crate) client_id: String,
    pub(crate) client_host: String,
    pub(crate) session_timeout: Duration,
    pub(crate) rebalance_timeout: Duration,
    /// Its assignors with their metadata, the preferred one first.
    pub(crate) protocols: Vec<(String, Bytes)>,
}

/// A member of a classic group.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) id: String,
    pub(crate) profile: Profile,
    pub(crate) assignment: Bytes,
    /// Completes its waiting JoinGroup.
    pub(super) awaiting_join: Option<Sender<JoinGroupResult>>,
    /// Completes its waiting SyncGroup.
    pub(super) awaiting_sync: Option<Sender<SyncGroupResult>>,
    /// True until its first generation; until then, its session does not count.
    pub(super) is_new: bool,
    /// It has joined the generation and has not sent SyncGroup.
    pub(super) pending_sync: bool,
    /// When its session expires unless it is renewed.
    pub(super) expires: Option<Instant>,
}

impl JoinGroupResult {
    pub(crate) fn error(error: ErrorCode, member_id: impl Into<String>) -> Self {
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

impl SyncGroupResult {
    pub(crate) fn error(error: ErrorCode) -> Self {
        Self { error: Some(error), protocol_type: None, protocol: None, assignment: Bytes::new() }
    }
}

impl Member {
    pub(super) fn new(id: String, profile: Profile) -> Self {
        Self {
            id,
            profile,
            assignment: Bytes::new(),
            awaiting_join: None,
            awaiting_sync: None,
            is_new: true,
            pending_sync: false,
            expires: None,
        }
    }

    /// The member as the coordinator persists it.
    pub(super) fn persisted(&self) -> Self {
        Self {
            assignment: self.assignment.clone(),
            is_new: false,
            ..Self::new(self.id.clone(), self.profile.clone())
        }
    }

    pub(super) fn renew_session(&mut self, now: Instant) {
        self.expires = Some(now + self.profile.session_timeout);
    }

    /// Whether the member waits for a response and so is alive; never true for a new member.
    pub(super) fn waits_for_group(&self) -> bool {
        !self.is_new && (self.awaiting_join.is_some() || self.awaiting_sync.is_some())
    }

    pub(super) fn complete_join(&mut self, joined: JoinGroupResult) {
        if let Some(awaiting_join) = self.awaiting_join.take() {
            // The client may have disconnected.
            let _ = awaiting_join.send(joined);
        }
    }

    pub(super) fn complete_sync(&mut self, synced: SyncGroupResult) -> bool {
        self.awaiting_sync.take().is_some_and(|awaiting_sync| awaiting_sync.send(synced).is_ok())
    }

    /// Its metadata for an assignor.
    pub(crate) fn metadata(&self, protocol: &str) -> Option<&Bytes> {
        self.profile.protocols.iter().find(|(name, _)| name == protocol).map(|(_, metadata)| metadata)
    }
}
