//! One Produce request to one broker: building it, sending it and processing the response.
//!
//! Invariant: each batch returns to the accumulator or completes, whatever happens, and an error says
//! whether the records may have been written. An error of one partition does not affect another.

use std::collections::HashMap;
use std::sync::Arc;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::produce::{
    PartitionProduceData, PartitionProduceResponse, ProduceRequest, ProduceResponse, TopicProduceData,
};
use ottla_protocol::wire::Uuid;
use tokio::sync::oneshot;
use tokio::time::{Duration, Instant};

use super::batch::Batch;
use super::inner::ProducerInner;
use super::produce_result::AppendInfo;
use super::refusal_message::{log, refusal};
use super::refused_writes::{Refusal, RefusedPartition, RefusedWrites};
use super::rejection::is_rejected_before_append;
use super::split::split;
use super::transaction::{TransactionProtocol, concurrent_transactions_backoff, with_advice_if_clear};
use crate::cluster::Route;
use crate::config::Acks;
use crate::connection::{Connection, InFlightPermit, PendingResponse};
use crate::error::recovery::{Recovery, recovery};
use crate::error::{Error, Kind, Result};
use crate::metadata::LeaderHints;
use crate::tasks::panics::try_catch;

/// The outcome of one request.
pub(super) struct ProduceOutcome {
    pub(super) broker: i32,
    batches: Vec<Batch>,
    /// Batches that were not sent, and why.
    unsendable: Vec<(Batch, Error)>,
    response: Result<ProduceResponse>,
}

impl ProduceOutcome {
    /// Whether the broker has responded, with an error or without.
    pub(super) fn got_response(&self) -> bool {
        self.response.is_ok()
    }
}

/// Orders the requests to one broker: each is written after the previous one, so that a partition's
/// batches arrive in sequence.
pub(super) struct WriteOrder {
    pub(super) previous: Option<oneshot::Receiver<()>>,
    /// Dropped to let the next request be written.
    pub(super) written: oneshot::Sender<()>,
}

/// Sends batches of different partitions to one broker.
pub(super) async fn send_request(
    inner: Arc<ProducerInner>,
    broker: i32,
    mut batches: Vec<Batch>,
    order: WriteOrder,
) -> ProduceOutcome {
    let mut unsendable = Vec::new();
    // The batches always come back, so that they leave the in-flight state and release their memory.
    let sending = send_batches(&inner, broker, &mut batches, &mut unsendable, order);
    let response = try_catch("a produce request", sending).await;
    ProduceOutcome { broker, batches, unsendable, response }
}

async fn send_batches(
    inner: &ProducerInner,
    broker: i32,
    batches: &mut Vec<Batch>,
    unsendable: &mut Vec<(Batch, Error)>,
    order: WriteOrder,
) -> Result<ProduceResponse> {
    let config = inner.client.config();
    let connection = inner.client.connection(Route::Broker(broker)).await?;
    close_batches(inner, batches, unsendable)?;
    if let Some(previous) = order.previous {
        // An error means that the previous request will not be written any more.
        let _ = previous.await;
    }
    let permit = connection.permit().await?;
    let mut request = build_request(config.acks, config.request_timeout);
    request.transactional_id =
        inner.accumulator.transaction.as_ref().map(|transaction| transaction.transactional_id().to_owned());
    // Their records already failed as not written.
    take_out(batches, unsendable, |batch| {
        (!batch.begin_attempt()).then(|| inner.accumulator.delivery_timed_out(None))
    });
    request.topic_data = build_topics(batches);
    if batches.is_empty() {
        return Ok(ProduceResponse::default());
    }
    inner.accumulator.metrics.sent(batches, Instant::now());
    let began = Instant::now();
    let sent = start(inner, &connection, permit, &mut request).await;
    if sent.is_err() && config.acks != Acks::None {
        batches.iter_mut().for_each(Batch::attempt_rejected);
    }
    let (pending, version) = sent?;
    drop(order.written);
    let Some(pending) = pending else { return Ok(ProduceResponse::default()) };
    let mut response = connection.response::<ProduceRequest>(pending, version).await?;
    connection.throttle(response.throttle_time_ms);
    let throttle = Duration::from_millis(u64::try_from(response.throttle_time_ms).unwrap_or(0));
    inner.accumulator.metrics.response_received(began.elapsed(), throttle);
    // Map the ids that were sent to names: the metadata may have changed since.
    if version >= ProduceRequest::FIRST_BY_ID {
        let names: HashMap<Uuid, &String> =
            request.topic_data.iter().map(|topic| (topic.topic_id, &topic.name)).collect();
        for topic in &mut response.responses {
            if let Some(name) = names.get(&topic.topic_id) {
                topic.name.clone_from(name);
            }
        }
    }
    Ok(response)
}

/// Hands a request to the connection. Returns its version, and the pending response unless `acks=0`.
/// With acks, an error means that nothing was sent.
async fn start(
    inner: &ProducerInner,
    connection: &Connection,
    permit: InFlightPermit,
    request: &mut ProduceRequest,
) -> Result<(Option<PendingResponse>, i16)> {
    let config = inner.client.config();
    let snapshot = inner.client.snapshot();
    // Versions from 13 on identify topics by id, so each topic must have one.
    let ids: Option<Vec<_>> = request
        .topic_data
        .iter()
        .map(|topic| snapshot.topic(&topic.name).map(|known| known.id).filter(|id| !id.is_zero()))
        .collect();
    let version = connection.version::<ProduceRequest>(max_version(inner, ids.is_some()))?;
    check_transaction_version(inner, version)?;
    if version >= ProduceRequest::FIRST_BY_ID {
        for (topic, id) in request.topic_data.iter_mut().zip(ids.unwrap_or_default()) {
            topic.topic_id = id;
        }
    }
    if config.acks == Acks::None {
        connection.send_without_response(permit, request, version).await?;
        return Ok((None, version));
    }
    Ok((Some(connection.enqueue(permit, request, version, config.request_timeout)?), version))
}

/// The highest version to use: those from 13 on need topic ids, and those from 12 on make the partition
/// leader add the partition to the transaction (KIP-890).
fn max_version(inner: &ProducerInner, have_ids: bool) -> i16 {
    match &inner.accumulator.transaction {
        Some(transaction) if transaction.protocol() == TransactionProtocol::V1 => {
            ProduceRequest::FIRST_OF_PROTOCOL_2 - 1
        }
        _ if have_ids => i16::MAX,
        _ => ProduceRequest::FIRST_BY_ID - 1,
    }
}

/// Fails if the leader would not add the partition to the transaction.
fn check_transaction_version(inner: &ProducerInner, version: i16) -> Result<()> {
    match &inner.accumulator.transaction {
        Some(transaction)
            if transaction.protocol() == TransactionProtocol::V2
                && version < ProduceRequest::FIRST_OF_PROTOCOL_2 =>
        {
            transaction.leader_lacks_v2();
            let message = "this broker does not support version 2 of the transaction protocol, which the cluster has finalized; later transactions use version 1";
            Err(Error::new(Kind::Broker, message))
        }
        _ => Ok(()),
    }
}

/// Closes the batches. One that cannot be closed does not affect the others.
fn close_batches(
    inner: &ProducerInner,
    batches: &mut Vec<Batch>,
    unsendable: &mut Vec<(Batch, Error)>,
) -> Result<()> {
    let mut compressor = inner.compressor()?;
    // A local error: no broker caused it, and a retry cannot help.
    take_out(batches, unsendable, |batch| {
        inner.accumulator.close_batch(batch, &mut compressor).err().map(|error| error.as_kind(Kind::Config))
    });
    inner.compressors.lock().push(compressor);
    Ok(())
}

/// Moves the batches for which `why` returns an error to `unsendable`.
fn take_out(
    batches: &mut Vec<Batch>,
    unsendable: &mut Vec<(Batch, Error)>,
    mut why: impl FnMut(&mut Batch) -> Option<Error>,
) {
    let mut at = 0;
    while let Some(batch) = batches.get_mut(at) {
        match why(batch) {
            Some(error) => unsendable.push((batches.remove(at), error)),
            None => at += 1,
        }
    }
}

fn build_request(acks: Acks, timeout: Duration) -> ProduceRequest {
    ProduceRequest {
        acks: match acks {
            Acks::All => -1,
            Acks::Leader => 1,
            Acks::None => 0,
        },
        timeout_ms: i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX),
        ..Default::default()
    }
}

fn build_topics(batches: &[Batch]) -> Vec<TopicProduceData> {
    let mut topics: Vec<TopicProduceData> = Vec::new();
    let mut indexes: HashMap<&str, usize> = HashMap::new();
    for batch in batches {
        let (topic, partition) = batch.part.partition();
        let index = *indexes.entry(topic).or_insert_with(|| {
            topics.push(TopicProduceData { name: topic.to_string(), ..Default::default() });
            topics.len() - 1
        });
        if let Some(topic) = topics.get_mut(index) {
            let records = batch.closed().cloned();
            topic.partition_data.push(PartitionProduceData { index: *partition, records });
        }
    }
    topics
}

/// Processes the outcome, batch by batch. Returns whether the metadata is stale.
pub(super) fn process_outcome(
    inner: &ProducerInner,
    refused: &mut RefusedWrites,
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
    refused: &mut RefusedWrites,
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
    refused: &mut RefusedWrites,
    (broker, mut batch): (i32, Batch),
    response: PartitionProduceResponse,
) {
    let accumulator = &inner.accumulator;
    let code = ErrorCode::from(response.error_code);
    let message = response.error_message.as_deref().filter(|message| !message.is_empty());
    let snapshot = inner.client.snapshot();
    let error = refusal(&snapshot, batch.part.partition(), (code, message), broker);
    if is_rejected_before_append(code, inner.client.config().acks) {
        batch.attempt_rejected();
    }
    match recovery(code) {
        Recovery::Done | Recovery::Written => {
            let info =
                AppendInfo { offset: response.base_offset, log_append_time: response.log_append_time_ms };
            let ended = refused.written(batch.part.partition(), Instant::now());
            ended.iter().for_each(|notice| log(notice, &snapshot, inner.client.config().delivery_timeout));
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
                refused.refused(RefusedPartition { partition, code, broker }, Instant::now());
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
