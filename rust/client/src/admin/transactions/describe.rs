//! DescribeTransactions: the state of the transaction of each transactional id.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use ottla_protocol::messages::describe_transactions::{DescribeTransactionsRequest, TransactionState};
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::time::Duration;

use crate::cluster::{Client, CoordinatorKind};
use crate::connection::Connection;
use crate::error::{Error, Result};
use crate::topic_partition::TopicPartition;

/// The transaction of a transactional id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionDescription {
    /// The transactional id.
    pub transactional_id: String,
    /// Its state, by Kafka's name: `Empty`, `Ongoing`, `PrepareCommit`, `CompleteCommit`, ….
    pub state: String,
    /// The current producer id.
    pub producer_id: i64,
    /// The current producer epoch.
    pub producer_epoch: i16,
    /// How long the transaction may stay open (`transaction.timeout.ms` of its producer).
    pub timeout: Duration,
    /// When the transaction was opened, in milliseconds since 1970; `None` if none is open.
    pub started: Option<i64>,
    /// The partitions of the open transaction.
    pub partitions: Vec<TopicPartition>,
}

impl TransactionDescription {
    /// How long the transaction has been open, by this machine's clock.
    #[must_use]
    pub fn open_for(&self, now: SystemTime) -> Option<Duration> {
        let now = now.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        let started = u64::try_from(self.started?).ok()?;
        Some(now.saturating_sub(Duration::from_millis(started)))
    }
}

impl Client {
    /// Describes the transactions of transactional ids: a result for each. An id that its coordinator does
    /// not know is TRANSACTIONAL_ID_NOT_FOUND.
    pub async fn describe_transactions(
        &self,
        ids: impl IntoIterator<Item = String>,
        timeout: Duration,
    ) -> Result<BTreeMap<String, Result<TransactionDescription>>> {
        let wanted = (CoordinatorKind::Transaction, ids);
        self.request_from_coordinators(
            "describing transactions",
            wanted,
            (timeout, Error::may_pass),
            describe_on,
        )
        .await
    }
}

/// Describes the transactions of ids that one broker coordinates: a single request, without retries.
pub(crate) async fn describe_on(
    connection: Arc<Connection>,
    ids: Vec<String>,
) -> Result<Vec<(String, Result<TransactionDescription>)>> {
    let version = connection.version::<DescribeTransactionsRequest>(i16::MAX)?;
    let request = DescribeTransactionsRequest { transactional_ids: ids };
    let response = connection.request(&request, version).await?;
    connection.throttle(response.throttle_time_ms);
    let described = response.transaction_states.into_iter().map(|state| {
        let id = state.transactional_id.clone();
        let result = match ErrorCode::from(state.error_code) {
            ErrorCode::None => Ok(description(state)),
            code => {
                let error = Error::from_code(code).lacking(ApiKey::DescribeTransactions, &id);
                Err(error.prefixed(format_args!("transactional id {id}")))
            }
        };
        (id, result)
    });
    Ok(described.collect())
}

fn description(state: TransactionState) -> TransactionDescription {
    let partitions = state.topics.into_iter().flat_map(|topic| {
        let name: Arc<str> = topic.topic.into();
        topic.partitions.into_iter().map(move |partition| (Arc::clone(&name), partition))
    });
    TransactionDescription {
        transactional_id: state.transactional_id,
        state: state.transaction_state,
        producer_id: state.producer_id,
        producer_epoch: state.producer_epoch,
        timeout: Duration::from_millis(u64::try_from(state.transaction_timeout_ms).unwrap_or(0)),
        started: Some(state.transaction_start_time_ms).filter(|started| *started >= 0),
        partitions: partitions.collect(),
    }
}
