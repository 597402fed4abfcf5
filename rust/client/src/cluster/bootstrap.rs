//! Bootstrapping: contacts the servers of `bootstrap.servers` in random order until one returns the
//! metadata.
//!
//! `refresh.rs` calls it. Bootstrap servers are for discovery only: once the metadata is known, requests
//! go to the brokers in it, and the list is used again only when none of them can be reached (KIP-899).

use std::fmt::Write as _;
use std::sync::Arc;

use ottla_protocol::messages::describe_cluster::{DescribeClusterBroker, DescribeClusterRequest};
use ottla_protocol::messages::metadata::{MetadataRequest, MetadataResponse, MetadataResponseBroker};
use ottla_protocol::{ErrorCode, Request};
use tokio::time::{Instant, timeout_at};

use crate::cluster::bootstrap_attempts::{BootstrapAttempts, with_doctor_hint};
use crate::config::DnsLookup;
use crate::connection::setup::resolve;
use crate::connection::{Connection, Settings, connect};
use crate::endpoint::Endpoint;
use crate::environment::Environment;
use crate::environment::happy_eyeballs::{attempt_delay, first_success};
use crate::error::{Error, Kind, Outlook, Phase, Result};
use crate::ip_zone::host_of;
use crate::retry::awaited::Awaiting;
use crate::retry::persistent_failures::{Place, report_while};

/// What has failed while no bootstrap server can be used, in warnings.
pub(super) const FINDING: &str = "finding the cluster";

/// The endpoint type of controllers.
const CONTROLLERS: i8 = 2;

/// Parses `bootstrap.servers` or `bootstrap.controllers`.
pub(crate) fn parse(servers: &[String]) -> Result<Vec<Endpoint>> {
    if servers.is_empty() {
        return Err(Error::new(
            Kind::Config,
            "bootstrap.servers is empty: name at least one broker as host:port",
        ));
    }
    servers.iter().map(|server| server.parse()).collect()
}

/// Requests the metadata from the servers in random order and returns the first response. Within
/// `deadline`, if there is one, every server is tried even if none responds.
pub(crate) async fn bootstrap(
    servers: &[Endpoint],
    request: &MetadataRequest,
    settings: &Settings,
    environment: &Environment,
    attempts: &Arc<BootstrapAttempts>,
    deadline: Option<Instant>,
) -> Result<(Endpoint, Arc<Connection>, MetadataResponse)> {
    let _search = attempts.search();
    let (mut order, unresolved) = match settings.dns_lookup {
        DnsLookup::UseAllDnsIps => (servers.to_vec(), Vec::new()),
        DnsLookup::ResolveCanonicalBootstrapServersOnly => {
            canonical_endpoints(servers, settings, environment, attempts, deadline).await
        }
    };
    attempts.retain(|server| servers.contains(server) || order.contains(server));
    environment.shuffle(&mut order);
    let attempt_delay = attempt_delay(order.len(), deadline);
    let connecting = first_success(order, attempt_delay, |server| async move {
        let attempt = attempts.begin(&server);
        let settings = settings.for_attempt(attempt.progress.clone());
        let unended = || attempt.unended();
        let awaiting = Awaiting::begin(unended);
        let connecting = bootstrap_from(&server, request, &settings, environment, deadline);
        let report = || settings.failures.record(FINDING, &unended(), attempts.searching_since());
        let response = report_while(connecting, report).await;
        awaiting.end();
        match &response {
            Ok(_) => attempt.succeed(),
            Err(error) => attempt.fail(error),
        }
        response
    });
    let found = connecting.await;
    if found.is_ok() {
        settings.failures.record_success(FINDING, Place::Everywhere);
    }
    found.map_err(|failures| bootstrap_error(unresolved.into_iter().chain(failures).collect()))
}

/// Resolves each server to the canonical names of its addresses. Returns them with the resolution
/// errors.
async fn canonical_endpoints(
    servers: &[Endpoint],
    settings: &Settings,
    environment: &Environment,
    attempts: &Arc<BootstrapAttempts>,
    deadline: Option<Instant>,
) -> (Vec<Endpoint>, Vec<Error>) {
    let by = Instant::now() + settings.setup_timeout;
    let by = deadline.map_or(by, |deadline| by.min(deadline));
    let mut resolving = tokio::task::JoinSet::new();
    for server in servers.iter().cloned() {
        let (settings, environment) = (settings.clone(), environment.clone());
        let attempt = attempts.begin(&server);
        attempt.progress.resolve();
        resolving.spawn(async move {
            let names = async {
                let mut names = Vec::new();
                for address in resolve(&server, &settings, &environment).await? {
                    let name = environment.network.canonical_name(address.ip()).await;
                    // As in Java, an address without a name is used as its own host name.
                    let host = name.unwrap_or_else(|_| host_of(address));
                    names.push(Endpoint { host, port: server.port });
                }
                Ok(names)
            };
            let names = timeout_at(by, names).await.unwrap_or_else(|_| {
                let error = Error::new(Kind::Connection, "name resolution timed out");
                Err(error.phase(Phase::Dns).address(server.to_string()))
            });
            attempt.progress.resolved();
            match &names {
                Ok(_) => attempt.succeed(),
                Err(error) => attempt.fail(error),
            }
            names
        });
    }
    let (mut found, mut failures) = (Vec::new(), Vec::new());
    while let Some(resolved) = resolving.join_next().await {
        match resolved {
            Ok(Ok(names)) => found.extend(names),
            Ok(Err(error)) => failures.push(error),
            Err(_) => failures.push(Error::new(Kind::Closed, "the client's runtime is shutting down")),
        }
    }
    found.sort_by_key(ToString::to_string);
    found.dedup();
    (found, failures)
}

async fn bootstrap_from(
    server: &Endpoint,
    request: &MetadataRequest,
    settings: &Settings,
    environment: &Environment,
    deadline: Option<Instant>,
) -> Result<(Endpoint, Arc<Connection>, MetadataResponse)> {
    let connection = connect(server, settings, environment, deadline).await?;
    settings.progress.request_metadata();
    let requesting = request_metadata(&connection, request);
    let response = match deadline {
        None => requesting.await,
        Some(deadline) => timeout_at(deadline, requesting).await.unwrap_or_else(|_| {
            let error = Error::new(Kind::Connection, "no response in time");
            Err(error.phase(Phase::Metadata).address(connection.address()))
        }),
    };
    settings.progress.end();
    let response = response?;
    if response.brokers.is_empty() {
        let message = "the broker knows of no brokers yet: it is starting, or not part of a cluster";
        return Err(Error::new(Kind::Connection, message).phase(Phase::Metadata).address(server.to_string()));
    }
    Ok((server.clone(), connection, response))
}

/// Requests the metadata from one broker, or what a controller knows of it.
pub(crate) async fn request_metadata(
    connection: &Connection,
    request: &MetadataRequest,
) -> Result<MetadataResponse> {
    if connection.has_controller() {
        return describe_controllers(connection).await;
    }
    let version = connection.version::<MetadataRequest>(i16::MAX)?;
    let response =
        connection.request(request, version).await.map_err(|error| error.phase(Phase::Metadata))?;
    connection.throttle(response.throttle_time_ms);
    match ErrorCode::from(response.error_code).ok() {
        Ok(()) => Ok(response),
        Err(code) => Err(Error::from_code(code).api(MetadataRequest::API).address(connection.address())),
    }
}

/// Requests the controllers of the cluster from one of them (KIP-919), as metadata without topics.
async fn describe_controllers(connection: &Connection) -> Result<MetadataResponse> {
    const SINCE: i16 = 1;
    let request = DescribeClusterRequest { endpoint_type: CONTROLLERS, ..Default::default() };
    let version = connection.version::<DescribeClusterRequest>(i16::MAX)?;
    let failed = |error: Error| error.phase(Phase::Metadata).address(connection.address());
    if version < SINCE {
        let message = "bootstrap.controllers needs Kafka 3.7: use bootstrap.servers";
        return Err(failed(Error::with_code(ErrorCode::UnsupportedVersion, message)));
    }
    let response =
        connection.request(&request, version).await.map_err(|error| error.phase(Phase::Metadata))?;
    connection.throttle(response.throttle_time_ms);
    match ErrorCode::from(response.error_code) {
        ErrorCode::None => {}
        code @ ErrorCode::MismatchedEndpointType => {
            let message = "this is the port of a broker: use bootstrap.servers, or a controller's address in bootstrap.controllers";
            return Err(failed(Error::with_code(code, message).with_outlook(Outlook::Permanent)));
        }
        code @ ErrorCode::ClusterAuthorizationFailed => {
            let message =
                "controllers describe the cluster only to a principal with the permission Alter on it";
            return Err(failed(Error::with_code(code, message).api(DescribeClusterRequest::API)));
        }
        code => return Err(failed(Error::from_code(code).api(DescribeClusterRequest::API))),
    }
    let controller = |found: DescribeClusterBroker| MetadataResponseBroker {
        node_id: found.broker_id,
        host: found.host,
        port: found.port,
        rack: found.rack,
    };
    Ok(MetadataResponse {
        brokers: response.brokers.into_iter().map(controller).collect(),
        cluster_id: Some(response.cluster_id),
        controller_id: response.controller_id,
        ..Default::default()
    })
}

/// Combines all failures into one error, with each attempt in `attempts`.
fn bootstrap_error(failures: Vec<Error>) -> Error {
    // Refused credentials are refused by every server: trying again does not help.
    let refused = failures.iter().all(|failure| failure.kind() == Kind::Authentication);
    let kind = if refused && !failures.is_empty() { Kind::Authentication } else { Kind::Bootstrap };
    let attempts = |failure: &Error| match failure.attempts() {
        [] => vec![failure.clone()],
        attempts => attempts.to_vec(),
    };
    let attempts: Vec<Error> = failures.iter().flat_map(attempts).collect();
    if let [only] = &failures[..] {
        let error = only.clone().prefixed("the bootstrap server cannot be used").as_kind(kind);
        let server = attempts.iter().find_map(|attempt| attempt.context().address.clone());
        let message = with_doctor_hint(error.message(), kind, server.as_deref());
        return error.with_message(message).with_attempts(attempts);
    }
    let mut message = String::from("none of the bootstrap servers can be used");
    for (n, failure) in failures.iter().enumerate() {
        let _ = write!(message, "{}{failure}", if n == 0 { ": " } else { "; " });
    }
    let server = attempts.iter().find_map(|attempt| attempt.context().address.clone());
    let message = with_doctor_hint(&message, kind, server.as_deref());
    let error = Error::new(kind, message).with_attempts(attempts);
    match failures.first().and_then(|failure| failure.context().phase) {
        Some(phase) => error.phase(phase),
        None => error,
    }
}
