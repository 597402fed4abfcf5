//! [`Sessions`]: the open sessions, and what the ended ones did.
//!
//! Invariant: a session counts once, among the open ones or the ended ones, so that totals never fall.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::task::AbortHandle;

use crate::session::{Counts, SessionInfo, SessionStatus};

/// The ended sessions that are kept until they are taken.
const ENDED_MAX: usize = 10_000;

/// A session that has ended.
#[derive(Debug, Clone)]
pub struct EndedSession {
    /// What it was at its end.
    pub info: SessionInfo,
    /// Why it ended.
    pub end: String,
}

/// What all sessions did since the gateway started.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    /// The connections that are open.
    pub open: u64,
    /// The connections that were accepted, with those that are open.
    pub accepted: u64,
    /// The connections that were closed when they were accepted, since there were too many.
    pub refused: u64,
    /// What happened in all of them.
    pub counts: Counts,
}

/// The sessions of a gateway.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    open: BTreeMap<u64, (Arc<SessionStatus>, AbortHandle)>,
    accepted: u64,
    refused: u64,
    counts: Counts,
    /// The ended sessions that nobody has taken; `None` if nobody will.
    ended: Option<VecDeque<EndedSession>>,
    /// How many had to give way.
    lost: u64,
}

impl Sessions {
    /// Adds a session: `start` starts it.
    pub(crate) fn add(&self, status: Arc<SessionStatus>, start: impl FnOnce() -> AbortHandle) {
        // Locked until the session is in the table, from which it removes itself at its end.
        let mut inner = self.0.lock();
        let task = start();
        inner.accepted += 1;
        inner.open.insert(status.id(), (status, task));
    }

    /// Counts a connection that is not served.
    pub(crate) fn refuse(&self) {
        self.0.lock().refused += 1;
    }

    /// Removes a session, which ended for a reason.
    pub(crate) fn remove(&self, id: u64, end: String) {
        let mut inner = self.0.lock();
        if let Some((status, _)) = inner.open.remove(&id) {
            inner.end(&status, end);
        }
    }

    /// Ends all sessions at once; returns how many.
    pub(crate) fn cut_off(&self) -> usize {
        let mut inner = self.0.lock();
        let open = std::mem::take(&mut inner.open);
        for (status, task) in open.values() {
            task.abort();
            inner.end(status, "it was cut off".to_owned());
        }
        open.len()
    }

    /// Whether no session is open.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().open.is_empty()
    }

    /// The open sessions, by number.
    pub(crate) fn open(&self) -> Vec<SessionInfo> {
        self.statuses().iter().map(|status| status.info()).collect()
    }

    fn statuses(&self) -> Vec<Arc<SessionStatus>> {
        self.0.lock().open.values().map(|(status, _)| Arc::clone(status)).collect()
    }

    /// What all sessions did.
    pub(crate) fn totals(&self) -> Totals {
        let inner = self.0.lock();
        let mut counts = inner.counts.clone();
        inner.open.values().for_each(|(status, _)| counts.add(&status.counts()));
        Totals { open: inner.open.len() as u64, accepted: inner.accepted, refused: inner.refused, counts }
    }

    /// Keeps the sessions that end from now on.
    pub(crate) fn keep_ended(&self) {
        self.0.lock().ended.get_or_insert_default();
    }

    /// The sessions that have ended since the last call, the oldest first, and how many are missing because they were
    /// too many. They are kept from the first call on.
    pub(crate) fn take_ended(&self) -> (Vec<EndedSession>, u64) {
        let mut inner = self.0.lock();
        let lost = std::mem::take(&mut inner.lost);
        (inner.ended.replace(VecDeque::new()).unwrap_or_default().into(), lost)
    }
}

impl Inner {
    fn end(&mut self, status: &SessionStatus, end: String) {
        self.counts.add(&status.counts());
        if let Some(ended) = &mut self.ended {
            if ended.len() == ENDED_MAX {
                ended.pop_front();
                self.lost += 1;
            }
            ended.push_back(EndedSession { info: status.info(), end });
        }
    }
}
