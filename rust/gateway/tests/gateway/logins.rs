//! Proves: clients log in to the gateway by every mechanism, and act on the brokers as the user whom the file names; a
//! wrong password is refused after a delay, also when a login is renewed; both logins are renewed unnoticed.

use std::time::{Duration, Instant};

use ottla_client::environment::Environment;
use ottla_client::producer::{Producer, Record};
use ottla_client::security::scram::Hash;
use ottla_client::{Client, Kind};
use ottla_gateway::{Gateway, GatewayConfig, SaslConfig};
use ottla_mock::{MockCluster, MockConfig, SaslConfig as MockSasl, SaslMechanism, TopicSpec};
use ottla_protocol::ApiKey;

use crate::support::*;

/// A cluster that requires SCRAM, with the users of the gateway.
async fn secured(lifetime: Option<Duration>) -> MockCluster {
    let users = [("gateway", "gateway-password"), ("orders", "orders-password")];
    let sasl = MockSasl {
        users: users.map(|(user, password)| (user.to_owned(), password.to_owned())).into(),
        mechanisms: vec![SaslMechanism::ScramSha512],
        session_lifetime: lifetime,
    };
    let config = MockConfig { sasl: Some(sasl), ..MockConfig::default() };
    let cluster = MockCluster::start(config).await.expect("a cluster");
    cluster.create_topic(TopicSpec::new("t").partitions(1)).expect("a topic");
    cluster
}

fn users(password: &str) -> String {
    let (sha256, sha512) = (credential(Hash::Sha256, password), credential(Hash::Sha512, password));
    format!(
        "[alice]\nSCRAM-SHA-256 = {sha256}\nSCRAM-SHA-512 = {sha512}\n\n[bob]\nSCRAM-SHA-512 = {sha512}\nsasl.username = orders\nsasl.password = orders-password\n"
    )
}

async fn start(cluster: &MockCluster, file: &UsersFile, lifetime: Option<Duration>) -> Gateway {
    let sasl = SaslConfig { users: file.0.clone(), allow_plaintext_passwords: false, lifetime };
    let keys = [
        ("security.protocol", "SASL_PLAINTEXT"),
        ("sasl.mechanism", "SCRAM-SHA-512"),
        ("sasl.username", "gateway"),
        ("sasl.password", "gateway-password"),
    ];
    let cluster = config(&cluster.bootstrap(), &keys);
    let config = GatewayConfig { cluster, sasl: Some(sasl), ..gateway_config("none:1") };
    let gateway = Gateway::start(config, Environment::default()).await.expect("a gateway");
    until(|| gateway.brokers().len() == 3).await;
    gateway
}

fn keys<'a>(mechanism: &'a str, user: &'a str, password: &'a str) -> [(&'a str, &'a str); 4] {
    [
        ("security.protocol", "SASL_PLAINTEXT"),
        ("sasl.mechanism", mechanism),
        ("sasl.username", user),
        ("sasl.password", password),
    ]
}

async fn send(producer: &Producer) {
    let record = Record { timestamp: 1000, key: None, value: Some(b"v"), headers: &[] };
    let delivery = within_deadline(producer.send("t", Some(0), &record)).await.expect("accepted");
    within_deadline(delivery.wait()).await.expect("written");
}

async fn refused(gateway: &Gateway, keys: &[(&str, &str)]) -> ottla_client::Error {
    let config = config(&gateway.address().to_string(), keys);
    let connecting = Client::connect(config, Environment::default(), Duration::from_secs(15));
    within_deadline(connecting).await.map(drop).expect_err("refused")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_mechanism_and_user() {
    let (cluster, file) = (secured(None).await, UsersFile::new(&users("pass")));
    let gateway = start(&cluster, &file, None).await;
    for (mechanism, user) in [
        ("PLAIN", "alice"),
        ("SCRAM-SHA-256", "alice"),
        ("SCRAM-SHA-512", "alice"),
        ("PLAIN", "bob"),
        ("SCRAM-SHA-512", "bob"),
    ] {
        let (client, _) = client(&gateway, &keys(mechanism, user, "pass")).await;
        send(&Producer::new(client).expect("a producer")).await;
    }
    for (mechanism, user, password) in [
        ("PLAIN", "alice", "wrong"),
        ("PLAIN", "nobody", "pass"),
        ("SCRAM-SHA-256", "alice", "wrong"),
        ("SCRAM-SHA-256", "bob", "pass"),
        ("SCRAM-SHA-512", "nobody", "pass"),
        // The users of the brokers are none of the gateway.
        ("SCRAM-SHA-512", "gateway", "gateway-password"),
    ] {
        let begun = Instant::now();
        let error = refused(&gateway, &keys(mechanism, user, password)).await;
        assert_eq!(error.kind(), Kind::Authentication, "{mechanism} {user}: {error}");
        assert!(error.to_string().contains("invalid credentials with SASL mechanism"), "{error}");
        assert!(begun.elapsed() >= Duration::from_millis(100));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_offered_is_refused_with_the_list() {
    let file = UsersFile::new(&format!("[alice]\nSCRAM-SHA-256 = {}\n", credential(Hash::Sha256, "pass")));
    let cluster = secured(None).await;
    let gateway = start(&cluster, &file, None).await;
    let error = refused(&gateway, &keys("SCRAM-SHA-512", "alice", "pass")).await;
    assert!(error.to_string().contains("it offers PLAIN, SCRAM-SHA-256"), "{error}");
    // Nobody has logged in to a broker but the gateway itself.
    let error = refused(&gateway, &[]).await;
    assert!(error.to_string().contains("SASL"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_file_is_read_again() {
    let (cluster, file) = (secured(None).await, UsersFile::new(&users("pass")));
    let gateway = start(&cluster, &file, None).await;
    drop(client(&gateway, &keys("PLAIN", "alice", "pass")).await);
    std::fs::write(&file.0, users("another password") + "\n").expect("written");
    drop(client(&gateway, &keys("PLAIN", "alice", "another password")).await);
    let error = refused(&gateway, &keys("SCRAM-SHA-512", "bob", "pass")).await;
    assert_eq!(error.kind(), Kind::Authentication);
    // One that cannot be used changes nothing.
    std::fs::write(&file.0, "[alice]\n").expect("written");
    drop(client(&gateway, &keys("PLAIN", "alice", "another password")).await);
}

/// The broker's logins last for some seconds, the client's for others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_logins_are_renewed_unnoticed() {
    let cluster = secured(Some(Duration::from_secs(4))).await;
    let file = UsersFile::new(&users("pass"));
    let gateway = start(&cluster, &file, Some(Duration::from_secs(5))).await;
    let mut producers = Vec::new();
    for (mechanism, user) in [("PLAIN", "alice"), ("SCRAM-SHA-512", "bob")] {
        let (client, _) = client(&gateway, &keys(mechanism, user, "pass")).await;
        producers.push(Producer::new(client).expect("a producer"));
    }
    let begun = Instant::now();
    let connections = |gateway: &Gateway| {
        let named = gateway.sessions().into_iter().filter(|session| session.broker.is_some());
        named.map(|session| session.id).collect::<Vec<_>>()
    };
    for producer in &producers {
        send(producer).await;
    }
    let before = connections(&gateway);
    let exchanges = cluster.request_count(None, ApiKey::SaslHandshake);
    while begun.elapsed() < Duration::from_secs(6) {
        for producer in &producers {
            send(producer).await;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // The same connections serve all of it.
    assert!(before.iter().all(|id| connections(&gateway).contains(id)), "{before:?}");
    assert!(cluster.request_count(None, ApiKey::SaslHandshake) > exchanges + 1);
    let renewed = gateway
        .sessions()
        .iter()
        .filter(|session| {
            session.counts.apis.get(&ApiKey::SaslHandshake).is_some_and(|count| count.requests > 1)
        })
        .count();
    assert!(renewed >= 2, "{renewed}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_who_is_removed_cannot_renew() {
    let (cluster, file) = (secured(None).await, UsersFile::new(&users("pass")));
    let gateway = start(&cluster, &file, Some(Duration::from_millis(1000))).await;
    let (client, _) = client(&gateway, &keys("PLAIN", "alice", "pass")).await;
    let producer = Producer::new(client).expect("a producer");
    send(&producer).await;
    std::fs::write(&file.0, users("another password") + "\n").expect("written");
    until(|| gateway.sessions().is_empty()).await;
    let error = refused(&gateway, &keys("PLAIN", "alice", "pass")).await;
    assert_eq!(error.kind(), Kind::Authentication);
}
