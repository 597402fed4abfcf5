//! Tests transactional producers, with both versions of the protocol: what becomes visible, which requests
//! it takes, and what wrong calls say (KIP-98, KIP-447, KIP-890).

use std::collections::HashMap;

use crate::support::transactions::*;
use crate::support::*;
use ottla_client::Kind;
use ottla_client::group_offsets::CommittedOffset;
use ottla_client::group_offsets::ConsumerGroupMetadata;
use ottla_mock::{ApiLimit, MockConfig, TopicSpec};
use ottla_protocol::ApiKey;

#[tokio::test(start_paused = true)]
async fn committed_records_are_visible_and_aborted_ones_never() {
    for level in LEVELS {
        let cluster = cluster_at(level).await;
        let producer = initialized(&cluster, &[]).await;
        for round in 0..6 {
            let values = [format!("{round}a"), format!("{round}b")];
            begin(&producer, &values.each_ref().map(String::as_str)).await;
            let ended = if round % 2 == 0 { commit(&producer).await } else { abort(&producer).await };
            ended.expect("ended");
        }
        assert_eq!(visible_values(&cluster).await, ["0a", "0b", "2a", "2b", "4a", "4b"], "level {level}");
    }
}

#[tokio::test(start_paused = true)]
async fn open_transactions_are_not_visible() {
    for level in LEVELS {
        let cluster = cluster_at(level).await;
        let producer = initialized(&cluster, &[]).await;
        for delivery in begin(&producer, &["a", "b", "c"]).await {
            offset_of(&delivery).await.expect("written");
        }
        assert_eq!(visible_values(&cluster).await, Vec::<String>::new());
        commit(&producer).await.expect("committed");
        assert_eq!(visible_values(&cluster).await, ["a", "b", "c"]);
    }
}

#[tokio::test(start_paused = true)]
async fn protocol_1_registers_each_partition_once_and_protocol_2_none() {
    for (level, registrations, produce, end) in [(0, 1, 3..=11, 0..=4), (2, 0, 12..=13, 5..=5)] {
        let cluster = cluster_at(level).await;
        let producer = initialized(&cluster, &[]).await;
        producer.begin_transaction().expect("begun");
        for n in 0..5 {
            offset_of(&send(&producer, 0, &n.to_string()).await).await.expect("written");
        }
        commit(&producer).await.expect("committed");
        assert_eq!(cluster.request_count(None, ApiKey::AddPartitionsToTxn), registrations, "level {level}");
        assert!(versions(&cluster, ApiKey::Produce).iter().all(|version| produce.contains(version)));
        assert!(versions(&cluster, ApiKey::EndTxn).iter().all(|version| end.contains(version)));
    }
}

#[tokio::test(start_paused = true)]
async fn the_epoch_grows_with_each_end_under_protocol_2_only() {
    for (level, epochs) in [(0, [0, 0, 0]), (2, [1, 2, 3])] {
        let cluster = cluster_at(level).await;
        let producer = initialized(&cluster, &[]).await;
        for epoch in epochs {
            begin(&producer, &["v"]).await;
            commit(&producer).await.expect("committed");
            assert_eq!(transaction(&cluster).producer_epoch, epoch);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_empty_transaction_costs_no_request() {
    let cluster = cluster_at(2).await;
    let producer = initialized(&cluster, &[]).await;
    producer.begin_transaction().expect("begun");
    commit(&producer).await.expect("committed");
    producer.begin_transaction().expect("begun");
    abort(&producer).await.expect("aborted");
    assert_eq!(cluster.request_count(None, ApiKey::EndTxn), 0);
}

#[tokio::test(start_paused = true)]
async fn records_that_an_abort_finds_unsent_fail_and_are_not_reported_as_unobserved() {
    let cluster = cluster_at(2).await;
    let producer = initialized(&cluster, &[("linger.ms", "60000")]).await;
    let sent = begin(&producer, &["a", "b"]).await;
    abort(&producer).await.expect("aborted");
    for delivery in sent {
        assert_eq!(offset_of(&delivery).await.expect_err("dropped").kind(), Kind::TransactionAborted);
    }
    assert!(producer.unobserved_failure().is_none());
    assert_eq!(cluster.request_count(None, ApiKey::Produce), 0);
    begin(&producer, &["c"]).await;
    commit(&producer).await.expect("the next transaction works, and does not linger");
    assert_eq!(visible_values(&cluster).await, ["c"]);
}

fn offsets(offset: i64) -> HashMap<ottla_client::TopicPartition, CommittedOffset> {
    HashMap::from([(("t".into(), 0), CommittedOffset { offset, ..CommittedOffset::default() })])
}

#[tokio::test(start_paused = true)]
async fn offsets_are_committed_with_the_transaction_or_not_at_all() {
    for level in LEVELS {
        let cluster = cluster_at(level).await;
        let producer = initialized(&cluster, &[]).await;
        let member = ConsumerGroupMetadata::without_member("g");
        let committed = || cluster.committed("g", "t", 0).map(|committed| committed.offset);
        begin(&producer, &["a"]).await;
        within_deadline(producer.send_offsets_to_transaction(offsets(5), &member)).await.expect("added");
        assert_eq!(committed(), None, "not before the end");
        commit(&producer).await.expect("committed");
        assert_eq!(committed(), Some(5));
        producer.begin_transaction().expect("begun");
        within_deadline(producer.send_offsets_to_transaction(offsets(9), &member)).await.expect("added");
        abort(&producer).await.expect("aborted");
        assert_eq!(committed(), Some(5), "level {level}");
        let registrations = cluster.request_count(None, ApiKey::AddOffsetsToTxn);
        assert_eq!(registrations, if level == 0 { 2 } else { 0 });
    }
}

/// Positions from committed offsets have no topic id, and those after records have one. The producer may not
/// know the topic, which only the consumer reads.
#[tokio::test(start_paused = true)]
async fn offsets_with_and_without_a_topic_id_are_committed_together() {
    for level in LEVELS {
        let cluster = cluster_at(level).await;
        cluster.create_topic(TopicSpec::new("source").partitions(2)).expect("a topic");
        let topic_id = cluster.topic("source").expect("a topic").id;
        let producer = initialized(&cluster, &[]).await;
        producer.begin_transaction().expect("begun");
        let with_id = CommittedOffset { offset: 7, topic_id, ..CommittedOffset::default() };
        let without_id = CommittedOffset { offset: 3, ..CommittedOffset::default() };
        // Whichever comes first.
        for _ in 0..8 {
            let offsets = HashMap::from([
                (("source".into(), 0), without_id.clone()),
                (("source".into(), 1), with_id.clone()),
            ]);
            let member = ConsumerGroupMetadata::without_member("g");
            within_deadline(producer.send_offsets_to_transaction(offsets, &member)).await.expect("added");
        }
        commit(&producer).await.expect("committed");
        let committed = [0, 1].map(|partition| cluster.committed("g", "source", partition));
        let committed = committed.map(|committed| committed.map(|committed| committed.offset));
        assert_eq!(committed, [Some(3), Some(7)], "level {level}");
    }
}

#[tokio::test(start_paused = true)]
async fn offsets_of_a_member_that_lost_its_place_abort_the_transaction() {
    for level in LEVELS {
        let cluster = cluster_at(level).await;
        let producer = initialized(&cluster, &[]).await;
        begin(&producer, &["a"]).await;
        let gone = ConsumerGroupMetadata {
            generation: 3,
            member_id: "gone".into(),
            ..ConsumerGroupMetadata::without_member("g")
        };
        let error = within_deadline(producer.send_offsets_to_transaction(offsets(5), &gone)).await;
        let error = error.expect_err("no such member");
        assert_eq!(error.kind(), Kind::TransactionAbortable, "{error}");
        assert!(error.message().contains("abort"), "{error}");
        assert_eq!(commit(&producer).await.expect_err("must abort").kind(), Kind::TransactionAbortable);
        abort(&producer).await.expect("aborted");
        begin(&producer, &["b"]).await;
        commit(&producer).await.expect("the next transaction works");
        assert_eq!(visible_values(&cluster).await, ["b"]);
    }
}

#[tokio::test(start_paused = true)]
async fn each_call_without_a_transactional_id_says_what_to_set() {
    let cluster = cluster_at(2).await;
    let producer = producer(&cluster, &[]).await;
    for error in [
        producer.init_transactions(None).await.expect_err("no id"),
        producer.begin_transaction().expect_err("no id"),
        producer.commit_transaction(None).await.expect_err("no id"),
        producer.abort_transaction(None).await.expect_err("no id"),
    ] {
        assert_eq!(error.kind(), Kind::Config);
        assert!(error.message().ends_with("set transactional.id"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn records_outside_of_a_transaction_are_refused() {
    let cluster = cluster_at(2).await;
    let producer = initialized(&cluster, &[]).await;
    let error = producer.send("t", Some(0), &record(b"v")).await.expect_err("no transaction");
    assert_eq!(error.kind(), Kind::State);
    begin(&producer, &["a"]).await;
    commit(&producer).await.expect("committed");
    producer.send("t", Some(0), &record(b"v")).await.expect_err("no transaction");
    begin(&producer, &["b"]).await;
    commit(&producer).await.expect("the refused record harmed nothing");
    assert_eq!(visible_values(&cluster).await, ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_transaction_timeout_above_the_brokers_maximum_is_a_fatal_error_that_names_both_keys() {
    let maximum = MockConfig { transaction_max_timeout: ms(10_000), ..in_memory() };
    let cluster = cluster_with(maximum).await;
    let producer = transactional(&cluster, &[("transaction.timeout.ms", "10001")]).await;
    let error = within_deadline(producer.init_transactions(None)).await.expect_err("too long");
    assert!(error.is_fatal());
    for key in ["transaction.timeout.ms", "transaction.max.timeout.ms"] {
        assert!(error.message().contains(key), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_partition_without_protocol_2_fails_one_transaction_and_the_next_use_protocol_1() {
    let old = [(ApiKey::Produce, ApiLimit::Max(11))];
    let cluster = cluster_with(MockConfig { api_limits: old.into(), ..in_memory() }).await;
    let producer = initialized(&cluster, &[]).await;
    begin(&producer, &["a"]).await;
    assert_eq!(commit(&producer).await.expect_err("too old").kind(), Kind::TransactionAbortable);
    abort(&producer).await.expect("aborted");
    begin(&producer, &["b"]).await;
    commit(&producer).await.expect("protocol 1");
    assert_eq!(visible_values(&cluster).await, ["b"]);
}

#[tokio::test(start_paused = true)]
async fn a_producer_changes_to_protocol_2_when_the_cluster_is_upgraded() {
    let cluster = cluster_at(0).await;
    let producer = initialized(&cluster, &[("metadata.max.age.ms", "1000")]).await;
    begin(&producer, &["a"]).await;
    cluster.set_transaction_version(2);
    commit(&producer).await.expect("under protocol 1");
    tokio::time::sleep(ms(1_500)).await;
    begin(&producer, &["b"]).await;
    commit(&producer).await.expect("committed");
    cluster.clear_requests();
    begin(&producer, &["c"]).await;
    commit(&producer).await.expect("under protocol 2");
    assert_eq!(versions(&cluster, ApiKey::EndTxn), [5]);
    assert_eq!(visible_values(&cluster).await, ["a", "b", "c"]);
}

/// The end of a transaction of protocol 1 keeps the epoch: until its markers are written, partitions take
/// records of the same epoch for a part of it, if the producer does not register them.
#[tokio::test(start_paused = true)]
async fn the_first_transaction_of_protocol_2_after_an_upgrade_has_a_new_epoch() {
    for aborted in [false, true] {
        let cluster = cluster_with(MockConfig {
            transaction_version: Some(0),
            transaction_completion_time: ms(200),
            ..in_memory()
        })
        .await;
        let producer = initialized(&cluster, &[("metadata.max.age.ms", "10")]).await;
        begin(&producer, &["a"]).await;
        commit(&producer).await.expect("under protocol 1");
        cluster.set_transaction_version(2);
        for round in 0..4 {
            for delivery in begin(&producer, &[&round.to_string()]).await {
                offset_of(&delivery).await.expect("written");
            }
            let ended = if aborted { abort(&producer).await } else { commit(&producer).await };
            ended.expect("ended");
        }
        assert_eq!(versions(&cluster, ApiKey::EndTxn).last(), Some(&5));
        let expected: &[&str] = if aborted { &["a"] } else { &["0", "1", "2", "3", "a"] };
        assert_eq!(visible_values(&cluster).await, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn closing_a_producer_aborts_its_open_transaction() {
    for level in LEVELS {
        let cluster = cluster_at(level).await;
        let producer = initialized(&cluster, &[]).await;
        begin(&producer, &["a", "b"]).await;
        within_deadline(producer.close(CALL_TIMEOUT)).await.expect("closed");
        assert_ne!(transaction(&cluster).state, "Ongoing");
        assert_eq!(visible_values(&cluster).await, Vec::<String>::new());
    }
}

#[test]
fn a_transactional_id_needs_idempotence() {
    use ottla_client::Config;
    use ottla_client::config::Value;
    let of = |key: &str, value: &str| {
        Config::from_pairs([("transactional.id", Value::from("id")), (key, Value::from(value))])
    };
    assert!(of("linger.ms", "1").expect("valid").enable_idempotence);
    for (key, value) in
        [("enable.idempotence", "false"), ("acks", "1"), ("retries", "0"), ("transaction.timeout.ms", "0")]
    {
        let error = of(key, value).expect_err(key);
        assert_eq!(error.kind(), Kind::Config);
        assert!(error.message().contains("transaction"), "{error}");
    }
}
