//! Proves: PLAIN and SCRAM authenticate on the whole path; a refusal is one typed error, at once,
//! with the broker's own words; a mechanism is never exchanged for another; sessions are renewed
//! under traffic without losing a request (KIP-368), and a revoked user is told so; no secret is
//! shown anywhere.

use std::time::Duration;

use crate::support::*;
use ottla_client::config::Value;
use ottla_client::error::Phase;
use ottla_client::{Client, Config, Error, Kind, Route};
use ottla_mock::{MockCluster, MockConfig, SaslConfig, SaslMechanism, TopicSpec};
use ottla_protocol::messages::metadata::MetadataRequest;
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::time::Instant;

const MECHANISMS: [&str; 3] = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"];
/// A user name with what SCRAM has to escape, and a password that must never show.
const USER: &str = "ann=a,b";
const PASSWORD: &str = "hunter2-\u{e9}";

async fn secured(sasl: SaslConfig) -> MockCluster {
    let users = [(USER.to_owned(), PASSWORD.to_owned())].into();
    let sasl = Some(SaslConfig { users, ..sasl });
    let cluster = MockCluster::start(MockConfig { sasl, ..in_memory() }).await.unwrap();
    cluster.create_topic(TopicSpec::new("t").partitions(3)).unwrap();
    cluster
}

fn signed_on<'a>(mechanism: &'a str, password: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![
        ("security.protocol", "SASL_PLAINTEXT"),
        ("sasl.mechanism", mechanism),
        ("sasl.username", USER),
        ("sasl.password", password),
    ]
}

async fn try_connect(cluster: &MockCluster, pairs: &[(&str, &str)]) -> Result<Client, Error> {
    let config = config(&cluster.bootstrap(), pairs);
    within_deadline(Client::connect(config, memory_environment(), CALL_TIMEOUT)).await
}

#[tokio::test(start_paused = true)]
async fn each_mechanism_signs_on_with_every_broker() {
    let cluster = secured(SaslConfig::default()).await;
    for mechanism in MECHANISMS {
        let client = try_connect(&cluster, &signed_on(mechanism, PASSWORD)).await.expect(mechanism);
        for broker in 1..=3 {
            let request = MetadataRequest::default();
            within_deadline(client.send(Route::Broker(broker), &request, i16::MAX)).await.expect(mechanism);
        }
    }
    let jaas = format!(
        "org.apache.kafka.common.security.scram.ScramLoginModule required\n  username=\"{USER}\"\n  password=\"{PASSWORD}\";"
    );
    let pairs = [
        ("security.protocol", "SASL_PLAINTEXT"),
        ("sasl.mechanism", "SCRAM-SHA-256"),
        ("sasl.jaas.config", &jaas),
    ];
    try_connect(&cluster, &pairs).await.expect("by JAAS");
}

#[tokio::test(start_paused = true)]
async fn a_wrong_password_is_one_typed_error_at_once_and_no_storm() {
    let cluster = secured(SaslConfig::default()).await;
    for mechanism in MECHANISMS {
        cluster.clear_requests();
        let started = Instant::now();
        let error = try_connect(&cluster, &signed_on(mechanism, "wrong-secret")).await.expect_err(mechanism);
        assert!(started.elapsed() < ms(3000), "{:?}", started.elapsed());
        assert_eq!((error.kind(), error.is_retriable()), (Kind::Authentication, false), "{error}");
        assert_eq!(error.context().phase, Some(Phase::Sasl), "{error}");
        let words = format!("{error} {error:?}");
        assert!(
            words.contains("the broker says \"Authentication failed") && words.contains(mechanism),
            "{words}"
        );
        assert!(!words.contains("wrong-secret"), "{words}");
        let handshakes = cluster.request_count(None, ApiKey::SaslHandshake);
        assert!(handshakes <= 3, "one for each server, not {handshakes}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_ends_a_call_that_would_otherwise_be_retried() {
    let cluster = secured(SaslConfig::default()).await;
    let client = try_connect(&cluster, &signed_on("SCRAM-SHA-256", PASSWORD)).await.unwrap();
    cluster.set_user(USER, None);
    for broker in 1..=3 {
        within_deadline(cluster.stop_broker(broker)).await.unwrap();
    }
    for broker in 1..=3 {
        within_deadline(cluster.start_broker(broker)).await.unwrap();
    }
    let selector = ottla_client::metadata::TopicSelector::Tracked;
    let refreshing = client.retrying("refreshing", Duration::from_secs(60), || {
        client.refresh(client.snapshot().generation, selector)
    });
    let error = within_deadline(refreshing).await.map(drop).expect_err("the user is gone");
    assert_eq!(error.kind(), Kind::Authentication, "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_mechanism_is_never_exchanged_for_another() {
    let plain_only = SaslConfig { mechanisms: vec![SaslMechanism::Plain], ..Default::default() };
    let cluster = secured(plain_only).await;
    let error = try_connect(&cluster, &signed_on("SCRAM-SHA-512", PASSWORD)).await.expect_err("not offered");
    assert_eq!(error.kind(), Kind::Authentication, "{error}");
    assert!(error.message().contains("it offers PLAIN"), "{error}");
    assert_eq!(cluster.request_count(None, ApiKey::SaslAuthenticate), 0, "nothing was given away");
}

#[tokio::test(start_paused = true)]
async fn a_listener_with_or_without_sasl_is_told_from_what_was_configured() {
    let open = tcp_cluster(1).await;
    let error = try_connect(&open, &signed_on("PLAIN", PASSWORD)).await.expect_err("no SASL there");
    assert_eq!(error.code(), None, "several servers, one error: {error}");
    assert!(
        error.message().contains("this listener does not use SASL: set security.protocol=PLAINTEXT"),
        "{error}"
    );

    let cluster = secured(SaslConfig::default()).await;
    let error = try_connect(&cluster, &[]).await.expect_err("SASL is wanted");
    assert_eq!(error.kind(), Kind::Bootstrap);
    assert!(error.message().contains("security.protocol=SASL_PLAINTEXT"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn sessions_are_renewed_under_traffic_and_no_request_is_lost() {
    tokio::join!(renewed_under_traffic("PLAIN"), renewed_under_traffic("SCRAM-SHA-256"));
}

async fn renewed_under_traffic(mechanism: &str) {
    // The broker ends the connection on any request that comes during an exchange or too late.
    let cluster = secured(SaslConfig { session_lifetime: Some(ms(4000)), ..Default::default() }).await;
    let mut pairs = signed_on(mechanism, PASSWORD);
    pairs.push(("max.in.flight.requests.per.connection", "2"));
    let client = try_connect(&cluster, &pairs).await.unwrap();
    cluster.clear_requests();
    let connection = within_deadline(client.connection(Route::Broker(1))).await.unwrap();
    let until = Instant::now() + ms(8200);
    let asking: Vec<_> = (0..4)
        .map(|_| {
            let connection = std::sync::Arc::clone(&connection);
            tokio::spawn(async move {
                let mut asked = 0;
                while Instant::now() < until {
                    let version = connection.version::<MetadataRequest>(i16::MAX)?;
                    connection.request(&MetadataRequest::default(), version).await?;
                    asked += 1;
                    tokio::time::sleep(ms(5)).await;
                }
                Ok::<_, Error>(asked)
            })
        })
        .collect();
    for asking in asking {
        let asked = within_deadline(asking).await.unwrap().expect("every request was answered");
        assert!(asked > 10, "{asked}");
    }
    assert_eq!(connection.close_reason().map(|cause| cause.to_string()), None);
    assert!(cluster.request_count(Some(1), ApiKey::SaslHandshake) >= 2, "the session was renewed");
}

/// Regression: what waited was sent first, and the broker ended the connection.
#[tokio::test]
async fn a_client_paused_past_its_session_reauthenticates_first() {
    let cluster = secured(SaslConfig { session_lifetime: Some(ms(400)), ..Default::default() }).await;
    let client = try_connect(&cluster, &signed_on("PLAIN", PASSWORD)).await.unwrap();
    let connection = within_deadline(client.connection(Route::Broker(1))).await.unwrap();
    cluster.clear_requests();
    for _ in 0..3 {
        // The only thread that there is, the broker's too.
        std::thread::sleep(ms(600));
        let answer = within_deadline(connection.request(&MetadataRequest::default(), 12)).await;
        answer.expect("over the same connection");
    }
    assert_eq!(cluster.request_count(Some(1), ApiKey::SaslHandshake), 3);
}

#[tokio::test(start_paused = true)]
async fn a_user_who_was_revoked_meanwhile_is_told_so() {
    let cluster = secured(SaslConfig { session_lifetime: Some(ms(400)), ..Default::default() }).await;
    let client = try_connect(&cluster, &signed_on("SCRAM-SHA-256", PASSWORD)).await.unwrap();
    let connection = within_deadline(client.connection(Route::Broker(1))).await.unwrap();
    cluster.set_user(USER, None);
    until(|| connection.close_reason().is_some()).await;
    let cause = connection.close_reason().unwrap();
    assert_eq!(
        (cause.kind(), cause.code()),
        (Kind::Authentication, Some(ErrorCode::SaslAuthenticationFailed))
    );
    assert_eq!(cause.context().phase, Some(Phase::Sasl), "{cause}");
    let later = within_deadline(connection.request(&MetadataRequest::default(), 12)).await.expect_err("over");
    assert_eq!(later.kind(), Kind::Authentication, "{later}");
}

#[tokio::test(start_paused = true)]
async fn a_session_without_end_is_not_renewed_and_a_dropped_connection_leaves_no_task() {
    let cluster = secured(SaslConfig { session_lifetime: Some(ms(300)), ..Default::default() }).await;
    let client = try_connect(&cluster, &signed_on("PLAIN", PASSWORD)).await.unwrap();
    client.close();
    drop(client);
    cluster.clear_requests();
    tokio::time::sleep(ms(600)).await;
    assert_eq!(cluster.request_count(None, ApiKey::SaslHandshake), 0);
    until(|| (1..=3).all(|broker| cluster.connections(broker) == 0)).await;

    let endless = secured(SaslConfig::default()).await;
    let client = try_connect(&endless, &signed_on("PLAIN", PASSWORD)).await.unwrap();
    endless.clear_requests();
    tokio::time::sleep(ms(300)).await;
    assert_eq!(endless.request_count(None, ApiKey::SaslHandshake), 0);
    drop(client);
}

fn refused(pairs: &[(&str, &str)]) -> String {
    let all = [("bootstrap.servers", "localhost:9092"), ("security.protocol", "SASL_PLAINTEXT")];
    let all = all.iter().chain(pairs).map(|(key, value)| (*key, Value::from(*value)));
    let made = Config::from_pairs(all).and_then(|config| Client::new(config, memory_environment()));
    let error = made.expect_err("a wrong configuration");
    assert_eq!(error.kind(), Kind::Config, "{error}");
    let words = format!("{error} {error:?}");
    assert!(!words.contains("hunter2"), "{words}");
    words
}

#[test]
fn what_is_missing_or_contradicts_is_said_before_anything_is_tried() {
    let plain = ("sasl.mechanism", "PLAIN");
    let (user, password) = (("sasl.username", "ann"), ("sasl.password", "hunter2"));
    assert!(refused(&[plain]).contains("needs a user name"));
    assert!(refused(&[plain, user]).contains("needs a password"));
    assert!(refused(&[user, password]).contains("GSSAPI"), "Java's default says what there is");
    assert!(refused(&[("sasl.mechanism", "PLANE"), user, password]).contains("PLAIN, SCRAM-SHA-256"));
    assert!(refused(&[plain, user, ("sasl.password", "hunter2\0")]).contains("zero character"));
    let jaas = "org.apache.kafka.common.security.plain.PlainLoginModule required username=\"a\" password=\"hunter2\";";
    assert!(refused(&[plain, user, password, ("sasl.jaas.config", jaas)]).contains("choose one"));
    let scram = ("sasl.mechanism", "SCRAM-SHA-256");
    assert!(refused(&[scram, ("sasl.jaas.config", jaas)]).contains("is for PlainLoginModule"));
    assert!(refused(&[("sasl.mechanisms", "PLAIN")]).contains("needs a user name"), "librdkafka's name");
}

#[test]
fn no_secret_is_shown() {
    let pairs = [
        ("sasl.password", "hunter2"),
        ("sasl.jaas.config", "hunter2"),
        ("ssl.key.password", "hunter2"),
        ("ssl.keystore.key", "hunter2"),
        ("ssl.keystore.password", "hunter2"),
        ("ssl.truststore.password", "hunter2"),
    ];
    let config = Config::from_pairs(pairs.map(|(key, value)| (key, Value::from(value)))).unwrap();
    assert!(!format!("{config:?} {config:#?}").contains("hunter2"));
    for (key, _) in pairs {
        let wrong = Value::List(vec!["hunter2".to_owned()]);
        let error = Config::from_pairs([(key, wrong)]).expect_err("not text");
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
    }
}
