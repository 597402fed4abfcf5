//! Proves: a connection reuses the buffer of a large frame, and frees it when no other follows, whether
//! the connection is idle or not.

use std::time::Instant;

use crate::support::*;
use ottla_client::Endpoint;
use ottla_client::connection::{Settings, connect};
use ottla_mock::{MockCluster, MockConfig, TopicSpec};
use ottla_protocol::messages::metadata::MetadataRequest;

/// A lower bound for the length of the frame.
const LARGE: u64 = 1_000_000;
/// How much of it may remain allocated.
const LIMIT: i64 = 300_000;

#[test]
fn the_buffer_of_a_large_frame_is_reused_and_freed() {
    // A single thread: its allocations are counted.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (_cluster, connection) = runtime.block_on(async {
        let cluster = MockCluster::start(MockConfig::default()).await.expect("a cluster");
        for number in 0..1_000 {
            let spec = TopicSpec::new(format!("topic-{number:0>200}")).partitions(20);
            cluster.create_topic(spec).expect("a topic");
        }
        let address = cluster.brokers()[0].address;
        let settings = Settings::try_from(&config(&address.to_string(), &[])).expect("settings");
        let endpoint = Endpoint { host: address.ip().to_string(), port: address.port() };
        let connection =
            within_deadline(connect(&endpoint, &settings, &Default::default(), None)).await.unwrap();
        (cluster, connection)
    });
    let all = MetadataRequest { topics: None, ..Default::default() };
    let none = MetadataRequest { topics: Some(Vec::new()), ..Default::default() };
    let ask = |request| {
        runtime
            .block_on(async { within_deadline(connection.request(request, 12)).await.expect("a response") })
    };

    let first = allocation_counter::measure(|| assert_eq!(ask(&all).topics.len(), 1_000));
    let second = allocation_counter::measure(|| assert_eq!(ask(&all).topics.len(), 1_000));
    assert!(second.bytes_total + LARGE < first.bytes_total, "{second:?} is no less than {first:?}");

    let shrinks = |mut held: i64, step: &dyn Fn()| {
        let deadline = Instant::now() + CALL_TIMEOUT;
        while held > LIMIT && Instant::now() < deadline {
            held += allocation_counter::measure(step).bytes_current;
        }
        held
    };
    let pause = || runtime.block_on(async { tokio::time::sleep(ms(50)).await });
    let idle = shrinks(first.bytes_current + second.bytes_current, &pause);
    assert!(idle <= LIMIT, "an idle connection holds {idle} bytes");
    let large = allocation_counter::measure(|| drop(ask(&all))).bytes_current;
    let busy = shrinks(large, &|| {
        // Not too many: the mock remembers each request.
        pause();
        ask(&none);
    });
    assert!(busy <= LIMIT, "a busy connection holds {busy} bytes");
}
