//! Proves: each API's requests are counted with their latency; the slowest responses leave out the wait that
//! a request allows; batches and requests that are sent again are counted by cause.

use std::sync::Arc;

use crate::support::*;
use ottla_client::consumer::Consumer;
use ottla_client::request_statistics::{ApiStatistics, RequestStatistics};
use ottla_client::{Client, OffsetSpec, Route};
use ottla_mock::{Fault, Match, Reaction, When};
use ottla_protocol::messages::metadata::MetadataRequest;
use ottla_protocol::{ApiKey, ErrorCode};

fn of_api(statistics: &RequestStatistics, api: ApiKey) -> Option<ApiStatistics> {
    statistics.by_api.iter().find(|found| found.api == api).copied()
}

fn retries(client: &Client) -> Vec<(&'static str, u64)> {
    client.request_statistics().retries
}

/// A fault that hits `times` requests of an API.
fn fault(api: ApiKey, reaction: Reaction, times: u64) -> Fault {
    Fault { times: Some(times), ..Fault::new(Match::api(api), reaction) }
}

async fn list_offsets(client: &Client) -> ottla_client::Result<()> {
    let latest = [((Arc::from("t"), 0), OffsetSpec::Latest)];
    within_deadline(client.list_offsets(latest, false, CALL_TIMEOUT)).await.map(drop)
}

#[tokio::test(start_paused = true)]
async fn requests_are_counted_and_slow_ones_listed() {
    let cluster = cluster(1).await;
    let client = client(&cluster, &[]).await;
    assert!(of_api(&client.request_statistics(), ApiKey::ListOffsets).is_none());
    let started = Instant::now();
    cluster.inject(fault(ApiKey::ListOffsets, Reaction::Delay(ms(3_000)), 1));
    list_offsets(&client).await.unwrap();
    list_offsets(&client).await.unwrap();
    tokio::time::sleep(ms(4_000)).await;

    let statistics = client.request_statistics();
    let found = of_api(&statistics, ApiKey::ListOffsets).unwrap();
    assert_eq!((found.total, found.failed), (2, 0));
    // Smoothed: seven eighths of three seconds.
    let latency = found.latency_avg.unwrap();
    assert!(latency >= ms(2_600) && latency < ms(2_800), "{latency:?}");
    assert!(found.last_sent >= ms(4_000) && found.last_sent < ms(4_100), "{:?}", found.last_sent);
    let slowest = &statistics.slowest[0];
    assert_eq!(slowest.api, ApiKey::ListOffsets);
    assert!(slowest.latency >= ms(3_000) && slowest.latency < ms(3_100), "{slowest:?}");
    assert!(slowest.age >= ms(4_000) && slowest.age < started.elapsed(), "{slowest:?}");
    let leader = cluster.leader("t", 0).unwrap();
    let address = cluster.brokers().iter().find(|b| b.id == leader).unwrap().address.to_string();
    assert!(slowest.address.starts_with(&address), "{slowest:?}");
    // Ten minutes later it is forgotten; the counts are not.
    tokio::time::sleep(ms(600_000)).await;
    let statistics = client.request_statistics();
    assert!(statistics.slowest.iter().all(|slow| slow.api != ApiKey::ListOffsets));
    assert_eq!(of_api(&statistics, ApiKey::ListOffsets).unwrap().total, 2);
}

#[tokio::test(start_paused = true)]
async fn a_fetch_that_waits_for_records_is_not_slow() {
    let cluster = cluster(1).await;
    let pairs = [("fetch.max.wait.ms", "5000"), ("auto.offset.reset", "earliest")];
    let client = client(&cluster, &pairs).await;
    let consumer = Consumer::new(client.clone());
    consumer.assign(vec![(Arc::from("t"), 0)]).unwrap();
    tokio::time::sleep(ms(100)).await;
    until(|| of_api(&client.request_statistics(), ApiKey::Fetch).is_some_and(|fetch| fetch.total >= 2)).await;
    let statistics = client.request_statistics();
    let fetch = of_api(&statistics, ApiKey::Fetch).unwrap();
    assert!(fetch.latency_avg.unwrap() >= ms(4_000), "{fetch:?}");
    let slow = statistics.slowest.iter().find(|slow| slow.api == ApiKey::Fetch);
    assert!(slow.is_none_or(|slow| slow.latency < ms(1_000)), "{slow:?}");
}

#[tokio::test(start_paused = true)]
async fn what_is_sent_again_is_counted_by_cause() {
    let cluster = cluster(1).await;
    let producer = producer(&cluster, &[("linger.ms", "0"), ("request.timeout.ms", "3000")]).await;
    let client = producer.client().clone();
    cluster.inject(fault(ApiKey::Produce, Reaction::Error(ErrorCode::NotLeaderOrFollower), 2));
    let delivery = send(&producer, 0, "one").await;
    offset_of(&delivery).await.expect("written");
    assert_eq!(retries(&client), [("NOT_LEADER_OR_FOLLOWER", 2)]);

    // A connection that the broker closes, and one whose response never comes.
    cluster.inject(fault(ApiKey::Produce, Reaction::Disconnect(When::BeforeHandling), 1));
    offset_of(&send(&producer, 0, "two").await).await.expect("written");
    assert!(retries(&client).contains(&("connection lost", 1)), "{:?}", retries(&client));
    cluster.inject(fault(ApiKey::Produce, Reaction::Silence, 1));
    offset_of(&send(&producer, 0, "three").await).await.expect("written");
    assert!(retries(&client).contains(&("timeout", 1)), "{:?}", retries(&client));
    let produce = of_api(&client.request_statistics(), ApiKey::Produce).unwrap();
    assert_eq!((produce.total, produce.failed), (7, 2), "the responses that did not come");

    // A request of a call.
    cluster.inject(fault(ApiKey::ListOffsets, Reaction::Error(ErrorCode::LeaderNotAvailable), 1));
    list_offsets(&client).await.unwrap();
    assert!(retries(&client).contains(&("LEADER_NOT_AVAILABLE", 1)), "{:?}", retries(&client));
    let before: u64 = retries(&client).iter().map(|(_, count)| count).sum();
    // A failure that is not retried is not counted.
    cluster.inject(fault(ApiKey::ListOffsets, Reaction::Error(ErrorCode::TopicAuthorizationFailed), 1));
    list_offsets(&client).await.expect_err("not authorized");
    let request = MetadataRequest::default();
    within_deadline(client.send(Route::Any, &request, i16::MAX)).await.unwrap();
    assert_eq!(retries(&client).iter().map(|(_, count)| count).sum::<u64>(), before);
}

#[tokio::test(start_paused = true)]
async fn fetches_and_group_requests_that_are_sent_again_are_counted() {
    let cluster = cluster(1).await;
    let pairs = [("group.id", "g"), ("heartbeat.interval.ms", "100"), ("auto.offset.reset", "earliest")];
    let client = client(&cluster, &pairs).await;
    cluster.inject(fault(ApiKey::Fetch, Reaction::Error(ErrorCode::FencedLeaderEpoch), 1));
    cluster.inject(fault(ApiKey::Heartbeat, Reaction::Error(ErrorCode::NotCoordinator), 1));
    let consumer = Consumer::new(client.clone());
    consumer.subscribe(ottla_client::consumer::group::Subscription::Topics(vec!["t".into()])).unwrap();
    let writer = producer(&cluster, &[]).await;
    offset_of(&send(&writer, 0, "one").await).await.unwrap();
    within_deadline(async {
        loop {
            let found = retries(&client);
            let has = |cause| found.iter().any(|(name, count)| *name == cause && *count >= 1);
            if has("NOT_COORDINATOR") && has("FENCED_LEADER_EPOCH") {
                return;
            }
            let _ = consumer.poll(ms(50), 10).await.unwrap();
        }
    })
    .await;
    let statistics = client.request_statistics();
    for api in [ApiKey::JoinGroup, ApiKey::SyncGroup, ApiKey::Heartbeat, ApiKey::Fetch] {
        assert!(of_api(&statistics, api).is_some_and(|found| found.total > 0), "{}", api.name());
    }
}
