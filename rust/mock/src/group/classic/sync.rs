//! SyncGroup: the leader brings everyone's assignment, each member gets its own.
//!
//! Invariant: an assignment is handed out only in the generation that it was made for.

use std::collections::HashMap;

use bytes::Bytes;
use ottla_protocol::ErrorCode;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::member::Synced;
use super::{ClassicGroup, Committer, Reply, State};

/// A SyncGroup.
#[derive(Debug, Clone)]
pub(crate) struct Sync<'a> {
    pub(crate) member: Committer<'a>,
    pub(crate) protocol_type: Option<&'a str>,
    pub(crate) protocol: Option<&'a str>,
    /// From the leader.
    pub(crate) assignments: HashMap<&'a str, &'a Bytes>,
}

impl ClassicGroup {
    /// A member wants its assignment.
    pub(crate) fn sync(&mut self, sync: &Sync<'_>, now: Instant) -> Reply<Synced> {
        if let Err(code) = self.check_sync(sync) {
            return Reply::Now(Synced::refused(code));
        }
        let id = sync.member.member_id;
        match self.state {
            State::Empty => Reply::Now(Synced::refused(ErrorCode::UnknownMemberId)),
            State::Preparing => Reply::Now(Synced::refused(ErrorCode::RebalanceInProgress)),
            State::Stable => {
                let mut assignment = Bytes::new();
                if let Some(member) = self.member_mut(id) {
                    assignment = member.assignment.clone();
                    member.owes_sync = false;
                    member.heard_of(now);
                }
                self.note_synced();
                Reply::Now(self.synced(assignment))
            }
            State::Completing => {
                let (sender, receiver) = oneshot::channel();
                if let Some(member) = self.member_mut(id) {
                    member.syncing = Some(sender);
                    member.owes_sync = false;
                    member.heard_of(now);
                }
                self.note_synced();
                if self.leader() == Some(id) {
                    self.hand_out(&sync.assignments, now);
                }
                Reply::Later(receiver)
            }
        }
    }

    fn check_sync(&self, sync: &Sync<'_>) -> Result<(), ErrorCode> {
        self.check_member(sync.member.member_id, sync.member.instance_id)?;
        self.check_generation(sync.member.epoch)?;
        let differs = |said: Option<&str>, is: Option<&str>| said.is_some() && said != is;
        if differs(sync.protocol_type, self.protocol_type()) || differs(sync.protocol, self.protocol()) {
            return Err(ErrorCode::InconsistentGroupProtocol);
        }
        Ok(())
    }

    fn hand_out(&mut self, assignments: &HashMap<&str, &Bytes>, now: Instant) {
        let synced = self.synced(Bytes::new());
        for member in &mut self.members {
            // Copied, so that a small assignment does not keep the request's frame in memory.
            let assignment = assignments.get(member.id.as_str());
            member.assignment = assignment.map_or_else(Bytes::new, |bytes| Bytes::copy_from_slice(bytes));
            if member.answer_sync(Synced { assignment: member.assignment.clone(), ..synced.clone() }) {
                member.heard_of(now);
            }
        }
        self.state = State::Stable;
        self.write();
    }

    fn note_synced(&mut self) {
        if self.members.iter().all(|member| !member.owes_sync) {
            self.sync_until = None;
        }
    }

    fn synced(&self, assignment: Bytes) -> Synced {
        Synced {
            error: None,
            protocol_type: self.protocol_type.clone(),
            protocol: self.protocol.clone(),
            assignment,
        }
    }
}
