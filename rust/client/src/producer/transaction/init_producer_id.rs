//! InitProducerId for a transactional id: a producer id and an epoch that fences older producers.
//!
//! Invariant: a producer that has an id asks for the next epoch of this id (KIP-360), so that it fails if a
//! newer producer has fenced it.

use ottla_protocol::messages::init_producer_id::InitProducerIdRequest;
use ottla_protocol::{ApiKey, ErrorCode};

use super::TransactionManager;
use super::error_class::TransactionRequest;
use super::request_attempts::{Attempts, RequestFailure};
use crate::cluster::{Client, Coordinator, CoordinatorKind};
use crate::error::{Error, Kind, Result};
use crate::producer::idempotence::ProducerIdAndEpoch;

/// The first version in which a producer can ask for the next epoch of its id.
const NEXT_EPOCH: i16 = 3;

/// Gets a producer id and epoch: the next epoch of `current`, if there is one.
pub(super) async fn init_producer_id(
    client: &Client,
    manager: &TransactionManager,
    current: Option<ProducerIdAndEpoch>,
) -> Result<ProducerIdAndEpoch, RequestFailure> {
    let _request = manager.request_lock.lock().await;
    let id = manager.transactional_id();
    let what = format!("initializing the transactions of {id}");
    Attempts::new(client, manager, TransactionRequest::InitProducerId, what)
        .run((CoordinatorKind::Transaction, id), |coordinator| send(manager, coordinator, current))
        .await
}

async fn send(
    manager: &TransactionManager,
    coordinator: Coordinator,
    current: Option<ProducerIdAndEpoch>,
) -> Result<ProducerIdAndEpoch> {
    let version = coordinator.version::<InitProducerIdRequest>(i16::MAX)?;
    if current.is_some() && version < NEXT_EPOCH {
        let message = "the outcome of a request is unknown, and these brokers (before Kafka 2.5) cannot assign a new epoch after that";
        return Err(Error::new(Kind::Broker, message).fatal());
    }
    let timeout = manager.timeout.as_millis();
    let request = InitProducerIdRequest {
        transactional_id: Some(manager.transactional_id().to_owned()),
        transaction_timeout_ms: i32::try_from(timeout).unwrap_or(i32::MAX),
        producer_id: current.map_or(-1, |current| current.id),
        producer_epoch: current.map_or(-1, |current| current.epoch),
        ..Default::default()
    };
    let response = coordinator.request(&request, version).await?;
    coordinator.throttle(response.throttle_time_ms);
    match ErrorCode::from(response.error_code) {
        ErrorCode::None => {
            Ok(ProducerIdAndEpoch { id: response.producer_id, epoch: response.producer_epoch })
        }
        code => {
            let error = coordinator.refusal(code).lacking(ApiKey::InitProducerId, manager.transactional_id());
            Err(with_advice(error, code))
        }
    }
}

/// Adds what to do about a code whose own message does not say it.
pub(in crate::producer) fn with_advice(error: Error, code: ErrorCode) -> Error {
    let advice = match code {
        ErrorCode::InvalidTransactionTimeout => {
            "transaction.timeout.ms is above the brokers' transaction.max.timeout.ms: lower it"
        }
        ErrorCode::ProducerFenced | ErrorCode::InvalidProducerEpoch => {
            "a newer producer with this transactional.id has taken over, or the transaction was open for longer than transaction.timeout.ms and the brokers aborted it; close this producer, and create another one"
        }
        ErrorCode::InvalidProducerIdMapping => {
            "the coordinator has forgotten this transactional id (transactional.id.expiration.ms), or another producer uses it; close this producer, and create another one"
        }
        _ => return error,
    };
    error.prefixed(advice)
}
