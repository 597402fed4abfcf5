//! Tests listing and describing transactions on brokers of several releases, and while coordinators move.

use std::collections::BTreeSet;

use crate::support::*;
use ottla_client::admin::transactions::TransactionFilter;
use ottla_client::{Client, Kind};
use ottla_mock::{ApiLimit, Fault, Match, MockCluster, MockConfig, Reaction, When};
use ottla_protocol::ApiKey;

const IDS: [&str; 4] = ["orders-1", "orders-2", "billing-1", "x"];

/// A cluster whose coordinators know the ids, and a client.
async fn cluster_with(limits: &[(ApiKey, ApiLimit)]) -> (MockCluster, Client) {
    let api_limits = limits.iter().copied().collect();
    let cluster = MockCluster::start(MockConfig { api_limits, ..in_memory() }).await.expect("a cluster");
    let client = client(&cluster, &[]).await;
    let fenced = within_deadline(client.fence_producers(IDS.map(str::to_owned), CALL_TIMEOUT)).await;
    let fenced = fenced.expect("coordinators");
    assert_eq!(fenced.len(), IDS.len());
    assert!(fenced.values().all(Result::is_ok));
    (cluster, client)
}

fn matching(pattern: &str) -> TransactionFilter {
    TransactionFilter { id_pattern: Some(pattern.to_owned()), ..TransactionFilter::default() }
}

async fn listed(client: &Client, filter: &TransactionFilter) -> Vec<String> {
    let listed = within_deadline(client.list_transactions(filter, CALL_TIMEOUT)).await.expect("listed");
    listed.into_iter().map(|listing| listing.transactional_id).collect()
}

#[tokio::test(start_paused = true)]
async fn ids_are_filtered_by_a_pattern_whatever_the_broker_supports() {
    for version in 0..=2 {
        let (_cluster, client) = cluster_with(&[(ApiKey::ListTransactions, ApiLimit::Max(version))]).await;
        assert_eq!(
            listed(&client, &TransactionFilter::default()).await,
            ["billing-1", "orders-1", "orders-2", "x"]
        );
        assert_eq!(
            listed(&client, &matching("orders-.")).await,
            ["orders-1", "orders-2"],
            "version {version}"
        );
        assert_eq!(listed(&client, &matching("orders")).await, Vec::<String>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn a_filter_by_duration_is_refused_where_brokers_would_ignore_it() {
    let filter = TransactionFilter { running_longer_than: Some(ms(1)), ..TransactionFilter::default() };
    let (_cluster, client) = cluster_with(&[(ApiKey::ListTransactions, ApiLimit::Max(0))]).await;
    let error = within_deadline(client.list_transactions(&filter, CALL_TIMEOUT)).await.expect_err("refused");
    assert_eq!(error.kind(), Kind::Broker);
    assert!(error.to_string().contains("before Kafka 3.8"), "{error}");
    let (_cluster, client) = cluster_with(&[]).await;
    assert_eq!(listed(&client, &filter).await, Vec::<String>::new(), "none is open");
}

#[tokio::test(start_paused = true)]
async fn brokers_that_do_not_list_their_ids_are_named_beside_the_ids_of_the_others() {
    let (cluster, client) = cluster_with(&[]).await;
    let coordinator = cluster.coordinator("x").expect("a coordinator");
    let expected: Vec<&str> = ["billing-1", "orders-1", "orders-2", "x"]
        .into_iter()
        .filter(|id| cluster.coordinator(id) != Some(coordinator))
        .collect();
    cluster.inject(Fault::new(
        Match::api(ApiKey::ListTransactions).broker(coordinator),
        Reaction::Disconnect(When::BeforeHandling),
    ));
    let everything = TransactionFilter::default();
    let found = client.list_transactions_of_brokers(&everything, CALL_TIMEOUT);
    let (listings, errors) = within_deadline(found).await.expect("the ids of the others");
    let ids: Vec<&str> = listings.iter().map(|listing| listing.transactional_id.as_str()).collect();
    assert_eq!(ids, expected);
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0].context().broker, Some(coordinator));
    assert!(errors[0].to_string().contains("listing transactions did not succeed within"), "{errors:?}");
    let error = within_deadline(client.list_transactions(&everything, CALL_TIMEOUT)).await;
    assert_eq!(error.expect_err("the list lacks ids").context().broker, Some(coordinator));
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_has_left_is_not_waited_for() {
    let (cluster, client) = cluster_with(&[]).await;
    cluster.stop_broker(2).await.expect("stopped");
    let started = tokio::time::Instant::now();
    let everything = TransactionFilter::default();
    let found = client.list_transactions_of_brokers(&everything, CALL_TIMEOUT);
    let (_, errors) = within_deadline(found).await.expect("the ids of the others");
    assert!(started.elapsed() < ms(5_000), "{:?}", started.elapsed());
    let [error] = &errors[..] else { panic!("{errors:?}") };
    assert!(error.to_string().contains("broker 2 is not in the cluster's metadata"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn one_request_describes_the_ids_of_each_coordinator() {
    for find_version in [3, 4] {
        let (cluster, client) = cluster_with(&[(ApiKey::FindCoordinator, ApiLimit::Max(find_version))]).await;
        let coordinators: BTreeSet<_> = IDS.iter().map(|id| cluster.coordinator(id)).collect();
        let described = client.describe_transactions(IDS.map(str::to_owned), CALL_TIMEOUT);
        let described = within_deadline(described).await.expect("described");
        assert!(described.values().all(|described| described.as_ref().is_ok_and(|d| d.state == "Empty")));
        let requests = cluster.request_count(None, ApiKey::DescribeTransactions);
        assert_eq!(requests, coordinators.len() as u64, "FindCoordinator {find_version}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_coordinator_that_moves_meanwhile_is_found_again() {
    let (cluster, client) = cluster_with(&[]).await;
    let old = cluster.coordinator("x").expect("a coordinator");
    for _ in 0..2 {
        cluster.inject(Fault::once(
            Match::api(ApiKey::DescribeTransactions),
            Reaction::Disconnect(When::BeforeHandling),
        ));
    }
    let describe = client.describe_transactions(IDS.map(str::to_owned), CALL_TIMEOUT);
    let move_coordinator = async {
        tokio::time::sleep(ms(50)).await;
        cluster.move_coordinator("x", old % 3 + 1).expect("moved");
    };
    let (described, ()) = within_deadline(async { tokio::join!(describe, move_coordinator) }).await;
    let described = described.expect("described");
    assert!(described.values().all(Result::is_ok), "{described:?}");
    assert_eq!(described.len(), IDS.len());
}
