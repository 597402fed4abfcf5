//! The producer id of the idempotent producer, requested from the cluster (InitProducerId) in a task
//! next to the sender.
//!
//! Invariant: one request at a time, with a pause in between. A permanent error fails the batches
//! that wait, once; new records cause a new request.

use ottla_protocol::messages::init_producer_id::InitProducerIdRequest;
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant};

use super::idempotence::ProducerIdAndEpoch;
use crate::cluster::{Client, Route};
use crate::error::{Error, Kind, Result};
use crate::tasks::panics::try_catch;

/// The current producer id and the request for the next one.
pub(super) struct ProducerIdState {
    pub(super) current: Option<ProducerIdAndEpoch>,
    /// The last error, while there is no id.
    pub(super) error: Option<Error>,
    /// When the current series of failures began.
    pub(super) failing_since: Option<Instant>,
    task: JoinSet<Result<ProducerIdAndEpoch>>,
    not_before: Instant,
    pause: Duration,
}

impl ProducerIdState {
    pub(super) fn new(pause: Duration) -> Self {
        Self {
            current: None,
            error: None,
            failing_since: None,
            task: JoinSet::new(),
            not_before: Instant::now(),
            pause,
        }
    }

    /// Starts a request if it is time, and otherwise returns when it will be. `leader` is the broker
    /// that the batches go to.
    pub(super) fn start_request(
        &mut self,
        client: &Client,
        leader: Option<i32>,
        now: Instant,
    ) -> Option<Instant> {
        if !self.task.is_empty() {
            return None;
        }
        if now < self.not_before {
            return Some(self.not_before);
        }
        let client = client.clone();
        self.task.spawn(async move {
            let requested = try_catch("a request for a producer id", init_producer_id(&client, leader)).await;
            requested.inspect_err(|error| {
                if error.is_transient() {
                    client.count_retry(error);
                }
            })
        });
        None
    }

    /// Waits for the response. Returns a permanent error, or whether the metadata is stale.
    pub(super) async fn response(&mut self) -> Option<Result<bool>> {
        let done = self.task.join_next().await?.ok()?;
        self.not_before = Instant::now() + self.pause;
        match done {
            Ok(producer) => {
                tracing::debug!(target: "ottla.producer", id = producer.id, epoch = producer.epoch, "got a producer id");
                (self.current, self.error, self.failing_since) = (Some(producer), None, None);
                Some(Ok(false))
            }
            Err(error) if error.is_transient() => {
                tracing::debug!(target: "ottla.producer", %error, "cannot get a producer id yet");
                let metadata_is_stale = error.kind() == Kind::Connection;
                self.error = Some(error);
                self.failing_since.get_or_insert_with(Instant::now);
                Some(Ok(metadata_is_stale))
            }
            Err(error) => {
                let message = "the cluster assigned no producer id, which enable.idempotence=true requires";
                Some(Err(error.prefixed(message)))
            }
        }
    }
}

/// Requests a producer id, once (KIP-98): from any connected broker, or from the leader that the
/// batches go to.
async fn init_producer_id(client: &Client, leader: Option<i32>) -> Result<ProducerIdAndEpoch> {
    let route = match leader {
        Some(leader) if client.inner.pool.least_busy().is_none() => Route::Broker(leader),
        _ => Route::Any,
    };
    let request = InitProducerIdRequest { transaction_timeout_ms: i32::MAX, ..Default::default() };
    let response = client.send(route, &request, i16::MAX).await?;
    match ErrorCode::from(response.error_code) {
        ErrorCode::None => {
            Ok(ProducerIdAndEpoch { id: response.producer_id, epoch: response.producer_epoch })
        }
        code => Err(Error::from_code(code).lacking(ApiKey::InitProducerId, "")),
    }
}
