//! Processes the responses of leaders: acquired records are buffered, acknowledgements get their results. No
//! I/O.
//!
//! Invariants: acknowledgements of a request that a broker refused as a whole, or that got no response, are
//! sent again; if their records were acquired again meanwhile, they are void. A batch with a wrong CRC is
//! released, so that it is fetched again, and never skipped.

use std::collections::BTreeMap;

use bytes::Bytes;
use ottla_protocol::messages::share_acknowledge::ShareAcknowledgeResponse;
use ottla_protocol::messages::share_fetch::{AcquiredRecords, ShareFetchResponse};
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::time::{Duration, Instant};

use super::acknowledgements::{AcknowledgeType, Acknowledgement, PartitionAcknowledgements};
use super::acquired_fetch::{AcquiredFetch, acquired_offsets};
use super::leader_state::{FINAL_EPOCH, INITIAL_EPOCH, InFlight};
use super::offset_ranges::OffsetRanges;
use super::state::{PartitionFailures, ShareState};
use crate::consumer::completed_fetch::{batch_too_large, check_batches};
use crate::consumer::fetch::request::min_interval;
use crate::consumer::group::TopicIdPartition;
use crate::error::recovery::{Recovery, recovery};
use crate::error::{Error, Result};
use crate::printable::printable;
use crate::topic_partition::TopicPartition;

/// The lock's duration if a broker does not state it; brokers' default.
const DEFAULT_LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// A response of one partition to a fetch.
struct FetchedPartition {
    error: (ErrorCode, Option<String>),
    acknowledge_error: (ErrorCode, Option<String>),
    records: Bytes,
    acquired: Vec<AcquiredRecords>,
}

impl ShareState {
    /// Processes the response to a ShareFetch. `backoff` gives the pause after so many failures.
    pub(super) fn process_fetch(
        &mut self,
        id: i32,
        response: Result<ShareFetchResponse>,
        now: Instant,
        backoff: impl Fn(u32) -> Duration,
    ) {
        let response = response.and_then(|response| {
            check(response.error_code, response.error_message.as_deref(), id).map(|()| response)
        });
        let Some((in_flight, response)) = self.end_request(id, response, now, &backoff) else { return };
        let sent = in_flight.sent.unwrap_or(now);
        self.note_lock_timeout(response.acquisition_lock_timeout_ms);
        // A broker acquires records at the end of its wait; what took longer was the network.
        let acquired_at = now.min(sent + self.settings.max_wait);
        let locked_until = acquired_at + self.lock_timeout.unwrap_or(DEFAULT_LOCK_TIMEOUT);
        let mut partitions: BTreeMap<TopicIdPartition, FetchedPartition> = BTreeMap::new();
        for topic in response.responses {
            for data in topic.partitions {
                let fetched = FetchedPartition {
                    error: (data.error_code.into(), data.error_message),
                    acknowledge_error: (data.acknowledge_error_code.into(), data.acknowledge_error_message),
                    records: data.records.unwrap_or_default(),
                    acquired: data.acquired_records,
                };
                partitions.insert((topic.topic_id, data.partition_index), fetched);
            }
        }
        let results = in_flight.acknowledgements.iter().map(|(id, acknowledgements)| {
            let result = partitions.get_mut(id).map(|it| std::mem::take(&mut it.acknowledge_error.1));
            let code = partitions.get(id).map(|it| it.acknowledge_error.0);
            (acknowledgements, code, result.flatten())
        });
        let results: Vec<_> = results.collect();
        for (acknowledgements, code, message) in results {
            self.complete_acknowledgements(id, acknowledgements, code, message.as_deref(), now);
        }
        // A response of a session leaves out partitions without news.
        for (partition_id, partition) in &in_flight.fetched {
            let is_read = partitions.get(partition_id).is_none_or(|it| it.error.0 == ErrorCode::None);
            if is_read && self.failing.remove(partition_id).is_some() {
                self.read_again.push(partition.clone());
            }
        }
        let mut is_empty = true;
        for (partition_id, fetched) in partitions {
            let Some(partition) = in_flight.fetched.get(&partition_id) else { continue };
            if fetched.error.0 != ErrorCode::None {
                self.fail_partition(id, partition_id, partition, fetched.error, now, &backoff);
                continue;
            }
            if !fetched.acquired.is_empty() {
                is_empty &= !self.buffer(id, partition_id, partition, &fetched, locked_until, now);
            }
        }
        // Nothing to deliver: the next fetch waits a little.
        if is_empty && let Some(leader) = self.leaders.get_mut(&id) {
            leader.not_before = Some(sent + min_interval(self.settings.max_wait));
        }
    }

    /// Processes the response to a ShareAcknowledge.
    pub(super) fn process_acknowledge(
        &mut self,
        id: i32,
        response: Result<ShareAcknowledgeResponse>,
        now: Instant,
        backoff: impl Fn(u32) -> Duration,
    ) {
        let response = response.and_then(|response| {
            check(response.error_code, response.error_message.as_deref(), id).map(|()| response)
        });
        let Some((in_flight, response)) = self.end_request(id, response, now, backoff) else { return };
        self.note_lock_timeout(response.acquisition_lock_timeout_ms);
        if in_flight.epoch == FINAL_EPOCH
            && let Some(leader) = self.leaders.get_mut(&id)
        {
            leader.reset_session();
        }
        let mut results: BTreeMap<TopicIdPartition, (ErrorCode, Option<String>)> = BTreeMap::new();
        for topic in response.responses {
            for data in topic.partitions {
                let result = (data.error_code.into(), data.error_message);
                results.insert((topic.topic_id, data.partition_index), result);
            }
        }
        for (partition_id, acknowledgements) in &in_flight.acknowledgements {
            let (code, message) = results.remove(partition_id).unzip();
            self.complete_acknowledgements(id, acknowledgements, code, message.flatten().as_deref(), now);
        }
    }

    /// Ends the request in flight to a leader. Returns it with its response, unless it failed as a whole.
    fn end_request<R>(
        &mut self,
        id: i32,
        response: Result<R>,
        now: Instant,
        backoff: impl Fn(u32) -> Duration,
    ) -> Option<(InFlight, R)> {
        let in_flight = self.leaders.get_mut(&id)?.in_flight.take()?;
        match response {
            Ok(response) => {
                self.note_success(id, in_flight.epoch);
                Some((in_flight, response))
            }
            Err(error) => {
                self.process_failure(id, in_flight, error, now, backoff);
                None
            }
        }
    }

    fn note_success(&mut self, id: i32, epoch: i32) {
        if let Some(leader) = self.leaders.get_mut(&id) {
            leader.advance_epoch();
            leader.not_before = None;
            // A new session proves nothing yet: it may be lost again.
            if epoch != INITIAL_EPOCH {
                (leader.failures, leader.failing_since, leader.last_error) = (0, None, None);
            }
        }
    }

    fn note_lock_timeout(&mut self, millis: i32) {
        if let Ok(millis @ 1..) = u64::try_from(millis) {
            self.lock_timeout = Some(Duration::from_millis(millis));
        }
    }

    /// Handles a request that was refused as a whole, or that got no response.
    fn process_failure(
        &mut self,
        id: i32,
        in_flight: InFlight,
        error: Error,
        now: Instant,
        backoff: impl Fn(u32) -> Duration,
    ) {
        let Some(leader) = self.leaders.get_mut(&id) else { return };
        leader.reset_session();
        leader.is_wanted |= in_flight.is_fetch;
        leader.failures = leader.failures.saturating_add(1);
        leader.last_error = Some(error.clone());
        let since = *leader.failing_since.get_or_insert(now);
        let is_new_session = error.code().is_some_and(|code| recovery(code) == Recovery::NewSession);
        // A new session is opened at once, unless that failed before.
        if !is_new_session || leader.failures > 1 {
            leader.not_before = Some(now + backoff(leader.failures));
        }
        let is_unexpected = error.is_unexpected() && error.is_repeated(since, now);
        let may_retry = error.is_transient() || is_new_session || (is_unexpected && in_flight.is_fetch);
        if may_retry && !(self.is_closing && in_flight.epoch == FINAL_EPOCH) {
            leader.put_back(in_flight.acknowledgements, now);
        } else {
            self.fail_acknowledgements(id, in_flight.acknowledgements.values(), &error, now);
        }
        if !may_retry && !is_unexpected {
            self.push_error(error);
        } else if !is_new_session {
            self.metadata_is_stale = true;
        }
    }

    /// Records the result of the acknowledgements of one partition. `code` is `None` if the response left the
    /// partition out.
    fn complete_acknowledgements(
        &mut self,
        leader: i32,
        acknowledgements: &PartitionAcknowledgements,
        code: Option<ErrorCode>,
        message: Option<&str>,
        now: Instant,
    ) {
        let error = match code {
            Some(ErrorCode::None) => None,
            Some(code) => Some(acknowledgement_error(code, message).broker(leader)),
            None => {
                let message = "the broker's response leaves out the partition: it is not known whether the records are acknowledged";
                Some(Error::from_code(ErrorCode::InvalidRecordState).with_message(message).broker(leader))
            }
        };
        if code.is_some_and(|code| recovery(code) == Recovery::Refresh) {
            self.metadata_is_stale = true;
        }
        if acknowledgements.has_renewals() {
            self.end_renewals(leader, acknowledgements, error.is_none(), now);
        }
        self.complete(acknowledgements, error);
    }

    /// Buffers renewed records, to be delivered again; drops those whose renewal failed.
    pub(super) fn end_renewals(
        &mut self,
        leader: i32,
        acknowledgements: &PartitionAcknowledgements,
        succeeded: bool,
        now: Instant,
    ) {
        let locked_until = now + self.lock_timeout.unwrap_or(DEFAULT_LOCK_TIMEOUT);
        let renew = Acknowledgement::Application(AcknowledgeType::Renew);
        let mut renewed = Vec::new();
        self.renewing.retain_mut(|fetch| {
            if fetch.leader != leader || fetch.partition != acknowledgements.partition {
                return true;
            }
            let mut acquired = OffsetRanges::default();
            for (first, last, _) in acknowledgements.offsets.iter().filter(|(_, _, how)| *how == renew) {
                for (first, last, count) in fetch.acquired.between(first, last) {
                    acquired.insert(first, last, count);
                }
                fetch.acquired.remove(first, last);
            }
            if succeeded && !acquired.is_empty() {
                renewed.push(AcquiredFetch { acquired, locked_until, ..fetch.clone() });
            }
            !fetch.acquired.is_empty()
        });
        // Behind the others, whose locks expire earlier, and which a poll may be reading.
        for fetch in renewed {
            self.push_buffered(fetch);
        }
    }

    fn push_buffered(&mut self, fetch: AcquiredFetch) {
        self.buffered.push_back(fetch);
        self.front_version += u64::from(self.buffered.len() == 1);
    }

    /// Handles the error of one partition of a fetch.
    fn fail_partition(
        &mut self,
        leader: i32,
        id: TopicIdPartition,
        partition: &TopicPartition,
        (code, message): (ErrorCode, Option<String>),
        now: Instant,
        backoff: impl Fn(u32) -> Duration,
    ) {
        let error = Error::from_code(code)
            .lacking(ApiKey::ShareFetch, &partition.0)
            .at(&partition.0, partition.1)
            .broker(leader);
        let error = with_broker_message(error, message.as_deref());
        let first = PartitionFailures { count: 0, since: now, retry_at: now, last: error.clone() };
        let failures = self.failing.entry(id).or_insert(first);
        failures.count += 1;
        failures.retry_at = now + backoff(failures.count);
        failures.last = error.clone();
        match recovery(code) {
            Recovery::Refresh => self.metadata_is_stale = true,
            _ if error.is_repeated(failures.since, now) => {}
            _ => self.push_error(error),
        }
    }

    /// Fails acknowledgements of an earlier acquisition of these offsets, which got no response.
    fn void_acknowledgements(
        &mut self,
        leader: i32,
        id: TopicIdPartition,
        acquired: &OffsetRanges<i16>,
        now: Instant,
    ) {
        let void = self.leaders.get_mut(&leader).and_then(|state| state.withdraw(id, acquired));
        let Some(void) = void else { return };
        let message = "the acknowledgement got no response, and then the records were acquired again: they are delivered again";
        let error = Error::with_code(ErrorCode::InvalidRecordState, message).broker(leader);
        self.fail_acknowledgements(leader, std::iter::once(&void), &error, now);
    }

    /// Buffers acquired records, up to the first corrupt batch; the rest is released. Returns whether there
    /// are any.
    fn buffer(
        &mut self,
        leader: i32,
        id: TopicIdPartition,
        partition: &TopicPartition,
        fetched: &FetchedPartition,
        locked_until: Instant,
        now: Instant,
    ) -> bool {
        let mut acquired = acquired_offsets(&fetched.acquired);
        self.void_acknowledgements(leader, id, &acquired, now);
        let checked = check_batches(&fetched.records, self.settings.check_crcs);
        let mut fetch = AcquiredFetch {
            leader,
            id,
            partition: partition.clone(),
            records: checked.records,
            acquired: OffsetRanges::default(),
            locked_until,
        };
        // A response may end within a batch that did not fit; the broker acquires whole batches only.
        let truncated = checked.truncated_size.map(batch_too_large);
        if let Some(error) = checked.error.or(truncated) {
            let good_until = checked.next.map_or(i64::MIN, |(next, _)| next);
            let unreadable: Vec<_> = acquired.between(good_until, i64::MAX).collect();
            acquired.remove(good_until, i64::MAX);
            if !unreadable.is_empty() {
                let ranges =
                    unreadable.iter().map(|(first, last, _)| (*first, *last, Acknowledgement::Undelivered));
                self.leaders.entry(leader).or_default().acknowledge(&fetch, ranges, now);
                let error = error.prefixed("unreadable records were released, to be fetched again");
                let error = error.at(&partition.0, partition.1).broker(leader);
                tracing::warn!(target: "ottla.share", %error, "unreadable records");
                self.push_error(error);
            }
        }
        if acquired.is_empty() {
            return false;
        }
        fetch.acquired = acquired;
        self.push_buffered(fetch);
        true
    }
}

/// The error of a whole response.
fn check(code: i16, message: Option<&str>, broker: i32) -> Result<()> {
    match ErrorCode::from(code) {
        ErrorCode::None => Ok(()),
        code => Err(with_broker_message(Error::from_code(code).broker(broker), message)),
    }
}

fn with_broker_message(error: Error, message: Option<&str>) -> Error {
    match message.filter(|message| !message.is_empty()) {
        Some(message) => {
            let combined = format!("{} ({})", error.message(), printable(message));
            error.with_message(combined)
        }
        None => error,
    }
}

/// The error of acknowledgements, with what it means.
fn acknowledgement_error(code: ErrorCode, message: Option<&str>) -> Error {
    let error = match code {
        ErrorCode::InvalidRecordState => Error::with_code(
            code,
            "the records are not acquired by this member any more: their acquisition lock expired, or an earlier request, whose response was lost, acknowledged them",
        ),
        ErrorCode::NotLeaderOrFollower | ErrorCode::FencedLeaderEpoch => Error::with_code(
            code,
            "the leader has moved, and locks do not move with it: the records are delivered again",
        ),
        _ => Error::from_code(code),
    };
    with_broker_message(error, message)
}

#[cfg(test)]
#[allow(clippy::expect_used, reason = "a test may fail")]
mod renewal_tests;
#[cfg(test)]
#[allow(clippy::expect_used, reason = "a test may fail")]
mod tests;
