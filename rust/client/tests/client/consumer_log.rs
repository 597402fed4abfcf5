//! Proves: what happens to a log under a consumer is noticed: transactions that abort, logs that are
//! cut by a new leader (KIP-320), replicas nearer than the leader (KIP-392), sessions that brokers
//! forget (KIP-227). Nothing is skipped silently, and nothing comes twice.

use crate::support::*;
use ottla_client::consumer::offsets::CommittedOffset;
use ottla_client::consumer::{Consumer, PollOutcome};
use ottla_client::{Error, Kind, TopicPartition};
use ottla_mock::{Fault, Match, MockCluster, MockConfig, Reaction, TopicSpec};
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::time::{Duration, Instant};

fn tp() -> TopicPartition {
    ("t".into(), 0)
}

async fn consumer(cluster: &MockCluster, pairs: &[(&str, &str)]) -> Consumer {
    let base = [("auto.offset.reset", "earliest")];
    let pairs: Vec<_> = base.iter().chain(pairs).copied().collect();
    let consumer = Consumer::new(client(cluster, &pairs).await);
    consumer.assign(vec![tp()]).expect("assigned");
    consumer
}

/// The offsets of what one poll hands out.
async fn poll(consumer: &Consumer, most: usize, wait: Duration) -> Result<Vec<i64>, Error> {
    let mut offsets = Vec::new();
    if let PollOutcome::Ready = consumer.poll(Instant::now() + wait).await? {
        for set in consumer.take_records(most) {
            offsets.extend(set.entries.iter().map(|entry| entry.offset));
            consumer.mark_delivered(&set.partition, set.version(), set.next, set.leader_epoch);
        }
    }
    Ok(offsets)
}

/// The offsets of the next `count` records, at most `most` a poll.
async fn read(consumer: &Consumer, count: usize, most: usize) -> Vec<i64> {
    let mut all = Vec::new();
    soon(async {
        while all.len() < count {
            all.extend(poll(consumer, most, ms(500)).await.expect("records"));
        }
    })
    .await;
    all
}

/// A log with values at 0 to 9, and broker 1 as its leader.
async fn ten() -> MockCluster {
    let cluster = cluster(1).await;
    cluster.move_leader("t", 0, 2).unwrap();
    cluster.move_leader("t", 0, 1).unwrap();
    for _ in 0..10 {
        cluster.append("t", 0, &[b"v"]).unwrap();
    }
    cluster
}

#[tokio::test(start_paused = true)]
async fn aborted_records_and_markers_are_passed_and_open_ones_waited_for() {
    let committed = [("isolation.level", "read_committed")];
    for most in [1, 2, 500] {
        let cluster = cluster(1).await;
        cluster.append("t", 0, &[b"0"]).unwrap();
        cluster.append_in_transaction("t", 0, 7, &[b"1", b"2"]).unwrap();
        cluster.append_in_transaction("t", 0, 8, &[b"3", b"4"]).unwrap();
        cluster.append("t", 0, &[b"5"]).unwrap();
        let consumer = consumer(&cluster, &committed).await;
        // Up to the first transaction that is open.
        assert_eq!(read(&consumer, 1, most).await, [0]);
        assert!(poll(&consumer, most, ms(100)).await.unwrap().is_empty());
        cluster.end_transaction("t", 0, 7, false).unwrap();
        cluster.end_transaction("t", 0, 8, true).unwrap();
        assert_eq!(read(&consumer, 3, most).await, [3, 4, 5]);
        // The same producer goes on: what it aborted once does not taint what it commits.
        cluster.append_in_transaction("t", 0, 7, &[b"8", b"9"]).unwrap();
        cluster.end_transaction("t", 0, 7, true).unwrap();
        assert_eq!(read(&consumer, 2, most).await, [8, 9]);
        // A log that ends in markers is read to its end.
        cluster.append_in_transaction("t", 0, 9, &[b"11"]).unwrap();
        cluster.end_transaction("t", 0, 9, false).unwrap();
        soon(async {
            while consumer.position(&tp(), SOON).await.unwrap() < 13 {
                assert!(poll(&consumer, most, ms(100)).await.unwrap().is_empty());
            }
        })
        .await;
        assert_eq!(consumer.lag(), [(tp(), Some(0))]);
        let all = self::consumer(&cluster, &[]).await;
        assert_eq!(read(&all, 9, most).await, [0, 1, 2, 3, 4, 5, 8, 9, 11]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_piece_that_is_cut_in_two_keeps_what_it_knows_of_transactions() {
    let cluster = cluster(1).await;
    // One producer: aborted, then committed, all in one answer.
    for commit in [false, true, false, true] {
        cluster.append_in_transaction("t", 0, 7, &[b"a", b"b", b"c"]).unwrap();
        cluster.end_transaction("t", 0, 7, commit).unwrap();
    }
    let consumer = consumer(&cluster, &[("isolation.level", "read_committed")]).await;
    assert_eq!(read(&consumer, 6, 1).await, [4, 5, 6, 12, 13, 14]);
}

#[tokio::test(start_paused = true)]
async fn a_log_that_was_cut_is_noticed_and_reset_or_told() {
    for policy in ["earliest", "latest", "none"] {
        let cluster = ten().await;
        let consumer = consumer(&cluster, &[("auto.offset.reset", policy)]).await;
        consumer.seek(&tp(), 0, None).expect("assigned");
        assert_eq!(read(&consumer, 10, 500).await, (0..10).collect::<Vec<_>>());
        // Another broker leads, which has six of the ten records, and gets others.
        cluster.truncate("t", 0, 6).unwrap();
        cluster.move_leader("t", 0, 2).unwrap();
        for _ in 0..8 {
            cluster.append("t", 0, &[b"w"]).unwrap();
        }
        if policy == "none" {
            let error = soon(async {
                loop {
                    if let Err(error) = poll(&consumer, 500, ms(500)).await {
                        break error;
                    }
                }
            })
            .await;
            assert_eq!((error.kind(), error.context().partition), (Kind::DataLoss, Some(0)), "{error}");
            assert!(error.to_string().contains("truncated the log at offset 6"), "{error}");
            // It stays until the application says where to go on.
            assert_eq!(poll(&consumer, 500, ms(50)).await.expect_err("cut").kind(), Kind::DataLoss);
            consumer.seek(&tp(), 6, None).expect("assigned");
        }
        assert_eq!(read(&consumer, 8, 500).await, (6..14).collect::<Vec<_>>(), "{policy}");
    }
}

#[tokio::test(start_paused = true)]
async fn records_that_were_cut_before_they_were_handed_out_are_replaced() {
    let cluster = ten().await;
    let consumer = consumer(&cluster, &[]).await;
    assert_eq!(read(&consumer, 3, 3).await, [0, 1, 2]);
    cluster.truncate("t", 0, 6).unwrap();
    cluster.move_leader("t", 0, 2).unwrap();
    for _ in 0..4 {
        cluster.append("t", 0, &[b"w"]).unwrap();
    }
    // What was prefetched of the old log may come or not, but nothing is missing and nothing twice.
    assert_eq!(read(&consumer, 7, 1).await, (3..10).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_moves_with_its_log_costs_nothing() {
    let cluster = ten().await;
    let consumer = consumer(&cluster, &[("auto.offset.reset", "none")]).await;
    consumer.seek(&tp(), 0, None).expect("assigned");
    assert_eq!(read(&consumer, 10, 500).await.len(), 10);
    for leader in [2, 3, 1] {
        cluster.move_leader("t", 0, leader).unwrap();
        cluster.append("t", 0, &[b"v"]).unwrap();
        assert_eq!(read(&consumer, 1, 500).await.len(), 1);
    }
    assert!(cluster.request_count(None, ApiKey::OffsetForLeaderEpoch) >= 3, "nobody asked");
}

#[tokio::test(start_paused = true)]
async fn the_replica_in_the_same_rack_is_read_from() {
    let cluster = ten().await;
    let consumer = consumer(&cluster, &[("client.rack", "rack-b")]).await;
    assert_eq!(read(&consumer, 10, 500).await.len(), 10);
    let from_leader = cluster.request_count(Some(1), ApiKey::Fetch);
    for _ in 0..5 {
        cluster.append("t", 0, &[b"v"]).unwrap();
        read(&consumer, 1, 500).await;
    }
    assert_eq!(cluster.request_count(Some(1), ApiKey::Fetch), from_leader, "the leader was asked");
    // Nearer is not better than there at all.
    cluster.stop_broker(2).await.unwrap();
    cluster.append("t", 0, &[b"v"]).unwrap();
    assert_eq!(read(&consumer, 1, 500).await, [15]);
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_lags_sends_back_to_the_leader_and_resets_nothing() {
    let cluster = ten().await;
    let consumer = consumer(&cluster, &[("client.rack", "rack-b"), ("auto.offset.reset", "none")]).await;
    consumer.seek(&tp(), 0, None).expect("assigned");
    assert_eq!(read(&consumer, 10, 500).await.len(), 10);
    cluster.lag_replica("t", 0, 2, Some(4)).unwrap();
    cluster.append("t", 0, &[b"v"]).unwrap();
    assert_eq!(read(&consumer, 1, 500).await, [10]);
}

#[tokio::test(start_paused = true)]
async fn sessions_that_brokers_forget_or_refuse_are_begun_anew() {
    let cluster = ten().await;
    let consumer = consumer(&cluster, &[("fetch.max.wait.ms", "50")]).await;
    assert_eq!(read(&consumer, 10, 500).await.len(), 10);
    assert_eq!(cluster.fetch_sessions(1), 1);
    cluster.evict_fetch_sessions(1);
    cluster.append("t", 0, &[b"v"]).unwrap();
    assert_eq!(read(&consumer, 1, 500).await, [10]);
    let codes = [
        ErrorCode::FetchSessionIdNotFound,
        ErrorCode::InvalidFetchSessionEpoch,
        ErrorCode::FetchSessionTopicIdError,
    ];
    for (offset, code) in (11..).zip(codes) {
        let fault = cluster.inject(Fault::once(Match::api(ApiKey::Fetch), Reaction::Error(code)));
        until(|| cluster.fault_hits(fault) == 1).await;
        cluster.append("t", 0, &[b"v"]).unwrap();
        assert_eq!(read(&consumer, 1, 500).await, [offset], "{code:?}");
    }
    // One was left behind when the broker said that it had none.
    assert_eq!(cluster.fetch_sessions(1), 2);
    consumer.end_close(SOON).await.unwrap();
    until(|| cluster.fetch_sessions(1) == 1).await;
}

#[tokio::test(start_paused = true)]
async fn a_broker_without_room_for_sessions_is_read_all_the_same() {
    let config = MockConfig { fetch_sessions: 0, ..in_memory() };
    let cluster = MockCluster::start(config).await.unwrap();
    cluster.create_topic(TopicSpec::new("t")).unwrap();
    let consumer = consumer(&cluster, &[]).await;
    for offset in 0..5 {
        cluster.append("t", 0, &[b"v"]).unwrap();
        assert_eq!(read(&consumer, 1, 500).await, [offset]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_topic_made_anew_under_its_name_is_read_from_its_start() {
    let cluster = ten().await;
    let consumer = consumer(&cluster, &[("metadata.max.age.ms", "100")]).await;
    assert_eq!(read(&consumer, 10, 500).await.len(), 10);
    cluster.delete_topic("t").unwrap();
    cluster.create_topic(TopicSpec::new("t")).unwrap();
    for _ in 0..3 {
        cluster.append("t", 0, &[b"w"]).unwrap();
    }
    assert_eq!(read(&consumer, 3, 500).await, [0, 1, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_position_in_a_topic_that_is_gone_means_nothing_in_the_new_one() {
    let cluster = ten().await;
    let pairs = [("group.id", "g"), ("enable.auto.commit", "false"), ("metadata.max.age.ms", "100")];
    let consumer = consumer(&cluster, &pairs).await;
    assert_eq!(read(&consumer, 3, 3).await, [0, 1, 2]);
    cluster.delete_topic("t").unwrap();
    cluster.create_topic(TopicSpec::new("t")).unwrap();
    // The position lies in the new log, too: reading on there would skip its first records.
    for _ in 0..20 {
        cluster.append("t", 0, &[b"w"]).unwrap();
    }
    // What was fetched before is handed out first, and is not committed to the new topic.
    let fetched = read(&consumer, 7, 500).await;
    assert_eq!(fetched[..7], [3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(cluster.committed("g", "t", 0), None);
    let mut again = fetched[7..].to_vec();
    while again.len() < 20 {
        again.extend(read(&consumer, 1, 500).await);
    }
    assert_eq!(again, (0..20).collect::<Vec<_>>());
    soon(consumer.commit(None, SOON)).await.expect("it is the new one's by now");
    assert_eq!(cluster.committed("g", "t", 0).map(|committed| committed.offset), Some(20));
}

#[tokio::test(start_paused = true)]
async fn what_was_read_of_a_topic_that_is_gone_is_not_committed_to_the_new_one() {
    // Each with a consumer of its own: the first refusal has the fetcher look at the new topic, and an
    // offset that is named after that is the new one's.
    for named in [None, Some([(tp(), CommittedOffset { offset: 10, ..CommittedOffset::default() })].into())] {
        let cluster = ten().await;
        let pairs = [
            ("group.id", "g"),
            ("enable.auto.commit", "false"),
            ("metadata.max.age.ms", "100000"),
            // The fetch under way would find out, too, when its time is over.
            ("fetch.max.wait.ms", "20000"),
        ];
        let consumer = consumer(&cluster, &pairs).await;
        assert_eq!(read(&consumer, 10, 500).await.len(), 10);
        // Nothing is fetched meanwhile that would find out.
        consumer.pause(&[tp()], true).unwrap();
        cluster.delete_topic("t").unwrap();
        cluster.create_topic(TopicSpec::new("t")).unwrap();
        let error = soon(consumer.commit(named, SOON)).await.expect_err("another topic");
        assert_eq!(error.code(), Some(ErrorCode::UnknownTopicId), "{error}");
        assert_eq!(cluster.committed("g", "t", 0), None);
    }
}
