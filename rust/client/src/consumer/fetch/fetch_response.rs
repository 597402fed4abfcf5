//! Processes Fetch responses: buffers records and handles errors and corrupt batches.
//!
//! Invariants: a response counts only for partitions whose version is still that of the request. A batch
//! with a wrong CRC is fetched again and never skipped; the third time in a row is an error with partition
//! and offset.

use std::collections::HashMap;
use std::sync::Arc;

use ottla_protocol::records::AbortedTransactions;
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::time::Instant;

use super::broker_state::{InFlightFetch, InFlightPartition};
use super::completed_fetches::FetchNumber;
use super::fetcher::Fetcher;
use crate::consumer::completed_fetch::{CompletedFetch, MAX_CORRUPT_FETCHES, batch_too_large, check_batches};
use crate::consumer::fetch::request::{BrokerResponse, PartitionResponse};
use crate::consumer::metrics::millis;
use crate::consumer::partition_state::{FetchState, PartitionState, Watermarks};
use crate::error::recovery::{Recovery, recovery};
use crate::error::{Error, Result};
use crate::retry::persistent_failures::Place;
use crate::topic_partition::TopicPartition;

impl Fetcher {
    pub(crate) fn process_response(
        &mut self,
        (broker, number): FetchNumber,
        response: Result<BrokerResponse>,
    ) {
        let now = Instant::now();
        let broker_state = self.brokers.entry(broker).or_default();
        // Only after a panic may there be a second result of a fetch.
        let of_this = broker_state.in_flight.take_if(|fetch| fetch.number == number);
        let Some(fetch) = of_this else { return };
        let was_held = fetch.was_held;
        let has_news = self.complete_fetch(broker, fetch, response, now);
        // After the records are there: a poll that waits for this response takes them.
        if was_held {
            self.shared.rhythm.lock().released_ended();
        }
        // A poll without records sleeps through the empty responses of a quiet topic.
        if has_news || was_held {
            self.shared.poll_wakeup.notify_waiters();
        }
    }

    /// Buffers the records of a response. Returns whether there is anything for the application.
    fn complete_fetch(
        &mut self,
        broker: i32,
        fetch: InFlightFetch,
        response: Result<BrokerResponse>,
        now: Instant,
    ) -> bool {
        let InFlightFetch { sent, requested, .. } = fetch;
        let broker_state = self.brokers.entry(broker).or_default();
        let shared = Arc::clone(&self.shared);
        if response.is_ok() {
            shared.metrics.fetch_latency.record(millis(now.saturating_duration_since(sent)));
        }
        let mut subscriptions = shared.subscriptions.lock();
        for InFlightPartition { partition, version, .. } in &requested {
            if let Some(state) = subscriptions.current(partition, *version) {
                state.in_flight = false;
            }
        }
        match &response {
            Ok(response) => broker_state.session.handle_response(response.error, response.session_id),
            // Sent or not, the broker has not confirmed that it knows the session's partitions.
            Err(_) => broker_state.session.reset(),
        }
        let response = response.and_then(|response| response.into_partitions(broker));
        let mut fetched: HashMap<TopicPartition, PartitionResponse> = match response {
            Ok(fetched) => fetched,
            Err(error) => {
                drop(subscriptions);
                self.handle_request_error(broker, &requested, error, now);
                return false;
            }
        };
        broker_state.failures = 0;
        if broker_state.failing_since.take().is_some() {
            let what = format_args!("fetching from broker {broker}");
            shared.client.record_success(what, Place::Everywhere);
        }
        if fetched.values().all(PartitionResponse::is_empty) {
            broker_state.record_empty_response(sent, shared.client.config().fetch_max_wait);
        }
        // All records of the response stay in memory with each of its fetches.
        let response_bytes: usize = fetched.values().map(|data| data.records.len()).sum();
        broker_state.last_bytes = response_bytes;
        let mut has_news = false;
        for requested in requested {
            let Some(data) = fetched.remove(&requested.partition) else { continue };
            let Some(state) = subscriptions.current(&requested.partition, requested.version) else {
                continue;
            };
            if state.fetch_state != FetchState::Fetching || state.next_fetch.offset != requested.offset {
                continue;
            }
            match self.complete_partition(state, broker, &requested, data, response_bytes, now) {
                Ok(Some(fetch)) => subscriptions.push(fetch),
                Ok(None) => continue,
                Err(error) => subscriptions.fail(&requested.partition, error),
            }
            has_news = true;
        }
        has_news
    }

    /// Handles the failure of a whole request.
    fn handle_request_error(
        &mut self,
        broker: i32,
        requested: &[InFlightPartition],
        error: Error,
        now: Instant,
    ) {
        tracing::debug!(target: "ottla.fetch", broker, %error, "fetch failed");
        let new_session = error.code().is_some_and(|code| recovery(code) == Recovery::NewSession);
        let Some(broker_state) = self.brokers.get_mut(&broker) else { return };
        broker_state.failures += 1;
        let since = *broker_state.failing_since.get_or_insert(now);
        if error.may_pass() {
            self.shared.client.count_retry(&error);
        }
        if new_session {
            // The partitions are fetched again in a new session: at once, unless that failed before.
            if broker_state.failures > 1 {
                broker_state.not_before = Some(now + self.shared.client.backoff(broker_state.failures - 1));
            }
            return;
        }
        broker_state.not_before = Some(now + self.shared.client.backoff(broker_state.failures));
        self.metadata_is_stale();
        self.shared.client.record_failure(format_args!("fetching from broker {broker}"), &error, since);
        let mut subscriptions = self.shared.subscriptions.lock();
        for InFlightPartition { partition, version, .. } in requested {
            if let Some(state) = subscriptions.current(partition, *version) {
                // Return to the leader.
                state.preferred_replica = None;
                if !error.is_repeated(since, now) {
                    subscriptions.fail(partition, error.clone());
                }
            }
        }
        drop(subscriptions);
        self.shared.poll_wakeup.notify_waiters();
    }

    /// Handles the response for one partition.
    fn complete_partition(
        &mut self,
        state: &mut PartitionState,
        broker: i32,
        requested: &InFlightPartition,
        data: PartitionResponse,
        response_bytes: usize,
        now: Instant,
    ) -> Result<Option<CompletedFetch>> {
        if data.error != ErrorCode::None {
            return self.handle_partition_error(state, broker, requested, data.error, now).map(|()| None);
        }
        state.watermarks = Watermarks {
            log_start_offset: data.log_start,
            last_stable_offset: data.last_stable,
            high_watermark: data.high_watermark,
        };
        match data.preferred_replica {
            ..0 => self.shared.record_success(state, &requested.partition),
            replica => self.use_preferred_replica(state, replica, now),
        }
        let checked = check_batches(&data.records, self.shared.client.config().check_crcs);
        let Some((next, epoch)) = checked.next.filter(|(next, _)| *next > requested.offset) else {
            return match checked.error {
                Some(error) => self.handle_corrupt_batch(state, requested, error, now),
                None if data.records.is_empty() => Ok(None),
                None if checked.next.is_some() => {
                    // Records before the position only: the broker did not find it, and would do the same
                    // again.
                    self.shared.back_off(state, now);
                    Ok(None)
                }
                None => Err(batch_too_large(checked.truncated_size.unwrap_or(data.records.len()))),
            };
        };
        state.corrupt_fetches = 0;
        let read_committed = self.shared.read_committed();
        Ok(Some(CompletedFetch {
            partition: requested.partition.clone(),
            version: requested.version,
            records: checked.records,
            response_bytes,
            start: requested.offset,
            end: next,
            epoch,
            aborted: read_committed.then(|| AbortedTransactions::new(data.aborted)),
            remaining: None,
        }))
    }

    /// Switches to the preferred read replica; the leader returns no records while it names one.
    fn use_preferred_replica(&mut self, state: &mut PartitionState, replica: i32, now: Instant) {
        if self.shared.client.snapshot().brokers.contains_key(&replica) {
            state.clear_failures();
            state.preferred_replica = Some((replica, now + self.shared.client.config().metadata_max_age));
        } else {
            // The replica has just come back and is not in the metadata: the leader would name it again at
            // once.
            state.preferred_replica = None;
            self.metadata_is_stale();
            self.shared.back_off(state, now);
        }
    }

    /// Fetches corrupt records again; they are never skipped.
    fn handle_corrupt_batch(
        &mut self,
        state: &mut PartitionState,
        requested: &InFlightPartition,
        error: Error,
        now: Instant,
    ) -> Result<Option<CompletedFetch>> {
        state.corrupt_fetches += 1;
        self.shared.back_off(state, now);
        let error = error.prefixed(format_args!("records after offset {} are corrupt", requested.offset));
        if state.corrupt_fetches >= MAX_CORRUPT_FETCHES {
            state.corrupt_fetches = 0;
            return Err(error.prefixed(format_args!("fetched {MAX_CORRUPT_FETCHES} times")));
        }
        tracing::warn!(target: "ottla.fetch", %error, "corrupt records are fetched again");
        Ok(None)
    }

    /// Handles an error code for one partition.
    fn handle_partition_error(
        &mut self,
        state: &mut PartitionState,
        broker: i32,
        requested: &InFlightPartition,
        code: ErrorCode,
        now: Instant,
    ) -> Result<()> {
        self.shared.back_off(state, now);
        let (topic, partition) = &requested.partition;
        let error = Error::from_code(code).lacking(ApiKey::Fetch, topic).at(topic, *partition).broker(broker);
        let since = state.failing_since.unwrap_or(now);
        self.shared.client.record_failure(format_args!("reading {topic}"), &error, since);
        let from_leader = state.preferred_replica.take().is_none_or(|(preferred, _)| preferred != broker);
        match recovery(code) {
            // A follower may lag behind its leader.
            Recovery::ResetOffset if from_leader => {
                state.fetch_state = FetchState::OutOfRange;
                state.retry_at = None;
            }
            Recovery::ResetOffset => {}
            Recovery::Refresh => {
                self.shared.client.count_retry(&error);
                self.metadata_is_stale();
            }
            _ if error.is_repeated(since, now) => self.shared.client.count_retry(&error),
            _ => return Err(error),
        }
        Ok(())
    }
}
