//! Proves: one good bootstrap server among bad ones is enough; if all are bad, one error within the
//! timeout names each with its phase and cause; transient causes are retried and permanent ones are not;
//! the servers are tried in an evenly shuffled order.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::support::*;
use ottla_client::config::Value;
use ottla_client::environment::{BoxFuture, Environment, Network, SocketOptions, Stream};
use ottla_client::{Client, Config, IfMissing, Kind, Route};
use ottla_mock::{Fault, Match, Reaction, When};
use ottla_protocol::{ApiKey, ErrorCode};
use parking_lot::Mutex;

/// TLS's response to bytes that are not TLS: an alert.
const TLS_ALERT: &[u8] = &[0x15, 3, 3, 0, 2, 2, 10];
const HTTP: &[u8] = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";

async fn unusable_servers() -> Vec<(String, &'static str, &'static str)> {
    let silent = server(|stream| async move {
        let _open = stream;
        std::future::pending().await
    });
    vec![
        (closed_port().to_string(), "TCP", "connection refused"),
        ("nowhere.invalid:9092".to_owned(), "DNS", "cannot be resolved"),
        (server_responding(HTTP).to_string(), "ApiVersions", "HTTP"),
        (silent.to_string(), "ApiVersions", "no response within"),
        (server_responding(TLS_ALERT).to_string(), "ApiVersions", "TLS"),
    ]
}

async fn connect(servers: &str, seed: u64, timeout: Duration) -> ottla_client::Result<Client> {
    let network = Arc::new(NamedNetwork::default());
    within_deadline(Client::connect(config(servers, &[]), environment(&network, seed), timeout)).await
}

#[tokio::test(start_paused = true)]
async fn one_good_server_among_bad_ones_is_enough() {
    let cluster = cluster(1).await;
    let good = cluster.brokers()[0].address.to_string();
    let mut all: Vec<String> = unusable_servers().await.into_iter().map(|(server, ..)| server).collect();
    all.push(good);
    for seed in 0..4 {
        let started = Instant::now();
        let client = connect(&all.join(","), seed, CALL_TIMEOUT).await.expect("a client");
        assert_eq!(client.snapshot().brokers.len(), 3);
        assert!(started.elapsed() < ms(3000), "seed {seed}: {:?}", started.elapsed());
    }
}

/// Regression: when the call's own timeout ended the attempt, the error did not mention the servers.
#[tokio::test(start_paused = true)]
async fn one_error_names_each_unusable_server_with_phase_and_cause() {
    let bad = unusable_servers().await;
    let list: Vec<&str> = bad.iter().map(|(server, ..)| server.as_str()).collect();
    let started = Instant::now();
    let error = connect(&list.join(","), 1, ms(5000)).await.expect_err("nothing to connect to");
    assert!(started.elapsed() < ms(6000), "{:?}", started.elapsed());
    assert_eq!(error.kind(), Kind::Bootstrap, "{error}");
    let message = error.to_string();
    for (server, phase, cause) in &bad {
        let at = message.find(server).unwrap_or_else(|| panic!("{server} is missing in {message}"));
        let around = &message[at.saturating_sub(400)..(at + 100).min(message.len())];
        assert!(around.contains(phase) && around.contains(cause), "{server}: {phase}, {cause} in {message}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_fails_within_the_timeout_with_its_phase() {
    let silent = server(|mut stream| async move {
        handshake(&mut stream).await;
        std::future::pending().await
    });
    let address = silent.to_string();
    let started = Instant::now();
    let error = connect(&address, 1, ms(3000)).await.expect_err("no metadata");
    assert!(started.elapsed() < ms(3700));
    assert!(error.to_string().contains("Metadata") && error.to_string().contains(&address), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_black_hole_delays_the_next_server_only_briefly() {
    let cluster = cluster(1).await;
    let network = Arc::new(NamedNetwork::default());
    let hole = "192.0.2.1:9092".parse().unwrap();
    network.black_holes.lock().push(hole);
    let servers = format!("192.0.2.1:9092,{}", cluster.brokers()[0].address);
    for seed in 0..3 {
        let started = Instant::now();
        let connected = Client::connect(config(&servers, &[]), environment(&network, seed), CALL_TIMEOUT);
        within_deadline(connected).await.expect("a client");
        assert!(started.elapsed() < ms(1500), "{:?}", started.elapsed());
    }
    assert!(network.connects.lock().contains(&hole), "the black hole was tried first at least once");
}

/// Regression: each server was tried only once, whatever the timeout, so that a short problem of one
/// broker failed the whole application.
#[tokio::test(start_paused = true)]
async fn transient_causes_are_retried_until_the_cluster_is_found() {
    let garbage = |bytes: &'static [u8]| Reaction::Bytes(bytes::Bytes::from_static(bytes));
    let (versions, metadata) = (ApiKey::ApiVersions, ApiKey::Metadata);
    for (api, times, then) in [
        (versions, 2, garbage(b"\0\0\0\x06damage")),
        (versions, 2, garbage(&[0x7f, 0xff, 0xff, 0xff, 1])),
        (versions, 2, Reaction::TruncateFrame),
        (versions, 2, Reaction::Disconnect(When::BeforeHandling)),
        (metadata, 2, Reaction::Disconnect(When::AfterHandling)),
        (metadata, 20, Reaction::Error(ErrorCode::CoordinatorNotAvailable)),
        (versions, 2, Reaction::Silence),
    ] {
        let cluster = cluster(1).await;
        let name = format!("{then:?}");
        let fault = cluster.inject(Fault { times: Some(times), ..Fault::new(Match::api(api), then) });
        let server = cluster.brokers()[0].address.to_string();
        let connected = connect(&server, 1, Duration::from_secs(60)).await;
        connected.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(cluster.fault_hits(fault) > 1 || name == "Error(CoordinatorNotAvailable)", "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_restarting_broker_is_waited_for_and_one_that_always_hangs_up_is_not() {
    let cluster = cluster(1).await;
    let server = cluster.brokers()[0].address.to_string();
    let hangs_up = Fault::new(Match::api(ApiKey::Metadata), Reaction::Disconnect(When::BeforeHandling));
    let fault = cluster.inject(hangs_up);
    let started = Instant::now();
    let error = connect(&server, 1, Duration::from_secs(60)).await.expect_err("as if it wanted SASL");
    assert!(error.to_string().contains("security.protocol"), "{error}");
    assert_eq!(cluster.fault_hits(fault), 3);
    assert!(started.elapsed() < ms(2_000), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn permanent_causes_fail_at_once() {
    let network = Arc::new(NamedNetwork::default());
    for (server, cause) in [
        (closed_port().to_string(), "nothing listens"),
        (server_responding(HTTP).to_string(), "HTTP"),
        (server_responding(TLS_ALERT).to_string(), "TLS"),
        ("nowhere.invalid:9092".to_owned(), "no such name"),
        (format!("{},nowhere.invalid:9092", closed_port()), "nothing listens"),
    ] {
        let started = Instant::now();
        let connected = Client::connect(config(&server, &[]), environment(&network, 1), CALL_TIMEOUT);
        let error = within_deadline(connected).await.expect_err(&server);
        assert!(error.to_string().contains(cause), "{error}");
        assert!(started.elapsed() < ms(100), "{server}: {:?}", started.elapsed());
    }
    // A server that may come back is waited for.
    network.black_holes.lock().push("192.0.2.1:9092".parse().unwrap());
    let server = format!("{},192.0.2.1:9092", closed_port());
    let started = Instant::now();
    let connected = Client::connect(config(&server, &[]), environment(&network, 1), CALL_TIMEOUT);
    within_deadline(connected).await.expect_err("silent");
    assert!(
        started.elapsed() > CALL_TIMEOUT / 2 && started.elapsed() <= CALL_TIMEOUT + ms(100),
        "{:?}",
        started.elapsed()
    );
}

/// Refuses every connection and counts which address was tried first.
#[derive(Debug, Default)]
struct Refusing {
    first: Mutex<Option<SocketAddr>>,
}

impl Network for Refusing {
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
        Box::pin(async move { Ok(vec![SocketAddr::new(host.parse().map_err(io::Error::other)?, port)]) })
    }

    fn connect(&self, address: SocketAddr, _: SocketOptions) -> BoxFuture<'_, io::Result<Box<dyn Stream>>> {
        self.first.lock().get_or_insert(address);
        Box::pin(async { Err(io::ErrorKind::ConnectionRefused.into()) })
    }
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_shuffles_spread_first_contacts_evenly() {
    let network = Arc::new(Refusing::default());
    let shared: Arc<dyn Network> = Arc::clone(&network) as _;
    let environment = Environment::new(shared, fastrand::Rng::with_seed(7));
    let servers = "192.0.2.1:9092,192.0.2.2:9092,192.0.2.3:9092,192.0.2.4:9092";
    let mut first = HashMap::new();
    for _ in 0..10_000 {
        *network.first.lock() = None;
        let connected = Client::connect(config(servers, &[]), environment.clone(), CALL_TIMEOUT);
        within_deadline(connected).await.expect_err("all refuse");
        *first.entry(network.first.lock().unwrap()).or_insert(0) += 1;
    }
    assert_eq!(first.len(), 4);
    // Five standard deviations of a fair choice.
    assert!(first.values().all(|count| (2_500 - 217..=2_500 + 217).contains(count)), "{first:?}");
}

#[tokio::test(start_paused = true)]
async fn two_of_three_servers_are_dead() {
    let cluster = cluster(1).await;
    let (refusing, silent) = (closed_port(), "192.0.2.9:9092".parse().unwrap());
    let network = Arc::new(NamedNetwork::default());
    network.black_holes.lock().push(silent);
    let servers = format!("{refusing},{silent},{}", cluster.brokers()[0].address);
    for seed in 0..6 {
        let started = Instant::now();
        let connected = Client::connect(config(&servers, &[]), environment(&network, seed), CALL_TIMEOUT);
        assert_eq!(within_deadline(connected).await.expect("a client").snapshot().brokers.len(), 3);
        assert!(started.elapsed() < ms(1500), "{:?}", started.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn all_addresses_of_a_name_are_tried_and_failures_name_them_all() {
    let cluster = cluster(1).await;
    let good = cluster.brokers()[0].address;
    let (dead, hole) = (closed_port(), "192.0.2.7:9092".parse().unwrap());
    let network = Arc::new(NamedNetwork::default());
    network.black_holes.lock().push(hole);
    network.names.lock().insert("kafka".to_owned(), vec![dead, hole, good]);
    let client = Client::connect(config("kafka:9092", &[]), environment(&network, 1), ms(3000));
    assert_eq!(within_deadline(client).await.expect("a client").snapshot().brokers.len(), 3);

    network.names.lock().insert("kafka".to_owned(), vec![dead, hole]);
    let client = Client::connect(config("kafka:9092", &[]), environment(&network, 1), ms(600));
    let message = within_deadline(client).await.expect_err("unreachable").to_string();
    assert!(
        message.contains("refused") && message.contains("192.0.2.7") && message.contains("198.51.100.1"),
        "{message}"
    );
}

#[tokio::test(start_paused = true)]
async fn invalid_bootstrap_servers_are_refused_at_once() {
    for servers in ["", "host", "host:port", "host:0", ":9092", "host:99999", "a b:1"] {
        let config = Config::from_pairs([("bootstrap.servers", Value::from(servers))]).unwrap();
        let error = Client::new(config, Default::default()).expect_err(servers);
        assert_eq!(error.kind(), Kind::Config, "{servers}: {error}");
    }
}

#[tokio::test(start_paused = true)]
async fn canonical_names_replace_the_bootstrap_servers() {
    let cluster = cluster(1).await;
    let network = Arc::new(NamedNetwork::default());
    let (good, dead) = (cluster.brokers()[0].address, SocketAddr::new([127, 0, 0, 9].into(), 1));
    network.names.lock().insert("all".to_owned(), vec![good, dead]);
    network.names.lock().insert("broker-1".to_owned(), vec![good]);
    network.canonical.lock().insert(good.ip(), "broker-1".to_owned());
    let pairs = [("client.dns.lookup", "resolve_canonical_bootstrap_servers_only")];
    let servers = format!("all:{},nowhere.invalid:1", good.port());
    let connected = Client::connect(config(&servers, &pairs), environment(&network, 1), CALL_TIMEOUT);
    within_deadline(connected).await.expect("a client");
    assert!(network.resolved.lock().contains(&"broker-1".to_owned()));
    // No server is left: the error names every canonical name with its cause.
    let unreachable = closed_port();
    network.names.lock().insert("broker-1".to_owned(), vec![unreachable]);
    let connected = Client::connect(config(&servers, &pairs), environment(&network, 1), CALL_TIMEOUT);
    let error = within_deadline(connected).await.expect_err("unreachable");
    let tried: Vec<String> =
        error.attempts().iter().filter_map(|attempt| attempt.context().address.clone()).collect();
    for name in ["nowhere.invalid:1", "broker-1:", "127.0.0.9:"] {
        assert!(tried.iter().any(|address| address.starts_with(name)), "{name} in {tried:?}");
    }
}

#[tokio::test]
async fn the_system_resolves_canonical_names() {
    let name = within_deadline(Environment::default().network.canonical_name([127, 0, 0, 1].into())).await;
    assert!(!name.expect("a name, or the address").is_empty());
}

#[tokio::test(start_paused = true)]
async fn ipv6_addresses_work() {
    let shape = ottla_mock::MockConfig { host: "::1".to_owned(), brokers: 2, ..Default::default() };
    let cluster = ottla_mock::MockCluster::start(shape).await.expect("IPv6 on the loopback interface");
    cluster.create_topic(ottla_mock::TopicSpec::new("t").partitions(2)).unwrap();
    assert!(cluster.bootstrap().starts_with("[::1]:"), "{}", cluster.bootstrap());
    // By the IPv6 address, and by a name whose IPv4 address is dead.
    let network = Arc::new(NamedNetwork::default());
    let six = cluster.brokers()[0].address;
    let dead = closed_port();
    network.names.lock().insert("both".to_owned(), vec![dead, six]);
    for (server, environment) in [
        (cluster.bootstrap(), Environment::default()),
        (format!("both:{}", six.port()), environment(&network, 1)),
    ] {
        let client = within_deadline(Client::connect(config(&server, &[]), environment, CALL_TIMEOUT))
            .await
            .expect("connected");
        let found = within_deadline(client.topics(&["t".into()], IfMissing::Create, CALL_TIMEOUT))
            .await
            .expect("a topic");
        assert_eq!(found[0].partitions.len(), 2);
        // The brokers advertise their IPv6 addresses.
        for broker in [1, 2] {
            let connection =
                within_deadline(client.connection(Route::Broker(broker))).await.expect("connected");
            assert_eq!(connection.endpoint().host, "::1");
        }
    }
}

/// Regression: each of hundreds of unresponsive addresses took all of
/// `socket.connection.setup.timeout.ms`, one after the other, so that a broker behind them was never
/// reached.
#[tokio::test(start_paused = true)]
async fn a_broker_after_hundreds_of_dead_addresses_is_reached_in_time() {
    let cluster = cluster(1).await;
    let network = Arc::new(NamedNetwork::default());
    let holes: Vec<SocketAddr> =
        (0..300).map(|n| SocketAddr::from(([192, 0, 2, (n % 250) as u8], 9000 + n))).collect();
    network.black_holes.lock().extend(&holes);
    let good = cluster.brokers()[0].address;
    network.names.lock().insert("kafka".to_owned(), [&holes[..], &[good]].concat());
    let endpoint: ottla_client::Endpoint = "kafka:9092".parse().unwrap();
    let settings = ottla_client::connection::Settings::try_from(&config("kafka:9092", &[])).unwrap();
    let started = Instant::now();
    let environment = environment(&network, 1);
    let connected = ottla_client::connection::connect(&endpoint, &settings, &environment, None);
    within_deadline(connected).await.expect("a connection");
    assert!(started.elapsed() < ms(20_000), "{:?}", started.elapsed());

    network.names.lock().insert("kafka".to_owned(), holes);
    let started = Instant::now();
    let connected = ottla_client::connection::connect(&endpoint, &settings, &environment, None);
    let error = within_deadline(connected).await.expect_err("unreachable");
    assert!(started.elapsed() <= ms(31_000), "{:?}", started.elapsed());
    assert_eq!(error.attempts().len(), 300);
    assert!(error.to_string().len() < 2000, "{error}");
}
