//! Proves: once the metadata is known, the brokers in it replace the bootstrap servers, which are used again
//! when no known broker responds (KIP-899, KIP-1102): a cluster at new addresses is found again.

use std::sync::Arc;

use crate::support::*;
use ottla_client::metadata::TopicSelector;
use ottla_client::producer::Producer;
use ottla_client::{Client, Route};
use ottla_mock::{Fault, Match, MockCluster, MockConfig, Reaction};
use ottla_protocol::ApiKey;

#[tokio::test(start_paused = true)]
async fn a_producer_survives_the_replacement_of_all_brokers() {
    let old = cluster(1).await;
    let network = Arc::new(NamedNetwork::default());
    network.names.lock().insert("seed".to_owned(), vec![old.brokers()[0].address]);
    let client =
        Client::connect(config("seed:9092", &[("linger.ms", "0")]), environment(&network, 1), CALL_TIMEOUT);
    let client = within_deadline(client).await.expect("a client");
    let producer = Producer::new(client.clone()).unwrap();
    offset_of(&send(&producer, 0, "a").await).await.expect("written");
    let new = cluster(1).await;
    network.names.lock().insert("seed".to_owned(), new.brokers().iter().map(|b| b.address).collect());
    drop(old);
    offset_of(&send(&producer, 0, "b").await).await.expect("written to the new brokers");
    assert_eq!(log(&new, "t", 0), [(0, "b".to_owned())]);
    let ports = |cluster: &MockCluster| -> Vec<u16> {
        cluster.brokers().iter().map(|broker| broker.address.port()).collect()
    };
    let known: Vec<u16> = client.snapshot().brokers.values().map(|broker| broker.endpoint.port).collect();
    assert_eq!(known, ports(&new));
}

#[tokio::test(start_paused = true)]
async fn advertised_brokers_replace_the_bootstrap_servers() {
    let cluster = cluster(1).await;
    let network = Arc::new(NamedNetwork::default());
    network.names.lock().insert("seed".to_owned(), vec![cluster.brokers()[0].address]);
    let client = Client::connect(config("seed:9092", &[]), environment(&network, 1), CALL_TIMEOUT);
    let client = within_deadline(client).await.expect("a client");
    for broker in 1..=3 {
        within_deadline(client.connection(Route::Broker(broker))).await.expect("a connection");
    }
    within_deadline(client.refresh(client.snapshot().generation, TopicSelector::Tracked))
        .await
        .expect("metadata");
    let seeds = network.resolved.lock().iter().filter(|name| *name == "seed").count();
    assert_eq!(seeds, 1, "the list rests once the brokers are known");
}

#[tokio::test(start_paused = true)]
async fn a_cluster_at_new_addresses_is_found_again() {
    let old = cluster(1).await;
    let network = Arc::new(NamedNetwork::default());
    network.names.lock().insert("seed".to_owned(), vec![old.brokers()[0].address]);
    let client = Client::connect(config("seed:9092", &[]), environment(&network, 1), CALL_TIMEOUT);
    let client = within_deadline(client).await.expect("a client");
    let before = client.snapshot().generation;
    drop(old);

    let new = MockCluster::start(MockConfig { brokers: 2, ..in_memory() }).await.unwrap();
    network.names.lock().insert("seed".to_owned(), vec![new.brokers()[1].address]);
    let refreshed =
        client.retrying("refreshing", CALL_TIMEOUT, || client.refresh(before, TopicSelector::Tracked));
    let snapshot = within_deadline(refreshed).await.expect("metadata");
    assert_eq!(snapshot.brokers.len(), 2);
    let ports: Vec<u16> = snapshot.brokers.values().map(|broker| broker.endpoint.port).collect();
    assert_eq!(ports, new.brokers().iter().map(|broker| broker.address.port()).collect::<Vec<_>>());
    within_deadline(client.connection(Route::Broker(1))).await.expect("the new broker 1");
    assert!(new.connections(1) > 0);
}

/// KIP-1102: a broker may tell its clients to bootstrap again.
#[tokio::test(start_paused = true)]
async fn rebootstrap_required_leads_back_to_the_bootstrap_servers() {
    let cluster = cluster(1).await;
    let network = Arc::new(NamedNetwork::default());
    network.names.lock().insert("seed".to_owned(), vec![cluster.brokers()[0].address]);
    let client =
        within_deadline(Client::connect(config("seed:9092", &[]), environment(&network, 1), CALL_TIMEOUT))
            .await
            .unwrap();
    let code = ottla_protocol::ErrorCode::RebootstrapRequired;
    cluster.inject(Fault::once(Match::api(ApiKey::Metadata), Reaction::Error(code)));
    within_deadline(client.refresh(client.snapshot().generation, TopicSelector::Tracked))
        .await
        .expect("metadata");
    assert_eq!(network.resolved.lock().iter().filter(|name| *name == "seed").count(), 2);
}

/// KIP-899 is optional: with `none`, the client does not bootstrap again.
#[tokio::test(start_paused = true)]
async fn without_recovery_the_bootstrap_servers_are_not_used_again() {
    let cluster = cluster(1).await;
    let network = Arc::new(NamedNetwork::default());
    network.names.lock().insert("seed".to_owned(), vec![cluster.brokers()[0].address]);
    let config = config("seed:9092", &[("metadata.recovery.strategy", "none")]);
    let client =
        within_deadline(Client::connect(config, environment(&network, 1), CALL_TIMEOUT)).await.unwrap();
    for broker in cluster.brokers() {
        cluster.stop_broker(broker.id).await.unwrap();
    }
    let refused = within_deadline(client.refresh(client.snapshot().generation, TopicSelector::Tracked))
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("metadata.recovery.strategy is none"), "{refused}");
    assert_eq!(network.resolved.lock().iter().filter(|name| *name == "seed").count(), 1);
    // The known brokers are still used.
    for broker in cluster.brokers() {
        cluster.start_broker(broker.id).await.unwrap();
    }
    until(|| client.snapshot().generation > 0).await;
    let retried = client.retrying("refreshing", CALL_TIMEOUT, || {
        client.refresh(client.snapshot().generation, TopicSelector::Tracked)
    });
    within_deadline(retried).await.expect("metadata");
}

/// KIP-1102: the client gives up brokers that do not respond for a while.
#[tokio::test(start_paused = true)]
async fn silent_brokers_are_given_up_for_the_bootstrap_servers() {
    let cluster = cluster(1).await;
    let network = Arc::new(NamedNetwork::default());
    network.names.lock().insert("seed".to_owned(), vec![cluster.brokers()[0].address]);
    let config = config("seed:9092", &[("metadata.recovery.rebootstrap.trigger.ms", "200")]);
    let client =
        within_deadline(Client::connect(config, environment(&network, 1), CALL_TIMEOUT)).await.unwrap();
    // The attempt delay is a second: only one broker is tried before the time is over.
    cluster.inject(Fault::once(Match::api(ApiKey::Metadata), Reaction::Silence));
    let started = Instant::now();
    within_deadline(client.refresh(client.snapshot().generation, TopicSelector::Tracked))
        .await
        .expect("metadata");
    assert!(started.elapsed() < CALL_TIMEOUT / 2, "long before request.timeout.ms");
    assert_eq!(network.resolved.lock().iter().filter(|name| *name == "seed").count(), 2);
}
