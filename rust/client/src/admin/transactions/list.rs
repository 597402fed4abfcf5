//! ListTransactions: the transactional ids that each broker coordinates.
//!
//! Invariant: a list that is not complete comes with the errors of the brokers that did not respond; filters that
//! an older broker lacks are applied here or refused, never ignored.

use std::sync::Arc;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::list_transactions::{ListTransactionsRequest, ListTransactionsResponse};
use tokio::time::Duration;

use crate::cluster::Client;
use crate::connection::Connection;
use crate::error::{Error, Kind, Result};
use crate::metadata::Pattern;

/// The first version that filters by duration (Kafka 3.8).
const DURATION_FILTER: i16 = 1;
/// The first version that filters by a pattern of ids (KIP-1152, Kafka 4.1).
const PATTERN_FILTER: i16 = 2;

/// Which transactional ids to list. The default lists all.
#[derive(Debug, Clone, Default)]
pub struct TransactionFilter {
    /// Only ids in these states, by Kafka's names: `Empty`, `Ongoing`, `PrepareCommit`, `PrepareAbort`,
    /// `CompleteCommit`, `CompleteAbort`, `PrepareEpochFence`. Empty: all.
    pub states: Vec<String>,
    /// Only the ids of these producers. Empty: all.
    pub producer_ids: Vec<i64>,
    /// Only transactions that have been open for longer.
    pub running_longer_than: Option<Duration>,
    /// A regular expression that must match the whole transactional id.
    pub id_pattern: Option<String>,
}

/// A transactional id in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionListing {
    /// The transactional id.
    pub transactional_id: String,
    /// Its producer id.
    pub producer_id: i64,
    /// Its state, by Kafka's name.
    pub state: String,
    /// The broker that coordinates it.
    pub coordinator: i32,
}

impl Client {
    /// Lists the transactional ids of all coordinators, sorted by id. Brokers leave out those that the
    /// principal may not describe.
    ///
    /// # Errors
    /// [`Kind::Config`] for an unknown state or an invalid pattern; [`Kind::Broker`] if a broker supports
    /// neither the request (before Kafka 3.0) nor the filter by duration (before 3.8); the error of a broker that
    /// did not respond.
    pub async fn list_transactions(
        &self,
        filter: &TransactionFilter,
        timeout: Duration,
    ) -> Result<Vec<TransactionListing>> {
        let (listings, errors) = self.list_transactions_of_brokers(filter, timeout).await?;
        match errors.into_iter().next() {
            Some(error) => Err(error),
            None => Ok(listings),
        }
    }

    /// As [`list_transactions`](Self::list_transactions), with the errors of single brokers beside the ids of the
    /// others.
    ///
    /// # Errors
    /// [`Kind::Config`] as above; an error if no broker can be asked which brokers there are.
    pub async fn list_transactions_of_brokers(
        &self,
        filter: &TransactionFilter,
        timeout: Duration,
    ) -> Result<(Vec<TransactionListing>, Vec<Error>)> {
        let pattern = filter.id_pattern.as_deref().map(Pattern::java).transpose()?;
        let what = "listing transactions";
        let sent = filter.clone();
        let by_broker = self
            .request_from_all_brokers(what, timeout, move |connection| list_on(connection, sent.clone()))
            .await?;
        let (mut listings, mut errors) = (Vec::new(), Vec::new());
        for (coordinator, response) in by_broker {
            let response = match response {
                Ok(response) => response,
                Err(error) if error.kind() == Kind::Config => return Err(error),
                Err(error) => {
                    errors.push(error);
                    continue;
                }
            };
            let states = response.transaction_states.into_iter().map(|listed| TransactionListing {
                transactional_id: listed.transactional_id,
                producer_id: listed.producer_id,
                state: listed.transaction_state,
                coordinator,
            });
            listings.extend(states);
        }
        if filter.running_longer_than.is_some() {
            // Brokers also list ids without an open transaction, which have no start time.
            listings.retain(|listing| is_open(&listing.state));
        }
        if let Some(pattern) = pattern {
            listings.retain(|listing| pattern.matches(&listing.transactional_id));
        }
        // An id that moved between the responses is listed once.
        listings.sort_by(|a, b| a.transactional_id.cmp(&b.transactional_id));
        listings.dedup_by(|a, b| a.transactional_id == b.transactional_id);
        Ok((listings, errors))
    }
}

/// Whether a transaction in this state is open or being ended.
pub(crate) fn is_open(state: &str) -> bool {
    state == "Ongoing" || state.starts_with("Prepare")
}

/// Lists the transactional ids that one broker coordinates: a single request, without retries.
pub(crate) async fn list_on(
    connection: Arc<Connection>,
    filter: TransactionFilter,
) -> Result<ListTransactionsResponse> {
    let version = connection.version::<ListTransactionsRequest>(i16::MAX)?;
    let mut request = ListTransactionsRequest {
        state_filters: filter.states,
        producer_id_filters: filter.producer_ids,
        ..Default::default()
    };
    if let Some(duration) = filter.running_longer_than {
        if version < DURATION_FILTER {
            let message = "this broker (before Kafka 3.8) cannot filter transactions by duration: list all of them and describe those that are Ongoing";
            return Err(Error::new(Kind::Broker, message).address(connection.address()));
        }
        request.duration_filter = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
    }
    if version >= PATTERN_FILTER {
        request.transactional_id_pattern = filter.id_pattern;
    }
    let response = connection.request(&request, version).await?;
    connection.throttle(response.throttle_time_ms);
    if let Some(unknown) = response.unknown_state_filters.first() {
        let message = format!(
            "{unknown:?} is not a state of transactions: expected Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort or PrepareEpochFence"
        );
        return Err(Error::new(Kind::Config, message));
    }
    match ErrorCode::from(response.error_code) {
        ErrorCode::None => Ok(response),
        code => Err(Error::from_code(code).address(connection.address())),
    }
}
