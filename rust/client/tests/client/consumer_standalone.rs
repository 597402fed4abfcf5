//! Proves: a subscription without a group reads all partitions of its topics, finds new partitions and topics, keeps
//! its positions in memory, commits nothing and sends no request of a group. A topic that brokers do not list for a
//! moment keeps its position; one that is deleted is given up.

use std::sync::Arc;

use crate::support::*;
use ottla_client::consumer::assignor;
use ottla_client::consumer::group::{RebalanceEvent, Subscription};
use ottla_client::consumer::{Consumer, RebalanceListener};
use ottla_client::environment::BoxFuture;
use ottla_client::metadata::Pattern;
use ottla_client::{Error, Kind, TopicPartition};
use ottla_mock::{Fault, Match, MockCluster, MockConfig, Reaction, TopicSpec};
use ottla_protocol::{ApiKey, ErrorCode};
use parking_lot::Mutex;
use tokio::time::{Duration, Instant};

/// The changes of a consumer's partitions.
#[derive(Debug, Default)]
struct Changes {
    added: Mutex<Vec<TopicPartition>>,
    revoked: Mutex<Vec<TopicPartition>>,
}

impl RebalanceListener for Changes {
    fn on_rebalance<'a>(
        &'a self,
        _consumer: &'a Consumer,
        event: &'a RebalanceEvent,
    ) -> BoxFuture<'a, Result<(), Error>> {
        match event {
            RebalanceEvent::Assign { added, .. } => self.added.lock().extend(added.clone()),
            RebalanceEvent::Revoke(revoked) => self.revoked.lock().extend(revoked.clone()),
            other => panic!("{other:?}"),
        }
        Box::pin(async { Ok(()) })
    }
}

/// A consumer and what it has read.
struct Reader {
    consumer: Consumer,
    changes: Arc<Changes>,
    values: Vec<String>,
}

impl Reader {
    async fn subscribed(cluster: &MockCluster, subscription: Subscription) -> Self {
        let pairs = [("auto.offset.reset", "earliest"), ("metadata.max.age.ms", "200")];
        let changes = Arc::new(Changes::default());
        let consumer = Consumer::new(client(cluster, &pairs).await)
            .with_rebalance_listener(Arc::clone(&changes) as Arc<dyn RebalanceListener>);
        consumer.subscribe(subscription).expect("subscribed");
        Self { consumer, changes, values: Vec::new() }
    }

    async fn poll(&mut self, wait: Duration) {
        for set in self.consumer.poll(wait, 100).await.expect("polled") {
            let values = set.entries.iter().map(|entry| set.value(entry).unwrap_or_default());
            self.values.extend(values.map(|value| String::from_utf8_lossy(value).into_owned()));
        }
    }

    async fn until(&mut self, mut done: impl FnMut(&Self) -> bool) {
        within_deadline(async {
            while !done(self) {
                self.poll(ms(20)).await;
            }
        })
        .await;
    }

    fn added(&self) -> Vec<TopicPartition> {
        self.changes.added.lock().clone()
    }

    fn revoked(&self) -> Vec<TopicPartition> {
        self.changes.revoked.lock().clone()
    }
}

fn named() -> Subscription {
    Subscription::Topics(vec!["t".into()])
}

fn of(topic: &str, partitions: std::ops::Range<i32>) -> Vec<TopicPartition> {
    partitions.map(|partition| (topic.into(), partition)).collect()
}

/// What brokers say that do not know the topic, or know it no more.
fn unlisted() -> Fault {
    let of_metadata = Match::api(ApiKey::Metadata).topic("t");
    Fault::new(of_metadata, Reaction::Error(ErrorCode::UnknownTopicOrPartition))
}

#[tokio::test(start_paused = true)]
async fn it_reads_all_partitions_without_a_request_of_a_group() {
    let cluster = cluster(3).await;
    for partition in 0..3 {
        cluster.append("t", partition, &[format!("v{partition}").as_bytes()]).expect("appended");
    }
    let mut reader = Reader::subscribed(&cluster, named()).await;
    reader.until(|reader| reader.values.len() == 3).await;
    reader.values.sort();
    assert_eq!(reader.values, ["v0", "v1", "v2"]);
    assert_eq!((reader.added(), reader.consumer.assignment()), (of("t", 0..3), of("t", 0..3)));
    let position = reader.consumer.position(&("t".into(), 1), CALL_TIMEOUT).await.expect("known");
    assert_eq!(position, 1);
    assert!(reader.consumer.group_metadata().is_none());
    let error = within_deadline(reader.consumer.commit(None, CALL_TIMEOUT)).await.expect_err("no group");
    assert_eq!(error.kind(), Kind::Config, "{error}");
    // Longer than `auto.commit.interval.ms` and `max.poll.interval.ms`.
    tokio::time::sleep(Duration::from_secs(400)).await;
    cluster.append("t", 2, &[b"later"]).expect("appended");
    reader.until(|reader| reader.values.len() == 4).await;
    within_deadline(reader.consumer.close(CALL_TIMEOUT)).await.expect("closed");
    assert_eq!(reader.revoked(), of("t", 0..3), "the application is told once");
    let of_groups = [ApiKey::FindCoordinator, ApiKey::JoinGroup, ApiKey::OffsetFetch, ApiKey::OffsetCommit];
    assert_eq!(of_groups.iter().map(|api| cluster.request_count(None, *api)).sum::<u64>(), 0);
}

#[tokio::test(start_paused = true)]
async fn new_partitions_are_read_from_the_reset_position() {
    let cluster = cluster(2).await;
    let hidden =
        cluster.inject(Fault::new(Match::api(ApiKey::Metadata).topic("t"), Reaction::OmitPartition(1)));
    let mut reader = Reader::subscribed(&cluster, named()).await;
    reader.until(|reader| reader.added() == of("t", 0..1)).await;
    cluster.append("t", 0, &[b"old"]).expect("appended");
    cluster.append("t", 1, &[b"new"]).expect("appended");
    reader.until(|reader| reader.values == ["old"]).await;
    cluster.remove_fault(hidden);
    reader.until(|reader| reader.values == ["old", "new"]).await;
    assert_eq!((reader.added(), reader.revoked()), (of("t", 0..2), vec![]));
}

#[tokio::test(start_paused = true)]
async fn a_pattern_finds_new_topics_and_gives_up_deleted_ones() {
    let config = MockConfig { auto_create_topics: false, ..in_memory() };
    let cluster = MockCluster::start(config).await.expect("a cluster");
    cluster.create_topic(TopicSpec::new("a")).expect("a topic");
    let pattern = Subscription::Matching(Pattern::java("a|b").expect("a pattern"));
    let mut reader = Reader::subscribed(&cluster, pattern).await;
    reader.until(|reader| reader.added() == of("a", 0..1)).await;
    cluster.create_topic(TopicSpec::new("b")).expect("a topic");
    reader.until(|reader| reader.added().len() == 2).await;
    cluster.delete_topic("a").expect("deleted");
    reader.until(|reader| reader.revoked() == of("a", 0..1)).await;
    assert_eq!(reader.consumer.assignment(), of("b", 0..1));
    cluster.create_topic(TopicSpec::new("a")).expect("a topic");
    cluster.append("a", 0, &[b"of the new topic"]).expect("appended");
    reader.until(|reader| reader.values == ["of the new topic"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_topic_that_brokers_do_not_list_for_a_moment_keeps_its_position() {
    for subscription in [named(), Subscription::Matching(Pattern::java("t").expect("a pattern"))] {
        let cluster = cluster(1).await;
        cluster.append("t", 0, &[b"first"]).expect("appended");
        let mut reader = Reader::subscribed(&cluster, subscription).await;
        reader.until(|reader| reader.values == ["first"]).await;
        cluster.inject(unlisted());
        // Less than `default.api.timeout.ms`.
        let later = Instant::now() + Duration::from_secs(20);
        reader.until(|_| Instant::now() >= later).await;
        cluster.append("t", 0, &[b"second"]).expect("appended");
        cluster.clear_faults();
        reader.until(|reader| reader.values.len() > 1).await;
        assert_eq!(reader.values, ["first", "second"]);
        assert_eq!(reader.revoked(), vec![]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_changed_subscription_takes_effect_at_once() {
    let cluster = cluster(1).await;
    cluster.create_topic(TopicSpec::new("u").partitions(2)).expect("a topic");
    let mut reader = Reader::subscribed(&cluster, named()).await;
    reader.until(|reader| reader.added() == of("t", 0..1)).await;
    reader.consumer.subscribe(Subscription::Topics(vec!["u".into()])).expect("subscribed");
    reader.until(|reader| reader.consumer.assignment() == of("u", 0..2)).await;
    assert_eq!(reader.revoked(), of("t", 0..1));
    reader.consumer.unsubscribe().expect("open");
    reader.until(|reader| reader.consumer.assignment().is_empty()).await;
    reader.consumer.assign(of("t", 0..1)).expect("nothing is subscribed to any more");
}

#[tokio::test(start_paused = true)]
async fn what_only_groups_can_do_is_refused() {
    let cluster = cluster(1).await;
    let consumer = Consumer::new(client(&cluster, &[]).await);
    let error = consumer.subscribe(Subscription::Regex("t.*".into())).expect_err("brokers match for members");
    assert_eq!(error.kind(), Kind::Config);
    assert!(error.to_string().contains("set group.id"), "{error}");
    let range = assignor::by_name("range").expect("known");
    let consumer = Consumer::new(client(&cluster, &[]).await).with_assignors(vec![range]);
    let error = consumer.subscribe(named()).expect_err("there is nothing to assign");
    assert!(error.to_string().contains("set group.id, or remove the assignors"), "{error}");
}
