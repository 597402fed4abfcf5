//! Proves: a scan reads from the replica in its rack, returns to the leader when that replica is gone or
//! lags, and returns each record once and in order throughout.

use crate::support::*;
use ottla_client::consumer::{ChunkScan, Range, ScanOptions};
use ottla_client::{Client, IfMissing};
use ottla_mock::MockCluster;
use ottla_protocol::ApiKey;

const COUNT: i64 = 200;
const OPTIONS: ScanOptions = ScanOptions {
    fail_on_data_loss: true,
    read_committed: false,
    // A few batches at a time, so that a scan takes many requests.
    max_bytes: 1000,
    timeout: std::time::Duration::from_secs(20),
};

/// Records in a partition led by broker 1 (rack-a), in batches of one.
async fn filled() -> MockCluster {
    let cluster = cluster(1).await;
    cluster.move_leader("t", 0, 1).expect("a leader");
    for n in 0..COUNT {
        cluster.append("t", 0, &[n.to_string().as_bytes()]).expect("appended");
    }
    cluster
}

/// Reads everything as a client in rack-b (broker 2); `meanwhile` runs after the first chunk.
async fn read(cluster: &MockCluster, meanwhile: impl AsyncFnOnce()) {
    read_with(client(cluster, &[("client.rack", "rack-b")]).await, meanwhile).await;
}

async fn read_with(client: Client, meanwhile: impl AsyncFnOnce()) {
    let range = Range { partition: ("t".into(), 0), start: 0, end: COUNT };
    let mut scan = ChunkScan::start(client, vec![range], OPTIONS);
    let mut meanwhile = Some(meanwhile);
    let mut all = Vec::new();
    while let Some(chunk) = within_deadline(scan.next()).await {
        let chunk = chunk.expect("a chunk");
        let inside = |(offset, _): &(i64, String)| (chunk.start..chunk.end).contains(offset);
        all.extend(values(&chunk.records).into_iter().filter(inside));
        if let Some(meanwhile) = meanwhile.take() {
            meanwhile().await;
        }
    }
    let expected: Vec<_> = (0..COUNT).map(|n| (n, n.to_string())).collect();
    assert_eq!(all, expected);
}

#[tokio::test(start_paused = true)]
async fn a_scan_reads_from_the_replica_in_its_rack() {
    let cluster = filled().await;
    read(&cluster, async || {}).await;
    assert_eq!(cluster.request_count(Some(1), ApiKey::Fetch), 1);
    assert!(cluster.request_count(Some(2), ApiKey::Fetch) > 10);
    assert_eq!(cluster.request_count(Some(3), ApiKey::Fetch), 0);
}

#[tokio::test(start_paused = true)]
async fn a_stopped_replica_is_replaced_by_the_leader() {
    let cluster = filled().await;
    read(&cluster, async || cluster.stop_broker(2).await.expect("stopped")).await;
    assert!(cluster.request_count(Some(1), ApiKey::Fetch) > 1);
}

#[tokio::test(start_paused = true)]
async fn a_lagging_replica_is_replaced_by_the_leader() {
    let cluster = filled().await;
    read(&cluster, async || cluster.lag_replica("t", 0, 2, Some(1)).expect("lags")).await;
    assert!(cluster.request_count(Some(1), ApiKey::Fetch) > 1);
}

/// Regression: a preferred replica that the metadata did not know was ignored, and the leader, asked again
/// at once, named it again, until the scan timed out.
#[tokio::test(start_paused = true)]
async fn a_replica_that_has_just_returned_is_found() {
    let cluster = filled().await;
    cluster.stop_broker(2).await.expect("stopped");
    let client = client(&cluster, &[("client.rack", "rack-b")]).await;
    // It knows two brokers by now.
    within_deadline(client.topics(&["t".into()], IfMissing::Wait, CALL_TIMEOUT)).await.expect("a topic");
    cluster.start_broker(2).await.expect("started");
    let started = Instant::now();
    read_with(client, async || {}).await;
    assert!(started.elapsed() < ms(2000));
    assert!(cluster.request_count(Some(1), ApiKey::Fetch) < 10, "the leader got a fetch storm");
    assert!(cluster.request_count(Some(2), ApiKey::Fetch) > 10);
}
