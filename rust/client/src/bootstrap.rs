//! Finding the cluster: a shuffled list of addresses, of which one answer is enough.
//!
//! Bootstrap is discovery, not traffic: from the first metadata on, the brokers in it are used and
//! the list rests until none of them can be reached (KIP-899).

use std::fmt::Write as _;
use std::sync::Arc;

use ottla_protocol::messages::metadata::{MetadataRequest, MetadataResponse};
use ottla_protocol::{ErrorCode, Request};
use tokio::time::{Duration, Instant, timeout_at};

use crate::connection::{Connection, Endpoint, Settings, connect};
use crate::environment::Environment;
use crate::error::{Error, Kind, Phase, Result};
use crate::race::race;

/// How long a server may keep the next one waiting for its turn.
const PATIENCE: Duration = Duration::from_millis(500);

/// Reads the list of `bootstrap.servers`.
pub(crate) fn parse(servers: &[String]) -> Result<Vec<Endpoint>> {
    if servers.is_empty() {
        return Err(Error::new(
            Kind::Config,
            "bootstrap.servers is empty: name at least one broker as host:port",
        ));
    }
    servers.iter().map(|server| server.parse()).collect()
}

/// Asks the servers in random order until one gives its metadata, by `deadline` if there is one.
/// All of them get their chance in that time, even if each says nothing.
pub(crate) async fn bootstrap(
    servers: &[Endpoint],
    request: &MetadataRequest,
    settings: &Settings,
    environment: &Environment,
    deadline: Option<Instant>,
) -> Result<(Endpoint, Arc<Connection>, MetadataResponse)> {
    let mut order: Vec<&Endpoint> = servers.iter().collect();
    environment.shuffle(&mut order);
    let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    let turns = u32::try_from(order.len()).unwrap_or(u32::MAX).saturating_mul(2).max(1);
    let patience = left.map_or(PATIENCE, |left| PATIENCE.min(left / turns));
    let answered = race(order, patience, |server| async move {
        let answer = ask_server(server, request, settings, environment, deadline).await;
        answer.inspect_err(|error| {
            tracing::info!(target: "ottla.connection", %server, %error, "bootstrap server failed");
        })
    });
    answered.await.map_err(summary)
}

async fn ask_server(
    server: &Endpoint,
    request: &MetadataRequest,
    settings: &Settings,
    environment: &Environment,
    deadline: Option<Instant>,
) -> Result<(Endpoint, Arc<Connection>, MetadataResponse)> {
    let connection = connect(server, settings, environment, deadline).await?;
    let asked = ask(&connection, request);
    let response = match deadline {
        None => asked.await?,
        Some(deadline) => timeout_at(deadline, asked).await.unwrap_or_else(|_| {
            let error = Error::new(Kind::Connection, "no answer in time");
            Err(error.phase(Phase::Metadata).address(connection.address()))
        })?,
    };
    if response.brokers.is_empty() {
        let words = "the broker knows of no brokers yet: it is starting, or not part of a cluster";
        return Err(Error::new(Kind::Broker, words).phase(Phase::Metadata).address(server.to_string()));
    }
    Ok((server.clone(), connection, response))
}

/// Asks one broker for metadata.
pub(crate) async fn ask(connection: &Connection, request: &MetadataRequest) -> Result<MetadataResponse> {
    let version = connection.version::<MetadataRequest>(i16::MAX)?;
    let response =
        connection.request(request, version).await.map_err(|error| error.phase(Phase::Metadata))?;
    connection.throttle(response.throttle_time_ms);
    match ErrorCode::from(response.error_code).ok() {
        Ok(()) => Ok(response),
        Err(code) => Err(Error::from_code(code).api(MetadataRequest::API).address(connection.address())),
    }
}

/// One error of all failures: what was tried, where it ended, and why.
fn summary(failures: Vec<Error>) -> Error {
    // Who is refused everywhere has a problem that no other address and no patience solves.
    let refused = failures.iter().all(|failure| failure.kind() == Kind::Authentication);
    let kind = if refused && !failures.is_empty() { Kind::Authentication } else { Kind::Bootstrap };
    if let [only] = &failures[..] {
        return only.clone().because("the bootstrap server cannot be used").as_kind(kind);
    }
    let mut words = String::from("none of the bootstrap servers can be used");
    for (n, failure) in failures.iter().enumerate() {
        let _ = write!(words, "{}{failure}", if n == 0 { ": " } else { "; " });
    }
    let error = Error::new(kind, words);
    match failures.first().and_then(|failure| failure.context().phase) {
        Some(phase) => error.phase(phase),
        None => error,
    }
}
