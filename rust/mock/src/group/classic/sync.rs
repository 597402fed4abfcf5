//! SyncGroup: the leader provides all assignments, each member receives its own.
//!
//! Invariant: an assignment is returned only in the generation for which it was made.

use std::collections::HashMap;

use bytes::Bytes;
use ottla_protocol::ErrorCode;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::member::SyncGroupResult;
use super::{ClassicGroup, Deferred, MemberIdentity, State};

/// A SyncGroup request.
#[derive(Debug, Clone)]
pub(crate) struct SyncGroup<'a> {
    pub(crate) member: MemberIdentity<'a>,
    pub(crate) protocol_type: Option<&'a str>,
    pub(crate) protocol: Option<&'a str>,
    /// From the leader only.
    pub(crate) assignments: HashMap<&'a str, &'a Bytes>,
}

impl ClassicGroup {
    /// Handles a SyncGroup request.
    pub(crate) fn sync(&mut self, sync: &SyncGroup<'_>, now: Instant) -> Deferred<SyncGroupResult> {
        if let Err(code) = self.check_sync(sync) {
            return Deferred::Ready(SyncGroupResult::error(code));
        }
        let id = sync.member.member_id;
        match self.state {
            State::Empty => Deferred::Ready(SyncGroupResult::error(ErrorCode::UnknownMemberId)),
            State::PreparingRebalance => {
                Deferred::Ready(SyncGroupResult::error(ErrorCode::RebalanceInProgress))
            }
            State::Stable => {
                let mut assignment = Bytes::new();
                if let Some(member) = self.member_mut(id) {
                    assignment = member.assignment.clone();
                    member.pending_sync = false;
                    member.renew_session(now);
                }
                self.clear_sync_deadline_if_all_synced();
                Deferred::Ready(self.synced(assignment))
            }
            State::CompletingRebalance => {
                let (sender, receiver) = oneshot::channel();
                if let Some(member) = self.member_mut(id) {
                    member.awaiting_sync = Some(sender);
                    member.pending_sync = false;
                    member.renew_session(now);
                }
                self.clear_sync_deadline_if_all_synced();
                if self.leader() == Some(id) {
                    self.set_assignments(&sync.assignments, now);
                }
                Deferred::Pending(receiver)
            }
        }
    }

    fn check_sync(&self, sync: &SyncGroup<'_>) -> Result<(), ErrorCode> {
        self.check_member(sync.member.member_id, sync.member.instance_id)?;
        self.check_generation(sync.member.epoch)?;
        let differs =
            |requested: Option<&str>, actual: Option<&str>| requested.is_some() && requested != actual;
        if differs(sync.protocol_type, self.protocol_type()) || differs(sync.protocol, self.protocol()) {
            return Err(ErrorCode::InconsistentGroupProtocol);
        }
        Ok(())
    }

    fn set_assignments(&mut self, assignments: &HashMap<&str, &Bytes>, now: Instant) {
        let synced = self.synced(Bytes::new());
        for member in &mut self.members {
            // Copied: a slice would keep the whole request frame in memory.
            let assignment = assignments.get(member.id.as_str());
            member.assignment = assignment.map_or_else(Bytes::new, |bytes| Bytes::copy_from_slice(bytes));
            if member
                .complete_sync(SyncGroupResult { assignment: member.assignment.clone(), ..synced.clone() })
            {
                member.renew_session(now);
            }
        }
        self.state = State::Stable;
        self.persist();
    }

    fn clear_sync_deadline_if_all_synced(&mut self) {
        if self.members.iter().all(|member| !member.pending_sync) {
            self.sync_deadline = None;
        }
    }

    fn synced(&self, assignment: Bytes) -> SyncGroupResult {
        SyncGroupResult {
            error: None,
            protocol_type: self.protocol_type.clone(),
            protocol: self.protocol.clone(),
            assignment,
        }
    }
}
