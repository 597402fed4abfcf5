//! Proves: a request without effects is repeated after UNKNOWN_SERVER_ERROR, which a broker gives for what it did
//! not expect, with one warning. The application sees the error only if it lasts.

use crate::support::panics::{capture_log, captured_log};
use crate::support::reader::{consumer, poll, read, rows, write};
use crate::support::*;
use ottla_client::Kind;
use ottla_client::consumer::group::Subscription;
use ottla_client::consumer::{ChunkScan, Consumer, Range, ScanOptions};
use ottla_mock::{Fault, Match, Reaction};
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::time::Instant;

const CODE: ErrorCode = ErrorCode::UnknownServerError;

fn times(count: u64, on: Match) -> Fault {
    Fault { times: Some(count), ..Fault::new(on, Reaction::Error(CODE)) }
}

/// Every request of a group's member, and the fetch of one partition.
#[tokio::test(start_paused = true)]
async fn a_consumer_repeats_what_a_broker_did_not_expect() {
    capture_log();
    let classic = [
        ApiKey::FindCoordinator,
        ApiKey::JoinGroup,
        ApiKey::SyncGroup,
        ApiKey::Heartbeat,
        ApiKey::OffsetFetch,
        ApiKey::ListOffsets,
        ApiKey::Fetch,
        ApiKey::OffsetCommit,
    ];
    let classic = classic.map(|api| (Match::api(api), "classic"));
    let partition = (Match::api(ApiKey::Fetch).topic("t").partition(0), "classic");
    let topic = (Match::api(ApiKey::Metadata).topic("t"), "classic");
    let heartbeat = (Match::api(ApiKey::ConsumerGroupHeartbeat), "consumer");
    for (on, protocol) in classic.into_iter().chain([partition, topic, heartbeat]) {
        let cluster = cluster(1).await;
        write(&cluster, 0, 10);
        let what = format!("{on:?}");
        let fault = cluster.inject(times(3, on));
        let mut pairs =
            vec![("group.id", "g"), ("auto.offset.reset", "earliest"), ("group.protocol", protocol)];
        if protocol == "classic" {
            pairs.push(("heartbeat.interval.ms", "50"));
        }
        let consumer = Consumer::new(client(&cluster, &pairs).await);
        consumer.subscribe(Subscription::Topics(vec!["t".into()])).expect("subscribed");
        // A poll or a commit that raises the error fails the test.
        assert_eq!(read(&consumer, 10).await, rows(0, 0..10), "{what}");
        within_deadline(consumer.commit(None, CALL_TIMEOUT)).await.expect("committed");
        within_deadline(async {
            while cluster.fault_hits(fault) < 3 {
                assert_eq!(poll(&consumer, 1, ms(50)).await.expect("polled"), []);
            }
        })
        .await;
        within_deadline(consumer.close(CALL_TIMEOUT)).await.expect("closed");
        let committed = cluster.committed("g", "t", 0).map(|committed| committed.offset);
        assert_eq!(committed, Some(10), "{what}");
    }
    let log = captured_log();
    assert!(log.iter().any(|line| line.starts_with("WARN") && line.contains("unexpected error")), "{log:?}");
}

/// The warning comes with the first error; the error, once it has lasted for ten seconds.
#[tokio::test(start_paused = true)]
async fn an_unexpected_error_that_lasts_is_raised() {
    capture_log();
    for on in [Match::api(ApiKey::Fetch), Match::api(ApiKey::Fetch).topic("t").partition(0)] {
        let cluster = cluster(1).await;
        write(&cluster, 0, 1);
        let fault = cluster.inject(Fault::new(on, Reaction::Error(CODE)));
        let consumer = consumer(&cluster, &[0], &[]).await;
        let began = Instant::now();
        let error = loop {
            if let Err(error) = within_deadline(poll(&consumer, 1, ms(500))).await {
                break error;
            }
        };
        assert_took(began, ms(9_900), ms(12_000));
        assert_eq!((error.kind(), error.code()), (Kind::Broker, Some(CODE)), "{error}");
        cluster.remove_fault(fault);
        assert_eq!(read(&consumer, 1).await, rows(0, 0..1), "the fetches go on");
    }
    let log = captured_log();
    let warnings = log.iter().filter(|line| line.contains("met an unexpected error")).count();
    assert_eq!(warnings, 2, "one for each client: {log:?}");
}

#[tokio::test(start_paused = true)]
async fn a_scan_repeats_what_a_broker_did_not_expect() {
    for on in [Match::api(ApiKey::Fetch), Match::api(ApiKey::Fetch).topic("t").partition(0)] {
        let cluster = cluster(1).await;
        write(&cluster, 0, 10);
        let fault = cluster.inject(times(3, on));
        let options = ScanOptions {
            fail_on_data_loss: true,
            read_committed: false,
            max_bytes: 1 << 20,
            timeout: CALL_TIMEOUT,
        };
        let range = Range { partition: ("t".into(), 0), start: 0, end: 10 };
        let mut scan = ChunkScan::start(client(&cluster, &[]).await, vec![range], options);
        let mut end = 0;
        while let Some(chunk) = within_deadline(scan.next()).await {
            end = chunk.expect("repeated").end;
        }
        assert_eq!((end, cluster.fault_hits(fault)), (10, 3));
    }
}
