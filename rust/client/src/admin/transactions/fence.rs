//! InitProducerId for other producers' transactional ids: fences them and aborts what they left open.

use std::collections::BTreeMap;
use std::sync::Arc;

use ottla_protocol::messages::init_producer_id::InitProducerIdRequest;
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::time::Duration;

use crate::cluster::{Client, CoordinatorKind};
use crate::connection::Connection;
use crate::error::{Error, Result};

/// The timeout that the id gets until its next producer sets its own; no transaction can use it.
const TRANSACTION_TIMEOUT_MS: i32 = 1000;

/// The new producer id and epoch of a transactional id whose producers were fenced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FencedProducer {
    /// The producer id.
    pub producer_id: i64,
    /// The producer epoch.
    pub producer_epoch: i16,
}

impl Client {
    /// Fences the producers with these transactional ids and aborts their open transactions, as a new
    /// producer with the id does: a result for each. A coordinator creates an id that it does not know.
    pub async fn fence_producers(
        &self,
        ids: impl IntoIterator<Item = String>,
        timeout: Duration,
    ) -> Result<BTreeMap<String, Result<FencedProducer>>> {
        let wanted = (CoordinatorKind::Transaction, ids);
        self.request_from_coordinators("fencing producers", wanted, (timeout, Error::is_transient), send_all)
            .await
    }
}

async fn send_all(
    connection: Arc<Connection>,
    ids: Vec<String>,
) -> Result<Vec<(String, Result<FencedProducer>)>> {
    let mut results = Vec::with_capacity(ids.len());
    for id in ids {
        let result = send(&connection, &id).await;
        results.push((id, result));
    }
    Ok(results)
}

async fn send(connection: &Connection, id: &str) -> Result<FencedProducer> {
    let version = connection.version::<InitProducerIdRequest>(i16::MAX)?;
    let request = InitProducerIdRequest {
        transactional_id: Some(id.to_owned()),
        transaction_timeout_ms: TRANSACTION_TIMEOUT_MS,
        producer_id: -1,
        producer_epoch: -1,
        ..Default::default()
    };
    let response = connection.request(&request, version).await?;
    connection.throttle(response.throttle_time_ms);
    match ErrorCode::from(response.error_code) {
        ErrorCode::None => {
            Ok(FencedProducer { producer_id: response.producer_id, producer_epoch: response.producer_epoch })
        }
        // Its producer has just ended the transaction that the coordinator was about to abort.
        ErrorCode::InvalidTxnState => {
            let message = format!("transactional id {id}: its transaction ended meanwhile");
            Err(Error::with_code(ErrorCode::ConcurrentTransactions, message))
        }
        code => {
            let error = Error::from_code(code).lacking(ApiKey::InitProducerId, id);
            Err(error.prefixed(format_args!("transactional id {id}")))
        }
    }
}
