//! Proves: a leader epoch never decreases while a topic keeps its id; a partial response leaves other
//! topics unchanged and a full one removes missing topics; refreshes are single-flight; new leaders in
//! responses are used at once; names that do not exist are not requested for ever.

use std::sync::Arc;

use crate::support::*;
use ottla_client::metadata::{Cache, NewLeader, Pattern, Snapshot, TopicSelector};
use ottla_client::{Client, IfMissing, Kind};
use ottla_mock::{Fault, Match, Reaction, TopicSpec, When};
use ottla_protocol::messages::metadata::{
    MetadataResponse, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use ottla_protocol::wire::Uuid;
use ottla_protocol::{ApiKey, ErrorCode};

const T: Uuid = Uuid([1; 16]);

fn topic(name: &str, id: Uuid, leader: i32, epoch: i32) -> MetadataResponseTopic {
    MetadataResponseTopic {
        name: Some(name.to_owned()),
        topic_id: id,
        partitions: vec![MetadataResponsePartition {
            leader_id: leader,
            leader_epoch: epoch,
            ..Default::default()
        }],
        ..Default::default()
    }
}

fn response(topics: Vec<MetadataResponseTopic>) -> MetadataResponse {
    let broker = |node_id| MetadataResponseBroker {
        node_id,
        host: "host".to_owned(),
        port: 9092,
        ..Default::default()
    };
    MetadataResponse { brokers: vec![broker(1), broker(2)], topics, ..Default::default() }
}

/// A cache that tracks every topic while the pattern lives.
fn cache() -> (Cache, Pattern) {
    let (cache, all) = (Cache::default(), Pattern::all());
    cache.track_pattern(&all);
    (cache, all)
}

fn merge(cache: &Cache, topics: Vec<MetadataResponseTopic>) -> Arc<Snapshot> {
    cache.process_response(response(topics), false, TopicSelector::Tracked)
}

fn leader(snapshot: &Snapshot) -> (i32, i32) {
    let partition = snapshot.partition("t", 0).expect("the partition");
    (partition.leader, partition.leader_epoch)
}

/// Whether a response with this leader of `t-0` changes the metadata.
fn moves(cache: &Cache, leader: i32, leader_epoch: i32) -> bool {
    let new = NewLeader { topic: "t".into(), partition: 0, leader, leader_epoch };
    cache.process_leaders(&[new], &Default::default()) == 1
}

#[test]
fn a_leader_epoch_never_decreases() {
    let (cache, _all) = cache();
    merge(&cache, vec![topic("t", T, 1, 5)]);
    assert_eq!(leader(&merge(&cache, vec![topic("t", T, 2, 4)])), (1, 5), "an older response");
    assert_eq!(leader(&merge(&cache, vec![topic("t", T, 2, 5)])), (2, 5), "the same epoch");
    assert_eq!(leader(&merge(&cache, vec![topic("t", T, 1, 6)])), (1, 6));
    assert!(!moves(&cache, 2, 6), "a hint that is no news");
    assert!(moves(&cache, 2, 7));
    assert_eq!(leader(&merge(&cache, vec![topic("t", T, 1, 6)])), (2, 7), "older than the hint");
    assert!(!moves(&cache, 9, 8), "a leader without an address");
}

/// A topic with these partitions, each as its leader and epoch.
fn partitions(id: Uuid, of: &[(i32, i32)]) -> MetadataResponseTopic {
    let one = |&(partition_index, leader_epoch)| MetadataResponsePartition {
        partition_index,
        leader_epoch,
        leader_id: 1,
        ..Default::default()
    };
    MetadataResponseTopic { partitions: of.iter().map(one).collect(), ..topic("t", id, 1, 0) }
}

fn leaders(snapshot: &Snapshot) -> Vec<(i32, i32, i32)> {
    let topic = snapshot.topic("t").expect("the topic");
    topic.partitions.iter().map(|p| (p.index, p.leader, p.leader_epoch)).collect()
}

/// Regression: a response from a broker that lagged behind removed an added partition.
#[test]
fn a_topic_never_loses_partitions_under_one_id() {
    let (cache, _all) = cache();
    merge(&cache, vec![partitions(T, &[(0, 5), (1, 5), (2, 5)])]);
    let late = merge(&cache, vec![partitions(T, &[(0, 6)])]);
    assert_eq!(leaders(&late), [(0, 1, 6), (1, 1, 5), (2, 1, 5)]);
    let late = merge(&cache, vec![partitions(T, &[(2, 7), (0, 6)])]);
    assert_eq!(leaders(&late), [(0, 1, 6), (1, 1, 5), (2, 1, 7)], "from the middle neither");
    let anew = merge(&cache, vec![partitions(Uuid([2; 16]), &[(0, 0)])]);
    assert_eq!(leaders(&anew), [(0, 1, 0)], "another topic of this name has its own");
}

/// Regression: partitions after an omitted one got wrong numbers, and records were sent to the wrong
/// partitions.
#[test]
fn an_omitted_partition_keeps_its_position() {
    let (cache, _all) = cache();
    let gap = merge(&cache, vec![partitions(T, &[(2, 5), (0, 5)])]);
    assert_eq!(leaders(&gap), [(0, 1, 5), (1, -1, -1), (2, 1, 5)]);
    assert_eq!(gap.partition("t", 2).map(|partition| partition.index), Some(2));
    assert_eq!(leaders(&merge(&cache, vec![partitions(T, &[(0, 5), (1, 0), (2, 5)])]))[1], (1, 1, 0));
}

/// Regression: the highest partition number in a response determined the memory in use.
#[test]
fn implausibly_high_partition_numbers_are_ignored() {
    let (cache, _all) = cache();
    let hostile = [(0, 5), (i32::MAX, 5), (500_000_000, 5), (-1, 5), (i32::MIN, 5), (0, 4)];
    assert_eq!(leaders(&merge(&cache, vec![partitions(T, &hostile)])), [(0, 1, 5)]);
}

/// Regression: a response from a broker too old to report ids reset the epochs.
#[test]
fn only_a_new_id_resets_the_epochs() {
    let (cache, _all) = cache();
    merge(&cache, vec![topic("t", T, 1, 5)]);
    assert_eq!(leader(&merge(&cache, vec![topic("t", Uuid::ZERO, 2, 3)])), (1, 5), "without an id");
    assert_eq!(cache.snapshot().topic("t").unwrap().id, T);
    let other = Uuid([2; 16]);
    assert_eq!(leader(&merge(&cache, vec![topic("t", other, 2, 0)])), (2, 0), "made again");
    assert_eq!(cache.snapshot().topic_name(other).map(|name| &**name), Some("t"));
    assert!(cache.snapshot().topic_name(T).is_none());
}

/// Regression: a response with an error removed the epochs, so that an older one could follow.
#[test]
fn a_topic_that_is_briefly_unknown_keeps_its_epochs() {
    let (cache, _all) = cache();
    merge(&cache, vec![topic("t", T, 1, 5)]);
    let code = ErrorCode::UnknownTopicOrPartition;
    let name = Some("t".to_owned());
    let gone = MetadataResponseTopic { error_code: code.code(), name, ..Default::default() };
    let snapshot = merge(&cache, vec![gone]);
    assert_eq!(snapshot.topic("t").unwrap().error, code);
    assert!(snapshot.leader("t", 0).is_none());
    merge(&cache, vec![topic("t", T, 2, 4)]);
    assert!(cache.snapshot().leader("t", 0).is_none(), "older than what was known");
    assert_eq!(leader(&merge(&cache, vec![topic("t", T, 2, 6)])), (2, 6));
}

#[test]
fn a_partial_response_keeps_other_topics_and_a_full_one_removes_missing_topics() {
    let (cache, _all) = cache();
    merge(&cache, vec![topic("t", T, 1, 5), topic("u", Uuid([3; 16]), 1, 0)]);
    merge(&cache, vec![topic("u", Uuid([3; 16]), 2, 1)]);
    assert_eq!(leader(&cache.snapshot()), (1, 5));
    let snapshot =
        cache.process_response(response(vec![topic("u", Uuid([3; 16]), 2, 1)]), true, TopicSelector::Tracked);
    assert!(snapshot.topic("t").is_none() && snapshot.topic("u").is_some());
    let before = cache.snapshot().generation;
    let no_brokers = MetadataResponse { brokers: Vec::new(), ..response(Vec::new()) };
    let snapshot = cache.process_response(no_brokers, false, TopicSelector::Tracked);
    assert_eq!(snapshot.brokers.len(), 2, "a starting broker knows no brokers");
    assert!(snapshot.generation > before);
}

#[tokio::test(start_paused = true)]
async fn concurrent_refreshes_share_one_request() {
    let cluster = cluster(1).await;
    let client = client(&cluster, &[]).await;
    cluster.inject(Fault::new(Match::api(ApiKey::Metadata), Reaction::Delay(ms(50))));
    cluster.clear_requests();
    let stale = client.snapshot().generation;
    let refreshes: Vec<_> = (0..20)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.refresh(stale, TopicSelector::Tracked).await })
        })
        .collect();
    for refresh in refreshes {
        assert_eq!(within_deadline(refresh).await.unwrap().expect("metadata").generation, stale + 1);
    }
    assert_eq!(cluster.request_count(None, ApiKey::Metadata), 1);
    // A caller that saw an old generation gets the newer snapshot that exists.
    within_deadline(client.refresh(stale, TopicSelector::Tracked)).await.expect("metadata");
    assert_eq!(cluster.request_count(None, ApiKey::Metadata), 1);
}

/// Regression: after a failed refresh, each waiter tried again, one after the other.
#[tokio::test(start_paused = true)]
async fn a_failed_refresh_fails_for_all_waiters() {
    let cluster = cluster(1).await;
    let pairs = [("request.timeout.ms", "300"), ("socket.connection.setup.timeout.ms", "300")];
    let client = client(&cluster, &pairs).await;
    cluster.inject(Fault::new(Match::any(), Reaction::Silence));
    let stale = client.snapshot().generation;
    let started = Instant::now();
    let refreshes: Vec<_> = (0..10)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.refresh(stale, TopicSelector::Tracked).await })
        })
        .collect();
    for refresh in refreshes {
        within_deadline(refresh).await.unwrap().expect_err("silence");
    }
    assert!(started.elapsed() < ms(4000), "{:?}", started.elapsed());
}

/// Regression: a refresh waited for the whole timeout of an unresponsive broker.
#[tokio::test(start_paused = true)]
async fn a_silent_broker_delays_a_refresh_only_briefly() {
    let cluster = cluster(1).await;
    let client = client(&cluster, &[]).await;
    let asked = cluster.requests().last().unwrap().broker;
    cluster.inject(Fault::new(Match::any().broker(asked), Reaction::Silence));
    let started = Instant::now();
    within_deadline(client.refresh(client.snapshot().generation, TopicSelector::Tracked))
        .await
        .expect("metadata");
    assert!(started.elapsed() < ms(2500), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn new_leaders_in_responses_are_used_without_a_refresh() {
    let cluster = cluster(1).await;
    let producer = producer(&cluster, &[("linger.ms", "0")]).await;
    offset_of(&send(&producer, 0, "a").await).await.expect("written");
    let old = cluster.leader("t", 0).unwrap();
    let to = (1..=3).find(|id| *id != old).unwrap();
    cluster.clear_requests();
    cluster.move_leader("t", 0, to).unwrap();
    offset_of(&send(&producer, 0, "b").await).await.expect("written");
    assert_eq!(cluster.request_count(None, ApiKey::Metadata), 0);
    assert_eq!(producer.client().leader("t", 0), Some(to));
}

/// Regression: every refresh asked for a misspelt topic for ever after.
#[tokio::test(start_paused = true)]
async fn a_missing_topic_is_no_longer_tracked() {
    let cluster = cluster(1).await;
    let client = client(&cluster, &[]).await;
    let name: Arc<str> = "misspelt".into();
    let looked_up = client.topics(std::slice::from_ref(&name), IfMissing::Wait, ms(150));
    let error = within_deadline(looked_up).await.expect_err("no such topic");
    assert_eq!(error.kind(), Kind::UnknownTopic, "{error}");
    assert!(client.snapshot().topic("misspelt").is_none());
    cluster.create_topic(TopicSpec::new("misspelt")).unwrap();
    within_deadline(client.refresh(client.snapshot().generation, TopicSelector::Tracked))
        .await
        .expect("metadata");
    assert!(client.snapshot().topic("misspelt").is_none(), "it is not requested");
    within_deadline(client.topics(&[name], IfMissing::Wait, CALL_TIMEOUT)).await.expect("now it is there");
}

/// Regressions: an attempt to connect was cancelled with the first caller that gave up; each waiter made
/// an attempt of its own.
#[tokio::test(start_paused = true)]
async fn callers_share_an_attempt_that_survives_those_who_give_up() {
    let cluster = cluster(1).await;
    let client = client(&cluster, &[]).await;
    let used = client.connections()[0].broker;
    let other = (1..=3).find(|id| *id != used).unwrap();
    cluster.inject(Fault::new(Match::api(ApiKey::ApiVersions).broker(other), Reaction::Delay(ms(2500))));
    let route = ottla_client::Route::Broker(other);
    let given_up = tokio::time::timeout(ms(50), client.connection(route)).await;
    assert!(given_up.is_err());
    let all: Vec<_> = (0..8)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.connection(ottla_client::Route::Broker(other)).await })
        })
        .collect();
    for one in all {
        within_deadline(one).await.unwrap().expect("a connection");
    }
    assert_eq!(cluster.request_count(Some(other), ApiKey::ApiVersions), 1);
    assert_eq!(cluster.connections(other), 1);
}

/// Regression: requests in flight were not failed.
#[tokio::test(start_paused = true)]
async fn closing_a_client_fails_waiters_and_closes_all_connections() {
    let cluster = cluster(1).await;
    let client = client(&cluster, &[]).await;
    cluster.inject(Fault::new(Match::api(ApiKey::ListOffsets), Reaction::Disconnect(When::AfterHandling)));
    cluster.inject(Fault::new(Match::api(ApiKey::Metadata), Reaction::Delay(ms(60_000))));
    let (waiting, stale) = (client.clone(), client.snapshot().generation);
    let waiting = tokio::spawn(async move { waiting.refresh(stale, TopicSelector::Tracked).await });
    tokio::time::sleep(ms(50)).await;
    client.close();
    let ended = tokio::time::timeout(ms(15_000), waiting).await.expect("at once").unwrap();
    assert_eq!(ended.expect_err("closed").kind(), Kind::Closed);
    assert!(client.connection(ottla_client::Route::Any).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn an_unused_topic_is_dropped_and_one_in_use_is_not() {
    let mock = cluster(1).await;
    mock.create_topic(TopicSpec::new("idle")).unwrap();
    let mut config = config(&mock.bootstrap(), &[("metadata.max.age.ms", "100")]);
    config.metadata_max_idle = ms(2500);
    let client = within_deadline(Client::connect(config, memory_environment(), CALL_TIMEOUT)).await.unwrap();
    let names: [Arc<str>; 2] = ["t".into(), "idle".into()];
    within_deadline(client.topics(&names, IfMissing::Wait, CALL_TIMEOUT)).await.unwrap();
    let known = || {
        let mut known: Vec<_> = client.snapshot().topics().map(|topic| topic.name.to_string()).collect();
        known.sort();
        known
    };
    assert_eq!(known(), ["idle", "t"]);
    let mut events = client.events();
    until(|| {
        assert!(client.leader("t", 0).is_some(), "in use all the time");
        known() == ["t"]
    })
    .await;
    assert!(events.try_recv().is_err(), "nothing has changed in the cluster");
    // A topic that is used again is found again.
    within_deadline(client.topics(&names, IfMissing::Wait, CALL_TIMEOUT)).await.unwrap();
    assert_eq!(known(), ["idle", "t"]);
}

#[tokio::test(start_paused = true)]
async fn a_pattern_tracks_matching_and_future_topics_while_it_lives() {
    let mock = cluster(1).await;
    mock.create_topic(TopicSpec::new("orders-eu")).unwrap();
    let client = client(&mock, &[]).await;
    within_deadline(client.topics(&["t".into()], IfMissing::Wait, CALL_TIMEOUT)).await.unwrap();
    let orders = Pattern::new(|name| name.starts_with("orders-"));
    let refresh = async |selector: TopicSelector<'_>| {
        within_deadline(client.refresh(client.snapshot().generation, selector)).await
    };
    let mut events = client.events();
    let found = refresh(TopicSelector::Matching(&orders)).await.unwrap();
    assert_eq!(orders.topics(&found).map(|topic| &*topic.name).collect::<Vec<_>>(), ["orders-eu"]);
    assert_eq!(found.topics().count(), 2, "and the one that is used");
    mock.create_topic(TopicSpec::new("orders-us").partitions(2)).unwrap();
    mock.create_topic(TopicSpec::new("other")).unwrap();
    assert_eq!(refresh(TopicSelector::Tracked).await.unwrap().topics().count(), 3);
    mock.delete_topic("orders-eu").unwrap();
    assert_eq!(refresh(TopicSelector::Tracked).await.unwrap().topics().count(), 2);
    let mut events_seen = Vec::new();
    while let Ok(event) = events.try_recv() {
        events_seen.push(event.to_string());
    }
    let expected = [
        "topic orders-eu appeared, with 1 partitions",
        "topic orders-us appeared, with 2 partitions",
        "topic orders-eu is gone",
    ];
    assert_eq!(events_seen, expected);
    drop(orders);
    assert_eq!(refresh(TopicSelector::Tracked).await.unwrap().topics().count(), 1);
    assert!(events.try_recv().is_err(), "what is not of interest any more is not gone");
}

#[tokio::test(start_paused = true)]
async fn a_deleted_topic_is_soon_no_longer_requested_unless_waited_for() {
    let cache = Cache::new(ms(300_000));
    let names: [Arc<str>; 2] = ["gone".into(), "t".into()];
    cache.touch(&names);
    let error_code = ErrorCode::UnknownTopicOrPartition.code();
    let gone = MetadataResponseTopic { error_code, name: Some("gone".to_owned()), ..Default::default() };
    merge(&cache, vec![topic("t", T, 1, 5), gone]);
    let asked = |cache: &Cache| {
        let mut asked: Vec<_> = cache
            .build_request(TopicSelector::Tracked)
            .topics
            .unwrap()
            .into_iter()
            .filter_map(|t| t.name)
            .collect();
        asked.sort();
        asked
    };
    tokio::time::advance(ms(9_000)).await;
    assert_eq!(asked(&cache), ["gone", "t"]);
    assert!(cache.snapshot().topic("gone").is_some(), "it was looked up");
    tokio::time::advance(ms(9_000)).await;
    assert_eq!(asked(&cache), ["gone", "t"]);
    tokio::time::advance(ms(10_000)).await;
    assert_eq!(asked(&cache), ["t"]);
    assert!(merge(&cache, Vec::new()).topic("gone").is_none());
    tokio::time::advance(ms(300_000)).await;
    assert!(asked(&cache).is_empty());
}
