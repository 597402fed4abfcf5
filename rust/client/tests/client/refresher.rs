//! Proves: however many producers and consumers of a client need metadata, one task refreshes it, at one
//! pace, and nobody's need delays another's.

use std::sync::Arc;

use crate::support::reader::write;
use crate::support::*;
use ottla_client::Client;
use ottla_client::consumer::group::Subscription;
use ottla_client::consumer::{Consumer, PollOutcome};
use ottla_client::metadata::{Pattern, TopicSelector};
use ottla_client::producer::{Delivery, Producer};
use ottla_mock::{Fault, Match, MockCluster, MockConfig, Reaction, TopicSpec, When};
use ottla_protocol::{ApiKey, ErrorCode};

/// The defaults, and a group that nobody joins unless they subscribe.
const PAIRS: [(&str, &str); 6] = [
    ("retry.backoff.ms", "100"),
    ("retry.backoff.max.ms", "1000"),
    ("linger.ms", "0"),
    ("group.id", "g"),
    ("allow.auto.create.topics", "false"),
    ("auto.offset.reset", "earliest"),
];

/// A cluster in which 20 of 60 partitions of `t` have no leader. All partitions of `u` have one.
async fn partly_leaderless() -> (MockCluster, Vec<i32>) {
    let cluster = MockCluster::start(in_memory()).await.unwrap();
    cluster.create_topic(TopicSpec::new("t").partitions(60).replication(1)).unwrap();
    cluster.create_topic(TopicSpec::new("u").partitions(1)).unwrap();
    cluster.stop_broker(3).await.unwrap();
    let leaderless: Vec<i32> = (0..60).filter(|index| cluster.leader("t", *index).is_none()).collect();
    assert_eq!(leaderless.len(), 20);
    (cluster, leaderless)
}

/// Sends a record to each of these partitions.
async fn send_to(client: &Client, partitions: &[i32]) -> (Producer, Vec<Delivery>) {
    let producer = Producer::new(client.clone()).expect("a producer");
    let mut deliveries = Vec::new();
    for partition in partitions {
        deliveries.push(send(&producer, *partition, "waits").await);
    }
    (producer, deliveries)
}

/// A consumer on the client, which is polled all the time.
fn poll_all_the_time(client: &Client, prepare: impl FnOnce(&Consumer)) -> Arc<Consumer> {
    let consumer = Arc::new(Consumer::new(client.with_dedicated_connections()));
    prepare(&consumer);
    let polled = Arc::downgrade(&consumer);
    tokio::spawn(async move {
        while let Some(consumer) = polled.upgrade() {
            match consumer.wait_until_ready(Instant::now() + ms(500)).await {
                Ok(PollOutcome::Rebalance(change)) => {
                    consumer.prepare_rebalance(&change).await;
                    consumer.complete_rebalance(&change).expect("completed");
                }
                Ok(_) => drop(consumer.take_records(500)),
                Err(error) => panic!("{error}"),
            }
        }
    });
    consumer
}

fn assigned(topic: &str, partitions: &[i32]) -> impl FnOnce(&Consumer) {
    let partitions = partitions.iter().map(|partition| (topic.into(), *partition)).collect();
    move |consumer| consumer.assign(partitions).expect("assigned")
}

fn subscribed(topic: &str) -> impl FnOnce(&Consumer) {
    let topics = [topic.into()].into_iter().collect();
    move |consumer| consumer.subscribe(Subscription::Topics(topics)).expect("subscribed")
}

/// Waits until the requests for what is missing follow each other at the slowest pace, and one has just
/// been sent.
async fn await_slow_pace(cluster: &MockCluster) {
    tokio::time::sleep(ms(5000)).await;
    let before = cluster.request_count(None, ApiKey::Metadata);
    until(|| cluster.request_count(None, ApiKey::Metadata) > before).await;
}

/// Regression: the producer, the consumer and the group member each made a series of requests of its own,
/// two of them every 100 ms.
#[tokio::test(start_paused = true)]
async fn missing_leaders_and_topics_cause_one_paced_series_of_requests() {
    let (cluster, leaderless) = partly_leaderless().await;
    let client = client(&cluster, &PAIRS).await;
    let _producer = send_to(&client, &leaderless).await;
    let all: Vec<i32> = (0..60).collect();
    let _reader = poll_all_the_time(&client, assigned("t", &all));
    let _member = poll_all_the_time(&client, subscribed("not-there-yet"));
    let before = cluster.request_count(None, ApiKey::Metadata);
    tokio::time::sleep(ms(20_000)).await;
    let requests = cluster.request_count(None, ApiKey::Metadata) - before;
    // 100, 100, 200, 400, 800 and then 1000 ms each, 20 % more or less.
    assert!((20..=30).contains(&requests), "{requests} requests in 20 s");
    // They end once there is nothing to ask for.
    cluster.start_broker(3).await.unwrap();
    cluster.create_topic(TopicSpec::new("not-there-yet")).unwrap();
    until(|| leaderless.iter().all(|index| client.leader("t", *index).is_some())).await;
    tokio::time::sleep(ms(5000)).await;
    let before = cluster.request_count(None, ApiKey::Metadata);
    tokio::time::sleep(ms(20_000)).await;
    assert_eq!(cluster.request_count(None, ApiKey::Metadata), before);
}

#[tokio::test(start_paused = true)]
async fn a_moved_leader_is_found_soon_although_others_are_missing() {
    let (cluster, leaderless) = partly_leaderless().await;
    let client = client(&cluster, &PAIRS).await;
    let (producer, _deliveries) = send_to(&client, &leaderless).await;
    offset_of(&within_deadline(producer.send("u", Some(0), &record(b"v"))).await.unwrap()).await.unwrap();
    for round in 0..6 {
        await_slow_pace(&cluster).await;
        let old = cluster.leader("u", 0).unwrap();
        let to = if old == 1 { 2 } else { 1 };
        cluster.move_leader("u", 0, to).unwrap();
        let started = Instant::now();
        // The old leader rejects the lookup of the position, and does not name the new one.
        let _reader = poll_all_the_time(&client, assigned("u", &[0]));
        until(|| client.leader("u", 0) == Some(to)).await;
        assert!(started.elapsed() < ms(150), "round {round}: {:?}", started.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_topic_is_asked_for_at_once_although_others_are_missing() {
    let (cluster, leaderless) = partly_leaderless().await;
    let client = client(&cluster, &PAIRS).await;
    let _producer = send_to(&client, &leaderless).await;
    await_slow_pace(&cluster).await;
    let (started, before) = (Instant::now(), cluster.request_count(None, ApiKey::Metadata));
    let _member = poll_all_the_time(&client, subscribed("u"));
    until(|| client.leader("u", 0).is_some()).await;
    assert!(started.elapsed() < ms(20), "{:?}", started.elapsed());
    assert_eq!(cluster.request_count(None, ApiKey::Metadata), before + 1);
    // The same for a pattern, whose topics are not known at all yet.
    cluster.create_topic(TopicSpec::new("v")).unwrap();
    await_slow_pace(&cluster).await;
    let started = Instant::now();
    let pattern = Pattern::new(|name| name == "v");
    let _other = poll_all_the_time(&client, |consumer| {
        consumer.subscribe(Subscription::Matching(pattern)).expect("subscribed");
    });
    until(|| client.leader("v", 0).is_some()).await;
    assert!(started.elapsed() < ms(20), "{:?}", started.elapsed());
}

/// Regression: each component tried again every 100 ms, however long all attempts had failed.
#[tokio::test(start_paused = true)]
async fn failing_refreshes_follow_each_other_at_the_pace_of_the_backoff() {
    let cluster = MockCluster::start(MockConfig { brokers: 1, ..in_memory() }).await.unwrap();
    cluster.create_topic(TopicSpec::new("t").partitions(3)).unwrap();
    let client = client(&cluster, &PAIRS).await;
    let (_producer, sent) = send_to(&client, &[0, 1]).await;
    for delivery in &sent {
        offset_of(delivery).await.expect("written");
    }
    cluster.inject(Fault::new(Match::api(ApiKey::Metadata), Reaction::Disconnect(When::BeforeHandling)));
    for api in [ApiKey::Produce, ApiKey::ListOffsets] {
        let moved = Reaction::Error(ErrorCode::NotLeaderOrFollower);
        cluster.inject(Fault::new(Match::api(api), moved));
    }
    let _later = send_to(&client, &[0, 1]).await;
    let _reader = poll_all_the_time(&client, assigned("t", &[0, 1, 2]));
    tokio::time::sleep(ms(5000)).await;
    let before = cluster.request_count(None, ApiKey::Metadata);
    tokio::time::sleep(ms(20_000)).await;
    let requests = cluster.request_count(None, ApiKey::Metadata) - before;
    // Each attempt asks the known broker, and then the bootstrap server, which is the same one.
    assert!((30..=50).contains(&requests), "{requests} requests in 20 s");
    cluster.clear_faults();
    until(|| client.leader("t", 0).is_some() && log(&cluster, "t", 1).len() == 2).await;
}

/// The need of the member is stated while the refresh is in flight whose caller then gives up.
#[tokio::test(start_paused = true)]
async fn an_abandoned_refresh_keeps_nobody_waiting() {
    let cluster = cluster(1).await;
    let client = client(&cluster, &PAIRS).await;
    cluster.inject(Fault::once(Match::api(ApiKey::Metadata), Reaction::Delay(ms(60_000))));
    let generation = client.snapshot().generation;
    let refresh = tokio::time::timeout(ms(500), client.refresh(generation, TopicSelector::Tracked));
    let started = Instant::now();
    let _member = poll_all_the_time(&client, subscribed("t"));
    assert!(refresh.await.is_err(), "it takes longer");
    until(|| client.leader("t", 0).is_some()).await;
    // The silent broker delays the next refresh by a second.
    assert_took(started, ms(500), ms(1700));
}

#[tokio::test(start_paused = true)]
async fn a_refresh_that_panics_is_a_failure_like_others() {
    let (cluster, leaderless) = partly_leaderless().await;
    let client = client(&cluster, &PAIRS).await;
    let _producer = send_to(&client, &leaderless).await;
    let panics = Pattern::new(|_| panic!("on purpose"));
    let (refreshing, pattern) = (client.clone(), panics.clone());
    let refresh = tokio::spawn(async move { refreshing.refresh(0, TopicSelector::Matching(&pattern)).await });
    assert!(within_deadline(refresh).await.expect_err("a panic").is_panic());
    tokio::time::sleep(ms(5000)).await;
    let before = cluster.request_count(None, ApiKey::Metadata);
    tokio::time::sleep(ms(20_000)).await;
    let requests = cluster.request_count(None, ApiKey::Metadata) - before;
    assert!((15..=27).contains(&requests), "{requests} requests in 20 s");
    drop(panics);
    cluster.start_broker(3).await.unwrap();
    until(|| leaderless.iter().all(|index| client.leader("t", *index).is_some())).await;
}

/// A refresh in flight kept a client and its connections until it had failed.
#[tokio::test(start_paused = true)]
async fn a_dropped_client_ends_during_a_refresh() {
    let cluster = MockCluster::start(MockConfig { brokers: 1, ..in_memory() }).await.unwrap();
    cluster.create_topic(TopicSpec::new("t").partitions(1)).unwrap();
    write(&cluster, 0, 1);
    let client = client(&cluster, &PAIRS).await;
    let (producer, sent) = send_to(&client, &[0]).await;
    offset_of(&sent[0]).await.expect("written");
    cluster.inject(Fault::new(Match::api(ApiKey::Metadata), Reaction::Silence));
    let moved = Reaction::Error(ErrorCode::NotLeaderOrFollower);
    cluster.inject(Fault::new(Match::api(ApiKey::Produce), moved));
    let before = cluster.request_count(None, ApiKey::Metadata);
    let _waiting = send(&producer, 0, "waits").await;
    until(|| cluster.request_count(None, ApiKey::Metadata) > before).await;
    let started = Instant::now();
    drop((producer, client));
    until(|| cluster.connections(1) == 0).await;
    assert!(started.elapsed() < ms(2000), "{:?}", started.elapsed());
}
