//! Tests transactional producers under faults, with both versions of the protocol: lost and late requests
//! never touch the next transaction, and failures abort.

use crate::support::transactions::*;
use crate::support::*;
use ottla_client::Kind;
use ottla_mock::{Fault, Match, MockConfig, Reaction, When};
use ottla_protocol::{ApiKey, ErrorCode};

const END: ApiKey = ApiKey::EndTxn;

fn once(api: ApiKey, reaction: Reaction) -> Fault {
    Fault::once(Match::api(api), reaction)
}

/// What leaves it open whether a request took effect.
fn indefinite() -> [Reaction; 5] {
    [
        Reaction::Disconnect(When::BeforeHandling),
        Reaction::Disconnect(When::AfterHandling),
        Reaction::ErrorAfterHandling(ErrorCode::UnknownServerError),
        Reaction::Error(ErrorCode::UnknownServerError),
        Reaction::ErrorAfterHandling(ErrorCode::CoordinatorNotAvailable),
    ]
}

#[tokio::test(start_paused = true)]
async fn an_end_with_an_unknown_outcome_is_settled_and_followed_by_a_new_epoch() {
    for level in LEVELS {
        for reaction in indefinite() {
            for committed in [true, false] {
                let cluster = cluster_at(level).await;
                let producer = initialized(&cluster, &[]).await;
                for delivery in begin(&producer, &["a", "b"]).await {
                    offset_of(&delivery).await.expect("written");
                }
                cluster.inject(once(END, reaction.clone()));
                let initialized = cluster.request_count(None, ApiKey::InitProducerId);
                let ended = if committed { commit(&producer).await } else { abort(&producer).await };
                ended.unwrap_or_else(|error| panic!("level {level}, {reaction:?}: {error}"));
                assert_eq!(cluster.request_count(None, ApiKey::InitProducerId), initialized + 1);
                begin(&producer, &["c"]).await;
                commit(&producer).await.expect("the next transaction works");
                let expected: &[&str] = if committed { &["a", "b", "c"] } else { &["c"] };
                assert_eq!(visible_values(&cluster).await, expected, "level {level}, {reaction:?}");
            }
        }
    }
}

/// The end of a transaction arrives a second time, after the next transaction has begun.
#[tokio::test(start_paused = true)]
async fn a_late_end_does_not_touch_the_next_transaction() {
    for level in LEVELS {
        let cluster = cluster_at(level).await;
        let producer = initialized(&cluster, &[("request.timeout.ms", "300")]).await;
        begin(&producer, &["a"]).await;
        cluster.inject(once(END, Reaction::Delay(ms(5_000))));
        commit(&producer).await.expect("by a second request");
        for delivery in begin(&producer, &["b"]).await {
            offset_of(&delivery).await.expect("written");
        }
        tokio::time::sleep(ms(6_000)).await;
        assert_eq!(transaction(&cluster).state, "Ongoing", "level {level}");
        abort(&producer).await.expect("aborted");
        assert_eq!(visible_values(&cluster).await, ["a"], "level {level}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_commit_that_times_out_continues_and_is_joined_by_the_next_call() {
    for level in LEVELS {
        let cluster = cluster_at(level).await;
        let producer = initialized(&cluster, &[]).await;
        begin(&producer, &["a"]).await;
        let moved = cluster.inject(Fault::new(Match::api(END), Reaction::Error(ErrorCode::NotCoordinator)));
        let error = within_deadline(producer.commit_transaction(Some(ms(300)))).await.expect_err("no end");
        assert_eq!(error.kind(), Kind::Timeout);
        assert!(error.message().contains("call it again"), "{error}");
        let error = producer.begin_transaction().expect_err("still committing");
        assert!(error.message().contains("being committed"), "{error}");
        cluster.remove_fault(moved);
        commit(&producer).await.expect("committed");
        assert_eq!(visible_values(&cluster).await, ["a"]);
        begin(&producer, &["b"]).await;
        commit(&producer).await.expect("the next transaction works");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_record_stops_the_commit_and_the_next_transaction_works() {
    for level in LEVELS {
        let cluster = cluster_at(level).await;
        let producer = initialized(&cluster, &[]).await;
        cluster.inject(once(ApiKey::Produce, Reaction::Error(ErrorCode::TopicAuthorizationFailed)));
        begin(&producer, &["a", "b", "c"]).await;
        let error = commit(&producer).await.expect_err("a record failed");
        assert_eq!(error.kind(), Kind::TransactionAbortable, "{error}");
        assert_eq!(error.code(), Some(ErrorCode::TopicAuthorizationFailed));
        let error = producer.send("t", Some(0), &record(b"d")).await.expect_err("must abort");
        assert_eq!(error.kind(), Kind::TransactionAbortable);
        abort(&producer).await.expect("aborted");
        begin(&producer, &["e"]).await;
        commit(&producer).await.expect("committed");
        assert_eq!(visible_values(&cluster).await, ["e"], "level {level}");
    }
}

/// Both batches are in flight when the first is refused, and the broker, which does not know the producer yet,
/// accepts the second. Then it takes the first for out of order: this one is lost, not written.
#[tokio::test(start_paused = true)]
async fn a_batch_that_was_overtaken_by_a_later_one_aborts_the_transaction() {
    for level in LEVELS {
        let cluster = cluster_at(level).await;
        let producer = initialized(&cluster, &[("batch.size", "1"), ("linger.ms", "0")]).await;
        // The delay lets the second batch follow.
        cluster.inject(once(ApiKey::Produce, Reaction::Delay(ms(100))));
        cluster.inject(once(ApiKey::Produce, Reaction::Error(ErrorCode::NotEnoughReplicas)));
        producer.begin_transaction().expect("begun");
        for value in ["a", "b"] {
            send(&producer, 0, value).await;
        }
        match commit(&producer).await {
            Ok(()) => assert_eq!(visible_values(&cluster).await, ["a", "b"], "level {level}"),
            Err(error) => {
                assert_eq!(error.kind(), Kind::TransactionAbortable, "level {level}: {error}");
                abort(&producer).await.expect("aborted");
                assert!(visible_values(&cluster).await.is_empty(), "level {level}");
            }
        }
        begin(&producer, &["c"]).await;
        commit(&producer).await.expect("the next transaction works");
        assert_eq!(visible_values(&cluster).await.last().map(String::as_str), Some("c"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_transaction_whose_records_all_failed_aborts_without_hanging() {
    for level in LEVELS {
        let cluster = cluster_at(level).await;
        let short = [("delivery.timeout.ms", "1000"), ("request.timeout.ms", "500")];
        let producer = initialized(&cluster, &short).await;
        let unavailable = Reaction::Error(ErrorCode::NotEnoughReplicas);
        cluster.inject(Fault::new(Match::api(ApiKey::Produce), unavailable));
        begin(&producer, &["a", "b", "c"]).await;
        assert_eq!(commit(&producer).await.expect_err("expired").kind(), Kind::TransactionAbortable);
        abort(&producer).await.expect("aborted");
        cluster.clear_faults();
        begin(&producer, &["d"]).await;
        commit(&producer).await.expect("committed");
        assert_eq!(visible_values(&cluster).await, ["d"], "level {level}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_retried_batch_is_written_once() {
    for level in LEVELS {
        let cluster = cluster_at(level).await;
        let producer = initialized(&cluster, &[]).await;
        for round in 0..4 {
            let when = if round % 2 == 0 { When::AfterHandling } else { When::BeforeHandling };
            cluster.inject(once(ApiKey::Produce, Reaction::Disconnect(when)));
            begin(&producer, &[&round.to_string()]).await;
            commit(&producer).await.expect("committed");
        }
        assert_eq!(visible_values(&cluster).await, ["0", "1", "2", "3"], "level {level}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_open_transaction_of_the_producer_before_is_waited_for() {
    for level in LEVELS {
        let completion = ms(500);
        let cluster = cluster_with(MockConfig {
            transaction_version: Some(level),
            transaction_completion_time: completion,
            ..in_memory()
        })
        .await;
        let before = initialized(&cluster, &[]).await;
        for delivery in begin(&before, &["a"]).await {
            offset_of(&delivery).await.expect("written");
        }
        let after = initialized(&cluster, &[]).await;
        begin(&after, &["b"]).await;
        commit(&after).await.expect("committed");
        assert_eq!(visible_values(&cluster).await, ["b"]);
    }
}

#[tokio::test(start_paused = true)]
async fn transactions_follow_each_other_quickly_while_markers_are_written() {
    for level in LEVELS {
        let cluster = cluster_with(MockConfig {
            transaction_version: Some(level),
            transaction_completion_time: ms(15),
            ..in_memory()
        })
        .await;
        let producer = initialized(&cluster, &[("retry.backoff.ms", "1000")]).await;
        let started = Instant::now();
        for round in 0..10 {
            begin(&producer, &[&round.to_string()]).await;
            commit(&producer).await.expect("committed");
        }
        assert_took(started, ms(0), ms(1_000));
        assert_eq!(visible_values(&cluster).await.len(), 10);
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_epoch_is_followed_by_a_new_producer_id() {
    for level in LEVELS {
        let cluster = cluster_at(level).await;
        drop(initialized(&cluster, &[]).await);
        let first = transaction(&cluster).producer_id;
        // The next initialization gets the last epoch but one.
        cluster.set_producer_epoch(ID, i16::MAX - 3).expect("a transactional id");
        for round in 0..4 {
            let producer = initialized(&cluster, &[]).await;
            begin(&producer, &[&round.to_string()]).await;
            commit(&producer).await.expect("committed");
        }
        assert_ne!(transaction(&cluster).producer_id, first);
        assert_eq!(visible_values(&cluster).await, ["0", "1", "2", "3"], "level {level}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_coordinator_that_moves_is_followed() {
    for level in LEVELS {
        let cluster = cluster_at(level).await;
        let producer = initialized(&cluster, &[]).await;
        for round in 0..6 {
            begin(&producer, &[&round.to_string()]).await;
            let now = cluster.coordinator(ID).expect("a coordinator");
            cluster.move_coordinator(ID, now % 3 + 1).expect("moved");
            commit(&producer).await.expect("committed");
        }
        assert_eq!(visible_values(&cluster).await, ["0", "1", "2", "3", "4", "5"], "level {level}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_registration_is_repeated_and_followed_by_a_new_epoch() {
    let cluster = cluster_at(0).await;
    let producer = initialized(&cluster, &[]).await;
    for when in [When::BeforeHandling, When::AfterHandling] {
        cluster.inject(once(ApiKey::AddPartitionsToTxn, Reaction::Disconnect(when)));
        let epoch = transaction(&cluster).producer_epoch;
        begin(&producer, &["a"]).await;
        commit(&producer).await.expect("committed");
        assert_eq!(transaction(&cluster).producer_epoch, epoch + 1);
    }
    assert_eq!(visible_values(&cluster).await, ["a", "a"]);
}

#[tokio::test(start_paused = true)]
async fn an_unauthorized_transactional_id_is_a_fatal_error() {
    let cluster = cluster_at(2).await;
    let producer = transactional(&cluster, &[]).await;
    let refused = Reaction::Error(ErrorCode::TransactionalIdAuthorizationFailed);
    cluster.inject(Fault::new(Match::api(ApiKey::InitProducerId), refused));
    let error = within_deadline(producer.init_transactions(None)).await.expect_err("not authorized");
    assert_eq!((error.kind(), error.is_fatal()), (Kind::Authorization, true));
    assert!(error.message().contains("transactional id"), "{error}");
    assert!(producer.begin_transaction().expect_err("fatal").is_fatal());
}

#[tokio::test(start_paused = true)]
async fn a_committed_transaction_is_a_success_although_the_next_epoch_is_refused() {
    for level in LEVELS {
        let cluster = cluster_at(level).await;
        let producer = initialized(&cluster, &[]).await;
        begin(&producer, &["a"]).await;
        cluster.inject(once(END, Reaction::Disconnect(When::AfterHandling)));
        cluster.inject(once(ApiKey::InitProducerId, Reaction::Error(ErrorCode::ProducerFenced)));
        commit(&producer).await.expect("committed");
        let error = producer.begin_transaction().expect_err("fenced");
        assert_eq!((error.kind(), error.is_fatal()), (Kind::Fenced, true));
        assert_eq!(visible_values(&cluster).await, ["a"], "level {level}");
    }
}
