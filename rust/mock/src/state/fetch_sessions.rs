//! Fetch sessions (KIP-227): the partitions of clients that fetch incrementally.
//!
//! Invariant: a session's epoch is the one that its next request must carry. A session lives in the memory of
//! one broker: it ends when the broker stops or evicts it.

use std::collections::BTreeMap;
use std::time::Duration;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::fetch::{FetchPartition, PartitionData};
use ottla_protocol::wire::Uuid;
use tokio::time::Instant;

/// The limits of a broker's session cache.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SessionLimits {
    pub(crate) max_sessions: usize,
    /// A session unused for this long may be evicted.
    pub(crate) min_idle: Duration,
}

/// A partition that a client requests.
#[derive(Debug, Clone)]
pub(crate) struct RequestedPartition {
    /// Empty in versions that name topics by id only.
    pub(crate) topic: String,
    pub(crate) topic_id: Uuid,
    pub(crate) partition: FetchPartition,
}

/// A partition of a session, with what the client knows of it.
#[derive(Debug)]
struct CachedPartition {
    requested: RequestedPartition,
    /// As of the last response, -1 if unknown.
    high_watermark: i64,
    log_start_offset: i64,
}

#[derive(Debug)]
struct Session {
    broker: i32,
    epoch: i32,
    by_id: bool,
    last_used: Instant,
    /// Partitions that returned records move to the end, so that none starves.
    partitions: Vec<CachedPartition>,
}

/// The sessions of all brokers.
#[derive(Debug, Default)]
pub(crate) struct FetchSessions {
    last_id: i32,
    sessions: BTreeMap<i32, Session>,
}

impl RequestedPartition {
    pub(crate) fn is(&self, topic: &str, topic_id: Uuid, partition: i32) -> bool {
        self.topic == topic && self.topic_id == topic_id && self.partition.partition == partition
    }
}

impl CachedPartition {
    fn new(requested: RequestedPartition, data: &PartitionData) -> Self {
        let mut cached = Self { requested, high_watermark: -1, log_start_offset: -1 };
        cached.record_response(data);
        cached
    }

    /// Records what the client learns; after an error, the next response names the partition again.
    fn record_response(&mut self, data: &PartitionData) {
        self.high_watermark = if data.error_code == 0 { data.high_watermark } else { -1 };
        self.log_start_offset = data.log_start_offset;
    }

    fn must_respond(&self, data: &PartitionData) -> bool {
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
    /// The partitions of a session, matched against faults.
    pub(crate) fn requested(&self, id: i32) -> impl Iterator<Item = &RequestedPartition> {
        self.sessions
            .get(&id)
            .into_iter()
            .flat_map(|session| session.partitions.iter().map(|cached| &cached.requested))
    }

    pub(crate) fn close(&mut self, broker: i32, id: i32) {
        if self.sessions.get(&id).is_some_and(|session| session.broker == broker) {
            self.sessions.remove(&id);
        }
    }

    /// Closes all sessions of a broker.
    pub(crate) fn close_all(&mut self, broker: i32) {
        self.sessions.retain(|_, session| session.broker != broker);
    }

    pub(crate) fn count(&self, broker: i32) -> usize {
        self.sessions.values().filter(|session| session.broker == broker).count()
    }

    /// Opens a session for the partitions of a response; returns its id, or 0 if the cache is full.
    pub(crate) fn open(
        &mut self,
        (broker, by_id): (i32, bool),
        responses: &[(RequestedPartition, PartitionData)],
        limits: SessionLimits,
        now: Instant,
    ) -> i32 {
        if self.count(broker) >= limits.max_sessions {
            let own = self.sessions.iter().filter(|(_, session)| session.broker == broker);
            let oldest = own.min_by_key(|(_, session)| session.last_used);
            match oldest.filter(|(_, session)| now - session.last_used >= limits.min_idle).map(|(id, _)| *id)
            {
                Some(id) => self.sessions.remove(&id),
                None => return 0,
            };
        }
        self.last_id = self.last_id.checked_add(1).unwrap_or(1);
        let partitions =
            responses.iter().map(|(requested, data)| CachedPartition::new(requested.clone(), data)).collect();
        self.sessions.insert(self.last_id, Session { broker, epoch: 1, by_id, last_used: now, partitions });
        self.last_id
    }

    /// Applies an incremental request and returns all partitions of the session. A session without
    /// partitions is closed.
    pub(crate) fn update(
        &mut self,
        (broker, by_id): (i32, bool),
        (id, epoch): (i32, i32),
        changed: Vec<RequestedPartition>,
        forgotten: impl Fn(&RequestedPartition) -> bool,
        now: Instant,
    ) -> Result<Vec<RequestedPartition>, ErrorCode> {
        let session = self.sessions.get_mut(&id).filter(|session| session.broker == broker);
        let session = session.ok_or(ErrorCode::FetchSessionIdNotFound)?;
        if session.epoch != epoch {
            return Err(ErrorCode::InvalidFetchSessionEpoch);
        }
        if session.by_id != by_id {
            return Err(ErrorCode::FetchSessionTopicIdError);
        }
        for requested in changed {
            let is_same = |cached: &&mut CachedPartition| {
                cached.requested.is(&requested.topic, requested.topic_id, requested.partition.partition)
            };
            match session.partitions.iter_mut().find(is_same) {
                Some(cached) => cached.requested = requested,
                None => session.partitions.push(CachedPartition {
                    requested,
                    high_watermark: -1,
                    log_start_offset: -1,
                }),
            }
        }
        session.partitions.retain(|cached| !forgotten(&cached.requested));
        session.epoch = if epoch == i32::MAX { 1 } else { epoch + 1 };
        session.last_used = now;
        let partitions: Vec<RequestedPartition> =
            session.partitions.iter().map(|cached| cached.requested.clone()).collect();
        if partitions.is_empty() {
            self.sessions.remove(&id);
        }
        Ok(partitions)
    }

    /// Keeps the partitions of a response that have records or changes, and records what the client learns.
    pub(crate) fn retain_changed(
        &mut self,
        id: i32,
        responses: &mut Vec<(RequestedPartition, PartitionData)>,
    ) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        responses.retain(|(requested, data)| {
            let is_same = |cached: &CachedPartition| {
                cached.requested.is(&requested.topic, requested.topic_id, requested.partition.partition)
            };
            let Some(at) = session.partitions.iter().position(is_same) else { return true };
            let Some(cached) = session.partitions.get_mut(at).filter(|cached| cached.must_respond(data))
            else {
                return false;
            };
            cached.record_response(data);
            if has_records(data) {
                let cached = session.partitions.remove(at);
                session.partitions.push(cached);
            }
            true
        });
    }
}
