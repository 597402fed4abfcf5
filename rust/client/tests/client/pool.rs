//! Proves: there is at most one connection per broker and role, however many callers and failures; a
//! broker at a new address gets a new connection while requests finish on the old one; setup timeouts
//! grow and idle connections close; the status and the metrics report all of this.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::support::*;
use ottla_client::config::Value;
use ottla_client::connection::{ConnectionRole, ConnectionState, Status};
use ottla_client::error::Phase;
use ottla_client::metadata::{Event, TopicSelector};
use ottla_client::{Client, Config, Route};
use ottla_mock::{Fault, Match, MockCluster, Reaction, When};
use ottla_protocol::ApiKey;
use ottla_protocol::messages::metadata::MetadataRequest;

async fn ask(client: &Client, role: ConnectionRole, broker: i32) -> ottla_client::Result<()> {
    let connection = client.connection_as(role, Route::Broker(broker)).await?;
    let request = MetadataRequest { topics: Some(Vec::new()), ..Default::default() };
    connection.request(&request, connection.version::<MetadataRequest>(i16::MAX)?).await.map(drop)
}

fn status(client: &Client, broker: i32, role: ConnectionRole) -> Option<Status> {
    client.connections().into_iter().find(|status| (status.broker, status.role) == (broker, role))
}

fn metrics(client: &Client) -> HashMap<&'static str, f64> {
    client.metrics().into_iter().map(|metric| (metric.name, metric.value)).collect()
}

#[tokio::test(start_paused = true)]
async fn two_roles_never_exceed_one_connection_each() {
    let cluster = cluster(3).await;
    let client = client(&cluster, &[]).await;
    let mut most = 0;
    for _ in 0..25 {
        // Connections break all the time, so that many callers need a new one at once.
        let cut = Fault::once(Match::api(ApiKey::Metadata), Reaction::Disconnect(When::BeforeHandling));
        cluster.inject(Fault { times: Some(5), ..cut });
        let mut asked = tokio::task::JoinSet::new();
        for n in 0..60 {
            let client = client.clone();
            let role = if n % 2 == 0 { ConnectionRole::Data } else { ConnectionRole::Coordinator };
            asked.spawn(async move { ask(&client, role, n % 3 + 1).await });
        }
        while let Some(outcome) = asked.join_next().await {
            // The fault disconnects some of them.
            let _ = outcome.unwrap();
            most = (1..=3).map(|broker| cluster.connections(broker)).max().unwrap().max(most);
        }
    }
    // The broker may not have noticed a lost connection yet; the client's count is exact.
    assert!(most <= 4, "{most} connections to one broker");
    cluster.clear_faults();
    for broker in 1..=3 {
        for role in [ConnectionRole::Data, ConnectionRole::Coordinator] {
            within_deadline(async { while ask(&client, role, broker).await.is_err() {} }).await;
        }
    }
    until(|| (1..=3).all(|broker| cluster.connections(broker) == 2)).await;
    let all = client.connections();
    assert_eq!(all.len(), 6);
    assert!(all.iter().all(|status| status.state == ConnectionState::Connected), "{all:?}");
    assert_eq!(metrics(&client)["connection-count"], 6.0);
}

#[tokio::test(start_paused = true)]
async fn a_coordinator_s_heartbeat_does_not_wait_behind_data() {
    let cluster = cluster(1).await;
    let client = client(&cluster, &[]).await;
    let leader = cluster.leader("t", 0).unwrap();
    let slow = Match::api(ApiKey::ListOffsets).broker(leader);
    cluster.inject(Fault::new(slow, Reaction::Delay(ms(2000))));
    let busy = client.clone();
    let slow = tokio::spawn(async move {
        let earliest = [((Arc::from("t"), 0), ottla_client::OffsetSpec::Earliest)];
        busy.list_offsets(earliest, false, CALL_TIMEOUT).await
    });
    until(|| status(&client, leader, ConnectionRole::Data).is_some_and(|status| status.in_flight > 0)).await;
    let started = Instant::now();
    within_deadline(ask(&client, ConnectionRole::Coordinator, leader)).await.expect("a response");
    assert!(started.elapsed() < ms(1500), "{:?}", started.elapsed());
    within_deadline(slow).await.unwrap().expect("offsets");
}

#[tokio::test(start_paused = true)]
async fn a_moved_broker_gets_a_new_connection_while_the_old_one_is_in_use() {
    let old = cluster(1).await;
    let new = MockCluster::start(ottla_mock::MockConfig { brokers: 1, ..in_memory() }).await.unwrap();
    let network = Arc::new(NamedNetwork::default());
    // The metadata locates broker 1 first in one cluster, then in the other.
    network.names.lock().insert("seed".to_owned(), vec![old.brokers()[0].address]);
    let client = Client::connect(config("seed:9092", &[]), environment(&network, 1), CALL_TIMEOUT);
    let client = within_deadline(client).await.unwrap();
    let before = within_deadline(client.connection(Route::Broker(1))).await.unwrap();
    assert_eq!(before.endpoint().port, old.brokers()[0].address.port());
    // A request is in flight on the old connection while the broker moves.
    old.inject(Fault::once(Match::api(ApiKey::Metadata).broker(1), Reaction::Delay(ms(3000))));
    let held = Arc::clone(&before);
    let waiting = tokio::spawn(async move {
        let request = MetadataRequest { topics: Some(Vec::new()), ..Default::default() };
        held.request(&request, held.version::<MetadataRequest>(i16::MAX)?).await
    });
    until(|| before.in_flight() == 1).await;
    network.names.lock().insert("seed".to_owned(), vec![new.brokers()[0].address]);
    let code = ottla_protocol::ErrorCode::RebootstrapRequired;
    for broker in 2..=3 {
        old.inject(Fault::new(Match::api(ApiKey::Metadata).broker(broker), Reaction::Error(code)));
    }
    old.inject(Fault::new(Match::api(ApiKey::Metadata).broker(1), Reaction::Error(code)));
    let snapshot =
        within_deadline(client.refresh(client.snapshot().generation, TopicSelector::Tracked)).await.unwrap();
    assert_eq!(snapshot.brokers[&1].endpoint.port, new.brokers()[0].address.port());
    let after = within_deadline(client.connection(Route::Broker(1))).await.unwrap();
    assert_eq!(after.endpoint().port, new.brokers()[0].address.port());
    assert!(before.close_reason().is_none(), "who uses the old connection keeps it");
    within_deadline(waiting).await.unwrap().expect("its response arrives");
    drop(before);
    until(|| old.connections(1) == 0).await;
    assert_eq!(client.connections().len(), 1);
}

/// KIP-601.
#[tokio::test(start_paused = true)]
async fn each_attempt_to_connect_gets_more_time_up_to_the_maximum() {
    let network = Arc::new(NamedNetwork::default());
    let pairs = [
        ("socket.connection.setup.timeout.ms", "1000"),
        ("socket.connection.setup.timeout.max.ms", "5000"),
        ("reconnect.backoff.ms", "0"),
        ("reconnect.backoff.max.ms", "0"),
    ];
    let cluster = cluster(1).await;
    network.names.lock().insert("seed".to_owned(), vec![cluster.brokers()[0].address]);
    let client = Client::connect(config("seed:9092", &pairs), environment(&network, 3), CALL_TIMEOUT);
    let client = client.await.unwrap();
    let broker = (1..=3).find(|id| status(&client, *id, ConnectionRole::Data).is_none()).unwrap();
    network.black_holes.lock().push(cluster.brokers()[broker as usize - 1].address);
    let mut times = Vec::new();
    for _ in 0..6 {
        let started = tokio::time::Instant::now();
        let error = client.connection(Route::Broker(broker)).await.expect_err("a black hole");
        assert_eq!(error.context().phase, Some(Phase::Tcp), "{error}");
        times.push(started.elapsed().as_millis());
    }
    let about = |time: u128, base: u128| (base * 79 / 100..=base * 121 / 100).contains(&time);
    assert_eq!(times[0] / 10, 100, "{times:?}");
    for (time, base) in times.iter().zip([1000, 2000, 4000, 5000, 5000, 5000]) {
        assert!(about(*time, base), "{times:?}");
    }
    assert!(times[3..].iter().any(|time| *time != 5000), "jitter: {times:?}");
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_closes_and_reopens_and_one_in_use_stays() {
    let cluster = cluster(1).await;
    let client = client(&cluster, &[("connections.max.idle.ms", "300")]).await;
    let leader = cluster.leader("t", 0).unwrap();
    let mut events = client.events();
    within_deadline(ask(&client, ConnectionRole::Coordinator, leader)).await.unwrap();
    let generation = client.snapshot().generation;
    until(|| cluster.connections(leader) == 0).await;
    let cause = within_deadline(async {
        loop {
            if let Event::ConnectionLost { broker, cause, .. } = events.recv().await.unwrap()
                && broker == leader
            {
                return cause.to_string();
            }
        }
    });
    assert!(cause.await.contains("not used for connections.max.idle.ms (300 ms)"));
    within_deadline(ask(&client, ConnectionRole::Coordinator, leader)).await.expect("it comes back");
    assert_eq!(client.snapshot().generation, generation, "nothing is wrong with the broker");
    // A request that takes longer than the idle time is not idleness.
    cluster.inject(Fault::once(Match::api(ApiKey::Metadata).broker(leader), Reaction::Delay(ms(900))));
    within_deadline(ask(&client, ConnectionRole::Coordinator, leader)).await.expect("its response");
    assert!(metrics(&client)["connection-close-total"] >= 1.0);
}

#[tokio::test(start_paused = true)]
async fn the_status_reports_the_phase_of_a_connection() {
    let cluster = cluster(1).await;
    let client =
        client(&cluster, &[("reconnect.backoff.ms", "5000"), ("reconnect.backoff.max.ms", "5000")]).await;
    let used = client.connections()[0].broker;
    let other = used % 3 + 1;
    cluster.inject(Fault::new(Match::api(ApiKey::ApiVersions).broker(other), Reaction::Delay(ms(60_000))));
    let waiting = client.clone();
    let waiting = tokio::spawn(async move { waiting.connection(Route::Broker(other)).await.map(drop) });
    until(|| {
        status(&client, other, ConnectionRole::Data).is_some_and(|s| s.phase == Some(Phase::ApiVersions))
    })
    .await;
    let found = status(&client, other, ConnectionRole::Data).unwrap();
    assert_eq!(found.state, ConnectionState::Connecting);
    assert!(found.address.contains("198.51.100.1:"), "{found:?}");
    cluster.stop_broker(other).await.unwrap();
    within_deadline(waiting).await.unwrap().expect_err("it has gone");
    let found = status(&client, other, ConnectionRole::Data).unwrap();
    assert_eq!(found.state, ConnectionState::Disconnected);
    assert!(found.last_error.unwrap().message().contains("closed the connection"));
    let waiting = client.clone();
    let waiting = tokio::spawn(async move { waiting.connection(Route::Broker(other)).await.map(drop) });
    until(|| {
        status(&client, other, ConnectionRole::Data).is_some_and(|s| s.state == ConnectionState::BackingOff)
    })
    .await;
    waiting.abort();

    // On an open connection, round trips are measured and throttling is reported.
    cluster.inject(Fault::new(Match::api(ApiKey::Metadata).broker(used), Reaction::Delay(ms(40))));
    within_deadline(ask(&client, ConnectionRole::Data, used)).await.unwrap();
    let connection = within_deadline(client.connection(Route::Broker(used))).await.unwrap();
    connection.throttle(60_000);
    let found = status(&client, used, ConnectionRole::Data).unwrap();
    assert!(found.round_trip.unwrap() >= ms(4), "{found:?}");
    let throttled = found.throttled_for.unwrap();
    assert!(throttled > ms(20_000) && throttled <= ms(30_000), "capped at request.timeout.ms: {throttled:?}");
}

#[tokio::test(start_paused = true)]
async fn metrics_count_what_happened() {
    let cluster = cluster(1).await;
    let client = client(&cluster, &[]).await;
    let before = metrics(&client);
    assert_eq!((before["connection-creation-total"], before["connection-count"]), (1.0, 1.0));
    assert!(before["metadata-age"] >= 0.0 && before["metadata-age"] < 10.0);
    let broker = client.connections()[0].broker;
    for _ in 0..10 {
        within_deadline(ask(&client, ConnectionRole::Data, broker)).await.unwrap();
    }
    let after = metrics(&client);
    for total in ["request-total", "response-total"] {
        assert_eq!(after[total] - before[total], 10.0, "{total}");
    }
    assert!(after["outgoing-byte-total"] > before["outgoing-byte-total"] + 100.0);
    assert!(after["incoming-byte-total"] > before["incoming-byte-total"] + 100.0);
    assert!(after["request-rate"] > 0.0 && after["request-latency-max"] >= after["request-latency-avg"]);
    assert!(after["request-size-max"] >= after["request-size-avg"]);
    // Without TLS and SASL, nothing was authenticated.
    assert_eq!(after["successful-authentication-total"] + after["failed-authentication-total"], 0.0);
    client.close();
    until(|| metrics(&client)["connection-count"] == 0.0).await;
}

/// The longest times that a configuration can have do not overflow.
#[tokio::test(start_paused = true)]
async fn huge_timeouts_do_not_overflow() {
    let cluster = cluster(1).await;
    let most = |max: i64| Value::Int(max);
    let int = i64::from(i32::MAX);
    let keys = [
        ("request.timeout.ms", int),
        ("default.api.timeout.ms", int),
        ("max.block.ms", i64::MAX / 2),
        ("delivery.timeout.ms", int),
        ("metadata.max.age.ms", int),
        ("metadata.max.idle.ms", int),
        ("metadata.recovery.rebootstrap.trigger.ms", int),
        ("socket.connection.setup.timeout.ms", int),
        ("socket.connection.setup.timeout.max.ms", int),
        ("reconnect.backoff.ms", int),
        ("reconnect.backoff.max.ms", int),
        ("retry.backoff.ms", int),
        ("retry.backoff.max.ms", int),
        ("connections.max.idle.ms", i64::MAX),
        ("metrics.sample.window.ms", int),
        ("fetch.max.wait.ms", int),
    ];
    let pairs = keys
        .into_iter()
        .filter(|(key, _)| *key != "delivery.timeout.ms")
        .map(|(key, value)| (key, most(value)));
    let pairs = pairs.chain([
        ("bootstrap.servers", Value::from(cluster.bootstrap().as_str())),
        ("linger.ms", Value::Int(0)),
    ]);
    let config = Config::from_pairs(pairs).unwrap();
    let client = within_deadline(Client::connect(config, memory_environment(), Duration::MAX)).await.unwrap();
    let producer = ottla_client::producer::Producer::new(client.clone()).unwrap();
    offset_of(&send(&producer, 0, "a").await).await.expect("written");
    within_deadline(client.refresh(client.snapshot().generation, TopicSelector::Tracked)).await.unwrap();
    assert!(client.connections().iter().any(|status| status.state == ConnectionState::Connected));
    assert!(metrics(&client)["request-rate"] >= 0.0);
    within_deadline(producer.close(Duration::MAX)).await.unwrap();
}
