//! EndTxn for transactions that their producers have prepared ([`Producer::prepare_transaction`]).
//!
//! Invariant: a result is an outcome. While it is not known whether the coordinator has ended a transaction,
//! the request is repeated; repeating it is safe, because a coordinator confirms an end that it has made.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ottla_protocol::messages::end_txn::EndTxnRequest;
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::task::JoinSet;
use tokio::time::Duration;

use crate::cluster::{Client, CoordinatorKind};
use crate::connection::Connection;
#[cfg(doc)]
use crate::error::Kind;
use crate::error::{Error, Result};
use crate::producer::PreparedTransaction;
#[cfg(doc)]
use crate::producer::Producer;
use crate::producer::{end_txn_version, lacks_v2};

/// The requests in flight to one coordinator.
const IN_FLIGHT: usize = 32;

impl Client {
    /// Commits or aborts prepared transactions: a result for each, by transactional id.
    ///
    /// # Errors
    /// For each transaction: PRODUCER_FENCED, INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE or
    /// INVALID_PRODUCER_ID_MAPPING if it has ended otherwise, or long ago; [`Kind::Timeout`] if its outcome
    /// is not known: call this again.
    pub async fn end_prepared_transactions(
        &self,
        transactions: impl IntoIterator<Item = PreparedTransaction>,
        commit: bool,
        timeout: Duration,
    ) -> Result<BTreeMap<String, Result<()>>> {
        let by_id: HashMap<String, PreparedTransaction> =
            transactions.into_iter().map(|prepared| (prepared.transactional_id.clone(), prepared)).collect();
        let ids: Vec<String> = by_id.keys().cloned().collect();
        let by_id = Arc::new(by_id);
        let what = if commit { "committing prepared transactions" } else { "aborting prepared transactions" };
        let wanted = (CoordinatorKind::Transaction, ids);
        let send = |connection, ids| send_all(connection, ids, Arc::clone(&by_id), commit);
        self.request_from_coordinators(what, wanted, (timeout, Error::is_transient), send).await
    }
}

async fn send_all(
    connection: Arc<Connection>,
    ids: Vec<String>,
    by_id: Arc<HashMap<String, PreparedTransaction>>,
    commit: bool,
) -> Result<Vec<(String, Result<()>)>> {
    let mut results = Vec::with_capacity(ids.len());
    let mut requests = JoinSet::new();
    for id in ids {
        let Some(prepared) = by_id.get(&id).cloned() else { continue };
        if requests.len() >= IN_FLIGHT
            && let Some(Ok(result)) = requests.join_next().await
        {
            results.push(result);
        }
        let connection = Arc::clone(&connection);
        requests.spawn(async move {
            let result = send(&connection, prepared, commit).await;
            (id, result)
        });
    }
    while let Some(joined) = requests.join_next().await {
        results.extend(joined.ok());
    }
    Ok(results)
}

async fn send(connection: &Connection, prepared: PreparedTransaction, commit: bool) -> Result<()> {
    let is_v2 = prepared.protocol > 1;
    let version = end_txn_version(is_v2, |max| connection.version::<EndTxnRequest>(max))?;
    let version = version.ok_or_else(lacks_v2)?;
    let request = EndTxnRequest {
        transactional_id: prepared.transactional_id,
        producer_id: prepared.producer_id,
        producer_epoch: prepared.producer_epoch,
        committed: commit,
    };
    let id = &request.transactional_id;
    let response = connection.request(&request, version).await?;
    connection.throttle(response.throttle_time_ms);
    match ErrorCode::from(response.error_code) {
        ErrorCode::None => Ok(()),
        // The coordinator may or may not have ended it.
        code @ (ErrorCode::UnknownServerError | ErrorCode::Unknown(_)) => {
            let message = format!("transactional id {id}: {code}, the outcome is unknown");
            Err(Error::with_code(ErrorCode::CoordinatorNotAvailable, message))
        }
        code => {
            let error = Error::from_code(code).lacking(ApiKey::EndTxn, id);
            Err(error.prefixed(format_args!("transactional id {id}")))
        }
    }
}
