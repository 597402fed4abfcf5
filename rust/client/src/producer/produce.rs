//! One Produce request to one broker: building it and sending it.
//!
//! Invariant: each batch is in the outcome, whatever happens, and requests to a broker are written in the order of
//! their batches.

use std::collections::HashMap;
use std::sync::Arc;

use ottla_protocol::messages::produce::{
    PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData,
};
use ottla_protocol::wire::Uuid;
use tokio::time::{Duration, Instant};

use super::batch::Batch;
use super::inner::ProducerInner;
use super::sending::{ProduceOutcome, WriteOrder};
use super::transaction::TransactionProtocol;
use crate::cluster::Route;
use crate::config::Acks;
use crate::connection::{Connection, InFlightPermit, PendingResponse};
use crate::error::{Error, Kind, Result};
use crate::tasks::panics::try_catch;

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
    let Some(mut request) = begin_attempts(inner, batches, unsendable) else {
        return Ok(ProduceResponse::default());
    };
    let began = Instant::now();
    let sent = start(inner, &connection, permit, &mut request).await;
    if sent.is_err() && config.acks != Acks::None {
        batches.iter_mut().for_each(Batch::attempt_rejected);
    }
    let (pending, version) = sent?;
    drop(order.written);
    let Some(pending) = pending else { return Ok(ProduceResponse::default()) };
    let mut response = connection.response::<ProduceRequest>(pending, version).await?;
    responded(inner, &connection, &response, began);
    name_topics(&mut response, &topic_ids(&request, version));
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
    let version = choose_version(inner, connection, request)?;
    if config.acks == Acks::None {
        connection.send_without_response(permit, request, version).await?;
        return Ok((None, version));
    }
    Ok((Some(connection.enqueue(permit, request, version, config.request_timeout)?), version))
}

/// Builds the request of an attempt. Returns `None` if no batch is left.
pub(super) fn begin_attempts(
    inner: &ProducerInner,
    batches: &mut Vec<Batch>,
    unsendable: &mut Vec<(Batch, Error)>,
) -> Option<ProduceRequest> {
    let config = inner.client.config();
    let mut request = build_request(config.acks, config.request_timeout);
    request.transactional_id =
        inner.accumulator.transaction.as_ref().map(|transaction| transaction.transactional_id().to_owned());
    // Their records already failed as not written.
    take_out(batches, unsendable, |batch| {
        (!batch.begin_attempt()).then(|| inner.accumulator.delivery_timed_out(None))
    });
    request.topic_data = build_topics(batches);
    if batches.is_empty() {
        return None;
    }
    inner.accumulator.metrics.sent(batches, Instant::now());
    Some(request)
}

/// Chooses the request's version. Versions from 13 on identify topics by id, so each topic must have one.
pub(super) fn choose_version(
    inner: &ProducerInner,
    connection: &Connection,
    request: &mut ProduceRequest,
) -> Result<i16> {
    let snapshot = inner.client.snapshot();
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
    Ok(version)
}

/// Notes that a response has arrived.
pub(super) fn responded(
    inner: &ProducerInner,
    connection: &Connection,
    response: &ProduceResponse,
    began: Instant,
) {
    connection.throttle(response.throttle_time_ms);
    let throttle = Duration::from_millis(u64::try_from(response.throttle_time_ms).unwrap_or(0));
    inner.accumulator.metrics.response_received(began.elapsed(), throttle);
}

/// The ids and names of the topics of a request, if its version has ids.
pub(super) fn topic_ids(request: &ProduceRequest, version: i16) -> Vec<(Uuid, String)> {
    if version < ProduceRequest::FIRST_BY_ID {
        return Vec::new();
    }
    request.topic_data.iter().map(|topic| (topic.topic_id, topic.name.clone())).collect()
}

/// Maps the ids that were sent to names: the metadata may have changed since.
pub(super) fn name_topics(response: &mut ProduceResponse, ids: &[(Uuid, String)]) {
    for topic in &mut response.responses {
        if let Some((_, name)) = ids.iter().find(|(id, _)| *id == topic.topic_id) {
            topic.name.clone_from(name);
        }
    }
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
pub(super) fn close_batches(
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
