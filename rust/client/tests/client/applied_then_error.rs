//! Proves what an error code says about the effect of a request, for each API that changes something:
//! only a certain refusal is without `maybe_done`, and an attempt that took effect in spite of its error
//! is not undone, repeated as another change, or mistaken for another client's.

use std::collections::HashMap;

use crate::support::*;
use ottla_client::group_offsets::ConsumerGroupMetadata;
use ottla_client::group_offsets::{CommittedOffset, commit};
use ottla_mock::{Fault, Match, Reaction};
use ottla_protocol::{ApiKey, ErrorCode};

/// Brokers check these before they append a batch (Kafka's ReplicaManager, UnifiedLog, LogValidator and
/// ProducerAppendInfo), so they prove that nothing was written.
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

/// With `acks=1` there is no wait after the append, so these precede it.
const REFUSALS_WITHOUT_FOLLOWERS: [ErrorCode; 6] = [
    ErrorCode::NotLeaderOrFollower,
    ErrorCode::UnknownTopicOrPartition,
    ErrorCode::UnknownTopicId,
    ErrorCode::LeaderNotAvailable,
    ErrorCode::ReplicaNotAvailable,
    ErrorCode::FencedLeaderEpoch,
];

#[tokio::test(start_paused = true)]
async fn only_a_certain_refusal_reports_that_nothing_was_written() {
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
async fn a_commit_that_may_be_stored_is_maybe_done() {
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
        // An error that may pass is repeated, and fails the whole commit in the end.
        let error = match within_deadline(commit(&client, &member, committed(offset), CALL_TIMEOUT)).await {
            Ok(outcomes) => outcomes.into_values().next().unwrap().expect_err("refused"),
            Err(error) => error,
        };
        assert_eq!(error.is_maybe_done(), maybe, "{error}");
        let stored = cluster.committed("g", "t", 0).expect("the first was stored").offset;
        assert_eq!(stored == offset, maybe, "{code:?}");
    }
}
