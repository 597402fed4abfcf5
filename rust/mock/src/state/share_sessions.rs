//! Share sessions (KIP-932): the partitions that a member of a share group fetches from a broker.
//!
//! Invariant: a session's epoch is the one that its next request must carry. A session ends with its connection.

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;
use ottla_protocol::wire::Uuid;

/// A partition, by topic id and index.
pub(crate) type TopicPartition = (Uuid, i32);

/// The session epochs that open and close a session.
const INITIAL_EPOCH: i32 = 0;
const FINAL_EPOCH: i32 = -1;

/// A share session.
#[derive(Debug)]
pub(crate) struct ShareSession {
    pub(crate) broker: i32,
    pub(crate) group: String,
    pub(crate) member_id: String,
    pub(crate) connection: u64,
    pub(crate) partitions: Vec<TopicPartition>,
    epoch: i32,
}

/// Who sends a request, and its session epoch.
#[derive(Debug, Clone)]
pub(crate) struct ShareSessionRequest {
    pub(crate) broker: i32,
    pub(crate) connection: u64,
    pub(crate) group: String,
    pub(crate) member_id: String,
    pub(crate) epoch: i32,
}

impl ShareSessionRequest {
    /// Whether it opens a session.
    pub(crate) fn opens(&self) -> bool {
        self.epoch == INITIAL_EPOCH
    }

    /// Whether it closes its session.
    pub(crate) fn closes(&self) -> bool {
        self.epoch == FINAL_EPOCH
    }

    fn key(&self) -> (i32, String, String) {
        (self.broker, self.group.clone(), self.member_id.clone())
    }
}

/// The sessions of all brokers, by broker, group and member.
#[derive(Debug, Default)]
pub(crate) struct ShareSessions {
    sessions: BTreeMap<(i32, String, String), ShareSession>,
}

impl ShareSessions {
    /// The partitions of a member's session.
    pub(crate) fn partitions(&self, broker: i32, group: &str, member_id: &str) -> &[TopicPartition] {
        let session = self.sessions.get(&(broker, group.to_owned(), member_id.to_owned()));
        session.map_or(&[], |session| &session.partitions)
    }

    /// The partitions of all sessions of a member.
    pub(crate) fn of_member(&self, group: &str, member_id: &str) -> Vec<TopicPartition> {
        let own = |session: &&ShareSession| session.group == group && session.member_id == member_id;
        self.sessions.values().filter(own).flat_map(|session| session.partitions.iter().copied()).collect()
    }

    /// The number of a broker's sessions.
    pub(crate) fn count(&self, broker: i32) -> usize {
        self.sessions.values().filter(|session| session.broker == broker).count()
    }

    /// Opens a session, in place of the member's old one.
    pub(crate) fn open(
        &mut self,
        request: &ShareSessionRequest,
        partitions: Vec<TopicPartition>,
        max_sessions: usize,
    ) -> Result<(), ErrorCode> {
        self.sessions.remove(&request.key());
        if self.count(request.broker) >= max_sessions {
            return Err(ErrorCode::ShareSessionLimitReached);
        }
        let session = ShareSession {
            broker: request.broker,
            group: request.group.clone(),
            member_id: request.member_id.clone(),
            connection: request.connection,
            partitions: Vec::new(),
            epoch: 1,
        };
        self.sessions.entry(request.key()).or_insert(session).add(partitions);
        Ok(())
    }

    /// Checks and advances the epoch of a session, except when the request closes it.
    pub(crate) fn enter(&mut self, request: &ShareSessionRequest) -> Result<&mut ShareSession, ErrorCode> {
        let session = self.sessions.get_mut(&request.key()).ok_or(ErrorCode::ShareSessionNotFound)?;
        if !request.closes() {
            if session.epoch != request.epoch {
                return Err(ErrorCode::InvalidShareSessionEpoch);
            }
            session.epoch = session.epoch.checked_add(1).unwrap_or(1);
        }
        Ok(session)
    }

    /// Removes the sessions that match.
    pub(super) fn take(&mut self, which: impl Fn(&ShareSession) -> bool) -> Vec<ShareSession> {
        let (taken, kept) = std::mem::take(&mut self.sessions).into_iter().partition(|(_, open)| which(open));
        self.sessions = kept;
        let taken: BTreeMap<_, _> = taken;
        taken.into_values().collect()
    }
}

impl ShareSession {
    pub(crate) fn add(&mut self, partitions: Vec<TopicPartition>) {
        for partition in partitions {
            if !self.partitions.contains(&partition) {
                self.partitions.push(partition);
            }
        }
    }

    pub(crate) fn forget(&mut self, partitions: &[TopicPartition]) {
        self.partitions.retain(|partition| !partitions.contains(partition));
    }
}
