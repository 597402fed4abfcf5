//! FindCoordinator: the brokers that coordinate groups or transactional ids.
//!
//! Invariant: a single attempt, with a result for every key. Nothing is cached here.

use std::collections::HashMap;

use ottla_protocol::messages::find_coordinator::{
    Coordinator as Found, FindCoordinatorRequest, FindCoordinatorResponse,
};
use ottla_protocol::{ApiKey, ErrorCode};

use super::CoordinatorKind;
use crate::cluster::{Client, Route};
use crate::connection::Connection;
use crate::endpoint::Endpoint;
use crate::error::{Error, Kind, Result};

/// The first version that looks up several keys at once (KIP-699).
const BATCHED_LOOKUPS: i16 = 4;

/// A coordinator's broker id and address.
pub(crate) type FoundCoordinator = (i32, Endpoint);

impl Client {
    /// Finds the coordinator of one key.
    pub(super) async fn find_coordinator(
        &self,
        kind: CoordinatorKind,
        key: &str,
    ) -> Result<FoundCoordinator> {
        let mut found = self.find_coordinators(kind, &[key]).await?;
        found.remove(key).unwrap_or_else(|| Err(missing(kind)))
    }

    /// Finds the coordinators of many keys: with one request if the broker supports it, else with one for
    /// each key.
    pub(crate) async fn find_coordinators(
        &self,
        kind: CoordinatorKind,
        keys: &[&str],
    ) -> Result<HashMap<String, Result<FoundCoordinator>>> {
        let connection = self.connection(Route::Any).await?;
        let version = connection.version::<FindCoordinatorRequest>(i16::MAX)?;
        let keys_per_request = if version >= BATCHED_LOOKUPS { keys.len().max(1) } else { 1 };
        let mut results = HashMap::with_capacity(keys.len());
        for keys in keys.chunks(keys_per_request) {
            let found = find(&connection, kind, keys, version).await?;
            let with_context =
                |error: Error| error.api(ApiKey::FindCoordinator).address(connection.address());
            results.extend(found.into_iter().map(|(key, found)| (key, found.map_err(with_context))));
        }
        Ok(results)
    }
}

async fn find(
    connection: &Connection,
    kind: CoordinatorKind,
    keys: &[&str],
    version: i16,
) -> Result<Vec<(String, Result<FoundCoordinator>)>> {
    let response = connection.request(&build_request(kind, keys, version), version).await?;
    connection.throttle(response.throttle_time_ms);
    let mut coordinators = coordinators(response, keys);
    let result = |key: &&str| {
        let found = coordinators.iter().position(|found| found.key == *key);
        let found = found.map(|at| coordinators.swap_remove(at));
        ((*key).to_owned(), found.ok_or_else(|| missing(kind)).and_then(|found| check(found, kind)))
    };
    Ok(keys.iter().map(result).collect())
}

fn build_request(kind: CoordinatorKind, keys: &[&str], version: i16) -> FindCoordinatorRequest {
    let key_type = kind.key_type();
    let mut request = FindCoordinatorRequest { key_type, ..Default::default() };
    if version >= BATCHED_LOOKUPS {
        request.coordinator_keys = keys.iter().map(|key| (*key).to_owned()).collect();
    } else {
        request.key = keys.first().copied().unwrap_or_default().to_owned();
    }
    request
}

/// The coordinators of a response in any version.
fn coordinators(response: FindCoordinatorResponse, keys: &[&str]) -> Vec<Found> {
    let FindCoordinatorResponse { error_code, error_message, node_id, host, port, coordinators, .. } =
        response;
    if !coordinators.is_empty() {
        return coordinators;
    }
    // One coordinator, or the error of the whole request.
    let found = Found { node_id, host, port, error_code, error_message, ..Found::default() };
    keys.iter().map(|key| Found { key: (*key).to_owned(), ..found.clone() }).collect()
}

fn check(found: Found, kind: CoordinatorKind) -> Result<FoundCoordinator> {
    ErrorCode::from(found.error_code).ok().map_err(|code| {
        let what = format!("no coordinator of the {} {}", kind.name(), found.key);
        Error::from_code(code).lacking(ApiKey::FindCoordinator, &found.key).prefixed(what)
    })?;
    match u16::try_from(found.port) {
        Ok(port @ 1..) => Ok((found.node_id, Endpoint { host: found.host, port })),
        _ => Err(Error::new(Kind::Protocol, format!("{} is not a valid coordinator port", found.port))),
    }
}

fn missing(kind: CoordinatorKind) -> Error {
    Error::new(Kind::Protocol, format!("the response lacks the requested {}", kind.name()))
}
