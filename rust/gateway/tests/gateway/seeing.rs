//! Proves: a gateway knows what each connection is for, who is behind it and what went wrong, and counts what happened
//! also once a connection has ended.

use std::time::Duration;

use ottla_client::Config;
use ottla_client::producer::{Producer, Record};
use ottla_gateway::monitoring::AccessLog;
use ottla_gateway::{EventKind, Gateway, Role, SessionInfo};
use ottla_mock::{Fault, Match, MockCluster, MockConfig, Reaction, SaslConfig, TopicSpec};
use ottla_protocol::{ApiKey, ErrorCode};

use crate::support::*;

async fn produce(gateway: &Gateway, pairs: &[(&str, &str)]) -> Producer {
    let (client, _) = client(gateway, pairs).await;
    let producer = Producer::new(client).expect("a producer");
    let record = Record { timestamp: 1000, key: None, value: Some(b"v"), headers: &[] };
    let delivery = within_deadline(producer.send("t", Some(0), &record)).await.expect("accepted");
    within_deadline(delivery.wait()).await.expect("written");
    producer
}

fn with_role(gateway: &Gateway, role: Role) -> Vec<SessionInfo> {
    gateway.sessions().into_iter().filter(|session| session.roles.contains(&role)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_connection_is_for_and_what_went_wrong() {
    let cluster = cluster().await;
    let gateway = gateway(&cluster).await;
    assert!(gateway.take_ended().0.is_empty());
    let refused = Reaction::Error(ErrorCode::NotEnoughReplicas);
    let produce_api = Match::api(ApiKey::Produce);
    cluster.inject(Fault { on: produce_api.clone(), then: refused, times: Some(2) });
    cluster.inject(Fault::once(produce_api.skip(2), Reaction::Throttle(40)));
    let producer = produce(&gateway, &[("client.id", "billing")]).await;

    let data = with_role(&gateway, Role::Data);
    let leader = data.iter().find(|session| session.counts.apis.contains_key(&ApiKey::Produce));
    let leader = leader.expect("a connection for data");
    assert_eq!((leader.client_id.as_str(), leader.in_flight), ("billing", 0));
    assert_eq!(leader.broker, cluster.leader("t", 0));
    assert!(leader.software.as_deref().is_some_and(|software| software.starts_with("ottla ")));
    let code = ErrorCode::NotEnoughReplicas.code();
    assert_eq!(leader.counts.errors.get(&(ApiKey::Produce, code)), Some(&2));
    assert_eq!(leader.last_error.map(|last| (last.api, last.code)), Some((ApiKey::Produce, code)));
    assert_eq!(leader.counts.throttled, Duration::from_millis(40));

    let before = gateway.totals();
    assert_eq!(before.counts.errors.get(&(ApiKey::Produce, code)), Some(&2));
    within_deadline(producer.close(Duration::from_secs(5))).await.expect("closed");
    drop(producer);
    until(|| with_role(&gateway, Role::Data).is_empty()).await;
    let after = gateway.totals();
    assert_eq!(after.counts.errors, before.counts.errors);
    assert!(after.counts.received >= before.counts.received && after.accepted >= before.open);
    let (ended, lost) = gateway.take_ended();
    assert_eq!(lost, 0);
    assert!(ended.iter().any(|session| session.info.roles.contains(&Role::Bootstrap)));
    let ended = ended.iter().find(|session| session.info.id == leader.id).expect("it is among the ended");
    assert_eq!(
        (ended.end.as_str(), ended.info.client_id.as_str()),
        ("the client closed the connection", "billing")
    );
    assert!(gateway.take_ended().0.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_access_log_has_connections_that_ended_before_it_was_open() {
    let own = ottla_gateway::GatewayConfig { keep_ended: true, ..gateway_config("none:1") };
    let environment = ottla_client::environment::Environment::default();
    let gateway = Gateway::start(own, environment).await.expect("a gateway");
    drop(tokio::net::TcpStream::connect(gateway.address()).await.expect("connected"));
    until(|| gateway.totals().accepted == 1 && gateway.sessions().is_empty()).await;
    let path = std::env::temp_dir().join(format!("ottla-gateway-log-{}", std::process::id()));
    let log = AccessLog::open(&gateway, &path).expect("a log");
    assert!(log.flush(Duration::from_secs(5)));
    let lines = std::fs::read_to_string(&path).expect("lines");
    std::fs::remove_file(&path).expect("removed");
    assert_eq!(lines.lines().count(), 1, "{lines}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_user_is_known_once_the_broker_has_accepted_it() {
    let users = [("alice".to_owned(), "secret".to_owned())].into();
    let sasl = Some(SaslConfig { users, ..SaslConfig::default() });
    let cluster = MockCluster::start(MockConfig { sasl, ..MockConfig::default() }).await.expect("a cluster");
    cluster.create_topic(TopicSpec::new("t").partitions(6)).expect("a topic");
    for mechanism in ["PLAIN", "SCRAM-SHA-256"] {
        let login = [
            ("security.protocol", "SASL_PLAINTEXT"),
            ("sasl.mechanism", mechanism),
            ("sasl.username", "alice"),
            ("sasl.password", "secret"),
        ];
        let cluster_config: Config = config(&cluster.bootstrap(), &login);
        let own = ottla_gateway::GatewayConfig { cluster: cluster_config, ..gateway_config("none:1") };
        let gateway =
            Gateway::start(own, ottla_client::environment::Environment::default()).await.expect("a gateway");
        let _producer = produce(&gateway, &login).await;
        let sessions = gateway.sessions();
        assert!(!sessions.is_empty());
        for session in sessions {
            assert_eq!(session.user.as_deref(), Some("alice"), "{mechanism}");
            assert!(!format!("{session:?}").contains("secret"));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_tell_of_brokers_and_of_connections_that_fail() {
    let cluster = cluster().await;
    let gateway = gateway(&cluster).await;
    until(|| gateway.brokers().len() == 3).await;
    let kinds =
        |after| gateway.events(after).iter().map(|event| (event.kind, event.broker)).collect::<Vec<_>>();
    assert_eq!(kinds(0).iter().filter(|(kind, _)| *kind == EventKind::BrokerJoined).count(), 3);
    let last = gateway.events(0).last().map_or(0, |event| event.number);
    cluster.stop_broker(2).await.expect("stopped");
    until(|| kinds(last).contains(&(EventKind::BrokerLeft, Some(2)))).await;
    let mut socket = tokio::net::TcpStream::connect(gateway.address()).await.expect("connected");
    tokio::io::AsyncWriteExt::write_all(&mut socket, b"GET / HTTP/1.1\r\n\r\n").await.expect("sent");
    until(|| kinds(last).contains(&(EventKind::ConnectionFailed, None))).await;
}
