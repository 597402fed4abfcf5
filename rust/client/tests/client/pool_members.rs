//! Proves: a broker that leaves the metadata and comes back, or gets its old address back, gets no
//! second connection while the first one is in use or being opened, however often that happens; unused
//! connections close when their broker leaves, and `close` closes the rest.

use std::sync::Arc;

use crate::support::*;
use ottla_client::Endpoint;
use ottla_client::connection::{Connection, ConnectionRole, Owner, Pool, Settings};
use ottla_client::environment::Environment;
use ottla_client::metadata::TopicSelector;
use ottla_client::retry::backoff::Backoff;
use ottla_client::{Client, Route};
use ottla_mock::{Fault, Match, MockCluster, MockConfig, Reaction};
use ottla_protocol::ApiKey;
use ottla_protocol::messages::describe_cluster::DescribeClusterRequest;
use tokio::sync::broadcast;
use tokio::task::JoinHandle;

const SHARED: (ConnectionRole, Owner) = (ConnectionRole::Data, Owner::CLIENT);
/// Less than the number of requests that may be in flight.
const OFTEN: usize = 4;

fn pool(servers: &str, environment: Environment) -> Arc<Pool> {
    let settings = Settings::try_from(&config(servers, &[])).expect("settings");
    let backoff = Backoff { first: ms(10), max: ms(10) };
    Arc::new(Pool::new(settings, backoff, environment, broadcast::Sender::new(64)))
}

/// Sends a request that the broker does not respond to.
async fn hanging_request(cluster: &MockCluster, connection: Arc<Connection>) -> JoinHandle<()> {
    cluster.inject(Fault::new(Match::api(ApiKey::DescribeCluster), Reaction::Silence));
    let (before, user) = (connection.in_flight(), Arc::clone(&connection));
    let waiting = tokio::spawn(async move {
        let request = DescribeClusterRequest::default();
        let version = user.version::<DescribeClusterRequest>(2).expect("a version");
        user.request(&request, version).await.expect_err("no response");
    });
    until(|| connection.in_flight() == before + 1).await;
    waiting
}

#[tokio::test(start_paused = true)]
async fn a_connection_in_use_is_reused_when_its_broker_returns() {
    let cluster = MockCluster::start(MockConfig { brokers: 1, ..in_memory() }).await.unwrap();
    let endpoint: Endpoint = cluster.bootstrap().parse().unwrap();
    let pool = pool(&cluster.bootstrap(), memory_environment());
    let first = within_deadline(pool.get(1, SHARED, &endpoint)).await.unwrap();
    let mut waiting = vec![hanging_request(&cluster, first).await];
    for _ in 0..OFTEN {
        pool.retain(|_| false);
        assert!(pool.status().is_empty() && pool.least_busy().is_none(), "it is not in the cluster");
        let again = within_deadline(pool.get(1, SHARED, &endpoint)).await.unwrap();
        waiting.push(hanging_request(&cluster, again).await);
    }
    assert_eq!(cluster.connections(1), 1);
    assert_eq!(pool.status()[0].in_flight, OFTEN + 1);
    // It closes with its last user.
    pool.retain(|_| false);
    let last = waiting.pop().unwrap();
    for waiting in waiting {
        waiting.abort();
        assert!(within_deadline(waiting).await.unwrap_err().is_cancelled());
    }
    assert_eq!(cluster.connections(1), 1);
    last.abort();
    until(|| cluster.connections(1) == 0).await;
    // The next one has no user and closes at once.
    within_deadline(pool.get(1, SHARED, &endpoint)).await.unwrap();
    until(|| cluster.connections(1) == 1).await;
    pool.retain(|_| false);
    until(|| cluster.connections(1) == 0).await;
    // `close` also closes connections to brokers that left.
    let again = within_deadline(pool.get(1, SHARED, &endpoint)).await.unwrap();
    let waiting = hanging_request(&cluster, again).await;
    pool.retain(|_| false);
    pool.close();
    within_deadline(waiting).await.unwrap();
    until(|| cluster.connections(1) == 0).await;
}

#[tokio::test(start_paused = true)]
async fn a_running_attempt_serves_callers_after_the_broker_returns() {
    let cluster = MockCluster::start(MockConfig { brokers: 1, ..in_memory() }).await.unwrap();
    let network = Arc::new(NamedNetwork::default());
    let pool = pool(&cluster.bootstrap(), environment(&network, 1));
    let get = || {
        let (pool, endpoint) = (Arc::clone(&pool), cluster.bootstrap().parse().unwrap());
        tokio::spawn(async move { pool.get(1, SHARED, &endpoint).await.unwrap() })
    };
    cluster.inject(Fault::once(Match::api(ApiKey::ApiVersions), Reaction::Delay(ms(1500))));
    let mut waiting = Vec::new();
    for _ in 0..OFTEN {
        pool.retain(|_| false);
        assert!(pool.status().is_empty(), "it is not in the cluster");
        waiting.push(get());
        until(|| pool.status().len() == 1).await;
    }
    // Also the caller that has waited since before the broker left.
    pool.retain(|_| false);
    let mut connections = Vec::new();
    for waiting in waiting {
        connections.push(within_deadline(waiting).await.unwrap());
    }
    assert!(connections.iter().all(|connection| Arc::ptr_eq(connection, &connections[0])));
    assert_eq!(network.connects.lock().len(), 1);
    // It closes with its last user, because the broker left.
    drop(connections);
    until(|| cluster.connections(1) == 0).await;
    // An attempt without a waiter is cancelled at once.
    let silent = cluster.inject(Fault::once(Match::api(ApiKey::ApiVersions), Reaction::Silence));
    let waiting = get();
    until(|| cluster.fault_hits(silent) == 1).await;
    waiting.abort();
    assert!(within_deadline(waiting).await.unwrap_err().is_cancelled());
    pool.retain(|_| false);
    until(|| cluster.connections(1) == 0).await;
}

#[tokio::test(start_paused = true)]
async fn an_alternating_address_takes_one_connection() {
    let cluster = cluster(1).await;
    let network = Arc::new(NamedNetwork::default());
    let broker = cluster.brokers()[1].clone();
    network.names.lock().insert("elsewhere".to_owned(), vec![broker.address]);
    let client = Client::connect(config(&cluster.bootstrap(), &[]), environment(&network, 1), CALL_TIMEOUT);
    let client = within_deadline(client).await.unwrap();
    let mut waiting = Vec::new();
    for turn in 0..2 * OFTEN {
        let host = if turn % 2 == 0 { "198.51.100.1" } else { "elsewhere" };
        cluster.advertise(broker.id, host, broker.address.port()).unwrap();
        within_deadline(client.refresh(client.snapshot().generation, TopicSelector::Tracked)).await.unwrap();
        let connection = within_deadline(client.connection(Route::Broker(broker.id))).await.unwrap();
        assert_eq!(connection.endpoint().host, host);
        waiting.push(hanging_request(&cluster, connection).await);
    }
    assert_eq!(cluster.connections(broker.id), 2, "one for each address");
    // The broker's former address is no longer used once there is no waiter.
    waiting.iter().for_each(JoinHandle::abort);
    until(|| cluster.connections(broker.id) == 1).await;
}
