//! Proves what an error code after a request says about its fate, for each API that changes something: a
//! proven refusal is no `maybe_done`, everything else is, and an attempt that was applied in spite of its
//! error is not undone, repeated as another change, or taken for somebody else's.

use std::collections::HashMap;

use crate::support::*;
use ottla_client::admin::NewTopic;
use ottla_client::consumer::ConsumerGroupMetadata;
use ottla_client::consumer::offsets::{CommittedOffset, commit};
use ottla_mock::{Fault, Match, Reaction, When};
use ottla_protocol::{ApiKey, ErrorCode};

/// A broker looks at these before it appends a batch (Kafka's ReplicaManager, UnifiedLog, LogValidator and
/// ProducerAppendInfo), so that they prove that nothing was written.
const REFUSALS: [ErrorCode; 25] = [
    ErrorCode::TopicAuthorizationFailed,
    ErrorCode::ClusterAuthorizationFailed,
    ErrorCode::TransactionalIdAuthorizationFailed,
    ErrorCode::MessageTooLarge,
    ErrorCode::RecordListTooLarge,
    ErrorCode::CorruptMessage,
    ErrorCode::InvalidRecord,
    ErrorCode::InvalidTimestamp,
    ErrorCode::InvalidRequest,
    ErrorCode::InvalidRequiredAcks,
    ErrorCode::InvalidTopicException,
    ErrorCode::PolicyViolation,
    ErrorCode::UnsupportedCompressionType,
    ErrorCode::UnsupportedForMessageFormat,
    ErrorCode::UnsupportedVersion,
    ErrorCode::ThrottlingQuotaExceeded,
    ErrorCode::NotEnoughReplicas,
    ErrorCode::OutOfOrderSequenceNumber,
    ErrorCode::UnknownProducerId,
    ErrorCode::InvalidProducerEpoch,
    ErrorCode::ProducerFenced,
    ErrorCode::InvalidProducerIdMapping,
    ErrorCode::InvalidTxnState,
    ErrorCode::ConcurrentTransactions,
    ErrorCode::TransactionAbortable,
];

/// With `acks=1` nothing is waited for after the append, so that these come before it.
const REFUSALS_WITHOUT_FOLLOWERS: [ErrorCode; 6] = [
    ErrorCode::NotLeaderOrFollower,
    ErrorCode::UnknownTopicOrPartition,
    ErrorCode::UnknownTopicId,
    ErrorCode::LeaderNotAvailable,
    ErrorCode::ReplicaNotAvailable,
    ErrorCode::FencedLeaderEpoch,
];

#[tokio::test(start_paused = true)]
async fn only_a_proven_refusal_says_that_nothing_was_written() {
    let unknown = ErrorCode::from(9_999);
    for acks in ["all", "1"] {
        let pairs = [("acks", acks), ("enable.idempotence", "false"), ("retries", "0"), ("linger.ms", "0")];
        for code in ErrorCode::ALL.iter().copied().chain([unknown]) {
            if matches!(code, ErrorCode::None | ErrorCode::DuplicateSequenceNumber) {
                continue;
            }
            let cluster = cluster(1).await;
            let producer = producer(&cluster, &pairs).await;
            cluster.inject(Fault::new(Match::api(ApiKey::Produce), Reaction::Error(code)));
            let error = offset_of(&send(&producer, 0, "0").await).await.expect_err("refused");
            let refused =
                REFUSALS.contains(&code) || acks == "1" && REFUSALS_WITHOUT_FOLLOWERS.contains(&code);
            assert_eq!(error.is_maybe_done(), !refused, "{code:?} with acks={acks}: {error}");
        }
    }
}

fn committed(offset: i64) -> HashMap<(std::sync::Arc<str>, i32), CommittedOffset> {
    HashMap::from([(("t".into(), 0), CommittedOffset { offset, ..CommittedOffset::default() })])
}

#[tokio::test(start_paused = true)]
async fn a_commit_that_may_be_stored_says_so() {
    let cluster = cluster(1).await;
    let client = client(&cluster, &[]).await;
    let member = ConsumerGroupMetadata::without_member("g");
    for (offset, (code, maybe)) in (1..).zip([
        (ErrorCode::UnknownServerError, true),
        (ErrorCode::from(9_999), true),
        (ErrorCode::OffsetMetadataTooLarge, false),
        (ErrorCode::TopicAuthorizationFailed, false),
    ]) {
        cluster.clear_faults();
        let then = if maybe { Reaction::ErrorAfterHandling(code) } else { Reaction::Error(code) };
        cluster.inject(Fault::new(Match::api(ApiKey::OffsetCommit), then));
        let outcomes = soon(commit(&client, &member, committed(offset), SOON)).await.expect("an outcome");
        let error = outcomes.into_values().next().unwrap().expect_err("refused");
        assert_eq!(error.is_maybe_done(), maybe, "{error}");
        let stored = cluster.committed("g", "t", 0).expect("the first was stored").offset;
        assert_eq!(stored == offset, maybe, "{code:?}");
    }
}

fn topic(name: &str) -> NewTopic {
    NewTopic { name: name.to_owned(), partitions: Some(1), replication: None, configs: Vec::new() }
}

#[tokio::test(start_paused = true)]
async fn a_topic_made_by_an_attempt_whose_response_was_lost_may_be_this_calls() {
    let cluster = cluster(1).await;
    let client = client(&cluster, &[]).await;
    let on = Match::api(ApiKey::CreateTopics);
    for (n, then) in [
        Reaction::Disconnect(When::AfterHandling),
        Reaction::ErrorAfterHandling(ErrorCode::NotController),
        Reaction::ErrorAfterHandling(ErrorCode::RequestTimedOut),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("made-{n}");
        cluster.inject(Fault::once(on.clone(), then));
        let error = soon(client.create_topics(&[topic(&name)], SOON)).await.expect_err("is there");
        assert_eq!(
            (error.code(), error.is_maybe_done()),
            (Some(ErrorCode::TopicAlreadyExists), true),
            "{error}"
        );
        let error = soon(client.create_topics(&[topic(&name)], SOON)).await.expect_err("is there");
        assert!(!error.is_maybe_done(), "somebody else's: {error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_topic_deleted_by_an_attempt_whose_response_was_lost_may_be_this_calls() {
    let cluster = cluster(1).await;
    let client = client(&cluster, &[]).await;
    let on = Match::api(ApiKey::DeleteTopics);
    cluster.inject(Fault::once(on, Reaction::ErrorAfterHandling(ErrorCode::NotController)));
    let error = soon(client.delete_topics(&["t".to_owned()], SOON)).await.expect_err("is gone");
    assert_eq!(
        (error.code(), error.is_maybe_done()),
        (Some(ErrorCode::UnknownTopicOrPartition), true),
        "{error}"
    );
    let error = soon(client.delete_topics(&["t".to_owned()], SOON)).await.expect_err("is gone");
    assert!(!error.is_maybe_done(), "{error}");
}

/// Regression: the second attempt asked for all topics again, and failed with TOPIC_ALREADY_EXISTS for the
/// one that the first had made.
#[tokio::test(start_paused = true)]
async fn topics_that_were_made_are_not_asked_for_again() {
    let cluster = cluster(1).await;
    let client = client(&cluster, &[]).await;
    let on = Match::api(ApiKey::CreateTopics).topic("b");
    cluster.inject(Fault::once(on, Reaction::Error(ErrorCode::ThrottlingQuotaExceeded)));
    soon(client.create_topics(&[topic("a"), topic("b")], SOON)).await.expect("both are made");
    assert!(cluster.topic("a").is_some() && cluster.topic("b").is_some());
}

#[tokio::test(start_paused = true)]
async fn one_topic_that_is_refused_does_not_keep_others_from_being_made() {
    let cluster = cluster(1).await;
    let client = client(&cluster, &[]).await;
    let on = Match::api(ApiKey::CreateTopics).topic("b");
    cluster.inject(Fault::once(on, Reaction::Error(ErrorCode::ThrottlingQuotaExceeded)));
    let error = soon(client.create_topics(&[topic("t"), topic("b")], SOON)).await.expect_err("t exists");
    assert_eq!(error.context().topic.as_deref(), Some("t"));
    assert!(cluster.topic("b").is_some());
}
