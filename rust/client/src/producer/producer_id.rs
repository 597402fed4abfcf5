//! Getting a producer id from the cluster (InitProducerId), on the side of the sender's other work.
//!
//! Invariant: one request at a time, with a pause between them; a refusal that will not pass is told
//! once to whoever waits, and asked about again when new records come.

use std::sync::Arc;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::init_producer_id::InitProducerIdRequest;
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant};

use super::idempotence::ProducerIdAndEpoch;
use super::sender::Shared;
use crate::cluster::{Client, Route};
use crate::error::{Error, Kind, Result};
use crate::tasks::panics::try_catch;

/// The producer's id, and the request for another.
pub(super) struct ProducerIdState {
    pub(super) current: Option<ProducerIdAndEpoch>,
    /// Why there is none yet.
    pub(super) error: Option<Error>,
    /// When the first of the failures in a row happened.
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

    /// Asks for an id, to write to `leader` with, if it is time; otherwise says when it will be.
    pub(super) fn start_request(
        &mut self,
        shared: &Arc<Shared>,
        leader: Option<i32>,
        now: Instant,
    ) -> Option<Instant> {
        if !self.task.is_empty() {
            return None;
        }
        if now < self.not_before {
            return Some(self.not_before);
        }
        let client = shared.client.clone();
        self.task.spawn(async move {
            try_catch("a request for a producer id", init_producer_id(&client, leader)).await
        });
        None
    }

    /// Waits for the response. An error is one that does not pass; otherwise says whether the metadata
    /// is stale.
    pub(super) async fn response(&mut self) -> Option<Result<bool>> {
        let done = self.task.join_next().await?.ok()?;
        self.not_before = Instant::now() + self.pause;
        match done {
            Ok(producer) => {
                tracing::debug!(target: "ottla.producer", id = producer.id, epoch = producer.epoch, "producer id");
                (self.current, self.error, self.failing_since) = (Some(producer), None, None);
                Some(Ok(false))
            }
            Err(error) if error.may_pass() => {
                tracing::debug!(target: "ottla.producer", %error, "no producer id yet");
                let stale = error.kind() == Kind::Connection;
                self.error = Some(error);
                self.failing_since.get_or_insert_with(Instant::now);
                Some(Ok(stale))
            }
            Err(error) => {
                let message = "the cluster gives no producer id, which enable.idempotence=true needs";
                Some(Err(error.because(message)))
            }
        }
    }
}

/// Asks a broker, once, for an id of our own (KIP-98): any that is connected, or the one that will
/// be written to.
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
        code => Err(Error::from_code(code)),
    }
}
