//! Proves: one good server among bad ones is enough; if all are bad, one error within the stated
//! time names each with its phase and cause; the shuffle is even; the brokers' own addresses
//! replace the list; a cluster that came back elsewhere is found through the list again.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use ottla_client::config::Value;
use ottla_client::metadata::Want;
use ottla_client::{Client, Config, Kind, Route};
use ottla_mock::{Fault, Match, MockCluster, MockConfig, Reaction};
use ottla_protocol::ApiKey;
use support::*;
use tokio::time::Instant;

/// TLS's answer to bytes that are not TLS: an alert.
const TLS_ALERT: &[u8] = &[0x15, 3, 3, 0, 2, 2, 10];
const HTTP: &[u8] = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";

async fn bad_servers() -> Vec<(String, &'static str, &'static str)> {
    let silent = server(|stream| async move {
        let _open = stream;
        std::future::pending().await
    });
    vec![
        (closed_port().await.to_string(), "TCP", "connection refused"),
        ("nowhere.invalid:9092".to_owned(), "DNS", "cannot be resolved"),
        (answering(HTTP).await.to_string(), "ApiVersions", "HTTP"),
        (silent.await.to_string(), "ApiVersions", "no answer within"),
        (answering(TLS_ALERT).await.to_string(), "ApiVersions", "TLS"),
    ]
}

async fn connect(servers: &str, seed: u64, timeout: Duration) -> ottla_client::Result<Client> {
    let network = Arc::new(Names::default());
    soon(Client::connect(config(servers, &[]), environment(&network, seed), timeout)).await
}

#[tokio::test]
async fn one_good_server_among_bad_ones_is_enough() {
    let cluster = cluster(1).await;
    let good = cluster.brokers()[0].address.to_string();
    let mut all: Vec<String> = bad_servers().await.into_iter().map(|(server, ..)| server).collect();
    all.push(good);
    for seed in 0..4 {
        let started = Instant::now();
        let client = connect(&all.join(","), seed, SOON).await.expect("a client");
        assert_eq!(client.snapshot().brokers.len(), 3);
        assert!(started.elapsed() < ms(3000), "seed {seed}: {:?}", started.elapsed());
    }
}

/// Regression: the call's own time-out used to end the attempt without a word about the servers.
#[tokio::test]
async fn when_all_are_bad_one_error_names_each_address_phase_and_cause_in_time() {
    let bad = bad_servers().await;
    let list: Vec<&str> = bad.iter().map(|(server, ..)| server.as_str()).collect();
    let started = Instant::now();
    let error = connect(&list.join(","), 1, ms(1500)).await.expect_err("nothing to connect to");
    assert!(started.elapsed() < ms(2500), "{:?}", started.elapsed());
    assert_eq!(error.kind(), Kind::Bootstrap, "{error}");
    let words = error.to_string();
    for (server, phase, cause) in &bad {
        let at = words.find(server).unwrap_or_else(|| panic!("{server} is missing in {words}"));
        let around = &words[at.saturating_sub(400)..(at + 100).min(words.len())];
        assert!(around.contains(phase) && around.contains(cause), "{server}: {phase}, {cause} in {words}");
    }
}

#[tokio::test]
async fn a_single_silent_server_fails_in_its_time_with_its_phase() {
    let silent = server(|mut stream| async move {
        shake_hands(&mut stream).await;
        std::future::pending().await
    });
    let address = silent.await.to_string();
    let started = Instant::now();
    let error = connect(&address, 1, ms(300)).await.expect_err("no metadata");
    assert!(started.elapsed() < ms(1000));
    assert!(error.to_string().contains("Metadata") && error.to_string().contains(&address), "{error}");
}

#[tokio::test]
async fn a_black_hole_delays_the_next_server_only_a_little() {
    let cluster = cluster(1).await;
    let network = Arc::new(Names::default());
    let hole = "192.0.2.1:9092".parse().unwrap();
    network.black_holes.lock().push(hole);
    let servers = format!("192.0.2.1:9092,{}", cluster.brokers()[0].address);
    for seed in 0..3 {
        let started = Instant::now();
        let connected = Client::connect(config(&servers, &[]), environment(&network, seed), SOON);
        soon(connected).await.expect("a client");
        assert!(started.elapsed() < ms(1500), "{:?}", started.elapsed());
    }
    assert!(network.connects.lock().contains(&hole), "the black hole was tried first at least once");
}

#[tokio::test]
async fn the_first_server_is_chosen_evenly() {
    let cluster = cluster(1).await;
    let network = Arc::new(Names::default());
    let mut first = std::collections::HashMap::new();
    for seed in 0..150 {
        network.connects.lock().clear();
        let connected = Client::connect(config(&cluster.bootstrap(), &[]), environment(&network, seed), SOON);
        soon(connected).await.expect("a client");
        *first.entry(network.connects.lock()[0]).or_insert(0) += 1;
    }
    assert_eq!(first.len(), 3);
    assert!(first.values().all(|count| (30..=70).contains(count)), "{first:?}");
}

#[tokio::test]
async fn a_name_with_several_addresses_is_tried_in_turn_and_failures_name_them_all() {
    let cluster = cluster(1).await;
    let good = cluster.brokers()[0].address;
    let (dead, hole) = (closed_port().await, "192.0.2.7:9092".parse().unwrap());
    let network = Arc::new(Names::default());
    network.black_holes.lock().push(hole);
    network.names.lock().insert("kafka".to_owned(), vec![dead, hole, good]);
    let client = Client::connect(config("kafka:9092", &[]), environment(&network, 1), ms(3000));
    assert_eq!(soon(client).await.expect("a client").snapshot().brokers.len(), 3);

    network.names.lock().insert("kafka".to_owned(), vec![dead, hole]);
    let client = Client::connect(config("kafka:9092", &[]), environment(&network, 1), ms(600));
    let words = soon(client).await.expect_err("nobody there").to_string();
    assert!(
        words.contains("refused") && words.contains("192.0.2.7") && words.contains("127.0.0.1"),
        "{words}"
    );
}

#[tokio::test]
async fn advertised_brokers_replace_the_list() {
    let cluster = cluster(1).await;
    let network = Arc::new(Names::default());
    network.names.lock().insert("seed".to_owned(), vec![cluster.brokers()[0].address]);
    let client = Client::connect(config("seed:9092", &[]), environment(&network, 1), SOON);
    let client = soon(client).await.expect("a client");
    for broker in 1..=3 {
        soon(client.connection(Route::Broker(broker))).await.expect("a connection");
    }
    soon(client.refresh(client.snapshot().generation, Want::Known)).await.expect("metadata");
    let seeds = network.resolved.lock().iter().filter(|name| *name == "seed").count();
    assert_eq!(seeds, 1, "the list rests once the brokers are known");
}

#[tokio::test]
async fn a_cluster_that_came_back_elsewhere_is_found_again() {
    let old = cluster(1).await;
    let network = Arc::new(Names::default());
    network.names.lock().insert("seed".to_owned(), vec![old.brokers()[0].address]);
    let client = Client::connect(config("seed:9092", &[]), environment(&network, 1), SOON);
    let client = soon(client).await.expect("a client");
    let before = client.snapshot().generation;
    drop(old);

    let new = MockCluster::start(MockConfig { brokers: 2, ..Default::default() }).await.unwrap();
    network.names.lock().insert("seed".to_owned(), vec![new.brokers()[1].address]);
    let refreshed = client.retrying("refreshing", SOON, || client.refresh(before, Want::Known));
    let snapshot = soon(refreshed).await.expect("metadata");
    assert_eq!(snapshot.brokers.len(), 2);
    let ports: Vec<u16> = snapshot.brokers.values().map(|broker| broker.endpoint.port).collect();
    assert_eq!(ports, new.brokers().iter().map(|broker| broker.address.port()).collect::<Vec<_>>());
    soon(client.connection(Route::Broker(1))).await.expect("the new broker 1");
    assert!(new.connections(1) > 0);
}

/// KIP-1102: a broker may send its clients back to the list.
#[tokio::test]
async fn rebootstrap_required_leads_back_to_the_list() {
    let cluster = cluster(1).await;
    let network = Arc::new(Names::default());
    network.names.lock().insert("seed".to_owned(), vec![cluster.brokers()[0].address]);
    let client =
        soon(Client::connect(config("seed:9092", &[]), environment(&network, 1), SOON)).await.unwrap();
    let code = ottla_protocol::ErrorCode::RebootstrapRequired;
    cluster.inject(Fault::once(Match::api(ApiKey::Metadata), Reaction::Error(code)));
    soon(client.refresh(client.snapshot().generation, Want::Known)).await.expect("metadata");
    assert_eq!(network.resolved.lock().iter().filter(|name| *name == "seed").count(), 2);
}

/// KIP-899: who does not want it is not sent to the list.
#[tokio::test]
async fn without_recovery_the_list_is_not_used_again() {
    let cluster = cluster(1).await;
    let network = Arc::new(Names::default());
    network.names.lock().insert("seed".to_owned(), vec![cluster.brokers()[0].address]);
    let config = config("seed:9092", &[("metadata.recovery.strategy", "none")]);
    let client = soon(Client::connect(config, environment(&network, 1), SOON)).await.unwrap();
    for broker in cluster.brokers() {
        cluster.stop_broker(broker.id).await.unwrap();
    }
    let refused = soon(client.refresh(client.snapshot().generation, Want::Known)).await.unwrap_err();
    assert!(refused.to_string().contains("metadata.recovery.strategy is none"), "{refused}");
    assert_eq!(network.resolved.lock().iter().filter(|name| *name == "seed").count(), 1);
    // The brokers that are known are tried as before.
    for broker in cluster.brokers() {
        cluster.start_broker(broker.id).await.unwrap();
    }
    until(|| client.snapshot().generation > 0).await;
    let retried =
        client.retrying("refreshing", SOON, || client.refresh(client.snapshot().generation, Want::Known));
    soon(retried).await.expect("metadata");
}

/// KIP-1102: brokers that are there but say nothing are given up after a while.
#[tokio::test]
async fn brokers_that_say_nothing_are_given_up_for_the_list() {
    let cluster = cluster(1).await;
    let network = Arc::new(Names::default());
    network.names.lock().insert("seed".to_owned(), vec![cluster.brokers()[0].address]);
    let config = config("seed:9092", &[("metadata.recovery.rebootstrap.trigger.ms", "200")]);
    let client = soon(Client::connect(config, environment(&network, 1), SOON)).await.unwrap();
    // PATIENCE between two brokers is a second: only one is asked before the time is over.
    cluster.inject(Fault::once(Match::api(ApiKey::Metadata), Reaction::Silence));
    let started = Instant::now();
    soon(client.refresh(client.snapshot().generation, Want::Known)).await.expect("metadata");
    assert!(started.elapsed() < SOON / 2, "long before request.timeout.ms");
    assert_eq!(network.resolved.lock().iter().filter(|name| *name == "seed").count(), 2);
}

#[tokio::test]
async fn a_list_that_makes_no_sense_is_refused_at_once() {
    for servers in ["", "host", "host:port", "host:0", ":9092", "host:99999", "a b:1"] {
        let config = Config::from_pairs([("bootstrap.servers", Value::from(servers))]).unwrap();
        let error = Client::new(config, Default::default()).expect_err(servers);
        assert_eq!(error.kind(), Kind::Config, "{servers}: {error}");
    }
}
