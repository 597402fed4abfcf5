//! Proves: the doctor's facts of a healthy cluster match the cluster, and examining it changes nothing;
//! each fault is recorded with its reason at the step where it occurs; the number of probed addresses and
//! the time are bounded; the release is derived from the supported API versions.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::support::*;
use ottla_client::Config;
use ottla_client::doctor::{
    AddressFacts, Check, Facts, Phase, Progress, ProgressState, Reason, Step, Targets, examine,
    examine_with_progress,
};
use ottla_client::environment::{BoxFuture, Environment, Network, SocketOptions, Stream};
use ottla_client::error::{Error, Kind};
use ottla_client::security::{Token, TokenProvider};
use ottla_mock::{Fault, Match, MockCluster, MockConfig, Reaction, SaslConfig};
use ottla_protocol::messages::api_versions::{ApiVersion, ApiVersionsResponse};
use ottla_protocol::{ApiKey, ErrorCode};

const CONNECTING: [Check; 3] = [Check::Tcp, Check::ApiVersions, Check::Metadata];

fn targets(topic: Option<&str>, group: Option<&str>) -> Targets {
    Targets { topic: topic.map(str::to_owned), group: group.map(str::to_owned) }
}

async fn facts_of(config: Config, targets: Targets) -> Facts {
    within_deadline(examine(config, memory_environment(), targets, CALL_TIMEOUT / 2)).await.expect("facts")
}

fn checks(steps: &[Step]) -> Vec<Check> {
    steps.iter().map(|step| step.check).collect()
}

fn failure(steps: &[Step]) -> Option<(Check, Reason)> {
    steps.iter().find_map(|step| Some((step.check, step.failure.as_ref()?.reason)))
}

/// The only address of the only bootstrap server.
fn only(facts: &Facts) -> &AddressFacts {
    let [server] = &facts.bootstrap[..] else { panic!("{:?}", facts.bootstrap) };
    let [address] = &server.addresses[..] else { panic!("{:?}", server.addresses) };
    address
}

#[tokio::test(start_paused = true)]
async fn the_facts_match_the_cluster_and_nothing_is_changed() {
    let cluster = cluster(6).await;
    let facts = facts_of(config(&cluster.bootstrap(), &[]), targets(Some("t"), Some("g"))).await;
    assert_eq!(facts.security_protocol, "PLAINTEXT");
    assert_eq!(facts.bootstrap.len(), 3);
    for server in &facts.bootstrap {
        assert!(server.dns.failure.is_none());
        assert_eq!(checks(&server.addresses[0].steps), CONNECTING);
        assert_eq!(failure(&server.addresses[0].steps), None);
        assert!(server.addresses[0].apis.len() > 10);
    }
    let view = facts.cluster.expect("a view");
    assert_eq!(view.cluster_id, Some(cluster.cluster_id()));
    for (broker, own) in facts.brokers.iter().zip(cluster.brokers()) {
        let [address] = &broker.endpoint.addresses[..] else { panic!("one address") };
        assert_eq!((broker.id, address.address, address.node), (own.id, own.address, Some(own.id)));
        assert_eq!(checks(&address.steps)[..3], CONNECTING);
        assert_eq!(address.steps[3].check, Check::Identity);
        assert_eq!((broker.leads, broker.partitions.len()), (2, 2));
        for partition in &broker.partitions {
            assert_eq!(checks(&partition.steps), [Check::ListOffsets, Check::Fetch]);
            assert_eq!(failure(&partition.steps), None);
            assert_eq!((partition.start, partition.end), (Some(0), Some(0)));
        }
    }
    let topics = facts.topics.expect("topics");
    assert_eq!((topics.partitions, topics.leaderless_count, topics.under_replicated), (6, 0, 0));
    let coordinator = facts.coordinator.expect("a coordinator");
    assert_eq!(failure(&coordinator.steps), None);
    assert_eq!(coordinator.members, Some(0));
    let changing = [ApiKey::Produce, ApiKey::CreateTopics, ApiKey::JoinGroup, ApiKey::OffsetCommit];
    assert!(changing.iter().all(|api| cluster.request_count(None, *api) == 0));
}

/// The events of an examination; each check that starts has also ended.
async fn progress_of(config: Config, targets: Targets) -> (Facts, Vec<Progress>) {
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let environment = memory_environment();
    let examination = examine_with_progress(config, environment, targets, CALL_TIMEOUT / 2, Some(sender));
    let facts = within_deadline(examination).await.expect("facts");
    let mut events = Vec::new();
    while let Some(event) = receiver.recv().await {
        events.push(event);
    }
    let mut running = Vec::new();
    for event in &events {
        let key = (&event.target, event.phase, event.check);
        if event.state == ProgressState::Started {
            running.push(key);
        } else {
            let at = running.iter().position(|started| *started == key).expect("it started before");
            running.remove(at);
        }
    }
    assert!(running.is_empty(), "{running:?}");
    (facts, events)
}

#[tokio::test(start_paused = true)]
async fn each_step_of_the_facts_is_reported_as_it_ends() {
    let cluster = cluster(3).await;
    let silent = Match::api(ApiKey::Fetch);
    cluster.inject(Fault::new(silent, Reaction::Error(ErrorCode::TopicAuthorizationFailed)));
    let targets = targets(Some("t"), Some("g"));
    let (facts, events) = progress_of(config(&cluster.bootstrap(), &[]), targets).await;
    let endpoints = || facts.bootstrap.iter().chain(facts.brokers.iter().map(|broker| &broker.endpoint));
    let addresses = endpoints().flat_map(|endpoint| &endpoint.addresses);
    let mut steps: Vec<&Step> = endpoints().map(|endpoint| &endpoint.dns).collect();
    steps.extend(addresses.flat_map(|address| &address.steps));
    let partitions = facts.brokers.iter().flat_map(|broker| &broker.partitions);
    steps.extend(partitions.flat_map(|partition| &partition.steps));
    steps.extend(&facts.coordinator.as_ref().expect("a coordinator").steps);
    steps.extend(facts.quorum.iter().flat_map(|quorum| &quorum.steps));
    steps.extend(facts.topics.as_ref().map(|topics| &topics.step));
    let known = |step: &Step| {
        let failed = step.failure.as_ref().map(|failure| ProgressState::Failed(failure.message.clone()));
        (step.check.name(), format!("{:?}", failed.unwrap_or(ProgressState::Passed)), step.duration)
    };
    let mut expected: Vec<_> = steps.into_iter().map(known).collect();
    let ended = events.iter().filter(|event| event.state != ProgressState::Started);
    let mut reported: Vec<_> =
        ended.map(|event| (event.check.name(), format!("{:?}", event.state), event.duration)).collect();
    expected.sort();
    reported.sort();
    assert_eq!(reported, expected);
    assert!(events.iter().any(|event| event.phase == Phase::Leaders && event.target == "t-0"));
    let advertised = events.iter().filter(|event| event.phase == Phase::Advertised);
    assert!(advertised.into_iter().all(|event| event.target.starts_with("broker ")));
}

#[tokio::test(start_paused = true)]
async fn the_reported_failure_is_the_explained_one() {
    let sasl = Some(SaslConfig::default());
    let secured = MockCluster::start(MockConfig { sasl, ..in_memory() }).await.unwrap();
    let server = secured.brokers()[0].address.to_string();
    let (facts, events) = progress_of(config(&server, &[]), Targets::default()).await;
    assert_eq!(failure(&only(&facts).steps), Some((Check::Metadata, Reason::WantsSasl)));
    let last = events.last().expect("events");
    assert_eq!((last.phase, last.target.as_str()), (Phase::Metadata, &*format!("bootstrap server {server}")));
    let ProgressState::Failed(message) = &last.state else { panic!("{last:?}") };
    assert!(message.starts_with("the listener requires SASL ("), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_missing_topic_is_not_created() {
    let cluster = cluster(1).await;
    let facts = facts_of(config(&cluster.bootstrap(), &[]), targets(Some("none"), None)).await;
    let topics = facts.topics.expect("topics");
    assert_eq!(topics.error, Some(ErrorCode::UnknownTopicOrPartition));
    assert!(cluster.topic("none").is_none());
}

#[tokio::test(start_paused = true)]
async fn another_broker_at_an_address_is_identified() {
    let cluster = cluster(3).await;
    let other = cluster.brokers()[2].address;
    cluster.advertise(1, &other.ip().to_string(), other.port()).unwrap();
    let facts = facts_of(config(&cluster.bootstrap(), &[]), targets(Some("t"), None)).await;
    let wrong = &facts.brokers[0];
    assert_eq!(wrong.endpoint.addresses[0].node, Some(3));
    assert_eq!(failure(&wrong.endpoint.addresses[0].steps), Some((Check::Identity, Reason::AnotherBroker)));
    let checked = &wrong.partitions[0];
    assert_eq!(failure(&checked.steps), Some((Check::ListOffsets, Reason::Code)));
    assert_eq!(checked.leader_now, Some(1), "the responding broker knows the leader");
}

#[tokio::test(start_paused = true)]
async fn each_failed_step_of_a_broker_is_recorded() {
    let cluster = cluster(1).await;
    let leader = cluster.leader("t", 0).unwrap();
    let index = usize::try_from(leader - 1).unwrap();
    for (api, check) in [(ApiKey::ListOffsets, Check::ListOffsets), (ApiKey::Fetch, Check::Fetch)] {
        cluster.clear_faults();
        cluster.inject(Fault::new(Match::api(api), Reaction::Error(ErrorCode::TopicAuthorizationFailed)));
        let facts = facts_of(config(&cluster.bootstrap(), &[]), targets(Some("t"), None)).await;
        assert_eq!(
            failure(&facts.brokers[index].partitions[0].steps),
            Some((check, Reason::Code)),
            "{api:?}"
        );
    }
    cluster.clear_faults();
    cluster.inject(Fault::new(Match::api(ApiKey::FindCoordinator), Reaction::Silence));
    let facts = facts_of(config(&cluster.bootstrap(), &[]), targets(None, Some("g"))).await;
    let coordinator = facts.coordinator.expect("a coordinator");
    assert_eq!(failure(&coordinator.steps), Some((Check::FindCoordinator, Reason::TimedOut)));
    assert_eq!(coordinator.broker, None);
}

#[tokio::test(start_paused = true)]
async fn each_address_of_a_name_is_checked() {
    let cluster = cluster(1).await;
    let (good, closed) = (cluster.brokers()[0].address, closed_port());
    let hole: SocketAddr = "192.0.2.1:9092".parse().unwrap();
    let network = Arc::new(NamedNetwork::default());
    network.names.lock().insert("kafka".to_owned(), vec![hole, closed, good]);
    network.black_holes.lock().push(hole);
    let config = config("kafka:9092", &[("socket.connection.setup.timeout.ms", "300")]);
    let started = Instant::now();
    let facts =
        within_deadline(examine(config, environment(&network, 1), Targets::default(), CALL_TIMEOUT / 2))
            .await
            .unwrap();
    assert!(started.elapsed() < ms(4000), "{:?}", started.elapsed());
    let failures: Vec<_> =
        facts.bootstrap[0].addresses.iter().map(|a| (a.address, failure(&a.steps))).collect();
    assert_eq!(
        failures,
        [
            (hole, Some((Check::Tcp, Reason::TimedOut))),
            (closed, Some((Check::Tcp, Reason::Refused))),
            (good, None)
        ]
    );
    assert!(facts.cluster.is_some(), "one is enough");
}

/// A network with one name that has a thousand addresses, none of which responds.
#[derive(Debug, Default)]
struct CrowdedName {
    connecting: Arc<AtomicUsize>,
    peak: AtomicUsize,
    total: AtomicUsize,
}

/// One connection attempt; counted until dropped.
struct Attempt(Arc<AtomicUsize>);

impl Drop for Attempt {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Network for CrowdedName {
    fn resolve<'a>(&'a self, _: &'a str, port: u16) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
        Box::pin(async move { Ok((0..1000).map(|_| SocketAddr::from(([192, 0, 2, 1], port))).collect()) })
    }

    fn connect(&self, _: SocketAddr, _: SocketOptions) -> BoxFuture<'_, io::Result<Box<dyn Stream>>> {
        Box::pin(async {
            let attempt = Attempt(Arc::clone(&self.connecting));
            self.total.fetch_add(1, Ordering::SeqCst);
            self.peak.fetch_max(attempt.0.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::future::pending().await
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_name_with_a_thousand_addresses_costs_a_bounded_number_of_connections() {
    let network = Arc::new(CrowdedName::default());
    let environment = Environment::new(Arc::clone(&network) as _, fastrand::Rng::with_seed(1));
    let config = config("many:9092", &[("socket.connection.setup.timeout.ms", "300")]);
    let facts =
        within_deadline(examine(config, environment, Targets::default(), CALL_TIMEOUT / 2)).await.unwrap();
    assert_eq!(facts.bootstrap[0].addresses.len(), 32);
    let counts = [&network.total, &network.peak].map(|count| count.load(Ordering::SeqCst));
    assert_eq!(counts, [32, 16], "in total, and at a time");
    assert_eq!(network.connecting.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn a_silent_cluster_costs_no_more_than_the_timeout() {
    let cluster = cluster(8).await;
    for api in [ApiKey::ListOffsets, ApiKey::DescribeConfigs, ApiKey::FindCoordinator] {
        cluster.inject(Fault::new(Match::api(api), Reaction::Silence));
    }
    let config = config(&cluster.bootstrap(), &[]);
    let started = Instant::now();
    let targets = targets(Some("t"), Some("g"));
    let facts = within_deadline(examine(config, memory_environment(), targets, ms(1000))).await.unwrap();
    assert!(started.elapsed() < ms(4000), "{:?}", started.elapsed());
    let steps = facts.brokers.iter().flat_map(|broker| &broker.partitions).map(|p| failure(&p.steps));
    let late = [Some((Check::ListOffsets, Reason::TimedOut)), Some((Check::ListOffsets, Reason::OutOfTime))];
    assert!(steps.into_iter().all(|failed| late.contains(&failed)));
}

#[tokio::test(start_paused = true)]
async fn a_timeout_of_zero_checks_nothing_and_is_recorded() {
    let cluster = cluster(1).await;
    let config = config(&cluster.bootstrap(), &[]);
    let facts =
        within_deadline(examine(config, memory_environment(), Targets::default(), Duration::ZERO)).await;
    for server in facts.unwrap().bootstrap {
        assert_eq!(server.dns.failure.expect("no time").reason, Reason::OutOfTime);
        assert!(server.addresses.is_empty());
    }
    assert!(cluster.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn each_failure_of_sasl_has_its_reason() {
    let users = [("ann".to_owned(), "hunter2".to_owned())].into();
    let sasl = Some(SaslConfig { users, ..Default::default() });
    let secured = MockCluster::start(MockConfig { sasl, ..in_memory() }).await.unwrap();
    let open = cluster(1).await;
    let plain = |password| {
        vec![
            ("security.protocol", "SASL_PLAINTEXT"),
            ("sasl.mechanism", "PLAIN"),
            ("sasl.username", "ann"),
            ("sasl.password", password),
        ]
    };
    let cases = [
        (&secured, plain("hunter2"), None),
        (&secured, plain("wrong-secret"), Some((Check::Sasl, Reason::Credentials))),
        (&secured, vec![], Some((Check::Metadata, Reason::WantsSasl))),
        (&open, plain("hunter2"), Some((Check::Sasl, Reason::WithoutSasl))),
    ];
    for (cluster, pairs, expected) in cases {
        let server = cluster.brokers()[0].address.to_string();
        let facts = facts_of(config(&server, &pairs), Targets::default()).await;
        let address = only(&facts);
        assert_eq!(failure(&address.steps), expected, "{pairs:?}");
        let offers = matches!(expected, None | Some((Check::Metadata, _)));
        assert_eq!(address.mechanisms.contains(&"SCRAM-SHA-256".to_owned()), offers, "{pairs:?}");
        let shown = format!("{facts:?}");
        assert!(!shown.contains("hunter2") && !shown.contains("wrong-secret"), "{shown}");
    }
}

/// A provider that fails, or (`true`) never returns.
#[derive(Debug)]
struct Tokenless(bool);

impl TokenProvider for Tokenless {
    fn token(&self) -> BoxFuture<'_, Result<Token, Error>> {
        if self.0 {
            return Box::pin(std::future::pending());
        }
        Box::pin(async { Err(Error::new(Kind::Authentication, "no token today")) })
    }
}

#[tokio::test(start_paused = true)]
async fn a_missing_token_is_not_a_rejection_by_the_broker() {
    let sasl = Some(SaslConfig::default());
    let secured = MockCluster::start(MockConfig { sasl, ..in_memory() }).await.unwrap();
    let server = secured.brokers()[0].address.to_string();
    for (hangs, expected) in [(false, "no token today"), (true, "no response within")] {
        let pairs = [
            ("security.protocol", "SASL_PLAINTEXT"),
            ("sasl.mechanism", "OAUTHBEARER"),
            ("socket.connection.setup.timeout.ms", "400"),
        ];
        let environment = memory_environment().with_token_provider(Arc::new(Tokenless(hangs)));
        let facts = within_deadline(examine(
            config(&server, &pairs),
            environment,
            Targets::default(),
            CALL_TIMEOUT / 2,
        ))
        .await
        .unwrap();
        let address = only(&facts);
        assert_eq!(failure(&address.steps), Some((Check::Sasl, Reason::NoToken)));
        let message = &address.steps.last().unwrap().failure.as_ref().unwrap().message;
        assert!(message.contains(expected), "{message}");
    }
}

/// APIs and the latest version of each.
type Apis = &'static [(ApiKey, i16)];

/// A broker that supports only these APIs.
async fn broker_with(apis: Apis) -> SocketAddr {
    server(move |mut stream| async move {
        while let Some(header) = read_request(&mut stream).await {
            let api_keys = apis.iter().map(|(api, max)| ApiVersion {
                api_key: *api as i16,
                min_version: 0,
                max_version: *max,
            });
            let response = ApiVersionsResponse { api_keys: api_keys.collect(), ..Default::default() };
            respond(&mut stream, ApiKey::ApiVersions, header.api_version, header.correlation_id, &response)
                .await;
        }
    })
}

#[tokio::test(start_paused = true)]
async fn the_release_is_the_oldest_that_supports_the_apis() {
    let cases: [(Apis, Option<&str>); 7] = [
        (&[(ApiKey::DeleteGroups, 3), (ApiKey::DescribeLogDirs, 5), (ApiKey::Produce, 13)], Some("4.4")),
        (&[(ApiKey::DescribeLogDirs, 5), (ApiKey::Produce, 13), (ApiKey::Fetch, 18)], Some("4.3")),
        (&[(ApiKey::OffsetCommit, 10), (ApiKey::DescribeLogDirs, 4)], Some("4.2")),
        (&[(ApiKey::Fetch, 17), (ApiKey::Produce, 11)], Some("3.9")),
        (&[(ApiKey::DescribeCluster, 0), (ApiKey::Fetch, 12)], Some("2.8")),
        (&[(ApiKey::Fetch, 6)], Some("1.0")),
        (&[(ApiKey::Fetch, 5), (ApiKey::ApiVersions, 0)], None),
    ];
    for (apis, release) in cases {
        let server = broker_with(apis).await.to_string();
        let facts = facts_of(config(&server, &[]), Targets::default()).await;
        assert_eq!(only(&facts).release, release, "{apis:?}");
    }
}
