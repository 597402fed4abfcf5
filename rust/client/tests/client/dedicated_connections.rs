//! Proves: a client with dedicated connections is not delayed by requests that other users' connections
//! wait for, shares everything else, and closes the connections at the end.

use crate::support::*;
use ottla_client::connection::{ConnectionRole, Owner};
use ottla_client::{Client, CoordinatorKind, Route};
use ottla_mock::{Fault, Match, MockCluster, Reaction};
use ottla_protocol::ApiKey;
use ottla_protocol::messages::describe_cluster::DescribeClusterRequest;

async fn ask(client: &Client, broker: i32) {
    let request = DescribeClusterRequest::default();
    within_deadline(client.send(Route::Broker(broker), &request, 2)).await.expect("a response");
}

async fn coordinator(client: &Client) -> i32 {
    within_deadline(client.coordinator(CoordinatorKind::Group, "g")).await.expect("a coordinator").broker()
}

fn connections(cluster: &MockCluster) -> usize {
    (1..=3).map(|broker| cluster.connections(broker)).sum()
}

fn owned(client: &Client) -> usize {
    client.connections().iter().filter(|status| status.owner != Owner::CLIENT).count()
}

#[tokio::test(start_paused = true)]
async fn no_user_is_delayed_by_requests_of_another() {
    let cluster = cluster(1).await;
    let client = client(&cluster, &[]).await;
    let (one, other) = (client.with_dedicated_connections(), client.with_dedicated_connections());
    for user in [&client, &one, &other] {
        ask(user, 2).await;
    }
    let slow = Match::api(ApiKey::DescribeCluster);
    let slow = cluster.inject(Fault::once(slow, Reaction::Delay(ms(60_000))));
    let waiting = tokio::spawn({
        let one = one.clone();
        async move { ask(&one, 2).await }
    });
    until(|| cluster.fault_hits(slow) == 1).await;
    ask(&other, 2).await;
    ask(&client, 2).await;
    assert!(!waiting.is_finished());
    waiting.abort();
}

#[tokio::test(start_paused = true)]
async fn metadata_is_shared_and_connections_close_with_the_last_clone() {
    let cluster = cluster(1).await;
    let client = client(&cluster, &[]).await;
    let shared = connections(&cluster);
    let one = client.with_dedicated_connections();
    let clone = one.clone();
    assert_eq!(owned(&client), 0, "no request was sent");
    assert_eq!(coordinator(&one).await, coordinator(&client).await);
    ask(&clone, 1).await;
    assert_eq!(cluster.request_count(None, ApiKey::FindCoordinator), 1);
    assert_eq!(owned(&client), 2);
    let roles: Vec<_> = client
        .connections()
        .iter()
        .filter(|status| status.owner != Owner::CLIENT)
        .map(|status| status.role)
        .collect();
    assert!(
        roles.contains(&ConnectionRole::Data) && roles.contains(&ConnectionRole::Coordinator),
        "{roles:?}"
    );
    // Requests that any broker can serve use the shared connections.
    within_deadline(one.send(Route::Any, &DescribeClusterRequest::default(), 2)).await.unwrap();
    assert_eq!(owned(&client), 2);
    drop(one);
    assert_eq!(owned(&client), 2);
    drop(clone);
    assert_eq!(owned(&client), 0);
    // The remaining one is the coordinator's, which the client used as well.
    until(|| connections(&cluster) == shared + 1).await;
    ask(&client, 1).await;
}

#[tokio::test(start_paused = true)]
async fn closing_the_client_closes_dedicated_connections() {
    let cluster = cluster(1).await;
    let client = client(&cluster, &[]).await;
    let own = client.with_dedicated_connections();
    ask(&own, 3).await;
    client.close();
    until(|| connections(&cluster) == 0).await;
    assert!(own.is_closed());
    within_deadline(own.send(Route::Broker(3), &DescribeClusterRequest::default(), 2)).await.unwrap_err();
}
