//! Proves: the status of a connection reports the steps of the latest attempt with their times, the API
//! versions and its age; while a client looks for its cluster, and after it has failed, it lists the
//! bootstrap servers that it has tried, and none once it has found the cluster.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::support::*;
use ottla_client::connection::{ConnectionRole, ConnectionState, Status, UNKNOWN_BROKER};
use ottla_client::error::Phase;
use ottla_client::{Client, Kind, Route};
use ottla_mock::{Fault, Match, MockCluster, MockConfig, Reaction, SaslConfig};
use ottla_protocol::ApiKey;
use ottla_protocol::messages::metadata::MetadataRequest;

/// The phases of a status, with whole seconds.
fn phases(status: &Status) -> Vec<(Phase, u64)> {
    status.phases.iter().map(|(phase, took)| (*phase, took.as_secs())).collect()
}

fn data(client: &Client, broker: i32) -> Option<Status> {
    client
        .connections()
        .into_iter()
        .find(|status| (status.broker, status.role) == (broker, ConnectionRole::Data))
}

fn bootstrap(client: &Client) -> Vec<Status> {
    client.connections().into_iter().filter(|status| status.role == ConnectionRole::Bootstrap).collect()
}

fn delay(cluster: &MockCluster, api: ApiKey, broker: i32, time: Duration) {
    cluster.inject(Fault::new(Match::api(api).broker(broker), Reaction::Delay(time)));
}

/// Connects to a broker in a task.
fn connect(client: &Client, broker: i32) -> tokio::task::JoinHandle<ottla_client::Result<()>> {
    let client = client.clone();
    tokio::spawn(async move { client.connection(Route::Broker(broker)).await.map(drop) })
}

/// A client that looks for its cluster in a task.
fn find(client: &Client, timeout: Duration) -> tokio::task::JoinHandle<ottla_client::Result<()>> {
    let client = client.clone();
    tokio::spawn(async move { client.find_cluster(timeout).await })
}

#[tokio::test(start_paused = true)]
async fn the_steps_of_connecting_are_reported_while_it_lasts_and_after() {
    let cluster = cluster(1).await;
    let client = client(&cluster, &[]).await;
    let first = client.connections()[0].clone();
    // The connection that found the cluster is listed under its broker, with that request as its last step.
    let steps: Vec<Phase> = first.phases.iter().map(|(phase, _)| *phase).collect();
    assert_eq!(steps, [Phase::Dns, Phase::Tcp, Phase::ApiVersions, Phase::Metadata]);
    assert_eq!((first.role, first.state), (ConnectionRole::Data, ConnectionState::Connected));

    let other = first.broker % 3 + 1;
    delay(&cluster, ApiKey::ApiVersions, other, ms(3_000));
    let connecting = connect(&client, other);
    tokio::time::sleep(ms(2_000)).await;
    let found = data(&client, other).unwrap();
    assert_eq!(found.state, ConnectionState::Connecting);
    assert_eq!(phases(&found), [(Phase::Dns, 0), (Phase::Tcp, 0), (Phase::ApiVersions, 2)]);
    assert_eq!((found.connected_for, found.api_versions.len()), (None, 0));

    within_deadline(connecting).await.unwrap().expect("connected");
    tokio::time::sleep(ms(5_500)).await;
    let found = data(&client, other).unwrap();
    assert_eq!(phases(&found), [(Phase::Dns, 0), (Phase::Tcp, 0), (Phase::ApiVersions, 3)]);
    let open = found.connected_for.unwrap();
    assert!(open >= ms(5_500) && open < ms(6_000), "{open:?}");
    let connection = within_deadline(client.connection(Route::Broker(other))).await.unwrap();
    let metadata = connection.version::<MetadataRequest>(i16::MAX).unwrap();
    assert!(found.api_versions.contains(&(ApiKey::Metadata, metadata)), "{:?}", found.api_versions);
    assert!(found.api_versions.iter().any(|(api, _)| *api == ApiKey::Produce));
}

#[tokio::test(start_paused = true)]
async fn the_last_step_after_a_failure_is_the_one_that_failed() {
    let cluster = cluster(1).await;
    let backoff = [("reconnect.backoff.ms", "5000"), ("reconnect.backoff.max.ms", "5000")];
    let timeout = [("socket.connection.setup.timeout.ms", "4000")];
    let client = client(&cluster, &[&backoff[..], &timeout].concat()).await;
    let other = client.connections()[0].broker % 3 + 1;
    delay(&cluster, ApiKey::ApiVersions, other, ms(60_000));
    within_deadline(connect(&client, other)).await.unwrap().expect_err("no response");
    tokio::time::sleep(ms(1_000)).await;
    let steps = [(Phase::Dns, 0), (Phase::Tcp, 0), (Phase::ApiVersions, 4)];
    let found = data(&client, other).unwrap();
    assert_eq!((found.state, phases(&found)), (ConnectionState::Disconnected, steps.to_vec()));
    // Those of the latest attempt stay while the next one waits for the backoff.
    let waiting = connect(&client, other);
    until(|| data(&client, other).unwrap().state == ConnectionState::BackingOff).await;
    assert_eq!(phases(&data(&client, other).unwrap()), steps);
    waiting.abort();
}

#[tokio::test(start_paused = true)]
async fn sasl_is_a_step_of_a_listener_that_requires_it() {
    let users = [("ann".to_owned(), "secret".to_owned())].into();
    let sasl = Some(SaslConfig { users, ..SaslConfig::default() });
    let cluster = MockCluster::start(MockConfig { sasl, ..in_memory() }).await.unwrap();
    let pairs = [
        ("security.protocol", "SASL_PLAINTEXT"),
        ("sasl.mechanism", "SCRAM-SHA-256"),
        ("sasl.username", "ann"),
        ("sasl.password", "secret"),
    ];
    let client = client(&cluster, &pairs).await;
    let other = client.connections()[0].broker % 3 + 1;
    delay(&cluster, ApiKey::SaslHandshake, other, ms(2_000));
    within_deadline(connect(&client, other)).await.unwrap().expect("connected");
    let found = data(&client, other).unwrap();
    let expected = [(Phase::Dns, 0), (Phase::Tcp, 0), (Phase::ApiVersions, 0), (Phase::Sasl, 2)];
    assert_eq!(phases(&found), expected);
}

#[tokio::test(start_paused = true)]
async fn bootstrap_servers_are_listed_until_the_cluster_is_found() {
    let cluster = cluster(1).await;
    let network = Arc::new(NamedNetwork::default());
    let hole: SocketAddr = "192.0.2.1:9092".parse().unwrap();
    network.black_holes.lock().push(hole);
    let dead = closed_port();
    let brokers = cluster.brokers();
    let silent = brokers[0].address;
    cluster.inject(Fault::new(Match::api(ApiKey::Metadata), Reaction::Delay(ms(120_000))));
    let servers = format!("{hole},{dead},{silent}");
    let pairs = [("reconnect.backoff.ms", "4000"), ("reconnect.backoff.max.ms", "4000")];
    let client = Client::new(config(&servers, &pairs), environment(&network, 1)).unwrap();
    assert!(client.connections().is_empty());

    let finding = find(&client, ms(20_000));
    tokio::time::sleep(ms(3_000)).await;
    let all = bootstrap(&client);
    assert_eq!(all.len(), 3, "{all:?}");
    assert!(all.iter().all(|status| status.broker == UNKNOWN_BROKER && status.in_flight == 0));
    let at = |address: SocketAddr| {
        bootstrap(&client).into_iter().find(|status| status.address == address.to_string()).unwrap()
    };
    let found = at(hole);
    assert_eq!((found.state, found.phase), (ConnectionState::Connecting, Some(Phase::Tcp)));
    assert!(found.last_error.is_none());
    let found = at(silent);
    assert_eq!((found.state, found.phase), (ConnectionState::Connecting, Some(Phase::Metadata)));
    assert!(phases(&found).last().unwrap().1 >= 1, "{found:?}");
    let found = at(dead);
    assert_eq!((found.state, found.phase), (ConnectionState::BackingOff, None));
    assert!(found.last_error.unwrap().message().contains("refused"));
    assert_eq!(found.phases.last().unwrap().0, Phase::Tcp);

    // After the failure, the servers stay with their errors; nothing tries them again.
    let error = within_deadline(finding).await.unwrap().expect_err("no metadata");
    assert_eq!(error.kind(), Kind::Bootstrap);
    let all = bootstrap(&client);
    assert_eq!(all.len(), 3);
    for status in &all {
        assert_eq!((status.state, status.phase), (ConnectionState::Disconnected, None), "{status:?}");
        assert!(status.last_error.is_some(), "{status:?}");
    }
    let before = phases(&at(silent));
    assert_eq!(before.last().unwrap().0, Phase::Metadata);
    tokio::time::sleep(ms(5_000)).await;
    assert_eq!(phases(&at(silent)), before, "an attempt that has ended takes no more time");

    // An attempt whose caller gives up is listed with the step that it was in.
    let finding = find(&client, ms(20_000));
    until(|| at(silent).phase == Some(Phase::Metadata)).await;
    finding.abort();
    until(|| at(silent).state == ConnectionState::Disconnected).await;
    assert_eq!(at(silent).phases.last().unwrap().0, Phase::Metadata);
    let given_up = at(silent).last_error.unwrap();
    assert!(given_up.message().contains("before the call"), "{given_up}");
    assert_eq!(given_up.context().phase, Some(Phase::Metadata));

    cluster.clear_faults();
    within_deadline(find(&client, ms(20_000))).await.unwrap().expect("found");
    assert!(bootstrap(&client).is_empty());
    let found = client.connections();
    assert_eq!(found.len(), 1, "the connection to the server that advertises its address is kept");
    assert_eq!(found[0].phases.last().unwrap().0, Phase::Metadata);
}

#[tokio::test(start_paused = true)]
async fn servers_whose_names_do_not_resolve_are_listed_under_their_own_names() {
    let network = Arc::new(NamedNetwork::default());
    let dead = closed_port();
    network.names.lock().insert("all".to_owned(), vec![dead]);
    network.canonical.lock().insert(dead.ip(), "kafka1".to_owned());
    network.names.lock().insert("kafka1".to_owned(), vec![dead]);
    let pairs = [("client.dns.lookup", "resolve_canonical_bootstrap_servers_only")];
    let servers = format!("all:{},nowhere.invalid:1", dead.port());
    let client = Client::new(config(&servers, &pairs), environment(&network, 1)).unwrap();
    within_deadline(find(&client, ms(20_000))).await.unwrap().expect_err("unreachable");
    let listed: Vec<(String, Vec<Phase>)> = bootstrap(&client)
        .into_iter()
        .map(|status| (status.address, status.phases.iter().map(|(phase, _)| *phase).collect()))
        .collect();
    let kafka1 = (format!("kafka1:{}", dead.port()), vec![Phase::Dns, Phase::Tcp]);
    assert_eq!(listed, [kafka1, ("nowhere.invalid:1".to_owned(), vec![Phase::Dns])]);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_lost_its_cluster_lists_the_bootstrap_servers_again() {
    let cluster = cluster(1).await;
    let pairs = [("metadata.recovery.rebootstrap.trigger.ms", "1000")];
    let client = client(&cluster, &pairs).await;
    assert!(bootstrap(&client).is_empty());
    for broker in 1..=3 {
        cluster.stop_broker(broker).await.unwrap();
    }
    let generation = client.snapshot().generation;
    let refresh = client.refresh(generation, ottla_client::metadata::TopicSelector::Tracked);
    within_deadline(refresh).await.expect_err("all brokers are stopped");
    assert_eq!(bootstrap(&client).len(), 3);
    cluster.start_broker(1).await.unwrap();
    until(|| bootstrap(&client).is_empty()).await;
}
