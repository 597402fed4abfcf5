//! The sender: one task that takes ready batches to the leaders of their partitions.
//!
//! Invariants: each batch that is taken out of the accumulator goes back to it or is completed,
//! whatever happens to the request. What a broker says about one partition touches no other.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::produce::{
    PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData,
};
use ottla_protocol::records::Compressor;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant, sleep_until};

use super::accumulator::{Accumulator, Drained, closed};
use super::batch::{Batch, Written};
use crate::backoff::Backoff;
use crate::cluster::{Client, Route};
use crate::config::Acks;
use crate::connection::Endpoint;
use crate::error::{Error, Kind, Result};
use crate::metadata::{Broker, Want};
use crate::recovery::{Recovery, recovery};

/// Even an idle sender looks after its batches this often.
const IDLE: Duration = Duration::from_secs(1);

/// What the producer's handle and its task share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) client: Client,
    pub(super) accumulator: Accumulator,
    /// Something may be ready.
    pub(super) wake: Notify,
    /// Compressors that rest between batches.
    compressors: Mutex<Vec<Compressor>>,
    /// A refresh of the metadata is under way.
    refreshing: AtomicBool,
}

/// What came of one request.
struct Outcome {
    broker: i32,
    batches: Vec<Batch>,
    answer: Result<ProduceResponse>,
}

impl Shared {
    pub(super) fn new(client: Client, accumulator: Accumulator) -> Self {
        Self {
            client,
            accumulator,
            wake: Notify::new(),
            compressors: Mutex::default(),
            refreshing: AtomicBool::new(false),
        }
    }

    fn compressor(&self) -> Result<Compressor> {
        if let Some(compressor) = self.compressors.lock().pop() {
            return Ok(compressor);
        }
        super::compressor(self.client.config())
    }
}

/// Runs until the producer is dropped.
pub(super) async fn run(shared: Arc<Shared>) {
    let config = shared.client.config().clone();
    let mut requests: JoinSet<Outcome> = JoinSet::new();
    let mut in_flight: HashMap<i32, usize> = HashMap::new();
    loop {
        let snapshot = shared.client.snapshot();
        let leader =
            |(topic, partition): &(Arc<str>, i32)| snapshot.leader(topic, *partition).map(|leader| leader.id);
        let room = |broker| config.max_in_flight.saturating_sub(in_flight.get(&broker).copied().unwrap_or(0));
        let Drained { requests: ready, expired, leaderless, next } =
            shared.accumulator.drain(Instant::now(), config.max_request_size, leader, room);
        for batch in expired {
            shared.accumulator.expire_batch(batch);
        }
        for (broker, groups) in ready {
            for batches in groups {
                *in_flight.entry(broker).or_default() += 1;
                requests.spawn(send_request(Arc::clone(&shared), broker, batches));
            }
        }
        if leaderless {
            refresh(&shared, snapshot.generation);
        }
        let wait = next.unwrap_or_else(|| Instant::now() + IDLE);
        tokio::select! {
            () = shared.wake.notified() => {}
            () = sleep_until(wait), if !leaderless => {}
            () = tokio::time::sleep(config.retry_backoff.max(Duration::from_millis(10))), if leaderless => {}
            Some(done) = requests.join_next(), if !requests.is_empty() => {
                if let Ok(outcome) = done {
                    if let Some(count) = in_flight.get_mut(&outcome.broker) {
                        *count = count.saturating_sub(1);
                    }
                    process_outcome(&shared, outcome);
                }
            }
        }
    }
}

/// Has the metadata refreshed on the side: the other partitions' batches do not wait for it. A
/// failure only means that it is tried again later.
fn refresh(shared: &Arc<Shared>, stale: u64) {
    if shared.refreshing.swap(true, Ordering::AcqRel) {
        return;
    }
    let shared = Arc::clone(shared);
    tokio::spawn(async move {
        if let Err(error) = shared.client.refresh(stale, Want::Known).await {
            tracing::debug!(target: "ottla.producer", %error, "metadata cannot be refreshed");
        }
        shared.refreshing.store(false, Ordering::Release);
        shared.wake.notify_one();
    });
}

async fn send_request(shared: Arc<Shared>, broker: i32, mut batches: Vec<Batch>) -> Outcome {
    let answer = send_batches(&shared, broker, &mut batches).await;
    Outcome { broker, batches, answer }
}

async fn send_batches(shared: &Shared, broker: i32, batches: &mut [Batch]) -> Result<ProduceResponse> {
    let config = shared.client.config();
    let connection = shared.client.connection(Route::Broker(broker)).await?;
    let mut compressor = shared.compressor()?;
    let mut request = build_request(config.acks, config.request_timeout);
    let built = batches.iter_mut().try_for_each(|batch| {
        let records = batch.close(&mut compressor)?;
        let (topic, partition) = batch.completion.partition();
        push_partition(
            &mut request,
            topic,
            PartitionProduceData { index: *partition, records: Some(records) },
        );
        Ok::<_, Error>(())
    });
    shared.compressors.lock().push(compressor);
    // No broker is to blame, and trying again would not help.
    built.map_err(|error| error.as_kind(Kind::Config))?;
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
    // From here on the broker may write the records without our knowing.
    let sent = match config.acks {
        Acks::None => {
            connection.send_unanswered(&request, version).await.map(|()| ProduceResponse::default())
        }
        Acks::Leader | Acks::All => connection.request(&request, version).await,
    };
    if sent.is_err() {
        batches.iter_mut().for_each(|batch| batch.maybe_written = true);
    }
    sent
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

fn push_partition(request: &mut ProduceRequest, topic: &str, data: PartitionProduceData) {
    match request.topic_data.iter_mut().find(|known| known.name == *topic) {
        Some(known) => known.partition_data.push(data),
        None => request.topic_data.push(TopicProduceData {
            name: topic.to_owned(),
            partition_data: vec![data],
            ..Default::default()
        }),
    }
}

fn process_outcome(shared: &Arc<Shared>, outcome: Outcome) {
    let generation = shared.client.inner.metadata.peek().generation;
    let unanswered = shared.client.config().acks == Acks::None;
    let mut stale = false;
    match outcome.answer {
        Ok(_) if unanswered => {
            let written = Written { base_offset: -1, log_append_time: -1 };
            outcome.batches.into_iter().for_each(|batch| shared.accumulator.complete(batch, Ok(written)));
        }
        Ok(response) => stale = process_response(shared, outcome.broker, outcome.batches, response),
        Err(error) => {
            // A broker that went away may have lost its leaderships too.
            stale = error.kind() == Kind::Connection;
            for batch in outcome.batches {
                fail_or_retry(shared, batch, error.clone().broker(outcome.broker));
            }
        }
    }
    if stale {
        refresh(shared, generation);
    }
}

/// Judges each partition on its own. Returns whether the metadata is stale.
fn process_response(shared: &Shared, broker: i32, batches: Vec<Batch>, response: ProduceResponse) -> bool {
    let snapshot = shared.client.snapshot();
    let mut answers: HashMap<(Arc<str>, i32), _> = HashMap::new();
    for topic in response.responses {
        let name = match snapshot.name_of(topic.topic_id) {
            Some(name) => Arc::clone(name),
            None => topic.name.into(),
        };
        answers.extend(
            topic.partition_responses.into_iter().map(|answer| ((Arc::clone(&name), answer.index), answer)),
        );
    }
    let endpoints: BTreeMap<i32, Broker> = response
        .node_endpoints
        .into_iter()
        .filter_map(|node| {
            let endpoint = Endpoint { host: node.host, port: u16::try_from(node.port).ok()? };
            Some((node.node_id, Broker { id: node.node_id, endpoint, rack: node.rack }))
        })
        .collect();
    let mut stale = false;
    for mut batch in batches {
        let Some(answer) = answers.remove(batch.completion.partition()) else {
            batch.maybe_written = true;
            let error =
                Error::new(Kind::Protocol, "the broker's answer leaves this partition out").broker(broker);
            fail_or_retry(shared, batch, error);
            continue;
        };
        let code = ErrorCode::from(answer.error_code);
        let written = Written { base_offset: answer.base_offset, log_append_time: answer.log_append_time_ms };
        match recovery(code) {
            Recovery::Done | Recovery::Written => shared.accumulator.complete(batch, Ok(written)),
            recovery => {
                let mut error = Error::from_code(code).broker(broker);
                if let Some(words) = answer.error_message.filter(|words| !words.is_empty()) {
                    error = error.because(words.escape_debug());
                }
                // These two may have been written although they are errors.
                batch.maybe_written |=
                    matches!(code, ErrorCode::RequestTimedOut | ErrorCode::NotEnoughReplicasAfterAppend);
                if recovery == Recovery::Refresh {
                    let leader = answer.current_leader;
                    let (topic, partition) = batch.completion.partition().clone();
                    let metadata = &shared.client.inner.metadata;
                    stale |= !metadata.process_leader(
                        &topic,
                        partition,
                        leader.leader_id,
                        leader.leader_epoch,
                        &endpoints,
                    );
                }
                if recovery.retries() {
                    fail_or_retry(shared, batch, error);
                } else {
                    shared.accumulator.complete(batch, Err(error));
                }
            }
        }
    }
    stale
}

/// Puts a batch back for another attempt while its time lasts, and while the error may pass.
fn fail_or_retry(shared: &Shared, batch: Batch, error: Error) {
    let config = shared.client.config();
    if shared.accumulator.is_closed() && !error.is_retriable() {
        return shared.accumulator.complete(batch, Err(closed()));
    }
    if !error.is_retriable() && error.kind() != Kind::Protocol {
        return shared.accumulator.complete(batch, Err(error));
    }
    let backoff = Backoff { first: config.retry_backoff, max: config.retry_backoff_max };
    let wait = backoff.after(batch.failures + 1, shared.client.inner.environment.random());
    tracing::debug!(target: "ottla.producer", failures = batch.failures + 1, %error, "batch goes again");
    shared.accumulator.retry(batch, Instant::now() + wait, error);
}
