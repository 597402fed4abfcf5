//! The state of a share consumer, without I/O: what is assigned, buffered, delivered and acknowledged.
//!
//! `schedule` chooses the requests and `responses` processes the results; both take the time as an argument.
//!
//! Invariants: each acquired record has one fate: it is delivered, and then acknowledged by the application,
//! with the next poll or with a commit; or it is released; or its lock expires, and the broker delivers it again. No
//! fetch is sent to a leader while records of it are buffered or with the application, so their locks do not run while
//! the application is busy with others.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use tokio::time::{Duration, Instant};

use super::acknowledgements::{
    AcknowledgeType, Acknowledgement, AcknowledgementResult, PartitionAcknowledgements,
};
use super::acquired_fetch::AcquiredFetch;
use super::delivered::Delivered;
use super::leader_state::LeaderState;
use super::offset_ranges::OffsetRanges;
use crate::config::{Config, ShareAcknowledgementMode, ShareAcquireMode};
use crate::consumer::group::TopicIdPartition;
use crate::error::{Error, Kind, Result};
use crate::topic_partition::TopicPartition;

/// The maximum number of unread errors: a failure that lasts is raised again anyway.
const MAX_ERRORS: usize = 100;

/// The part of the configuration that the state depends on.
#[derive(Debug, Clone)]
pub(super) struct ShareSettings {
    pub(super) group_id: Arc<str>,
    pub(super) mode: ShareAcknowledgementMode,
    pub(super) acquire_mode: ShareAcquireMode,
    pub(super) max_wait: Duration,
    pub(super) min_bytes: i32,
    pub(super) max_bytes: i32,
    pub(super) max_records: i32,
    pub(super) check_crcs: bool,
}

impl From<&Config> for ShareSettings {
    fn from(config: &Config) -> Self {
        Self {
            group_id: config.group_id.as_str().into(),
            mode: config.share_acknowledgement_mode,
            acquire_mode: config.share_acquire_mode,
            max_wait: config.fetch_max_wait,
            min_bytes: config.fetch_min_bytes,
            max_bytes: config.fetch_max_bytes,
            max_records: i32::try_from(config.max_poll_records).unwrap_or(i32::MAX),
            check_crcs: config.check_crcs,
        }
    }
}

/// Failures to read a partition.
#[derive(Debug, Clone)]
pub(super) struct PartitionFailures {
    pub(super) count: u32,
    pub(super) since: Instant,
    pub(super) retry_at: Instant,
    pub(super) last: Error,
}

/// The state of a share consumer.
#[derive(Debug)]
pub(super) struct ShareState {
    pub(super) settings: ShareSettings,
    pub(super) member_id: Arc<str>,
    pub(super) assignment: BTreeSet<TopicPartition>,
    pub(super) leaders: BTreeMap<i32, LeaderState>,
    /// Acquired records that were not delivered.
    pub(super) buffered: VecDeque<AcquiredFetch>,
    /// Changes whenever the first buffered fetch does.
    pub(super) front_version: u64,
    pub(super) delivered: Delivered,
    /// Records whose locks are being renewed; they are delivered again.
    pub(super) renewing: Vec<AcquiredFetch>,
    /// Whether a poll waits for records.
    pub(super) is_polling: bool,
    /// Whether acknowledgements are sent without waiting for the next fetch.
    pub(super) is_flushing: bool,
    pub(super) is_closing: bool,
    /// The results for the application's callback, if it has one.
    pub(super) results: VecDeque<AcknowledgementResult>,
    pub(super) keep_results: bool,
    /// The results of the commit in progress.
    pub(super) commit: Option<BTreeMap<TopicPartition, Option<Error>>>,
    pub(super) errors: VecDeque<Error>,
    pub(super) failing: BTreeMap<TopicIdPartition, PartitionFailures>,
    /// Partitions that failed and were read again; the fetcher takes them.
    pub(super) read_again: Vec<TopicPartition>,
    /// The duration of an acquisition lock, as the brokers last said.
    pub(super) lock_timeout: Option<Duration>,
    /// Whether a request has found the metadata to be stale.
    pub(super) metadata_is_stale: bool,
}

impl ShareState {
    pub(super) fn new(settings: ShareSettings) -> Self {
        Self {
            settings,
            member_id: "".into(),
            assignment: BTreeSet::new(),
            leaders: BTreeMap::new(),
            buffered: VecDeque::new(),
            front_version: 0,
            delivered: Delivered::default(),
            renewing: Vec::new(),
            is_polling: false,
            is_flushing: false,
            is_closing: false,
            results: VecDeque::new(),
            keep_results: false,
            commit: None,
            errors: VecDeque::new(),
            failing: BTreeMap::new(),
            read_again: Vec::new(),
            lock_timeout: None,
            metadata_is_stale: false,
        }
    }

    /// Replaces the assignment. Records that were acquired before are delivered all the same: they are
    /// locked, and a release would count as a delivery.
    pub(super) fn assign(&mut self, member_id: Arc<str>, partitions: Vec<TopicPartition>) {
        self.member_id = member_id;
        self.assignment = partitions.into_iter().collect();
        self.failing.clear();
    }

    /// Gives up the assignment, and releases the records that were not delivered.
    pub(super) fn unassign(&mut self, now: Instant) {
        self.assignment.clear();
        self.failing.clear();
        while let Some(fetch) = self.pop_front() {
            self.acknowledge_all(&fetch, Acknowledgement::Undelivered, now);
        }
    }

    /// Begins a poll: the records of the last one are acknowledged.
    pub(super) fn begin_poll(&mut self, now: Instant) -> Result<()> {
        match self.settings.mode {
            ShareAcknowledgementMode::Implicit => self.delivered.acknowledge_rest(AcknowledgeType::Accept),
            ShareAcknowledgementMode::Explicit => self.delivered.check_acknowledged()?,
        }
        self.queue_acknowledgements(now);
        self.is_polling = true;
        for leader in self.leaders.values_mut() {
            leader.is_wanted = true;
        }
        Ok(())
    }

    /// Checks that the application may acknowledge records.
    pub(super) fn check_explicit(&self) -> Result<()> {
        if self.settings.mode == ShareAcknowledgementMode::Explicit {
            return Ok(());
        }
        let message = "records are acknowledged by the next poll: to acknowledge them yourself, set share.acknowledgement.mode=explicit";
        Err(Error::new(Kind::State, message))
    }

    /// Queues what the application has acknowledged for its leaders.
    pub(super) fn queue_acknowledgements(&mut self, now: Instant) {
        for delivered in self.delivered.take_acknowledged() {
            let acknowledged = delivered.acknowledged.iter();
            let acknowledged =
                acknowledged.map(|(first, last, kind)| (first, last, Acknowledgement::Application(kind)));
            let leader = self.leaders.entry(delivered.fetch.leader).or_default();
            leader.acknowledge(&delivered.fetch, acknowledged, now);
            let renewed =
                delivered.acknowledged.iter().filter(|(_, _, kind)| *kind == AcknowledgeType::Renew);
            let mut acquired = OffsetRanges::default();
            for (first, last, count) in
                renewed.flat_map(|(first, last, _)| delivered.fetch.acquired.between(first, last))
            {
                acquired.insert(first, last, count);
            }
            if !acquired.is_empty() {
                self.renewing.push(AcquiredFetch { acquired, ..delivered.fetch });
            }
        }
    }

    /// Acknowledges all undelivered records of a fetch.
    pub(super) fn acknowledge_all(&mut self, fetch: &AcquiredFetch, how: Acknowledgement, now: Instant) {
        let ranges: Vec<_> = fetch.acquired.iter().map(|(first, last, _)| (first, last, how)).collect();
        self.leaders.entry(fetch.leader).or_default().acknowledge(fetch, ranges, now);
    }

    /// Removes the first buffered fetch.
    pub(super) fn pop_front(&mut self) -> Option<AcquiredFetch> {
        self.front_version += 1;
        self.buffered.pop_front()
    }

    /// Drops buffered records whose locks have expired: other members may have them.
    pub(super) fn drop_expired(&mut self, now: Instant) {
        while let Some(front) = self.buffered.front()
            && front.locked_until <= now
        {
            let (topic, partition) = &front.partition;
            tracing::warn!(
                target: "ottla.share", %topic, partition, records = front.acquired.count(),
                "the acquisition lock of records expired before a poll delivered them: the broker delivers them again. Poll more often, or lower max.poll.records or fetch.max.bytes"
            );
            self.pop_front();
        }
    }

    /// The leaders whose records are buffered or with the application.
    pub(super) fn leaders_of_held_records(&self) -> BTreeSet<i32> {
        let undelivered = self.buffered.iter().chain(&self.renewing).map(|fetch| fetch.leader);
        undelivered.chain(self.delivered.leaders()).collect()
    }

    /// Queues an error for the next poll.
    pub(super) fn push_error(&mut self, error: Error) {
        if self.errors.len() < MAX_ERRORS {
            self.errors.push_back(error);
        }
    }

    /// Whether all acknowledgements have a result.
    pub(super) fn is_settled(&self) -> bool {
        !self.leaders.values().any(LeaderState::has_unresolved)
    }

    /// Begins a commit: the acknowledgements are sent at once.
    pub(super) fn begin_commit(&mut self, now: Instant) {
        if self.settings.mode == ShareAcknowledgementMode::Implicit {
            self.delivered.acknowledge_rest(AcknowledgeType::Accept);
        }
        self.begin_flush(now);
    }

    /// Sends pending acknowledgements without waiting for the next fetch.
    pub(super) fn begin_flush(&mut self, now: Instant) {
        self.queue_acknowledgements(now);
        self.is_flushing = true;
    }

    /// Records the result of acknowledgements.
    pub(super) fn complete(&mut self, acknowledgements: &PartitionAcknowledgements, error: Option<Error>) {
        let (topic, partition) = &acknowledgements.partition;
        let error = error.map(|error| error.at(topic, *partition));
        let Some(result) = acknowledgements.result(error) else { return };
        if let Some(commit) = &mut self.commit {
            let known = commit.entry(result.partition.clone()).or_default();
            *known = known.take().or_else(|| result.error.clone());
        } else if let Some(error) = result.error.as_ref().filter(|_| !self.keep_results) {
            tracing::warn!(target: "ottla.share", %topic, partition, offsets = ?result.offsets, %error, "records were not acknowledged, or may not have been; those are delivered again");
        }
        if self.keep_results {
            self.results.push_back(result);
        }
    }
}
