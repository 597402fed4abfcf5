//! The outcome of a Produce request: which batches are written, fail, or are sent again.
//!
//! Invariant: each batch returns to the accumulator or completes, and an error says whether the records may have
//! been written. An error of one partition does not affect another.

use std::collections::HashMap;
use std::sync::Arc;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::produce::{PartitionProduceResponse, ProduceResponse};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::batch::Batch;
use super::inner::ProducerInner;
use super::produce_result::AppendInfo;
use super::refusal_message::{log, refusal};
use super::refused_writes::{Refusal, RefusedPartition, RefusedWrites};
use super::sending::ProduceOutcome;
use super::split::split;
use super::transaction::{concurrent_transactions_backoff, with_advice_if_clear};
use crate::config::Acks;
use crate::error::proof::proves_no_append;
use crate::error::recovery::{Recovery, recovery};
use crate::error::{Error, Kind};
use crate::metadata::LeaderHints;

/// Processes the outcome, batch by batch. Returns whether the metadata is stale.
pub(super) fn process_outcome(
    inner: &ProducerInner,
    refused: &Mutex<RefusedWrites>,
    outcome: ProduceOutcome,
) -> bool {
    let accumulator = &inner.accumulator;
    for (batch, error) in outcome.unsendable {
        accumulator.complete(batch, Err(error));
    }
    match outcome.response {
        Ok(_) if inner.client.config().acks == Acks::None => {
            outcome
                .batches
                .into_iter()
                .for_each(|batch| accumulator.complete(batch, Ok(AppendInfo::UNKNOWN)));
            false
        }
        Ok(response) => process_response(inner, refused, (outcome.broker, outcome.batches), response),
        Err(error) => {
            for batch in outcome.batches {
                fail_or_retry(inner, batch, error.clone().broker(outcome.broker));
            }
            // A broker that disconnected may no longer be the leader.
            error.kind() == Kind::Connection
        }
    }
}

/// Processes each partition's response. Returns whether the metadata is stale.
fn process_response(
    inner: &ProducerInner,
    refused: &Mutex<RefusedWrites>,
    (broker, batches): (i32, Vec<Batch>),
    response: ProduceResponse,
) -> bool {
    let mut responses: HashMap<(Arc<str>, i32), PartitionProduceResponse> = HashMap::new();
    for topic in response.responses {
        let name: Arc<str> = topic.name.into();
        responses.extend(
            topic
                .partition_responses
                .into_iter()
                .map(|response| ((Arc::clone(&name), response.index), response)),
        );
    }
    let mut hints = LeaderHints::default();
    for ((topic, partition), response) in &responses {
        let leader = (response.current_leader.leader_id, response.current_leader.leader_epoch);
        hints.add(topic, *partition, ErrorCode::from(response.error_code), leader);
    }
    let endpoints = response.node_endpoints.into_iter().map(|n| (n.node_id, n.host, n.port, n.rack));
    let stale = hints.apply(&inner.client.inner.metadata, endpoints);
    for batch in batches {
        let Some(partition_response) = responses.remove(batch.part.partition()) else {
            let error =
                Error::new(Kind::Protocol, "the broker's response omits this partition").broker(broker);
            fail_or_retry(inner, batch, error);
            continue;
        };
        process_partition_response(inner, refused, (broker, batch), partition_response);
    }
    stale
}

/// Processes one partition's response.
fn process_partition_response(
    inner: &ProducerInner,
    refused: &Mutex<RefusedWrites>,
    (broker, mut batch): (i32, Batch),
    response: PartitionProduceResponse,
) {
    let accumulator = &inner.accumulator;
    let code = ErrorCode::from(response.error_code);
    let message = response.error_message.as_deref().filter(|message| !message.is_empty());
    let snapshot = inner.client.snapshot();
    let error = refusal(&snapshot, batch.part.partition(), (code, message), broker);
    if proves_no_append(code, inner.client.config().acks == Acks::All) {
        batch.attempt_rejected();
    }
    match recovery(code) {
        Recovery::Done | Recovery::Written => {
            let info =
                AppendInfo { offset: response.base_offset, log_append_time: response.log_append_time_ms };
            let ended = refused.lock().written(batch.part.partition(), Instant::now());
            ended.iter().for_each(|notice| log(notice, &snapshot, inner.client.config().delivery_timeout));
            if batch.failed_attempts > 0 {
                inner.record_success(batch.part.partition());
            }
            accumulator.complete(batch, Ok(info));
        }
        // It is part of a larger batch that may be in the log with the sequence numbers of all its
        // parts.
        Recovery::ProducerEpoch if batch.split_in_doubt => {
            let why = "it was too large, and an attempt before the split may have been written";
            accumulator.complete(batch, Err(error.prefixed(why)));
        }
        // Only the coordinator assigns another epoch, after the transaction is aborted.
        Recovery::ProducerEpoch
            if accumulator.transaction.is_some() && code != ErrorCode::OutOfOrderSequenceNumber =>
        {
            refuse_epoch(inner, batch, error, code);
        }
        // The batch waits for earlier ones or for new sequence numbers; this error is never the
        // application's concern.
        Recovery::ProducerEpoch if batch.sequence.is_some() => {
            let wait = pause(inner, &batch, &error);
            tracing::debug!(target: "ottla.producer", failures = batch.failed_attempts, %error, "batch is out of order");
            let invalidate_id = code == ErrorCode::InvalidProducerEpoch;
            inner.client.count_retry(&error);
            accumulator.retry_out_of_order(batch, wait, error, invalidate_id);
        }
        Recovery::Split if batch.count() > 1 && !batch.part.is_complete() => match split(&batch) {
            Ok(parts) => {
                inner.client.count_retry(&error);
                accumulator.retry_split(batch, parts, error);
            }
            Err(why) => accumulator.complete(batch, Err(error.prefixed(why))),
        },
        recovery if recovery.retries() => {
            if message.is_none() && Refusal::of(code).is_some() {
                let partition = batch.part.partition().clone();
                refused.lock().refused(RefusedPartition { partition, code, broker }, Instant::now());
                inner.keep_failure(&error);
                return retry(inner, batch, error);
            }
            fail_or_retry(inner, batch, error);
        }
        _ => accumulator.complete(batch, Err(error)),
    }
}

/// Fails a batch of a transaction, or holds it back until it is known what its error means.
fn refuse_epoch(inner: &ProducerInner, batch: Batch, error: Error, code: ErrorCode) {
    let accumulator = &inner.accumulator;
    let error = match &accumulator.transaction {
        Some(transaction) if transaction.epoch_was_refused(&error) => {
            return accumulator.hold_back(batch, error);
        }
        Some(transaction) => with_advice_if_clear(error, code, transaction.protocol()),
        None => error,
    };
    accumulator.complete(batch, Err(error));
}

/// Records a failed attempt, which is a warning if it lasts, and queues the batch again.
fn fail_or_retry(inner: &ProducerInner, batch: Batch, error: Error) {
    if error.is_transient() && batch.failed_attempts < inner.client.config().retries {
        // The first failure starts now; a repeated one has lasted since the batch was created.
        let since = if batch.failed_attempts > 0 { batch.created } else { Instant::now() };
        inner.record_failure(&batch.part.partition().0, &error, since);
    }
    retry(inner, batch, error);
}

/// Queues a batch for another attempt if the error is retriable and `retries` are left.
fn retry(inner: &ProducerInner, batch: Batch, error: Error) {
    let retries = inner.client.config().retries;
    if !error.is_transient() {
        return inner.accumulator.complete(batch, Err(error));
    }
    if batch.failed_attempts >= retries {
        let error = error.prefixed(format_args!("failed after {} attempts (retries={retries})", retries + 1));
        return inner.accumulator.complete(batch, Err(error));
    }
    let wait = pause(inner, &batch, &error);
    tracing::debug!(target: "ottla.producer", failures = batch.failed_attempts + 1, %error, "batch is sent again");
    inner.client.count_retry(&error);
    inner.accumulator.retry(batch, wait, error);
}

/// When the next attempt of a failed batch may start.
fn pause(inner: &ProducerInner, batch: &Batch, error: &Error) -> Instant {
    let failures = batch.failed_attempts + 1;
    let wait = match error.code() {
        Some(ErrorCode::ConcurrentTransactions) => concurrent_transactions_backoff(&inner.client, failures),
        _ => inner.client.backoff(failures),
    };
    Instant::now() + wait
}
