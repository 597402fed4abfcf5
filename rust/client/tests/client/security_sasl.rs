//! Proves: PLAIN and SCRAM authenticate end to end; a rejection is one typed error, raised immediately,
//! with the broker's message; the client never falls back to another mechanism; sessions are renewed
//! under traffic without losing a request (KIP-368), and a revoked user gets an error; a delegation
//! token logs in as its owner until it expires (KIP-48); no secret is ever shown.

use std::time::Duration;

use crate::support::*;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ottla_client::config::Value;
use ottla_client::error::Phase;
use ottla_client::{Client, Config, Error, Kind, Route};
use ottla_mock::{MockCluster, MockConfig, SaslConfig, SaslMechanism, TopicSpec};
use ottla_protocol::messages::create_delegation_token::CreateDelegationTokenRequest;
use ottla_protocol::messages::expire_delegation_token::ExpireDelegationTokenRequest;
use ottla_protocol::messages::metadata::MetadataRequest;
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::time::Instant;

const MECHANISMS: [&str; 3] = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"];
/// A user name with characters that SCRAM escapes, and a password that must never be shown.
const USER: &str = "ann=a,b";
const PASSWORD: &str = "hunter2-\u{e9}";

async fn secured(sasl: SaslConfig) -> MockCluster {
    let users = [(USER.to_owned(), PASSWORD.to_owned())].into();
    let sasl = Some(SaslConfig { users, ..sasl });
    let cluster = MockCluster::start(MockConfig { sasl, ..in_memory() }).await.unwrap();
    cluster.create_topic(TopicSpec::new("t").partitions(3)).unwrap();
    cluster
}

fn credentials<'a>(mechanism: &'a str, password: &'a str) -> Vec<(&'a str, &'a str)> {
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
async fn each_mechanism_authenticates_with_every_broker() {
    let cluster = secured(SaslConfig::default()).await;
    for mechanism in MECHANISMS {
        let client = try_connect(&cluster, &credentials(mechanism, PASSWORD)).await.expect(mechanism);
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
    try_connect(&cluster, &pairs).await.expect("with JAAS");
}

#[tokio::test(start_paused = true)]
async fn a_delegation_token_logs_in_until_it_expires() {
    let cluster = secured(SaslConfig::default()).await;
    let owner = try_connect(&cluster, &credentials("SCRAM-SHA-256", PASSWORD)).await.unwrap();
    let request = CreateDelegationTokenRequest {
        owner_principal_type: None,
        owner_principal_name: None,
        renewers: Vec::new(),
        max_lifetime_ms: -1,
    };
    let token = within_deadline(owner.send(Route::Any, &request, 3)).await.expect("a token");
    assert_eq!((token.error_code, token.principal_name.as_str()), (0, USER));
    let hmac = BASE64.encode(&token.hmac.0);
    let jaas = format!(
        "org.apache.kafka.common.security.scram.ScramLoginModule required username=\"{}\" password=\"{hmac}\" tokenauth=\"true\";",
        token.token_id
    );
    for mechanism in ["SCRAM-SHA-256", "SCRAM-SHA-512"] {
        let common = [("security.protocol", "SASL_PLAINTEXT"), ("sasl.mechanism", mechanism)];
        let by_keys = [("sasl.username", token.token_id.as_str()), ("sasl.password", &hmac)];
        let by_keys = [&common[..], &by_keys, &[("sasl.scram.tokenauth", "true")]].concat();
        let by_jaas = [&common[..], &[("sasl.jaas.config", jaas.as_str())]].concat();
        for login in [&by_keys, &by_jaas] {
            let client = try_connect(&cluster, login).await.expect(mechanism);
            within_deadline(client.send(Route::Broker(2), &MetadataRequest::default(), i16::MAX))
                .await
                .unwrap();
        }
        let error = try_connect(&cluster, &by_keys[..4]).await.expect_err("there is no such user");
        assert!(error.message().contains("check the user name and the password"), "{error}");
    }

    let request = ExpireDelegationTokenRequest { hmac: token.hmac.clone(), expiry_time_period_ms: -1 };
    let expired = within_deadline(owner.send(Route::Any, &request, 2)).await.expect("it expires");
    assert_eq!(expired.error_code, 0);
    let mut login = credentials("SCRAM-SHA-256", &hmac);
    login.extend([("sasl.username", token.token_id.as_str()), ("sasl.scram.tokenauth", "true")]);
    let error = try_connect(&cluster, &login).await.expect_err("it has expired");
    assert_eq!((error.kind(), error.is_retriable()), (Kind::Authentication, false), "{error}");
    let message = format!("{error} {error:?}");
    assert!(message.contains("check that the delegation token has not expired"), "{message}");
    assert!(!message.contains(&hmac), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_wrong_password_is_one_typed_error_without_retries() {
    let cluster = secured(SaslConfig::default()).await;
    for mechanism in MECHANISMS {
        cluster.clear_requests();
        let started = Instant::now();
        let error =
            try_connect(&cluster, &credentials(mechanism, "wrong-secret")).await.expect_err(mechanism);
        assert!(started.elapsed() < ms(3000), "{:?}", started.elapsed());
        assert_eq!((error.kind(), error.is_retriable()), (Kind::Authentication, false), "{error}");
        assert_eq!(error.context().phase, Some(Phase::Sasl), "{error}");
        let message = format!("{error} {error:?}");
        assert!(
            message.contains("the broker says \"Authentication failed") && message.contains(mechanism),
            "{message}"
        );
        assert!(!message.contains("wrong-secret"), "{message}");
        let handshakes = cluster.request_count(None, ApiKey::SaslHandshake);
        assert!(handshakes <= 3, "one for each server, not {handshakes}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_rejection_ends_a_call_that_would_otherwise_be_retried() {
    let cluster = secured(SaslConfig::default()).await;
    let client = try_connect(&cluster, &credentials("SCRAM-SHA-256", PASSWORD)).await.unwrap();
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
async fn the_client_never_falls_back_to_another_mechanism() {
    let plain_only = SaslConfig { mechanisms: vec![SaslMechanism::Plain], ..Default::default() };
    let cluster = secured(plain_only).await;
    let error =
        try_connect(&cluster, &credentials("SCRAM-SHA-512", PASSWORD)).await.expect_err("not offered");
    assert_eq!(error.kind(), Kind::Authentication, "{error}");
    assert!(error.message().contains("it offers PLAIN"), "{error}");
    assert_eq!(cluster.request_count(None, ApiKey::SaslAuthenticate), 0, "no credentials were sent");
}

#[tokio::test(start_paused = true)]
async fn a_mismatch_of_sasl_between_listener_and_configuration_is_explained() {
    let open = tcp_cluster(1).await;
    let error = try_connect(&open, &credentials("PLAIN", PASSWORD)).await.expect_err("no SASL there");
    assert_eq!(error.code(), None, "several servers, one error: {error}");
    assert!(
        error.message().contains("this listener does not use SASL: set security.protocol=PLAINTEXT"),
        "{error}"
    );

    let cluster = secured(SaslConfig::default()).await;
    let error = try_connect(&cluster, &[]).await.expect_err("SASL is required");
    assert_eq!(error.kind(), Kind::Bootstrap);
    assert!(error.message().contains("security.protocol=SASL_PLAINTEXT"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn sessions_are_renewed_under_traffic_without_losing_a_request() {
    tokio::join!(renewed_under_traffic("PLAIN"), renewed_under_traffic("SCRAM-SHA-256"));
}

async fn renewed_under_traffic(mechanism: &str) {
    // The broker closes the connection on any request during an exchange, or after the session's end.
    let cluster = secured(SaslConfig { session_lifetime: Some(ms(4000)), ..Default::default() }).await;
    let mut pairs = credentials(mechanism, PASSWORD);
    pairs.push(("max.in.flight.requests.per.connection", "2"));
    let client = try_connect(&cluster, &pairs).await.unwrap();
    cluster.clear_requests();
    let connection = within_deadline(client.connection(Route::Broker(1))).await.unwrap();
    let until = Instant::now() + ms(8200);
    let tasks: Vec<_> = (0..4)
        .map(|_| {
            let connection = std::sync::Arc::clone(&connection);
            tokio::spawn(async move {
                let mut sent = 0;
                while Instant::now() < until {
                    let version = connection.version::<MetadataRequest>(i16::MAX)?;
                    connection.request(&MetadataRequest::default(), version).await?;
                    sent += 1;
                    tokio::time::sleep(ms(5)).await;
                }
                Ok::<_, Error>(sent)
            })
        })
        .collect();
    for task in tasks {
        let sent = within_deadline(task).await.unwrap().expect("a response to every request");
        assert!(sent > 10, "{sent}");
    }
    assert_eq!(connection.close_reason().map(|cause| cause.to_string()), None);
    assert!(cluster.request_count(Some(1), ApiKey::SaslHandshake) >= 2, "the session was renewed");
}

/// Regression: waiting requests were sent first, and the broker closed the connection.
#[tokio::test]
async fn a_client_paused_past_the_end_of_its_session_renews_it_first() {
    let cluster = secured(SaslConfig { session_lifetime: Some(ms(400)), ..Default::default() }).await;
    let client = try_connect(&cluster, &credentials("PLAIN", PASSWORD)).await.unwrap();
    let connection = within_deadline(client.connection(Route::Broker(1))).await.unwrap();
    cluster.clear_requests();
    for _ in 0..3 {
        // Blocks the only thread, which is the broker's too.
        std::thread::sleep(ms(600));
        let response = within_deadline(connection.request(&MetadataRequest::default(), 12)).await;
        response.expect("over the same connection");
    }
    assert_eq!(cluster.request_count(Some(1), ApiKey::SaslHandshake), 3);
}

#[tokio::test(start_paused = true)]
async fn a_user_revoked_during_a_session_gets_an_error() {
    let cluster = secured(SaslConfig { session_lifetime: Some(ms(400)), ..Default::default() }).await;
    let client = try_connect(&cluster, &credentials("SCRAM-SHA-256", PASSWORD)).await.unwrap();
    let connection = within_deadline(client.connection(Route::Broker(1))).await.unwrap();
    cluster.set_user(USER, None);
    until(|| connection.close_reason().is_some()).await;
    let cause = connection.close_reason().unwrap();
    assert_eq!(
        (cause.kind(), cause.code()),
        (Kind::Authentication, Some(ErrorCode::SaslAuthenticationFailed))
    );
    assert_eq!(cause.context().phase, Some(Phase::Sasl), "{cause}");
    let later =
        within_deadline(connection.request(&MetadataRequest::default(), 12)).await.expect_err("closed");
    assert_eq!(later.kind(), Kind::Authentication, "{later}");
}

#[tokio::test(start_paused = true)]
async fn an_endless_session_is_not_renewed_and_a_dropped_connection_leaves_no_task() {
    let cluster = secured(SaslConfig { session_lifetime: Some(ms(300)), ..Default::default() }).await;
    let client = try_connect(&cluster, &credentials("PLAIN", PASSWORD)).await.unwrap();
    client.close();
    drop(client);
    cluster.clear_requests();
    tokio::time::sleep(ms(600)).await;
    assert_eq!(cluster.request_count(None, ApiKey::SaslHandshake), 0);
    until(|| (1..=3).all(|broker| cluster.connections(broker) == 0)).await;

    let endless = secured(SaslConfig::default()).await;
    let client = try_connect(&endless, &credentials("PLAIN", PASSWORD)).await.unwrap();
    endless.clear_requests();
    tokio::time::sleep(ms(300)).await;
    assert_eq!(endless.request_count(None, ApiKey::SaslHandshake), 0);
    drop(client);
}

fn config_error(pairs: &[(&str, &str)]) -> String {
    let all = [("bootstrap.servers", "localhost:9092"), ("security.protocol", "SASL_PLAINTEXT")];
    let all = all.iter().chain(pairs).map(|(key, value)| (*key, Value::from(*value)));
    let made = Config::from_pairs(all).and_then(|config| Client::new(config, memory_environment()));
    let error = made.expect_err("a wrong configuration");
    assert_eq!(error.kind(), Kind::Config, "{error}");
    let message = format!("{error} {error:?}");
    assert!(!message.contains("hunter2"), "{message}");
    message
}

#[test]
fn missing_and_contradictory_keys_are_errors_before_connecting() {
    let plain = ("sasl.mechanism", "PLAIN");
    let (user, password) = (("sasl.username", "ann"), ("sasl.password", "hunter2"));
    assert!(config_error(&[plain]).contains("needs a user name"));
    assert!(config_error(&[plain, user]).contains("needs a password"));
    assert!(config_error(&[user, password]).contains("GSSAPI"), "the default mechanism names the others");
    assert!(config_error(&[("sasl.mechanism", "PLANE"), user, password]).contains("PLAIN, SCRAM-SHA-256"));
    assert!(config_error(&[plain, user, ("sasl.password", "hunter2\0")]).contains("NUL character"));
    let jaas = "org.apache.kafka.common.security.plain.PlainLoginModule required username=\"a\" password=\"hunter2\";";
    assert!(config_error(&[plain, user, password, ("sasl.jaas.config", jaas)]).contains("choose one"));
    let scram = ("sasl.mechanism", "SCRAM-SHA-256");
    assert!(config_error(&[scram, ("sasl.jaas.config", jaas)]).contains("is for PlainLoginModule"));
    assert!(config_error(&[("sasl.mechanisms", "PLAIN")]).contains("needs a user name"), "librdkafka's name");
    let token = ("sasl.scram.tokenauth", "true");
    for other in ["PLAIN", "OAUTHBEARER", "GSSAPI"] {
        let message = config_error(&[("sasl.mechanism", other), user, password, token]);
        let expected =
            format!("does not work with sasl.mechanism={other}: delegation tokens need SCRAM-SHA-256");
        assert!(message.contains(&expected), "{message}");
    }
    assert!(config_error(&[scram, token]).contains("needs a user name"));
    let jaas = jaas.replace("plain.Plain", "scram.Scram");
    let both = config_error(&[scram, token, ("sasl.jaas.config", &jaas)]);
    assert!(both.contains("sasl.jaas.config and sasl.scram.tokenauth are both set"), "{both}");
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
