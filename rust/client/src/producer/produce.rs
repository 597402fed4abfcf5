//! One Produce request to one broker: building it, sending it, and judging what came back.
//!
//! Invariant: whatever happens, each batch goes back to the accumulator or is completed, and an
//! error says whether the records may be in the log. No partition's error touches another.

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
use super::rejection::is_rejected_before_append;
use super::sender::Shared;
use super::split::split;
use crate::cluster::Route;
use crate::config::Acks;
use crate::connection::{Answer, Connection, Turn};
use crate::error::{Error, Kind, Result};
use crate::metadata::{NewLeader, brokers};
use crate::printable::printable;
use crate::producer::produce_result::AppendInfo;
use crate::retry::recovery::{Recovery, recovery};
use crate::tasks::panics::try_catch;

/// What came of one request.
pub(super) struct ProduceOutcome {
    pub(super) broker: i32,
    batches: Vec<Batch>,
    /// Batches that could not be closed, and why.
    unsendable: Vec<(Batch, Error)>,
    response: Result<ProduceResponse>,
}

impl ProduceOutcome {
    /// Whether the broker has answered, whatever it said.
    pub(super) fn got_response(&self) -> bool {
        self.response.is_ok()
    }
}

/// When a request may be written: after the one before it to the same broker, so that a partition's
/// batches arrive in the order of their numbers.
pub(super) struct WriteOrder {
    pub(super) previous: Option<oneshot::Receiver<()>>,
    /// Dropped when the next may be written.
    pub(super) written: oneshot::Sender<()>,
}

/// Sends batches of different partitions to one broker.
pub(super) async fn send_request(
    shared: Arc<Shared>,
    broker: i32,
    mut batches: Vec<Batch>,
    order: WriteOrder,
) -> ProduceOutcome {
    let mut unsendable = Vec::new();
    // Whatever happens, the batches come back, and with them their index in flight and their memory.
    let sending = send_batches(&shared, broker, &mut batches, &mut unsendable, order);
    let response = try_catch("a produce request", sending).await;
    ProduceOutcome { broker, batches, unsendable, response }
}

async fn send_batches(
    shared: &Shared,
    broker: i32,
    batches: &mut Vec<Batch>,
    unsendable: &mut Vec<(Batch, Error)>,
    order: WriteOrder,
) -> Result<ProduceResponse> {
    let config = shared.client.config();
    let connection = shared.client.connection(Route::Broker(broker)).await?;
    close_batches(shared, batches, unsendable)?;
    if let Some(previous) = order.previous {
        // An error says that it will not be written any more, which is as good.
        let _ = previous.await;
    }
    let turn = connection.turn().await?;
    let mut request = build_request(config.acks, config.request_timeout);
    // Its senders have been told that it was not written.
    take_out(batches, unsendable, |batch| {
        (!batch.begin_attempt()).then(|| shared.accumulator.delivery_timed_out(None))
    });
    request.topic_data = build_topics(batches);
    if batches.is_empty() {
        return Ok(ProduceResponse::default());
    }
    shared.accumulator.metrics.sent(batches, Instant::now());
    let began = Instant::now();
    let sent = start(shared, &connection, turn, &mut request).await;
    if sent.is_err() && config.acks != Acks::None {
        batches.iter_mut().for_each(Batch::attempt_rejected);
    }
    let (answer, version) = sent?;
    drop(order.written);
    let Some(answer) = answer else { return Ok(ProduceResponse::default()) };
    let mut response = connection.answer::<ProduceRequest>(answer, version).await?;
    connection.throttle(response.throttle_time_ms);
    let throttle = Duration::from_millis(u64::try_from(response.throttle_time_ms).unwrap_or(0));
    shared.accumulator.metrics.response_received(began.elapsed(), throttle);
    // By the ids that were sent: the metadata may know others by now.
    if version >= 13 {
        let names: HashMap<Uuid, &String> =
            request.topic_data.iter().map(|asked| (asked.topic_id, &asked.name)).collect();
        for topic in &mut response.responses {
            if let Some(name) = names.get(&topic.topic_id) {
                topic.name.clone_from(name);
            }
        }
    }
    Ok(response)
}

/// Hands a request to the connection, and returns the answer to come, if one will, and the version. An
/// error means that nothing was sent, if there should have been an answer.
async fn start(
    shared: &Shared,
    connection: &Connection,
    turn: Turn,
    request: &mut ProduceRequest,
) -> Result<(Option<Answer>, i16)> {
    let config = shared.client.config();
    let snapshot = shared.client.snapshot();
    // Versions from 13 on name topics by id, so each must have one.
    let ids: Option<Vec<_>> = request
        .topic_data
        .iter()
        .map(|topic| snapshot.topic(&topic.name).map(|known| known.id).filter(|id| !id.is_zero()))
        .collect();
    let version = connection.version::<ProduceRequest>(if ids.is_some() { i16::MAX } else { 12 })?;
    if version >= 13 {
        for (topic, id) in request.topic_data.iter_mut().zip(ids.unwrap_or_default()) {
            topic.topic_id = id;
        }
    }
    if config.acks == Acks::None {
        connection.send_unanswered(turn, request, version).await?;
        return Ok((None, version));
    }
    Ok((Some(connection.start(turn, request, version, config.request_timeout)?), version))
}

/// Closes the batches. One that cannot be closed harms no other.
fn close_batches(
    shared: &Shared,
    batches: &mut Vec<Batch>,
    unsendable: &mut Vec<(Batch, Error)>,
) -> Result<()> {
    let mut compressor = shared.compressor()?;
    // No broker is to blame, and trying again would not help.
    take_out(batches, unsendable, |batch| {
        shared.accumulator.close_batch(batch, &mut compressor).err().map(|error| error.as_kind(Kind::Config))
    });
    shared.compressors.lock().push(compressor);
    Ok(())
}

/// Moves the batches for which `why` has an error. They stay where they are while it looks at them.
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

/// Judges what came back, batch by batch. Returns whether the metadata is stale.
pub(super) fn process_outcome(shared: &Shared, outcome: ProduceOutcome) -> bool {
    let accumulator = &shared.accumulator;
    for (batch, error) in outcome.unsendable {
        accumulator.complete(batch, Err(error));
    }
    match outcome.response {
        Ok(_) if shared.client.config().acks == Acks::None => {
            outcome
                .batches
                .into_iter()
                .for_each(|batch| accumulator.complete(batch, Ok(AppendInfo::UNKNOWN)));
            false
        }
        Ok(response) => process_response(shared, outcome.broker, outcome.batches, response),
        Err(error) => {
            for batch in outcome.batches {
                fail_or_retry(shared, batch, error.clone().broker(outcome.broker));
            }
            // A broker that went away may have lost its leaderships too.
            error.kind() == Kind::Connection
        }
    }
}

/// Judges each partition on its own. Returns whether the metadata is stale.
fn process_response(shared: &Shared, broker: i32, batches: Vec<Batch>, response: ProduceResponse) -> bool {
    let mut partitions: HashMap<(Arc<str>, i32), PartitionProduceResponse> = HashMap::new();
    for topic in response.responses {
        let name: Arc<str> = topic.name.into();
        partitions.extend(
            topic.partition_responses.into_iter().map(|answer| ((Arc::clone(&name), answer.index), answer)),
        );
    }
    let named = response.node_endpoints.into_iter().map(|n| (n.node_id, n.host, n.port, n.rack));
    let endpoints = brokers(named);
    let leaders: Vec<NewLeader> = partitions
        .iter()
        .filter(|(_, answer)| recovery(ErrorCode::from(answer.error_code)) == Recovery::Refresh)
        .map(|((topic, partition), answer)| NewLeader {
            topic: Arc::clone(topic),
            partition: *partition,
            leader: answer.current_leader.leader_id,
            leader_epoch: answer.current_leader.leader_epoch,
        })
        .collect();
    let stale = shared.client.inner.metadata.process_leaders(&leaders, &endpoints) < leaders.len();
    for batch in batches {
        let Some(answer) = partitions.remove(batch.part.partition()) else {
            let error =
                Error::new(Kind::Protocol, "the broker's answer leaves this partition out").broker(broker);
            fail_or_retry(shared, batch, error);
            continue;
        };
        process_partition_response(shared, broker, batch, answer);
    }
    stale
}

/// Judges one partition's answer.
fn process_partition_response(
    shared: &Shared,
    broker: i32,
    mut batch: Batch,
    answer: PartitionProduceResponse,
) {
    let accumulator = &shared.accumulator;
    let code = ErrorCode::from(answer.error_code);
    let mut error = Error::from_code(code).broker(broker);
    if let Some(words) = answer.error_message.filter(|words| !words.is_empty()) {
        error = error.because(printable(&words));
    }
    if is_rejected_before_append(code, shared.client.config().acks) {
        batch.attempt_rejected();
    }
    match recovery(code) {
        Recovery::Done | Recovery::Written => {
            let written =
                AppendInfo { offset: answer.base_offset, log_append_time: answer.log_append_time_ms };
            accumulator.complete(batch, Ok(written));
        }
        // SplitPart of a larger one that may be in the log under the numbers of all its parts.
        Recovery::ProducerEpoch if batch.split_in_doubt => {
            let why = "it was too large, and an attempt before it was split may have been written";
            accumulator.complete(batch, Err(error.because(why)));
        }
        // With numbers a batch waits for its turn or for others; never is that the application's matter.
        Recovery::ProducerEpoch if batch.sequence.is_some() => {
            let wait = pause(shared, &batch);
            tracing::debug!(target: "ottla.producer", failures = batch.failed_attempts, %error, "batch is out of turn");
            let invalidate_id = code == ErrorCode::InvalidProducerEpoch;
            accumulator.retry_out_of_order(batch, wait, error, invalidate_id);
        }
        Recovery::Split if batch.count() > 1 && !batch.part.is_complete() => match split(&batch) {
            Ok(parts) => accumulator.retry_split(batch, parts, error),
            Err(why) => accumulator.complete(batch, Err(error.because(why))),
        },
        recovery if recovery.retries() => fail_or_retry(shared, batch, error),
        _ => accumulator.complete(batch, Err(error)),
    }
}

/// Puts a batch back for another attempt while its time and its `retries` last, and while the error
/// may pass.
fn fail_or_retry(shared: &Shared, batch: Batch, error: Error) {
    let retries = shared.client.config().retries;
    if !error.may_pass() {
        return shared.accumulator.complete(batch, Err(error));
    }
    if batch.failed_attempts >= retries {
        let error =
            error.because(format_args!("given up after {} attempts (retries={retries})", retries + 1));
        return shared.accumulator.complete(batch, Err(error));
    }
    let wait = pause(shared, &batch);
    // What fails once has not been failing since the batch was begun.
    let since = if batch.failed_attempts > 0 { batch.created } else { Instant::now() };
    shared.record_failure(&batch.part.partition().0, &error, since);
    tracing::debug!(target: "ottla.producer", failures = batch.failed_attempts + 1, %error, "batch goes again");
    shared.accumulator.retry(batch, wait, error);
}

/// When a batch that has failed once more may go again.
fn pause(shared: &Shared, batch: &Batch) -> Instant {
    Instant::now() + shared.client.backoff(batch.failed_attempts + 1)
}
