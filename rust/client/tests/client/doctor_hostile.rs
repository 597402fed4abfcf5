//! Proves: no bytes from a broker make the doctor panic, hang or use unbounded memory. A proxy corrupts
//! responses at every step; each round has a seed, which a failure reports.

use std::net::SocketAddr;
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use crate::support::*;
use fastrand::Rng;
use ottla_client::doctor::{BrokerFacts, Facts, Reason, Targets, examine};
use ottla_client::environment::Environment;
use ottla_mock::{MockCluster, MockConfig, SaslConfig, TopicSpec};
use ottla_protocol::ApiKey;
use ottla_protocol::messages::metadata::{MetadataResponse, MetadataResponseBroker};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedReadHalf;

/// The doctor's timeout in each round; each step gets a quarter of it.
const TIMEOUT: Duration = Duration::from_millis(600);

static PANICS: AtomicUsize = AtomicUsize::new(0);

/// Panics of tasks are swallowed where the tasks are joined, so they are counted in the hook.
fn count_panics() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        // Other tests run in this process, and may fail.
        if info.location().is_some_and(|at| at.file().contains("client/src")) {
            PANICS.fetch_add(1, Ordering::SeqCst);
        }
        before(info);
    }));
}

/// Reads a frame; returns it without its length.
async fn read_frame(from: &mut OwnedReadHalf) -> Option<Vec<u8>> {
    let length = usize::try_from(from.read_u32().await.ok()?).ok()?;
    let mut frame = vec![0; length];
    from.read_exact(&mut frame).await.ok()?;
    Some(frame)
}

/// Corrupts a frame, mostly after its correlation id; returns the bytes to send, with a length.
fn corrupt(mut frame: Vec<u8>, rng: &mut Rng) -> Vec<u8> {
    let mut length = None;
    let from = if rng.u8(..8) == 0 { 0 } else { 4.min(frame.len()) };
    let at = if from < frame.len() { rng.usize(from..frame.len()) } else { 0 };
    match rng.u8(..7) {
        0 => frame.truncate(at),
        1 => frame.extend(std::iter::repeat_with(|| rng.u8(..)).take(40)),
        2 => frame.iter_mut().skip(from).for_each(|byte| *byte = rng.u8(..)),
        // A count or a length.
        3 => {
            let value = [[0xff; 4], [0x7f, 0xff, 0xff, 0xff], [0x80, 0, 0, 0]][rng.usize(..3)];
            frame.iter_mut().skip(at).zip(value).for_each(|(byte, value)| *byte = value);
        }
        4 => length = Some(rng.u32(..)),
        _ => {
            for _ in 0..rng.usize(1..4) {
                let place = rng.usize(from..frame.len().max(from + 1));
                if let Some(byte) = frame.get_mut(place) {
                    *byte ^= 1 << rng.u8(..8);
                }
            }
        }
    }
    let length = length.unwrap_or_else(|| u32::try_from(frame.len()).unwrap());
    [&length.to_be_bytes()[..], &frame].concat()
}

/// A proxy that corrupts one in three responses of a broker.
async fn corrupting_proxy(broker: SocketAddr, seeds: Arc<AtomicU64>) -> SocketAddr {
    tcp_server(move |client| {
        let mut rng = Rng::with_seed(seeds.fetch_add(1, Ordering::SeqCst));
        async move {
            let Ok(broker) = TcpStream::connect(broker).await else { return };
            let (mut from_client, mut to_client) = client.into_split();
            let (mut from_broker, mut to_broker) = broker.into_split();
            let requests = async {
                let _ = tokio::io::copy(&mut from_client, &mut to_broker).await;
            };
            let responses = async {
                while let Some(frame) = read_frame(&mut from_broker).await {
                    let bytes = match rng.u8(..3) {
                        0 => corrupt(frame, &mut rng),
                        _ => [&u32::try_from(frame.len()).unwrap().to_be_bytes()[..], &frame].concat(),
                    };
                    if to_client.write_all(&bytes).await.is_err() {
                        return;
                    }
                }
            };
            tokio::select! { () = requests => {} () = responses => {} }
        }
    })
    .await
}

/// The size of the facts when formatted, which covers every field.
fn formatted_size(facts: &Facts) -> usize {
    format!("{facts:?}").len()
}

async fn rounds(cluster: &MockCluster, pairs: &[(&str, &str)], count: u64) {
    let broker = cluster.brokers()[0].address;
    let seeds = Arc::new(AtomicU64::new(0));
    let proxy = corrupting_proxy(broker, Arc::clone(&seeds)).await;
    cluster.advertise(1, "127.0.0.1", proxy.port()).unwrap();
    let (mut reached, mut failed) = (0, 0);
    for round in 0..10 * count {
        // On a busy machine it takes more rounds until both kinds have occurred.
        if round >= count && reached > 0 && failed > 0 {
            break;
        }
        let seed = round * 1000;
        seeds.store(seed, Ordering::SeqCst);
        let config = config(&proxy.to_string(), pairs);
        let targets = Targets { topic: Some("t".to_owned()), group: Some("g".to_owned()) };
        let examination = examine(config, Environment::default(), targets, TIMEOUT);
        let facts = within_deadline(examination).await.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert_eq!(PANICS.load(Ordering::SeqCst), 0, "seed {seed}");
        assert!(formatted_size(&facts) < 1_000_000, "seed {seed}");
        reached += usize::from(facts.brokers.iter().any(|broker| !broker.partitions.is_empty()));
        let steps = facts.bootstrap.iter().flat_map(|server| &server.addresses).flat_map(|a| &a.steps);
        failed += usize::from(steps.into_iter().any(|step| step.failure.is_some()));
    }
    // Some rounds get far, and some fail.
    assert!(reached > 0 && failed > 0, "{reached} and {failed} of {count}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn corrupted_responses_end_in_facts() {
    count_panics();
    let alone = MockConfig { brokers: 1, ..Default::default() };
    let open = MockCluster::start(alone.clone()).await.unwrap();
    open.create_topic(TopicSpec::new("t").partitions(2)).unwrap();
    rounds(&open, &[], 150).await;

    let users = [("ann".to_owned(), "hunter2".to_owned())].into();
    let sasl = Some(SaslConfig { users, ..Default::default() });
    let secured = MockCluster::start(MockConfig { sasl, ..alone }).await.unwrap();
    secured.create_topic(TopicSpec::new("t").partitions(2)).unwrap();
    for mechanism in ["PLAIN", "SCRAM-SHA-256"] {
        let pairs = [
            ("security.protocol", "SASL_PLAINTEXT"),
            ("sasl.mechanism", mechanism),
            ("sasl.username", "ann"),
            ("sasl.password", "hunter2"),
        ];
        rounds(&secured, &pairs, 60).await;
    }

    // Random bytes, with plaintext and with TLS configured.
    for seed in 0..60 {
        let noise = tcp_server(move |mut stream| async move {
            let mut rng = Rng::with_seed(seed);
            let _ = stream.read(&mut [0; 64]).await;
            let count = rng.usize(1..300);
            let bytes: Vec<u8> = std::iter::repeat_with(|| rng.u8(..)).take(count).collect();
            let _ = stream.write_all(&bytes).await;
        });
        let pairs: &[_] = if seed % 2 == 0 { &[] } else { &[("security.protocol", "SSL")] };
        let config = config(&noise.await.to_string(), pairs);
        let examination = examine(config, Environment::default(), Targets::default(), TIMEOUT);
        let facts = within_deadline(examination).await.unwrap();
        assert!(facts.cluster.is_none(), "seed {seed}");
        assert_eq!(PANICS.load(Ordering::SeqCst), 0, "seed {seed}");
    }
    a_cluster_of_very_many_brokers().await;
    assert_eq!(PANICS.load(Ordering::SeqCst), 0);
}

/// Metadata with a hundred thousand brokers, in a few megabytes: not all of them are probed.
async fn a_cluster_of_very_many_brokers() {
    let liar = tcp_server(|mut stream| async move {
        if handshake(&mut stream).await.is_none() {
            return;
        }
        while let Some(header) = read_request(&mut stream).await {
            assert!(header.api_key == ApiKey::Metadata as i16, "{header:?}");
            let broker = |node_id| MetadataResponseBroker {
                node_id,
                host: "nowhere.invalid".to_owned(),
                port: -1,
                ..Default::default()
            };
            let response =
                MetadataResponse { brokers: (0..100_000).map(broker).collect(), ..Default::default() };
            respond(&mut stream, ApiKey::Metadata, header.api_version, header.correlation_id, &response)
                .await;
        }
    });
    let config = config(&liar.await.to_string(), &[]);
    let environment = environment(&Arc::new(NamedNetwork::default()), 1);
    let facts =
        within_deadline(examine(config, environment, Targets::default(), 3 * CALL_TIMEOUT)).await.unwrap();
    assert_eq!(facts.cluster.expect("a view").brokers.len(), 100_000);
    assert_eq!(facts.brokers.len(), 10_000);
    let reason = |broker: &BrokerFacts| broker.endpoint.dns.failure.as_ref().map(|failure| failure.reason);
    assert!(facts.brokers.iter().all(|broker| reason(broker) == Some(Reason::Unresolved)));
}
