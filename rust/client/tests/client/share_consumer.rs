//! Proves: a share consumer waits without busy loops, delivers each record once, and recovers from lost
//! responses and lost sessions.

use ottla_client::consumer::share::{ShareConsumer, ShareRecord};
use ottla_mock::{
    Fault, GroupConfig, Match, MockCluster, MockConfig, Reaction, ShareGroupConfig, TopicSpec, When,
};
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::time::Duration;

use crate::support::*;

async fn share_cluster(records: usize) -> MockCluster {
    let share = ShareGroupConfig { auto_offset_reset: "earliest".to_owned(), ..ShareGroupConfig::default() };
    let groups = GroupConfig { share, ..GroupConfig::default() };
    let cluster = MockCluster::start(MockConfig { groups, ..in_memory() }).await.expect("a cluster");
    cluster.create_topic(TopicSpec::new("t").partitions(1)).expect("a topic");
    for _ in 0..records {
        cluster.append("t", 0, &[b"v"]).expect("appended");
    }
    cluster
}

async fn member(cluster: &MockCluster, pairs: &[(&str, &str)]) -> ShareConsumer {
    let all: Vec<_> = [("group.id", "g")].iter().chain(pairs).copied().collect();
    let consumer = ShareConsumer::new(client(cluster, &all).await).expect("a share consumer");
    consumer.subscribe(vec!["t".into()]).expect("subscribed");
    consumer
}

/// Polls until `count` records were delivered; returns their offsets.
async fn read(consumer: &ShareConsumer, count: usize) -> Vec<i64> {
    let mut offsets = Vec::new();
    within_deadline(async {
        while offsets.len() < count {
            let records: Vec<ShareRecord> = consumer.poll(ms(500), 3).await.expect("polled");
            offsets.extend(records.iter().map(|record| record.offset));
        }
    })
    .await;
    offsets
}

/// Regression: a waiting poll and the consumer's task woke each other without end. The paused clock advances
/// only while both sleep.
#[tokio::test(start_paused = true)]
async fn a_waiting_poll_sleeps() {
    let cluster = share_cluster(0).await;
    let consumer = member(&cluster, &[]).await;
    let started = Instant::now();
    let records = within_deadline(consumer.poll(Duration::from_secs(60), 10)).await.expect("polled");
    assert!(records.is_empty());
    assert_took(started, Duration::from_secs(60), Duration::from_secs(61));
    let fetches = cluster.request_count(None, ApiKey::ShareFetch);
    assert!((60..=130).contains(&fetches), "{fetches} fetches of 500 ms each");
    within_deadline(consumer.close(CALL_TIMEOUT, false)).await.expect("closed");
}

#[tokio::test(start_paused = true)]
async fn records_are_accepted_once_whatever_request_fails() {
    let lost = Reaction::Disconnect(When::AfterHandling);
    let refused = Reaction::Error(ErrorCode::ShareSessionNotFound);
    for api in [ApiKey::ShareFetch, ApiKey::ShareAcknowledge] {
        for reaction in [lost.clone(), refused.clone(), Reaction::Disconnect(When::BeforeHandling)] {
            for skip in 0..4 {
                let cluster = share_cluster(10).await;
                let consumer = member(&cluster, &[]).await;
                cluster.inject(Fault::once(Match::api(api).skip(skip), reaction.clone()));
                let mut offsets = read(&consumer, 10).await;
                within_deadline(consumer.commit(CALL_TIMEOUT)).await.expect("committed");
                let closed = within_deadline(consumer.close(CALL_TIMEOUT, false)).await;
                closed.expect("closed");
                offsets.sort_unstable();
                offsets.dedup();
                assert_eq!(offsets, (0..10).collect::<Vec<_>>(), "{api:?} {reaction:?} {skip}");
                assert_eq!(cluster.share_sessions(0), 0);
            }
        }
    }
}
