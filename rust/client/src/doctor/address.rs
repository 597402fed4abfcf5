//! Probes a server's name and each of its addresses, step by step up to the first failure.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::messages::api_versions::ApiVersionsResponse;
use ottla_protocol::messages::metadata::{MetadataRequest, MetadataResponse};
use tokio::task::JoinSet;

use super::ProbeContext;
use super::check::{Check, Reason};
use super::explain::{explain, explain_missing_token, offered_mechanisms};
use super::facts::{AddressFacts, ApiFacts, BrokerView, EndpointFacts, Failure, Step, TlsFacts, View};
use super::further_connections;
use super::identity::{self, ExpectedBroker};
use super::large_request;
use super::progress::Subject;
use super::release::oldest_release;
use super::steps::{begin_step, failure, of_error, of_io, of_proxy, step};
use crate::cluster::bootstrap::request_metadata;
use crate::connection::setup::{ConnectionSetup, resolve};
use crate::connection::{ApiRange, Connection, establish, is_controller};
use crate::doctor::recording_network::RecordingNetwork;
use crate::endpoint::Endpoint;
use crate::printable::printable;
use crate::security::TlsInfo;

/// Connections on which large requests take longer are not used to identify the broker once more.
const QUICK: Duration = Duration::from_millis(500);
/// Addresses of one name that are probed at most.
const MAX_ADDRESSES: usize = 32;

/// The facts of a name, and the connections that were established.
pub(super) type ProbedEndpoint = (EndpointFacts, Vec<Arc<Connection>>);

/// Probes many names at once; returns them in order.
pub(super) async fn probe_all(
    probe: &Arc<ProbeContext>,
    endpoints: impl IntoIterator<Item = (Endpoint, Option<ExpectedBroker>)>,
) -> Vec<ProbedEndpoint> {
    let mut tasks = JoinSet::new();
    for (index, (endpoint, expected)) in endpoints.into_iter().enumerate() {
        let probe = Arc::clone(probe);
        tasks.spawn(async move { (index, probe_endpoint(&probe, endpoint, expected.map(Arc::new)).await) });
    }
    let mut probed = Vec::new();
    while let Some(joined) = tasks.join_next().await {
        probed.extend(joined);
    }
    probed.sort_by_key(|(index, _)| *index);
    probed.into_iter().map(|(_, probed)| probed).collect()
}

async fn probe_endpoint(
    probe: &Arc<ProbeContext>,
    endpoint: Endpoint,
    expected: Option<Arc<ExpectedBroker>>,
) -> ProbedEndpoint {
    let resolving = async {
        if probe.settings.proxy.is_some() {
            let resolved = resolve(&endpoint, &probe.settings, &probe.environment).await;
            return resolved.map_err(|error| failure(Reason::ProxyUnreachable, error.message()));
        }
        // The report names the endpoint itself.
        match probe.environment.network.resolve(&endpoint.host, endpoint.port).await {
            Ok(addresses) if addresses.is_empty() => {
                Err(failure(Reason::Unresolved, "the name has no address"))
            }
            Ok(addresses) => Ok(addresses),
            Err(error) => Err(failure(Reason::Unresolved, error.to_string())),
        }
    };
    let subject = Subject::server(&endpoint, expected.as_ref().map(|broker| broker.id));
    let (dns, addresses) = step(probe, &subject, Check::Dns, resolving).await;
    let mut tasks = JoinSet::new();
    for (index, address) in addresses.unwrap_or_default().into_iter().take(MAX_ADDRESSES).enumerate() {
        let (probe, endpoint, expected) = (Arc::clone(probe), endpoint.clone(), expected.clone());
        tasks.spawn(
            async move { (index, probe_address(&probe, &endpoint, address, expected.as_deref()).await) },
        );
    }
    let mut probed = Vec::new();
    while let Some(joined) = tasks.join_next().await {
        probed.extend(joined);
    }
    probed.sort_by_key(|(index, _)| *index);
    let (addresses, connections): (Vec<_>, Vec<_>) = probed.into_iter().map(|(_, probed)| probed).unzip();
    (EndpointFacts { endpoint, dns, addresses }, connections.into_iter().flatten().collect())
}

async fn probe_address(
    probe: &ProbeContext,
    endpoint: &Endpoint,
    address: SocketAddr,
    expected: Option<&ExpectedBroker>,
) -> (AddressFacts, Option<Arc<Connection>>) {
    let mut facts = AddressFacts {
        address,
        steps: Vec::new(),
        tls: None,
        apis: Vec::new(),
        release: None,
        gateway: None,
        mechanisms: Vec::new(),
        view: None,
        node: None,
        other_clusters: Vec::new(),
        other_nodes: Vec::new(),
    };
    let subject = Subject::server(endpoint, expected.map(|broker| broker.id)).at(endpoint, address);
    let Ok(_permit) = probe.permits.acquire().await else { return (facts, None) };
    let connection = connect(probe, &subject, endpoint, address, &mut facts).await;
    if let (Some(connection), Some(expected)) = (&connection, expected) {
        let checks = async {
            let (identity, node) = identity::check(probe, &subject, connection, expected).await;
            let (large, responded) = large_request::check(probe, &subject, endpoint, address).await;
            (identity, node, large, responded)
        };
        let further = further_connections::observe(probe, endpoint, address, expected);
        let ((identity, node, large, responded), further) = tokio::join!(checks, further);
        facts.node = node;
        let mut observed: Vec<_> = further.into_iter().collect();
        if let Some((connection, cluster_id)) = responded {
            // Without the identity of the first one, there is nothing to compare; and a broker that is slow, as
            // one that throttles this client, is not asked once more.
            let is_worth_it = identity.is_some() && large.duration < QUICK;
            let expected = is_worth_it.then_some(expected);
            observed.push(further_connections::observe_on(probe, &connection, cluster_id, expected).await);
        }
        further_connections::compare(&mut facts, observed, Some(expected));
        facts.steps.extend(identity);
        facts.steps.push(large);
    }
    (facts, connection)
}

/// Runs the steps of a connection up to the first that fails.
async fn connect(
    probe: &ProbeContext,
    subject: &Subject,
    endpoint: &Endpoint,
    address: SocketAddr,
    facts: &mut AddressFacts,
) -> Option<Arc<Connection>> {
    let (environment, recording) = RecordingNetwork::install(&probe.environment, address);
    let settings = &probe.settings;
    let (checked, opening) = step(probe, subject, Check::Tcp, async {
        let opened = ConnectionSetup::tcp(endpoint, address, settings, &environment).await;
        opened.map_err(|error| match &settings.proxy {
            Some(_) => failure(Reason::ProxyUnreachable, error.message()),
            None => of_io(recording.connect_error(), &error),
        })
    })
    .await;
    facts.steps.push(checked);
    let mut opening = opening?;
    if settings.proxy.is_some() {
        let handshake = async { opening.proxy().await.map_err(|error| of_proxy(&error)) };
        let (checked, shaken) = step(probe, subject, Check::Proxy, handshake).await;
        facts.steps.push(checked);
        shaken?;
        // What follows is from the server.
        recording.restart();
    }
    if settings.security.tls.is_some() {
        let handshake = async { opening.tls().await.map_err(|error| of_error(&error, recording.closed())) };
        let (checked, shaken) = begin_step(probe, subject, Check::Tls, handshake).await;
        let checked = explain(probe, endpoint, address, &recording, checked).await;
        probe.report_end(subject, &checked);
        facts.steps.push(checked);
        facts.tls = opening.tls_info().map(tls_facts);
        shaken?;
    }
    let negotiation =
        async { opening.api_versions().await.map(api_facts).map_err(|e| of_error(&e, recording.closed())) };
    let (checked, apis) = begin_step(probe, subject, Check::ApiVersions, negotiation).await;
    let checked = match settings.security.tls {
        Some(_) => checked,
        None => explain(probe, endpoint, address, &recording, checked).await,
    };
    probe.report_end(subject, &checked);
    facts.steps.push(checked);
    facts.apis = apis?;
    facts.release = oldest_release(&facts.apis);
    facts.gateway = opening.versions().and_then(gateway_version);
    if is_controller(opening.supported_apis()) {
        let controller = failure(Reason::ControllerPort, "this listener belongs to a KRaft controller");
        let checked = Step { check: Check::Metadata, duration: Duration::ZERO, failure: Some(controller) };
        probe.report_start(subject, Check::Metadata);
        probe.report_end(subject, &checked);
        facts.steps.push(checked);
        return None;
    }
    let mut sasl = None;
    if settings.security.sasl.is_some() {
        let authentication = async { opening.sasl().await.map_err(|e| of_error(&e, recording.closed())) };
        let (checked, authenticated) = begin_step(probe, subject, Check::Sasl, authentication).await;
        if checked.failure.as_ref().is_some_and(|failure| failure.reason == Reason::Mechanism) {
            facts.mechanisms = offered_mechanisms(probe, endpoint, address).await.unwrap_or_default();
        }
        let checked = explain_missing_token(probe, &endpoint.host, &environment, checked).await;
        probe.report_end(subject, &checked);
        facts.steps.push(checked);
        sasl = authenticated?;
        facts.mechanisms.extend(sasl.iter().flat_map(|sasl| sasl.offered.iter().cloned()));
    }
    let connection = establish(opening, sasl, &environment).ok()?;
    let (mut checked, response) = begin_step(probe, subject, Check::Metadata, async {
        let request = MetadataRequest { topics: Some(Vec::new()), ..Default::default() };
        // A write may notice the closed connection before a read does.
        let failed = |error| of_error(&error, recording.closed() || connection.close_reason().is_some());
        request_metadata(&connection, &request).await.map_err(failed)
    })
    .await;
    if let Some(Failure { reason: reason @ Reason::Closed, message, .. }) = &mut checked.failure
        && settings.security.sasl.is_none()
        && let Some(mechanisms) = offered_mechanisms(probe, endpoint, address).await
    {
        // A listener with SASL responds to ApiVersions, and closes the connection on any other request.
        *reason = Reason::WantsSasl;
        *message = format!("the listener requires SASL ({})", mechanisms.join(", "));
        facts.mechanisms = mechanisms;
    }
    probe.report_end(subject, &checked);
    facts.steps.push(checked);
    facts.view = Some(view(response?));
    Some(connection)
}

/// The version of the gateway of ottla that has responded for the broker.
fn gateway_version(response: &ApiVersionsResponse) -> Option<String> {
    (!response.ottla_gateway.is_empty()).then(|| printable(&response.ottla_gateway))
}

fn tls_facts(info: &TlsInfo) -> TlsFacts {
    let peer = info.peer.as_ref();
    TlsFacts {
        version: info.version.clone(),
        cipher: info.cipher.clone(),
        subject: peer.map(|peer| peer.subject.clone()),
        issuer: peer.map(|peer| peer.issuer.clone()),
        names: peer.map(|peer| peer.names.clone()).unwrap_or_default(),
        not_after: peer.map(|peer| peer.not_after),
        client_certificate_requested: info.client_certificate_requested,
    }
}

fn api_facts(apis: &[ApiRange]) -> Vec<ApiFacts> {
    apis.iter().map(|range| ApiFacts { name: range.api.name(), min: range.min, max: range.max }).collect()
}

/// The cluster as a metadata response describes it.
fn view(response: MetadataResponse) -> View {
    let mut brokers: Vec<BrokerView> = response
        .brokers
        .into_iter()
        .map(|broker| {
            // A port out of range becomes 0, where nothing can listen.
            let port = u16::try_from(broker.port).unwrap_or(0);
            let endpoint = Endpoint { host: broker.host, port };
            BrokerView { id: broker.node_id, endpoint, rack: broker.rack }
        })
        .collect();
    brokers.sort_by_key(|broker| broker.id);
    View { cluster_id: response.cluster_id, brokers }
}
