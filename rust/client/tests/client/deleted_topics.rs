//! Proves: a topic that was deleted holds up nothing. Its offsets are dropped or fail at once, the others are
//! committed, and polls, revocations, closing and transactions go on. A topic that is only new to the
//! coordinator is waited for, briefly.

use std::collections::HashMap;

use crate::support::panics::{capture_log, captured_log};
use crate::support::transactions::{LEVELS, begin, cluster_at, initialized};
use crate::support::*;
use ottla_client::consumer::Consumer;
use ottla_client::consumer::group::Subscription;
use ottla_client::group_offsets::CommittedOffset;
use ottla_client::group_offsets::ConsumerGroupMetadata;
use ottla_client::metadata::Pattern;
use ottla_client::{Error, IfMissing, Kind, TopicPartition};
use ottla_mock::{ApiLimit, Fault, GroupConfig, Match, MockCluster, MockConfig, Reaction, TopicSpec};
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::time::{Duration, Instant};

type Pairs<'a> = &'a [(&'a str, &'a str)];

const PROTOCOLS: [Pairs<'_>; 3] = [
    &[("partition.assignment.strategy", "range"), ("heartbeat.interval.ms", "50")],
    &[("partition.assignment.strategy", "cooperative-sticky"), ("heartbeat.interval.ms", "50")],
    &[("group.protocol", "consumer")],
];
/// The versions of OffsetCommit that name topics by name and by id.
const VERSIONS: [i16; 2] = [9, 10];
/// Nothing may wait longer for a topic that is gone.
const LONGEST: Duration = Duration::from_secs(1);

fn gone(partition: i32) -> TopicPartition {
    ("gone".into(), partition)
}

fn stays(partition: i32) -> TopicPartition {
    ("stays".into(), partition)
}

fn at(offset: i64) -> CommittedOffset {
    CommittedOffset { offset, ..CommittedOffset::default() }
}

/// A cluster with two topics of two partitions and five records each.
async fn two_topics(version: i16) -> MockCluster {
    let groups = GroupConfig { consumer_heartbeat_interval: ms(50), ..GroupConfig::default() };
    let api_limits = [(ApiKey::OffsetCommit, ApiLimit::Max(version))].into();
    let config = MockConfig { groups, api_limits, auto_create_topics: false, ..in_memory() };
    let cluster = MockCluster::start(config).await.expect("a cluster");
    for topic in ["gone", "stays"] {
        cluster.create_topic(TopicSpec::new(topic).partitions(2)).expect("a topic");
        for partition in 0..2 {
            for _ in 0..5 {
                cluster.append(topic, partition, &[b"v"]).expect("appended");
            }
        }
    }
    cluster
}

fn committed(cluster: &MockCluster, (topic, partition): &TopicPartition) -> Option<i64> {
    cluster.committed("g", topic, *partition).map(|committed| committed.offset)
}

/// A consumer of all topics. It commits automatically only when it gives up partitions or closes.
async fn member(cluster: &MockCluster, name: &str, pairs: Pairs<'_>) -> Consumer {
    let base = [
        ("group.id", "g"),
        ("client.id", name),
        ("auto.offset.reset", "earliest"),
        ("auto.commit.interval.ms", "3600000"),
        ("metadata.max.age.ms", "500"),
    ];
    let pairs: Vec<_> = base.iter().chain(pairs).copied().collect();
    let consumer = Consumer::new(client(cluster, &pairs).await);
    consumer.subscribe(Subscription::Matching(Pattern::all())).expect("subscribed");
    consumer
}

/// Polls until `count` records were read, and once more, which allows to commit the last ones.
async fn read(consumer: &Consumer, count: usize) {
    let mut read = 0;
    within_deadline(async {
        while read < count {
            let sets = consumer.poll(ms(100), 500).await.expect("polled");
            read += sets.iter().map(|set| set.entries.len()).sum::<usize>();
        }
        consumer.poll(ms(1), 500).await.expect("polled");
    })
    .await;
}

/// Regression: the commit before a revocation was repeated for `default.api.timeout.ms`, and the poll, and
/// with it all members of the group, waited for it.
#[tokio::test(start_paused = true)]
async fn a_deleted_topic_holds_up_no_revocation() {
    for (version, pairs) in VERSIONS.into_iter().flat_map(|it| PROTOCOLS.map(|pairs| (it, pairs))) {
        let cluster = two_topics(version).await;
        let first = member(&cluster, "first", pairs).await;
        read(&first, 20).await;
        cluster.delete_topic("gone").expect("deleted");
        cluster.append("stays", 0, &[b"v"]).expect("appended");
        let second = member(&cluster, "second", pairs).await;
        let mut longest = Duration::ZERO;
        within_deadline(async {
            while [&first, &second].iter().any(|it| it.assignment().len() != 1) {
                for consumer in [&first, &second] {
                    let began = Instant::now();
                    consumer.poll(ms(10), 500).await.expect("polled");
                    longest = longest.max(began.elapsed());
                }
            }
        })
        .await;
        assert!(longest < LONGEST, "{pairs:?}: a poll took {longest:?}");
        within_deadline(first.close(CALL_TIMEOUT)).await.expect("closed");
        within_deadline(second.close(CALL_TIMEOUT)).await.expect("closed");
        assert_eq!(committed(&cluster, &stays(0)), Some(6), "{pairs:?}");
        assert_eq!(committed(&cluster, &stays(1)), Some(5), "{pairs:?}");
    }
}

/// Regression: closing repeated the commit for all of its timeout and did not leave the group.
#[tokio::test(start_paused = true)]
async fn a_deleted_topic_holds_up_neither_closing_nor_unsubscribing() {
    for (version, pairs) in VERSIONS.into_iter().flat_map(|it| PROTOCOLS.map(|pairs| (it, pairs))) {
        let cluster = two_topics(version).await;
        let consumer = member(&cluster, "one", pairs).await;
        read(&consumer, 20).await;
        cluster.delete_topic("gone").expect("deleted");
        let began = Instant::now();
        within_deadline(consumer.close(CALL_TIMEOUT)).await.expect("closed");
        assert_took(began, Duration::ZERO, LONGEST);
        assert_eq!([committed(&cluster, &stays(0)), committed(&cluster, &stays(1))], [Some(5); 2]);
        until(|| cluster.members("g").is_empty()).await;
    }
}

/// An automatic commit drops the offsets of the deleted topic once, with one warning.
#[tokio::test(start_paused = true)]
async fn an_automatic_commit_drops_the_offsets_of_a_deleted_topic() {
    capture_log();
    for version in VERSIONS {
        let cluster = two_topics(version).await;
        let pairs = [PROTOCOLS[2], &[("auto.commit.interval.ms", "2000"), ("metadata.max.age.ms", "600000")]]
            .concat();
        let consumer = member(&cluster, "one", &pairs).await;
        // Not by its pattern, by which it would give the topic up.
        consumer.unsubscribe().expect("unsubscribed");
        consumer.assign(vec![gone(0), gone(1), stays(0), stays(1)]).expect("assigned");
        read(&consumer, 20).await;
        cluster.delete_topic("gone").expect("deleted");
        let poll_until = async |offset| {
            within_deadline(async {
                while [stays(0), stays(1)].iter().any(|it| committed(&cluster, it) != Some(offset)) {
                    consumer.poll(ms(100), 500).await.expect("polled");
                }
            })
            .await;
        };
        poll_until(5).await;
        cluster.append("stays", 0, &[b"v"]).expect("appended");
        cluster.append("stays", 1, &[b"v"]).expect("appended");
        poll_until(6).await;
        assert_eq!(
            cluster.request_count(None, ApiKey::OffsetCommit),
            2,
            "the dropped ones are not sent again"
        );
    }
    let log = captured_log();
    let warnings: Vec<_> = log.iter().filter(|line| line.contains("are dropped")).collect();
    assert_eq!(warnings.len(), VERSIONS.len(), "{log:?}");
    assert!(
        warnings.iter().all(|line| line.contains("gone (0, 1)") && line.contains("deleted")),
        "{warnings:?}"
    );
}

/// The application's commit fails, and the error names all partitions that failed; the others are committed.
#[tokio::test(start_paused = true)]
async fn offsets_of_a_deleted_topic_fail_at_once_and_the_rest_is_committed() {
    for version in VERSIONS {
        let cluster = two_topics(version).await;
        let pairs =
            [PROTOCOLS[2], &[("enable.auto.commit", "false"), ("metadata.max.age.ms", "600000")]].concat();
        let consumer = member(&cluster, "one", &pairs).await;
        read(&consumer, 20).await;
        cluster.delete_topic("gone").expect("deleted");
        let named = [(gone(0), at(3)), (stays(0), at(5)), (stays(1), at(5)), (gone(1), at(2))];
        for offsets in [None, Some(HashMap::from(named))] {
            let began = Instant::now();
            let error = within_deadline(consumer.commit(offsets, CALL_TIMEOUT)).await.expect_err("gone");
            assert_took(began, Duration::ZERO, LONGEST);
            assert_eq!(error.kind(), Kind::UnknownTopic, "{error}");
            assert!(
                error.message().contains("gone (0, 1)") && error.message().contains("deleted"),
                "{error}"
            );
            assert!(!error.is_maybe_done(), "{error}");
            assert_eq!([committed(&cluster, &stays(0)), committed(&cluster, &stays(1))], [Some(5); 2]);
        }
        // Later commits do not wait behind it.
        let began = Instant::now();
        let later = HashMap::from([(stays(1), at(4))]);
        within_deadline(consumer.commit(Some(later), CALL_TIMEOUT)).await.expect("committed");
        assert_took(began, Duration::ZERO, LONGEST);
    }
}

/// A coordinator hears of a new topic a moment after its leader; the metadata says which it is.
#[tokio::test(start_paused = true)]
async fn a_topic_that_is_new_to_the_coordinator_is_committed_a_moment_later() {
    let cluster = two_topics(10).await;
    let client = client(&cluster, &[]).await;
    let unknown = |times| Fault {
        times,
        ..Fault::new(
            Match::api(ApiKey::OffsetCommit).topic("stays"),
            Reaction::Error(ErrorCode::UnknownTopicOrPartition),
        )
    };
    let commit = async || -> (HashMap<TopicPartition, Result<(), Error>>, Duration) {
        let began = Instant::now();
        let member = ConsumerGroupMetadata::without_member("g");
        let offsets = HashMap::from([(stays(0), at(1)), (gone(0), at(1))]);
        let commit = ottla_client::group_offsets::commit(&client, &member, offsets, CALL_TIMEOUT);
        (within_deadline(commit).await.expect("results"), began.elapsed())
    };
    let fault = cluster.inject(unknown(Some(3)));
    let (results, _) = commit().await;
    assert!(results.values().all(Result::is_ok), "{results:?}");
    assert_eq!(cluster.fault_hits(fault), 3);
    // A coordinator that stays behind holds up the commit for less than a second.
    cluster.inject(unknown(None));
    let (results, took) = commit().await;
    let error = results[&stays(0)].clone().expect_err("unknown to the coordinator");
    assert!(error.is_retriable() && error.message().contains("does not know the topic yet"), "{error}");
    assert!(results[&gone(0)].is_ok(), "{results:?}");
    assert!(took >= ms(500) && took < LONGEST, "{took:?}");
}

/// Regression: the offsets of a deleted topic held up a transaction until `max.block.ms`, and those of a
/// recreated one, too. They are not dropped: a transaction without them would not cover what was read.
#[tokio::test(start_paused = true)]
async fn offsets_of_a_deleted_topic_abort_a_transaction_at_once() {
    for (level, recreated) in LEVELS.into_iter().flat_map(|level| [(level, false), (level, true)]) {
        let cluster = cluster_at(level).await;
        let id = cluster.create_topic(TopicSpec::new("gone")).expect("a topic");
        let producer = initialized(&cluster, &[]).await;
        begin(&producer, &["a"]).await;
        cluster.delete_topic("gone").expect("deleted");
        if recreated {
            cluster.create_topic(TopicSpec::new("gone")).expect("a topic");
        }
        let read = CommittedOffset { topic_id: id, ..at(1) };
        let offsets = HashMap::from([(gone(0), read), (("t".into(), 0), at(1))]);
        let began = Instant::now();
        let member = ConsumerGroupMetadata::without_member("g");
        let sent = producer.send_offsets_to_transaction(offsets, &member);
        let by_name = level == 0 && recreated;
        let result = within_deadline(sent).await;
        assert_took(began, Duration::ZERO, LONGEST);
        if by_name {
            // Protocol 1 names topics by name, and the metadata has not seen the new topic.
            continue;
        }
        let error = result.expect_err("gone");
        assert_eq!(error.kind(), Kind::TransactionAbortable, "{error}");
        assert!(error.to_string().contains("gone") && error.message().contains("deleted"), "{error}");
        within_deadline(producer.abort_transaction(None)).await.expect("aborted");
        begin(&producer, &["b"]).await;
        within_deadline(producer.commit_transaction(None)).await.expect("the next one commits");
    }
}

/// Regression: a member asked brokers to create each topic that it needed, so that a topic came back that its
/// pattern had found, or that the group had assigned.
#[tokio::test(start_paused = true)]
async fn only_topics_that_the_application_has_named_are_created_again() {
    let patterns = || Subscription::Matching(Pattern::new(|name| ["gone", "stays"].contains(&name)));
    let regex = || Subscription::Regex("gone|stays".to_owned());
    let named = || Subscription::Topics(vec!["gone".into(), "stays".into()]);
    let [range, cooperative, consumer] = PROTOCOLS;
    let forbidden: &[(&str, &str)] = &[("allow.auto.create.topics", "false")];
    for (pairs, subscription, more, comes_back) in [
        (range, patterns(), &[][..], false),
        (cooperative, patterns(), &[], false),
        (consumer, patterns(), &[], false),
        (consumer, regex(), &[], false),
        (consumer, named(), forbidden, false),
        (range, named(), &[], true),
        (consumer, named(), &[], true),
    ] {
        let what = format!("{pairs:?} {subscription:?} {more:?}");
        let config = MockConfig { auto_create_topics: true, ..in_memory() };
        let cluster = MockCluster::start(config).await.expect("a cluster");
        for topic in ["gone", "stays"] {
            cluster.create_topic(TopicSpec::new(topic)).expect("a topic");
        }
        let base = [("group.id", "g"), ("enable.auto.commit", "false"), ("metadata.max.age.ms", "500")];
        let pairs: Vec<_> = base.iter().chain(pairs).chain(more).copied().collect();
        let consumer = Consumer::new(client(&cluster, &pairs).await);
        consumer.subscribe(subscription).expect("subscribed");
        within_deadline(async {
            while consumer.assignment().len() < 2 {
                consumer.poll(ms(50), 1).await.expect("polled");
            }
        })
        .await;
        cluster.delete_topic("gone").expect("deleted");
        let end = Instant::now() + ms(10_000);
        while Instant::now() < end {
            consumer.poll(ms(50), 1).await.expect("polled");
        }
        assert_eq!(cluster.topic("gone").is_some(), comes_back, "{what}");
    }
}

/// A topic that a pattern has found does not come back when the client creates another one.
#[tokio::test(start_paused = true)]
async fn a_refresh_that_creates_a_topic_creates_no_other() {
    let cluster = cluster(1).await;
    cluster.create_topic(TopicSpec::new("gone")).expect("a topic");
    let client = client(&cluster, &[]).await;
    let known = |topic: &str, if_missing| {
        let (client, topic) = (client.clone(), topic.to_owned());
        async move { within_deadline(client.topics(&[topic.as_str().into()], if_missing, CALL_TIMEOUT)).await }
    };
    known("gone", IfMissing::Wait).await.expect("known");
    cluster.delete_topic("gone").expect("deleted");
    known("new", IfMissing::Create).await.expect("created");
    assert!(cluster.topic("new").is_some() && cluster.topic("gone").is_none());
}
