//! One name with its addresses, each probed phase by phase as far as it goes.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::messages::metadata::{MetadataRequest, MetadataResponse};
use tokio::task::JoinSet;

use super::Probe;
use super::check::{Check, Reason};
use super::explain::{explain, offered_mechanisms, without_token};
use super::facts::{AddressFacts, ApiFacts, BrokerView, EndpointFacts, Failure, Step, TlsFacts, View};
use super::identity::{self, Expected};
use super::large_request;
use super::release::oldest_release;
use super::steps::{failure, of_error, of_io, step};
use crate::cluster::bootstrap::request_metadata;
use crate::connection::setup::ConnectionSetup;
use crate::connection::{ApiRange, Connection, Endpoint, establish, is_controller};
use crate::doctor::recording_network::Watched;
use crate::security::TlsInfo;

/// No name has more addresses than this that are worth a look.
const ADDRESSES: usize = 32;

/// A name's facts, and the connections that came up.
pub(super) type Probed = (EndpointFacts, Vec<Arc<Connection>>);

/// Probes many names at once, in order.
pub(super) async fn all(
    probe: &Arc<Probe>,
    endpoints: impl IntoIterator<Item = (Endpoint, Option<Expected>)>,
) -> Vec<Probed> {
    let mut tasks = JoinSet::new();
    for (place, (endpoint, expected)) in endpoints.into_iter().enumerate() {
        let probe = Arc::clone(probe);
        tasks.spawn(async move { (place, endpoint_facts(&probe, endpoint, expected.map(Arc::new)).await) });
    }
    let mut probed = Vec::new();
    while let Some(joined) = tasks.join_next().await {
        probed.extend(joined);
    }
    probed.sort_by_key(|(place, _)| *place);
    probed.into_iter().map(|(_, probed)| probed).collect()
}

async fn endpoint_facts(probe: &Arc<Probe>, endpoint: Endpoint, expected: Option<Arc<Expected>>) -> Probed {
    let resolving = async {
        let resolved = probe.environment.network.resolve(&endpoint.host, endpoint.port).await;
        match resolved {
            Ok(addresses) if addresses.is_empty() => {
                Err(failure(Reason::Unresolved, "the name has no address"))
            }
            Ok(addresses) => Ok(addresses),
            Err(error) => Err(failure(Reason::Unresolved, error.to_string())),
        }
    };
    let (dns, addresses) = step(probe, Check::Dns, resolving).await;
    let mut tasks = JoinSet::new();
    for (place, address) in addresses.unwrap_or_default().into_iter().take(ADDRESSES).enumerate() {
        let (probe, endpoint, expected) = (Arc::clone(probe), endpoint.clone(), expected.clone());
        tasks.spawn(
            async move { (place, address_facts(&probe, &endpoint, address, expected.as_deref()).await) },
        );
    }
    let mut looked = Vec::new();
    while let Some(joined) = tasks.join_next().await {
        looked.extend(joined);
    }
    looked.sort_by_key(|(place, _)| *place);
    let (addresses, connections): (Vec<_>, Vec<_>) = looked.into_iter().map(|(_, looked)| looked).unzip();
    (EndpointFacts { endpoint, dns, addresses }, connections.into_iter().flatten().collect())
}

async fn address_facts(
    probe: &Probe,
    endpoint: &Endpoint,
    address: SocketAddr,
    expected: Option<&Expected>,
) -> (AddressFacts, Option<Arc<Connection>>) {
    let mut facts = AddressFacts {
        address,
        steps: Vec::new(),
        tls: None,
        apis: Vec::new(),
        release: None,
        mechanisms: Vec::new(),
        view: None,
        node: None,
    };
    let Ok(_slot) = probe.slots.acquire().await else { return (facts, None) };
    let connection = bring_up(probe, endpoint, address, &mut facts).await;
    if let (Some(connection), Some(expected)) = (&connection, expected) {
        let (looked, node) = identity::look(probe, connection, expected).await;
        facts.node = node;
        facts.steps.extend(looked);
        facts.steps.push(large_request::look(probe, endpoint, address).await);
    }
    (facts, connection)
}

/// Goes through the phases up to the first that fails.
async fn bring_up(
    probe: &Probe,
    endpoint: &Endpoint,
    address: SocketAddr,
    facts: &mut AddressFacts,
) -> Option<Arc<Connection>> {
    let (environment, seen) = Watched::environment(&probe.environment, address);
    let settings = &probe.settings;
    let (looked, opening) = step(probe, Check::Tcp, async {
        let opened = ConnectionSetup::tcp(endpoint, address, settings, &environment).await;
        opened.map_err(|error| of_io(seen.refused(), &error))
    })
    .await;
    facts.steps.push(looked);
    let mut opening = opening?;
    if settings.security.tls.is_some() {
        let shaking = async { opening.tls().await.map_err(|error| of_error(&error, seen.ended())) };
        let (looked, shaken) = step(probe, Check::Tls, shaking).await;
        facts.steps.push(explain(probe, address, &seen, looked).await);
        facts.tls = opening.tls_info().map(tls_facts);
        shaken?;
    }
    let asking =
        async { opening.api_versions().await.map(api_facts).map_err(|e| of_error(&e, seen.ended())) };
    let (looked, asked) = step(probe, Check::ApiVersions, asking).await;
    facts.steps.push(match settings.security.tls {
        Some(_) => looked,
        None => explain(probe, address, &seen, looked).await,
    });
    facts.apis = asked?;
    facts.release = oldest_release(&facts.apis);
    if is_controller(opening.supported_apis()) {
        let controller = failure(Reason::ControllerPort, "the listener is a KRaft controller's");
        facts.steps.push(Step { check: Check::Metadata, took: Duration::ZERO, failure: Some(controller) });
        return None;
    }
    let mut sasl = None;
    if settings.security.sasl.is_some() {
        let authenticating = async { opening.sasl().await.map_err(|e| of_error(&e, seen.ended())) };
        let (looked, authenticated) = step(probe, Check::Sasl, authenticating).await;
        if looked.failure.as_ref().is_some_and(|failure| failure.reason == Reason::Mechanism) {
            facts.mechanisms = offered_mechanisms(probe, endpoint, address).await.unwrap_or_default();
        }
        facts.steps.push(without_token(probe, &endpoint.host, &environment, looked).await);
        sasl = authenticated?;
        facts.mechanisms.extend(sasl.iter().flat_map(|sasl| sasl.offered.iter().cloned()));
    }
    let connection = establish(opening, sasl, &environment).ok()?;
    let (mut looked, response) = step(probe, Check::Metadata, async {
        let nothing = MetadataRequest { topics: Some(Vec::new()), ..Default::default() };
        // A write may notice the end before a read does; a peer that told its versions is a broker.
        let ended = |error| of_error(&error, seen.ended() || connection.close_reason().is_some());
        request_metadata(&connection, &nothing).await.map_err(ended)
    })
    .await;
    if let Some(Failure { reason: reason @ Reason::Closed, message, .. }) = &mut looked.failure
        && settings.security.sasl.is_none()
        && let Some(mechanisms) = offered_mechanisms(probe, endpoint, address).await
    {
        // A listener with SASL tells its versions to anyone, and hangs up on any other request.
        *reason = Reason::WantsSasl;
        *message = format!("the listener wants SASL ({})", mechanisms.join(", "));
        facts.mechanisms = mechanisms;
    }
    facts.steps.push(looked);
    facts.view = Some(view(response?));
    Some(connection)
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

/// The cluster as an answer shows it.
fn view(response: MetadataResponse) -> View {
    let mut brokers: Vec<BrokerView> = response
        .brokers
        .into_iter()
        .map(|broker| {
            // A port out of range is kept as 0, which nothing listens at.
            let port = u16::try_from(broker.port).unwrap_or(0);
            let endpoint = Endpoint { host: broker.host, port };
            BrokerView { id: broker.node_id, endpoint, rack: broker.rack }
        })
        .collect();
    brokers.sort_by_key(|broker| broker.id);
    View { cluster_id: response.cluster_id, brokers }
}
