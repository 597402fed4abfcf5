//! Fetch sessions (KIP-227): what a broker remembers of a client that fetches incrementally.
//!
//! Invariant: a session's epoch is the one that its next request has to have. Sessions are in the
//! memory of one broker: they are gone when it is, and when others need their places.

use std::collections::BTreeMap;
use std::time::Duration;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::fetch::{FetchPartition, PartitionData};
use ottla_protocol::wire::Uuid;
use tokio::time::Instant;

/// The broker's configuration of its sessions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slots {
    pub(crate) most: usize,
    /// One that was not used for so long may be put out.
    pub(crate) idle: Duration,
}

/// A partition that a client fetches.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    /// Empty in versions that name topics by id alone.
    pub(crate) topic: String,
    pub(crate) topic_id: Uuid,
    pub(crate) partition: FetchPartition,
}

/// A partition of a session.
#[derive(Debug)]
struct Entry {
    wanted: Wanted,
    /// What the client was told last.
    high_watermark: i64,
    log_start_offset: i64,
}

#[derive(Debug)]
struct Session {
    broker: i32,
    epoch: i32,
    by_id: bool,
    used: Instant,
    /// Those that had records go to the end, so that none starves.
    entries: Vec<Entry>,
}

/// The sessions of all brokers.
#[derive(Debug, Default)]
pub(crate) struct FetchSessions {
    last_id: i32,
    sessions: BTreeMap<i32, Session>,
}

impl Wanted {
    pub(crate) fn is(&self, topic: &str, topic_id: Uuid, partition: i32) -> bool {
        self.topic == topic && self.topic_id == topic_id && self.partition.partition == partition
    }
}

impl Entry {
    fn new(wanted: Wanted, told: &PartitionData) -> Self {
        let mut entry = Self { wanted, high_watermark: -1, log_start_offset: -1 };
        entry.note(told);
        entry
    }

    /// Notes what the client is told; after an error it will hear of the partition again in any case.
    fn note(&mut self, told: &PartitionData) {
        self.high_watermark = if told.error_code == 0 { told.high_watermark } else { -1 };
        self.log_start_offset = told.log_start_offset;
    }

    fn is_news(&self, data: &PartitionData) -> bool {
        data.error_code != 0
            || has_records(data)
            || data.high_watermark != self.high_watermark
            || data.log_start_offset != self.log_start_offset
            || data.preferred_read_replica >= 0
            || data.diverging_epoch.epoch >= 0
    }
}

fn has_records(data: &PartitionData) -> bool {
    data.records.as_ref().is_some_and(|records| !records.is_empty())
}

impl FetchSessions {
    /// Everything that a session fetches: for faults, which name topics.
    pub(crate) fn wanted(&self, id: i32) -> impl Iterator<Item = &Wanted> {
        self.sessions
            .get(&id)
            .into_iter()
            .flat_map(|session| session.entries.iter().map(|entry| &entry.wanted))
    }

    pub(crate) fn close(&mut self, broker: i32, id: i32) {
        if self.sessions.get(&id).is_some_and(|session| session.broker == broker) {
            self.sessions.remove(&id);
        }
    }

    /// Forgets all sessions of a broker.
    pub(crate) fn forget(&mut self, broker: i32) {
        self.sessions.retain(|_, session| session.broker != broker);
    }

    pub(crate) fn count(&self, broker: i32) -> usize {
        self.sessions.values().filter(|session| session.broker == broker).count()
    }

    /// Makes a session of what was fetched and answered; 0 if there is no room for one.
    pub(crate) fn open(
        &mut self,
        (broker, by_id): (i32, bool),
        answered: &[(Wanted, PartitionData)],
        slots: Slots,
        now: Instant,
    ) -> i32 {
        if self.count(broker) >= slots.most {
            let mine = self.sessions.iter().filter(|(_, session)| session.broker == broker);
            let oldest = mine.min_by_key(|(_, session)| session.used);
            match oldest.filter(|(_, session)| now - session.used >= slots.idle).map(|(id, _)| *id) {
                Some(id) => self.sessions.remove(&id),
                None => return 0,
            };
        }
        self.last_id = self.last_id.checked_add(1).unwrap_or(1);
        let entries = answered.iter().map(|(wanted, data)| Entry::new(wanted.clone(), data)).collect();
        self.sessions.insert(self.last_id, Session { broker, epoch: 1, by_id, used: now, entries });
        self.last_id
    }

    /// Takes over what an incremental request changes and gives all that the session fetches now.
    /// Nothing at all ends the session.
    pub(crate) fn update(
        &mut self,
        (broker, by_id): (i32, bool),
        (id, epoch): (i32, i32),
        changed: Vec<Wanted>,
        forgotten: impl Fn(&Wanted) -> bool,
        now: Instant,
    ) -> Result<Vec<Wanted>, ErrorCode> {
        let session = self.sessions.get_mut(&id).filter(|session| session.broker == broker);
        let session = session.ok_or(ErrorCode::FetchSessionIdNotFound)?;
        if session.epoch != epoch {
            return Err(ErrorCode::InvalidFetchSessionEpoch);
        }
        if session.by_id != by_id {
            return Err(ErrorCode::FetchSessionTopicIdError);
        }
        for wanted in changed {
            let is_it = |entry: &&mut Entry| {
                entry.wanted.is(&wanted.topic, wanted.topic_id, wanted.partition.partition)
            };
            match session.entries.iter_mut().find(is_it) {
                Some(entry) => entry.wanted = wanted,
                None => session.entries.push(Entry { wanted, high_watermark: -1, log_start_offset: -1 }),
            }
        }
        session.entries.retain(|entry| !forgotten(&entry.wanted));
        session.epoch = if epoch == i32::MAX { 1 } else { epoch + 1 };
        session.used = now;
        let wanted: Vec<Wanted> = session.entries.iter().map(|entry| entry.wanted.clone()).collect();
        if wanted.is_empty() {
            self.sessions.remove(&id);
        }
        Ok(wanted)
    }

    /// Keeps of an answer what is news to the client, and remembers that it was told.
    pub(crate) fn keep_news(&mut self, id: i32, answered: &mut Vec<(Wanted, PartitionData)>) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        answered.retain(|(wanted, data)| {
            let is_it =
                |entry: &Entry| entry.wanted.is(&wanted.topic, wanted.topic_id, wanted.partition.partition);
            let Some(at) = session.entries.iter().position(is_it) else { return true };
            let Some(entry) = session.entries.get_mut(at).filter(|entry| entry.is_news(data)) else {
                return false;
            };
            entry.note(data);
            if has_records(data) {
                let entry = session.entries.remove(at);
                session.entries.push(entry);
            }
            true
        });
    }
}
