//! Proves: purged records fail at once and are never sent, those in flight fail as possibly written, the rest of the
//! producer goes on, and the count of unacknowledged records follows.

use crate::support::*;
use ottla_client::Kind;
use ottla_client::producer::Producer;
use ottla_mock::{Fault, Match, MockCluster, Reaction};
use ottla_protocol::ApiKey;
use tokio::time::Duration;

async fn held_back(cluster: &MockCluster) -> Producer {
    cluster.inject(Fault::once(Match::api(ApiKey::Produce), Reaction::Delay(Duration::from_secs(20))));
    let pairs = [("linger.ms", "0"), ("max.in.flight.requests.per.connection", "1")];
    producer(cluster, &pairs).await
}

#[tokio::test(start_paused = true)]
async fn purged_records_are_not_sent_and_others_are() {
    let cluster = cluster(1).await;
    let producer = held_back(&cluster).await;
    let in_flight = send(&producer, 0, "in flight").await;
    until(|| cluster.request_count(None, ApiKey::Produce) == 1).await;
    let waiting = send(&producer, 0, "waiting").await;
    assert_eq!(producer.unacknowledged_records(), 2);
    assert_eq!(producer.purge(true, false), 1);
    let error = offset_of(&waiting).await.expect_err("purged");
    assert_eq!((error.kind(), error.is_maybe_done()), (Kind::Purged, false), "{error}");
    assert_eq!(producer.unacknowledged_records(), 1);
    let later = send(&producer, 0, "later").await;
    assert_eq!(offset_of(&in_flight).await.expect("written"), 0);
    assert_eq!(offset_of(&later).await.expect("written"), 1);
    assert_eq!(producer.unacknowledged_records(), 0);
    assert_eq!(log(&cluster, "t", 0), [(0, "in flight".to_owned()), (1, "later".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn records_that_are_purged_in_flight_may_be_written() {
    let cluster = cluster(1).await;
    let producer = held_back(&cluster).await;
    let in_flight = send(&producer, 0, "in flight").await;
    until(|| cluster.request_count(None, ApiKey::Produce) == 1).await;
    assert_eq!(producer.purge(false, true), 1);
    let error = offset_of(&in_flight).await.expect_err("purged");
    assert_eq!((error.kind(), error.is_maybe_done()), (Kind::Purged, true), "{error}");
    assert_eq!((producer.unacknowledged_records(), producer.purge(true, true)), (0, 0));
    let later = send(&producer, 0, "later").await;
    offset_of(&later).await.expect("written");
    let values: Vec<_> = log(&cluster, "t", 0).into_iter().map(|(_, value)| value).collect();
    assert_eq!(values, ["in flight", "later"], "each once");
}
