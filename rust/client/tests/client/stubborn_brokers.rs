//! Proves: partitions whose responses bring no progress are retried after pauses, and never skipped.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::support::*;
use ottla_client::Client;
use ottla_client::consumer::{ChunkScan, Consumer, Range, ScanOptions};
use ottla_mock::MemoryListener;
use ottla_protocol::ApiKey;
use ottla_protocol::messages::fetch::{FetchResponse, FetchableTopicResponse, PartitionData};
use ottla_protocol::messages::list_offsets::{
    ListOffsetsPartitionResponse, ListOffsetsResponse, ListOffsetsTopicResponse,
};
use ottla_protocol::messages::metadata::{
    MetadataResponse, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use ottla_protocol::records::{BatchBuilder, Compression, Compressor, ProducerState};
use ottla_protocol::wire::Uuid;

const TOPIC_ID: Uuid = Uuid([7; 16]);

/// How the only broker of a cluster responds.
#[derive(Debug, Clone, Copy)]
enum Habit {
    /// It returns unknown offsets.
    NoOffsets,
    /// It sends records from before the position.
    OldRecords,
    /// It names itself as the preferred read replica.
    NamesItself,
    /// It omits the partition.
    LeavesOut,
}

fn metadata(address: SocketAddr) -> MetadataResponse {
    let partition = MetadataResponsePartition {
        leader_id: 1,
        replica_nodes: vec![1],
        isr_nodes: vec![1],
        ..Default::default()
    };
    let topic = MetadataResponseTopic {
        name: Some("t".to_owned()),
        topic_id: TOPIC_ID,
        partitions: vec![partition],
        ..Default::default()
    };
    let broker = MetadataResponseBroker {
        node_id: 1,
        host: address.ip().to_string(),
        port: i32::from(address.port()),
        ..Default::default()
    };
    MetadataResponse { brokers: vec![broker], topics: vec![topic], controller_id: 1, ..Default::default() }
}

fn offsets(offset: i64) -> ListOffsetsResponse {
    let partition = ListOffsetsPartitionResponse { offset, timestamp: -1, ..Default::default() };
    let topic = ListOffsetsTopicResponse { name: "t".to_owned(), partitions: vec![partition] };
    ListOffsetsResponse { topics: vec![topic], ..Default::default() }
}

fn fetched(habit: Habit) -> FetchResponse {
    let mut old = BatchBuilder::new(100);
    old.append(1, None, Some(b"old"), &[]).expect("a record");
    let mut compressor = Compressor::new(Compression::None).expect("no compressor");
    let old = old.finish(&ProducerState::default(), &mut compressor).expect("a batch");
    let partition = PartitionData {
        high_watermark: 100,
        last_stable_offset: 100,
        preferred_read_replica: if matches!(habit, Habit::NamesItself) { 1 } else { -1 },
        records: matches!(habit, Habit::OldRecords).then_some(old),
        ..Default::default()
    };
    let topic =
        FetchableTopicResponse { topic: "t".to_owned(), topic_id: TOPIC_ID, partitions: vec![partition] };
    let responses = if matches!(habit, Habit::LeavesOut) { Vec::new() } else { vec![topic] };
    FetchResponse { responses, ..Default::default() }
}

/// Starts a cluster of one such broker. Returns its address and its count of requests for offsets or
/// records.
fn cluster(habit: Habit) -> (String, Arc<AtomicU64>) {
    let asked = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&asked);
    let listener: MemoryListener = memory_network().listen();
    let own = listener.address();
    let address = serve_at(listener, move |mut stream| {
        let count = Arc::clone(&count);
        async move {
            if handshake(&mut stream).await.is_none() {
                return;
            }
            while let Some(header) = read_request(&mut stream).await {
                let (version, id) = (header.api_version, header.correlation_id);
                match ApiKey::try_from(header.api_key).expect("a known API") {
                    ApiKey::Metadata => {
                        respond(&mut stream, ApiKey::Metadata, version, id, &metadata(own)).await
                    }
                    ApiKey::ListOffsets => {
                        if matches!(habit, Habit::NoOffsets) {
                            count.fetch_add(1, Ordering::AcqRel);
                        }
                        let offset = if matches!(habit, Habit::NoOffsets) { -1 } else { 50 };
                        respond(&mut stream, ApiKey::ListOffsets, version, id, &offsets(offset)).await;
                    }
                    ApiKey::Fetch => {
                        count.fetch_add(1, Ordering::AcqRel);
                        respond(&mut stream, ApiKey::Fetch, version, id, &fetched(habit)).await;
                    }
                    other => panic!("{other:?} was not expected"),
                }
            }
        }
    });
    (address.to_string(), asked)
}

async fn connected(servers: &str) -> Client {
    let pairs = [("auto.offset.reset", "earliest"), ("retry.backoff.ms", "100")];
    within_deadline(Client::connect(config(servers, &pairs), memory_environment(), CALL_TIMEOUT))
        .await
        .expect("a client")
}

/// Regression: 6,000 requests a second for unknown offsets.
#[tokio::test(start_paused = true)]
async fn a_consumer_pauses_between_requests_that_bring_nothing() {
    for habit in [Habit::NoOffsets, Habit::OldRecords, Habit::NamesItself, Habit::LeavesOut] {
        let (servers, asked) = cluster(habit);
        let consumer = Consumer::new(connected(&servers).await);
        consumer.assign(vec![("t".into(), 0)]).expect("assigned");
        let _ = within_deadline(consumer.wait_until_ready(Instant::now() + ms(10_000))).await;
        assert!(consumer.take_records(500).is_empty(), "{habit:?}");
        let asked = asked.load(Ordering::Acquire);
        assert!((5..=510).contains(&asked), "{habit:?}: {asked} requests in 10 s");
    }
}

/// The same for a scan, which ends at its timeout.
#[tokio::test(start_paused = true)]
async fn a_scan_pauses_between_requests_that_bring_nothing() {
    for habit in [Habit::OldRecords, Habit::NamesItself, Habit::LeavesOut] {
        let (servers, asked) = cluster(habit);
        let timeout = ms(10_000);
        let options =
            ScanOptions { fail_on_data_loss: true, read_committed: false, max_bytes: 1 << 20, timeout };
        let range = Range { partition: ("t".into(), 0), start: 50, end: 60 };
        let mut scan = ChunkScan::start(connected(&servers).await, vec![range], options);
        let error = within_deadline(scan.next()).await.expect("no end").expect_err("no records");
        assert_eq!(error.kind(), ottla_client::Kind::Timeout, "{habit:?}: {error}");
        let asked = asked.load(Ordering::Acquire);
        assert!((5..=510).contains(&asked), "{habit:?}: {asked} requests in 10 s");
    }
}
