//! Proves: who has connections of its own is not held up by what others have brokers wait for, shares
//! everything else, and leaves nothing behind.

use crate::support::*;
use ottla_client::connection::{Lane, Owner};
use ottla_client::{Client, CoordinatorKind, Route};
use ottla_mock::{Fault, Match, MockCluster, Reaction};
use ottla_protocol::ApiKey;
use ottla_protocol::messages::describe_cluster::DescribeClusterRequest;

async fn ask(client: &Client, broker: i32) {
    let request = DescribeClusterRequest::default();
    within_deadline(client.send(Route::Broker(broker), &request, 2)).await.expect("an answer");
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
async fn nobody_is_held_up_by_what_another_waits_for() {
    let cluster = cluster(1).await;
    let client = client(&cluster, &[]).await;
    let (one, other) = (client.with_own_connections(), client.with_own_connections());
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
async fn what_is_known_is_shared_and_connections_go_with_the_last_clone() {
    let cluster = cluster(1).await;
    let client = client(&cluster, &[]).await;
    let shared = connections(&cluster);
    let one = client.with_own_connections();
    let clone = one.clone();
    assert_eq!(owned(&client), 0, "nothing was asked for");
    assert_eq!(coordinator(&one).await, coordinator(&client).await);
    ask(&clone, 1).await;
    assert_eq!(cluster.request_count(None, ApiKey::FindCoordinator), 1);
    assert_eq!(owned(&client), 2);
    let lanes: Vec<_> = client
        .connections()
        .iter()
        .filter(|status| status.owner != Owner::CLIENT)
        .map(|status| status.lane)
        .collect();
    assert!(lanes.contains(&Lane::Data) && lanes.contains(&Lane::Coordinator), "{lanes:?}");
    // What any broker can answer goes where the client's other requests of that kind go.
    within_deadline(one.send(Route::Any, &DescribeClusterRequest::default(), 2)).await.unwrap();
    assert_eq!(owned(&client), 2);
    drop(one);
    assert_eq!(owned(&client), 2);
    drop(clone);
    assert_eq!(owned(&client), 0);
    // The one that is left is the coordinator's, which the client asked for as well.
    until(|| connections(&cluster) == shared + 1).await;
    ask(&client, 1).await;
}

#[tokio::test(start_paused = true)]
async fn closing_the_client_closes_them() {
    let cluster = cluster(1).await;
    let client = client(&cluster, &[]).await;
    let own = client.with_own_connections();
    ask(&own, 3).await;
    client.close();
    until(|| connections(&cluster) == 0).await;
    assert!(own.is_closed());
    within_deadline(own.send(Route::Broker(3), &DescribeClusterRequest::default(), 2)).await.unwrap_err();
}
