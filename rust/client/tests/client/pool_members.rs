//! Proves: a broker that leaves the metadata and comes back, or is given its old address again, gets no
//! second connection while the first one is in use or comes up, however often that happens; what nobody
//! uses ends when its broker leaves, and closing ends the rest.

use std::sync::Arc;

use crate::support::*;
use ottla_client::connection::{Connection, Endpoint, Lane, Owner, Pool, Settings};
use ottla_client::environment::Environment;
use ottla_client::metadata::Want;
use ottla_client::retry::backoff::Backoff;
use ottla_client::{Client, Route};
use ottla_mock::{Fault, Match, MockCluster, MockConfig, Reaction};
use ottla_protocol::ApiKey;
use ottla_protocol::messages::describe_cluster::DescribeClusterRequest;
use tokio::sync::broadcast;
use tokio::task::JoinHandle;

const SHARED: (Lane, Owner) = (Lane::Data, Owner::CLIENT);
/// Less than requests may be in flight.
const OFTEN: usize = 4;

fn pool(servers: &str, environment: Environment) -> Arc<Pool> {
    let settings = Settings::try_from(&config(servers, &[])).expect("settings");
    let backoff = Backoff { first: ms(10), max: ms(10) };
    Arc::new(Pool::new(settings, backoff, environment, broadcast::Sender::new(64)))
}

/// One more request that its broker does not answer.
async fn hanging_request(cluster: &MockCluster, connection: Arc<Connection>) -> JoinHandle<()> {
    cluster.inject(Fault::new(Match::api(ApiKey::DescribeCluster), Reaction::Silence));
    let (before, user) = (connection.in_flight(), Arc::clone(&connection));
    let waiting = tokio::spawn(async move {
        let request = DescribeClusterRequest::default();
        let version = user.version::<DescribeClusterRequest>(2).expect("a version");
        user.request(&request, version).await.expect_err("no answer");
    });
    until(|| connection.in_flight() == before + 1).await;
    waiting
}

#[tokio::test(start_paused = true)]
async fn a_connection_in_use_is_taken_up_again_when_its_broker_is_back() {
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
    // It ends with the last who uses it.
    pool.retain(|_| false);
    let last = waiting.pop().unwrap();
    for waiting in waiting {
        waiting.abort();
        assert!(within_deadline(waiting).await.unwrap_err().is_cancelled());
    }
    assert_eq!(cluster.connections(1), 1);
    last.abort();
    until(|| cluster.connections(1) == 0).await;
    // Nobody uses the next one, which ends at once.
    within_deadline(pool.get(1, SHARED, &endpoint)).await.unwrap();
    until(|| cluster.connections(1) == 1).await;
    pool.retain(|_| false);
    until(|| cluster.connections(1) == 0).await;
    // Closing ends those to brokers that have left, too.
    let again = within_deadline(pool.get(1, SHARED, &endpoint)).await.unwrap();
    let waiting = hanging_request(&cluster, again).await;
    pool.retain(|_| false);
    pool.close();
    within_deadline(waiting).await.unwrap();
    until(|| cluster.connections(1) == 0).await;
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_is_waited_for_serves_who_comes_when_the_broker_is_back() {
    let cluster = MockCluster::start(MockConfig { brokers: 1, ..in_memory() }).await.unwrap();
    let network = Arc::new(Names::default());
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
    // Also who has waited since before the broker left.
    pool.retain(|_| false);
    let mut connections = Vec::new();
    for waiting in waiting {
        connections.push(within_deadline(waiting).await.unwrap());
    }
    assert!(connections.iter().all(|connection| Arc::ptr_eq(connection, &connections[0])));
    assert_eq!(network.connects.lock().len(), 1);
    // It ends with the last who uses it, as the broker has left.
    drop(connections);
    until(|| cluster.connections(1) == 0).await;
    // An attempt that nobody waits for ends at once.
    let silent = cluster.inject(Fault::once(Match::api(ApiKey::ApiVersions), Reaction::Silence));
    let waiting = get();
    until(|| cluster.fault_hits(silent) == 1).await;
    waiting.abort();
    assert!(within_deadline(waiting).await.unwrap_err().is_cancelled());
    pool.retain(|_| false);
    until(|| cluster.connections(1) == 0).await;
}

#[tokio::test(start_paused = true)]
async fn an_address_that_comes_and_goes_costs_one_connection() {
    let cluster = cluster(1).await;
    let network = Arc::new(Names::default());
    let broker = cluster.brokers()[1].clone();
    network.names.lock().insert("elsewhere".to_owned(), vec![broker.address]);
    let client = Client::connect(config(&cluster.bootstrap(), &[]), environment(&network, 1), CALL_TIMEOUT);
    let client = within_deadline(client).await.unwrap();
    let mut waiting = Vec::new();
    for turn in 0..2 * OFTEN {
        let host = if turn % 2 == 0 { "198.51.100.1" } else { "elsewhere" };
        cluster.advertise(broker.id, host, broker.address.port()).unwrap();
        within_deadline(client.refresh(client.snapshot().generation, Want::Known)).await.unwrap();
        let connection = within_deadline(client.connection(Route::Broker(broker.id))).await.unwrap();
        assert_eq!(connection.endpoint().host, host);
        waiting.push(hanging_request(&cluster, connection).await);
    }
    assert_eq!(cluster.connections(broker.id), 2, "one for each address");
    // The address that the broker has not got any more is left as soon as nobody waits there.
    waiting.iter().for_each(JoinHandle::abort);
    until(|| cluster.connections(broker.id) == 1).await;
}
