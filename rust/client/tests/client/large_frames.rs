//! Proves: a connection uses the memory of a large frame again for the next, and gives it back when
//! none follows, whether it is idle or not.

use std::time::Instant;

use crate::support::*;
use ottla_client::connection::{Endpoint, Settings, connect};
use ottla_mock::{MockCluster, MockConfig, TopicSpec};
use ottla_protocol::messages::metadata::MetadataRequest;

/// A frame that takes longer than this on the wire.
const LARGE: u64 = 1_000_000;
/// What may stay of it.
const LIMIT: i64 = 300_000;

#[test]
fn the_memory_of_a_large_frame_is_used_again_and_given_back() {
    // One thread for all: its allocations are what is counted.
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
        runtime.block_on(async { within_deadline(connection.request(request, 12)).await.expect("an answer") })
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
    assert!(idle <= LIMIT, "{idle} bytes are held by an idle connection");
    let large = allocation_counter::measure(|| drop(ask(&all))).bytes_current;
    let busy = shrinks(large, &|| {
        // The mock remembers each request: not too many.
        pause();
        ask(&none);
    });
    assert!(busy <= LIMIT, "{busy} bytes are held by one that goes on");
}
