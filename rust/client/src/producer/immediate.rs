//! Requests that need no waiting: the thread that finds a batch ready writes it at once, and the task that reads the
//! response completes it. No task and no other thread is woken for them.
//!
//! Invariants: a request is written under the lock of `Sending`, so that the order of a partition's batches is that of
//! their requests. Each batch returns to the accumulator or completes; those that are in flight when the producer stops
//! fail.

use std::sync::Arc;

use ottla_protocol::messages::produce::{ProduceRequest, ProduceResponse};
use ottla_protocol::records::Compression;
use tokio::time::Instant;

use super::batch::Batch;
use super::inner::ProducerInner;
use super::produce::{begin_attempts, choose_version, close_batches, name_topics, responded, topic_ids};
use super::sending::{ImmediateRequest, ProduceOutcome, Sending};
use crate::config::Acks;
use crate::connection::{Connection, Responder};
use crate::error::{Error, Result};
use crate::tasks::panics::catch_now;

/// The most bytes to compress on a thread that has other things to do.
const MAX_COMPRESSED_AT_ONCE: usize = 16 * 1024;

/// What a panic is said to be of.
const WHAT: &str = "a produce request";

/// Sends batches of different partitions to one broker, or returns them if that takes waiting: for a connection, for
/// earlier requests, or for the time that compressing takes.
pub(super) fn send_immediately(
    inner: &Arc<ProducerInner>,
    sending: &mut Sending,
    broker: i32,
    mut batches: Vec<Batch>,
) -> Option<Vec<Batch>> {
    let config = inner.client.config();
    let is_cheap = || {
        let bytes: usize = batches.iter().map(Batch::size).sum();
        config.compression_type == Compression::None || bytes <= MAX_COMPRESSED_AT_ONCE
    };
    if config.acks == Acks::None || sending.has_unwritten(broker) || !is_cheap() {
        return Some(batches);
    }
    let Some(connection) = inner.client.open_connection(broker) else { return Some(batches) };
    let Some(permit) = connection.try_permit() else { return Some(batches) };
    let mut unsendable = Vec::new();
    // The batches always come back, so that they leave the in-flight state and release their memory.
    let prepared =
        catch_now(WHAT, || prepare(inner, &connection, &mut batches, &mut unsendable)).and_then(|done| done);
    let (request, version) = match prepared {
        Ok(Some(prepared)) => prepared,
        ended => {
            let response = ended.map(|_| ProduceResponse::default());
            sending.ended.push(ProduceOutcome { broker, batches, unsendable, response });
            return None;
        }
    };
    let topic_ids = topic_ids(&request, version);
    let began = Instant::now();
    // Before it is sent: the response may be there at once.
    let number = sending.add(ImmediateRequest { broker, batches, unsendable, topic_ids, began });
    let responder = responder(inner, &connection, number, version);
    let timeout = config.request_timeout;
    let send = || connection.enqueue_for(responder, permit, &request, version, timeout);
    let sent = catch_now(WHAT, send);
    // A panic may come after the request was written.
    let is_unsent = matches!(sent, Ok(Err(_)));
    if let Err(error) = sent.and_then(|sent| sent)
        && let Some(request) = sending.take(number)
    {
        let ImmediateRequest { mut batches, unsendable, .. } = request;
        if is_unsent {
            batches.iter_mut().for_each(Batch::attempt_rejected);
        }
        sending.ended.push(ProduceOutcome { broker, batches, unsendable, response: Err(error) });
    }
    None
}

/// Closes the batches, and builds the request and chooses its version. Returns `None` if no batch is left.
fn prepare(
    inner: &ProducerInner,
    connection: &Connection,
    batches: &mut Vec<Batch>,
    unsendable: &mut Vec<(Batch, Error)>,
) -> Result<Option<(ProduceRequest, i16)>> {
    close_batches(inner, batches, unsendable)?;
    let Some(mut request) = begin_attempts(inner, batches, unsendable) else { return Ok(None) };
    let version = choose_version(inner, connection, &mut request)
        .inspect_err(|_| batches.iter_mut().for_each(Batch::attempt_rejected))?;
    Ok(Some((request, version)))
}

/// What becomes of the response.
fn responder(
    inner: &Arc<ProducerInner>,
    connection: &Arc<Connection>,
    number: u64,
    version: i16,
) -> Responder {
    // The request keeps the connection open, and does not keep the producer.
    let (inner, connection) = (Arc::downgrade(inner), Arc::clone(connection));
    Responder::Call(Box::new(move |bytes| {
        let Some(inner) = inner.upgrade() else { return };
        let processed = catch_now("processing a response to Produce", || {
            let response = bytes.and_then(|bytes| connection.decode::<ProduceRequest>(bytes, version));
            respond(&inner, &connection, number, response);
        });
        if let Err(panicked) = processed {
            inner.accumulator.abort(panicked);
        }
    }))
}

/// Completes a request, and sends what has waited for its response.
fn respond(
    inner: &Arc<ProducerInner>,
    connection: &Connection,
    number: u64,
    mut response: Result<ProduceResponse>,
) {
    // Nothing is completed under the lock: what waits for it may send its next record at once.
    let Some(request) = inner.sending.lock().take(number) else { return };
    let ImmediateRequest { broker, batches, unsendable, topic_ids, began } = request;
    if let Ok(response) = &mut response {
        responded(inner, connection, response, began);
        name_topics(response, &topic_ids);
    }
    inner.ended(ProduceOutcome { broker, batches, unsendable, response });
    if inner.accumulator.memory.used() > 0 {
        inner.send_what_is_due();
    }
}
