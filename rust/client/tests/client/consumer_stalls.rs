//! Proves: no failure of a request, a broker or a partition makes a consumer stall or skip records: the
//! affected partitions continue once it is over, and the others are not affected at all.

use crate::support::reader::{consumer, poll, read, rows, tp, write};
use crate::support::*;
use ottla_client::Kind;
use ottla_mock::{Fault, Match, MockCluster, MockConfig, Reaction, SaslConfig, TopicSpec};
use ottla_protocol::{ApiKey, ErrorCode};

/// Regression: a fetch that was never sent, because the session could not be re-authenticated, was collected as
/// known to the broker. The next one left out its positions, and records were skipped, or none came.
#[tokio::test(start_paused = true)]
async fn a_fetch_rejected_before_it_was_sent_starts_a_new_session() {
    let users = [("u".to_owned(), "p".to_owned())].into();
    let sasl = SaslConfig { users, session_lifetime: Some(ms(1500)), ..SaslConfig::default() };
    let config = MockConfig { brokers: 1, sasl: Some(sasl), ..in_memory() };
    let cluster = MockCluster::start(config).await.unwrap();
    cluster.create_topic(TopicSpec::new("t").partitions(1)).unwrap();
    write(&cluster, 0, 20);
    let pairs = [
        ("security.protocol", "SASL_PLAINTEXT"),
        ("sasl.mechanism", "PLAIN"),
        ("sasl.username", "u"),
        ("sasl.password", "p"),
        ("fetch.max.wait.ms", "50"),
    ];
    let consumer = consumer(&cluster, &[0], &pairs).await;
    assert_eq!(read(&consumer, 20).await, rows(0, 0..20));
    // Nothing is in flight while the session ends.
    consumer.pause(&[tp(0)], true).unwrap();
    quiet(&cluster, ms(200)).await;
    assert_eq!(cluster.fetch_sessions(1), 1);
    cluster.set_user("u", None);
    tokio::time::sleep(ms(1500)).await;
    consumer.seek(&tp(0), 0, None).unwrap();
    consumer.pause(&[tp(0)], false).unwrap();
    let error = within_deadline(async {
        loop {
            if let Err(error) = poll(&consumer, 500, ms(500)).await {
                break error;
            }
        }
    })
    .await;
    assert_eq!(error.kind(), Kind::Authentication, "{error}");
    cluster.set_user("u", Some("p"));
    let mut all = Vec::new();
    within_deadline(async {
        while all.len() < 20 {
            // Earlier errors are reported first.
            all.extend(poll(&consumer, 500, ms(500)).await.unwrap_or_default());
        }
    })
    .await;
    assert_eq!(all, rows(0, 0..20));
}

/// Regression: a preferred replica that the metadata did not know was ignored, and the leader, asked again
/// at once, named it again: no record came for `metadata.max.age.ms`, and fetches followed each other
/// without a pause.
#[tokio::test(start_paused = true)]
async fn a_preferred_replica_that_has_just_returned_is_found() {
    let cluster = cluster(1).await;
    cluster.move_leader("t", 0, 1).unwrap();
    cluster.stop_broker(2).await.unwrap();
    write(&cluster, 0, 10);
    let consumer = consumer(&cluster, &[0], &[("client.rack", "rack-b"), ("fetch.max.wait.ms", "50")]).await;
    assert_eq!(read(&consumer, 10).await, rows(0, 0..10));
    cluster.start_broker(2).await.unwrap();
    write(&cluster, 0, 10);
    let (started, fetches_before) = (Instant::now(), cluster.request_count(Some(1), ApiKey::Fetch));
    assert_eq!(read(&consumer, 10).await, rows(0, 10..20));
    assert!(started.elapsed() < ms(2000));
    assert!(
        cluster.request_count(Some(1), ApiKey::Fetch) < fetches_before + 20,
        "the leader got a fetch storm"
    );
    assert!(cluster.request_count(Some(2), ApiKey::Fetch) > 0, "the replica got no fetch");
}

/// Regression: records that were returned to the buffer after the next offset had fallen out of the log
/// were neither delivered nor fetched again, and the partition stalled forever.
#[tokio::test(start_paused = true)]
async fn records_discarded_before_a_reset_stall_nothing() {
    for pauses in [false, true] {
        let cluster = cluster(1).await;
        write(&cluster, 0, 40);
        let small = [("max.partition.fetch.bytes", "300"), ("fetch.max.wait.ms", "50")];
        let consumer = consumer(&cluster, &[0], &small).await;
        within_deadline(consumer.wait_until_ready(Instant::now() + CALL_TIMEOUT)).await.expect("ready");
        quiet(&cluster, ms(200)).await;
        cluster.delete_records("t", 0, 30).unwrap();
        // There is room again, and the next offset is no longer in the log.
        let (collected, version) = (consumer.take_records(500), consumer.version());
        assert!((1..30).contains(&collected.len()), "{}", collected.len());
        until(|| consumer.take_records(1).is_empty()).await;
        quiet(&cluster, ms(200)).await;
        if pauses {
            consumer.pause(&[tp(0)], true).unwrap();
            assert_ne!(consumer.version(), version, "collected records are still valid");
            assert!(poll(&consumer, 500, ms(100)).await.unwrap().is_empty());
            consumer.pause(&[tp(0)], false).unwrap();
        } else {
            consumer.discard_undelivered();
        }
        assert_eq!(read(&consumer, 10).await, rows(0, 30..40));
    }
}

/// A cluster in which partitions 0 and 3 of `t` have no leader, and the others ten records each.
async fn partly_leaderless() -> MockCluster {
    let cluster = MockCluster::start(in_memory()).await.unwrap();
    cluster.create_topic(TopicSpec::new("t").partitions(6).replication(1)).unwrap();
    for partition in 0..6 {
        write(&cluster, partition, 10);
    }
    let dead = cluster.leader("t", 0).unwrap();
    assert_eq!(cluster.leader("t", 3), Some(dead));
    cluster.stop_broker(dead).await.unwrap();
    cluster
}

/// Regression: offsets were looked up for whole topics, until every partition had a result: the ones with a
/// leader were not read for `default.api.timeout.ms`, and not after it either.
#[tokio::test(start_paused = true)]
async fn a_partition_without_a_leader_delays_no_offset_lookup() {
    let cluster = partly_leaderless().await;
    let started = Instant::now();
    let consumer = consumer(&cluster, &[0, 1, 2, 3, 4, 5], &[]).await;
    let mut all = read(&consumer, 40).await;
    assert!(started.elapsed() < ms(2000));
    all.sort_unstable();
    assert_eq!(all, [rows(1, 0..10), rows(2, 0..10), rows(4, 0..10), rows(5, 0..10)].concat());
    // The leader is being looked for meanwhile.
    cluster
        .start_broker(cluster.brokers().into_iter().find(|broker| !broker.alive).unwrap().id)
        .await
        .unwrap();
    let mut rest = read(&consumer, 20).await;
    rest.sort_unstable();
    assert_eq!(rest, [rows(0, 0..10), rows(3, 0..10)].concat());
}

/// Regression: log truncation was checked for all partitions together, until all had a result: a partition
/// without a leader delayed those whose leader had moved.
#[tokio::test(start_paused = true)]
async fn a_partition_without_a_leader_delays_no_validation_of_others() {
    let cluster = MockCluster::start(in_memory()).await.unwrap();
    cluster.create_topic(TopicSpec::new("t").partitions(6)).unwrap();
    cluster.create_topic(TopicSpec::new("one").partitions(3).replication(1)).unwrap();
    let dead = cluster.leader("one", 0).unwrap();
    for partition in 0..6 {
        // Each has records, and a leader that is about to die.
        cluster.move_leader("t", partition, dead).unwrap();
        write(&cluster, partition, 10);
    }
    cluster.append("one", 0, &[b"v"]).unwrap();
    let consumer = consumer(&cluster, &[], &[("fetch.max.wait.ms", "50")]).await;
    let partitions = (0..6).map(tp).chain([("one".into(), 0)]);
    consumer.assign(partitions.collect()).expect("assigned");
    assert_eq!(read(&consumer, 61).await.len(), 61);
    let started = Instant::now();
    cluster.stop_broker(dead).await.unwrap();
    for partition in 0..6 {
        write(&cluster, partition, 10);
    }
    let mut all = read(&consumer, 60).await;
    assert!(started.elapsed() < ms(2000));
    all.sort_unstable();
    assert_eq!(all, (0..6).flat_map(|partition| rows(partition, 10..20)).collect::<Vec<_>>());
}

/// Regression: the permanent error of one partition was collected as the result of its whole topic.
#[tokio::test(start_paused = true)]
async fn a_partition_with_a_failed_lookup_fails_no_other() {
    let cluster = cluster(6).await;
    for partition in 0..6 {
        write(&cluster, partition, 10);
    }
    let error = Reaction::Error(ErrorCode::UnsupportedForMessageFormat);
    let of = Match::api(ApiKey::ListOffsets).topic("t").partition(0);
    let fault = cluster.inject(Fault::new(of, error));
    let started = Instant::now();
    let consumer = consumer(&cluster, &[0, 1, 2, 3, 4, 5], &[]).await;
    let (mut all, mut errors) = (Vec::new(), Vec::new());
    within_deadline(async {
        while all.len() < 50 || errors.is_empty() {
            match poll(&consumer, 500, ms(500)).await {
                Ok(rows) => all.extend(rows),
                Err(error) => errors.push(error),
            }
        }
    })
    .await;
    assert!(started.elapsed() < ms(2000));
    all.sort_unstable();
    assert_eq!(all, (1..6).flat_map(|partition| rows(partition, 0..10)).collect::<Vec<_>>());
    assert!(errors.iter().all(|error| error.context().partition == Some(0)), "{errors:?}");
    cluster.remove_fault(fault);
    within_deadline(async {
        while poll(&consumer, 500, ms(500)).await.unwrap_or_default() != rows(0, 0..10) {}
    })
    .await;
}

/// Regression: buffered records of paused partitions used up `prefetch.max.bytes`, and no other partition
/// was fetched until they were resumed.
#[tokio::test(start_paused = true)]
async fn buffered_records_of_paused_partitions_block_no_other() {
    let cluster = cluster(3).await;
    let values = [&[b'x'; 1000][..]; 10];
    for _ in 0..50 {
        cluster.append("t", 0, &values).unwrap();
        cluster.append("t", 1, &values).unwrap();
    }
    let bounds = [("prefetch.max.bytes", "300000"), ("max.partition.fetch.bytes", "200000")];
    let consumer = consumer(&cluster, &[0, 1], &bounds).await;
    let begun = read(&consumer, 1).await;
    // There is no room left.
    quiet(&cluster, ms(300)).await;
    consumer.pause(&[tp(0), tp(1)], true).unwrap();
    consumer.assign(vec![tp(0), tp(1), tp(2)]).unwrap();
    write(&cluster, 2, 10);
    let started = Instant::now();
    assert_eq!(read(&consumer, 10).await, rows(2, 0..10));
    assert!(started.elapsed() < ms(2000));
    // They resume at their positions.
    consumer.pause(&[tp(0), tp(1)], false).unwrap();
    let mut all = read(&consumer, 1000 - begun.len()).await;
    all.extend(begun);
    all.sort_unstable();
    assert_eq!(all, [rows(0, 0..500), rows(1, 0..500)].concat());
}
