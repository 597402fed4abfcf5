//! Proves: each error code of a share group's brokers has the effect for the application that the design's
//! table lists: records continue, a poll raises it, or it is the result of acknowledgements.
//! `group_share_errors.rs` tests the transitions of the member, `share_faults.rs` what becomes of records.

use ottla_client::Kind;
use ottla_client::consumer::share::{AcknowledgeType, ShareConsumer};
use ottla_mock::{Fault, FaultId, Match, MockCluster, Reaction};
use ottla_protocol::{ApiKey, ErrorCode};

use crate::support::share::*;
use crate::support::*;

fn accept_all(consumer: &ShareConsumer) {
    consumer.acknowledge_all(AcknowledgeType::Accept).expect("explicit");
}

/// Reads and accepts what is there, without an error.
async fn read_and_accept(consumer: &ShareConsumer) -> Vec<(i64, i16)> {
    let records = read_once(consumer).await;
    accept_all(consumer);
    commit_all(consumer).await;
    records.iter().map(|record| (record.offset, record.delivery_count)).collect()
}

/// A member that has read and accepted five records.
async fn reading() -> (MockCluster, ShareConsumer) {
    let cluster = share_cluster(5).await;
    let consumer = share_member(&cluster, &[EXPLICIT]).await;
    assert_eq!(read_and_accept(&consumer).await.len(), 5);
    (cluster, consumer)
}

fn fail_once(cluster: &MockCluster, on: Match, code: ErrorCode) -> FaultId {
    cluster.inject(Fault::once(on, Reaction::Error(code)))
}

/// The next five records are delivered, for the first time, and accepted.
async fn assert_continues(cluster: &MockCluster, consumer: &ShareConsumer, code: ErrorCode) {
    append(cluster, 5);
    let delivered = read_and_accept(consumer).await;
    assert_eq!(delivered, (5..10).map(|offset| (offset, 1)).collect::<Vec<_>>(), "{code:?}");
    assert!(is_finished(cluster, 1), "{code:?}");
}

/// ShareGroupHeartbeat: the member retries or rejoins, and the application learns nothing.
#[tokio::test(start_paused = true)]
async fn records_continue_after_a_heartbeat_that_can_be_retried() {
    use ErrorCode as E;
    for code in [
        E::CoordinatorLoadInProgress,
        E::NotCoordinator,
        E::CoordinatorNotAvailable,
        E::RequestTimedOut,
        E::UnknownMemberId,
        E::FencedMemberEpoch,
        E::UnknownServerError,
    ] {
        let (cluster, consumer) = reading().await;
        let fault = fail_once(&cluster, Match::api(ApiKey::ShareGroupHeartbeat), code);
        until(|| cluster.fault_hits(fault) == 1).await;
        assert_continues(&cluster, &consumer, code).await;
        assert_eq!(cluster.members("g").len(), 1, "{code:?}");
    }
}

/// ShareGroupHeartbeat: a poll raises the error, and the next one tries again.
#[tokio::test(start_paused = true)]
async fn a_poll_raises_a_refused_membership_and_the_next_one_joins_again() {
    use ErrorCode as E;
    for (code, kind) in [
        (E::GroupAuthorizationFailed, Kind::Authorization),
        (E::TopicAuthorizationFailed, Kind::Authorization),
        (E::GroupMaxSizeReached, Kind::Broker),
        (E::GroupIdNotFound, Kind::Broker),
    ] {
        let (cluster, consumer) = reading().await;
        fail_once(&cluster, Match::api(ApiKey::ShareGroupHeartbeat), code);
        let error = until_poll_fails(&consumer).await;
        assert_eq!((error.kind(), error.code()), (kind, Some(code)), "{error}");
        assert_continues(&cluster, &consumer, code).await;
    }
}

/// ShareGroupHeartbeat: each poll raises the error until the subscription changes.
#[tokio::test(start_paused = true)]
async fn each_poll_raises_an_error_that_only_a_change_can_mend() {
    use ErrorCode as E;
    for code in [E::InvalidRequest, E::UnsupportedVersion, E::InvalidGroupId] {
        let (cluster, consumer) = reading().await;
        fail_once(&cluster, Match::api(ApiKey::ShareGroupHeartbeat), code);
        let heartbeats = || cluster.request_count(None, ApiKey::ShareGroupHeartbeat);
        until_poll_fails(&consumer).await;
        let before = heartbeats();
        for _ in 0..3 {
            let error = within_deadline(consumer.poll(ms(500), 1)).await.expect_err("each poll");
            assert_eq!((error.kind(), error.code()), (Kind::Broker, Some(code)), "{error}");
        }
        assert_eq!(heartbeats(), before, "{code:?}: no attempt");
        consumer.subscribe(vec!["t".into()]).expect("open");
        assert_continues(&cluster, &consumer, code).await;
    }
}

/// ShareFetch, of the whole response and of a partition: the fetch is repeated, and nothing is raised.
#[tokio::test(start_paused = true)]
async fn records_continue_after_a_fetch_that_can_be_retried() {
    use ErrorCode as E;
    let whole = [
        E::ShareSessionNotFound,
        E::InvalidShareSessionEpoch,
        E::ShareSessionLimitReached,
        E::RequestTimedOut,
        E::KafkaStorageError,
        E::UnknownServerError,
    ];
    let of_partition = [
        E::NotLeaderOrFollower,
        E::FencedLeaderEpoch,
        E::LeaderNotAvailable,
        E::UnknownTopicOrPartition,
        E::UnknownTopicId,
        E::KafkaStorageError,
        E::RequestTimedOut,
        E::CorruptMessage,
        E::UnknownServerError,
    ];
    let fetch = || Match::api(ApiKey::ShareFetch);
    let whole = whole.map(|code| (fetch(), code)).into_iter();
    let of_partition = of_partition.map(|code| (fetch().topic("t").partition(0), code));
    for (on, code) in whole.chain(of_partition) {
        let (cluster, consumer) = reading().await;
        let fault = fail_once(&cluster, on, code);
        assert_continues(&cluster, &consumer, code).await;
        assert_eq!(cluster.fault_hits(fault), 1, "{code:?}");
    }
}

/// ShareFetch: a poll raises the error, and the next one fetches again.
#[tokio::test(start_paused = true)]
async fn a_poll_raises_a_refused_fetch_and_the_next_one_fetches_again() {
    use ErrorCode as E;
    let codes = [
        (E::GroupAuthorizationFailed, Kind::Authorization),
        (E::TopicAuthorizationFailed, Kind::Authorization),
        (E::InvalidRequest, Kind::Broker),
    ];
    let fetch = Match::api(ApiKey::ShareFetch);
    for on in [fetch.clone(), fetch.topic("t").partition(0)] {
        for (code, kind) in codes {
            let (cluster, consumer) = reading().await;
            fail_once(&cluster, on.clone(), code);
            let error = until_poll_fails(&consumer).await;
            assert_eq!((error.kind(), error.code()), (kind, Some(code)), "{error}");
            assert_eq!(error.context().partition, on.partition, "{error}");
            assert_continues(&cluster, &consumer, code).await;
        }
    }
}

/// Acknowledgements: the code of a partition is their result; no poll raises it.
#[tokio::test(start_paused = true)]
async fn the_code_of_a_partition_is_the_result_of_its_acknowledgements() {
    use ErrorCode as E;
    let codes = [
        (E::InvalidRecordState, "their acquisition lock expired"),
        (E::NotLeaderOrFollower, "the leader has moved"),
        (E::FencedLeaderEpoch, "the leader has moved"),
        (E::FencedStateEpoch, ""),
        (E::UnknownTopicOrPartition, ""),
        (E::UnknownTopicId, ""),
        (E::GroupAuthorizationFailed, ""),
        (E::TopicAuthorizationFailed, ""),
        (E::InvalidRequest, ""),
        (E::KafkaStorageError, ""),
        (E::CoordinatorNotAvailable, ""),
        (E::CoordinatorLoadInProgress, ""),
        (E::NotCoordinator, ""),
        (E::RequestTimedOut, ""),
        (E::UnknownServerError, ""),
    ];
    for (code, message) in codes {
        let (cluster, consumer) = reading().await;
        append(&cluster, 5);
        read_once(&consumer).await;
        accept_all(&consumer);
        fail_once(&cluster, Match::api(ApiKey::ShareAcknowledge).topic("t"), code);
        let error = commit(&consumer).await.expect("refused");
        assert_eq!((error.code(), error.context().partition), (Some(code), Some(0)), "{error}");
        assert!(error.message().contains(message), "{error}");
        let results = consumer.take_results();
        let last = results.last().and_then(|result| result.error.as_ref());
        assert_eq!(last.and_then(ottla_client::Error::code), Some(code), "the callback gets it, too");
        // When the locks have expired.
        let again = read_and_accept(&consumer).await;
        assert_eq!(again, (5..10).map(|offset| (offset, 2)).collect::<Vec<_>>(), "{code:?}");
    }
}

/// Acknowledgements with a fetch have results of their own, which the error of the fetch does not replace.
#[tokio::test(start_paused = true)]
async fn acknowledgements_with_a_fetch_have_their_own_results() {
    use ErrorCode as E;
    for code in [E::NotLeaderOrFollower, E::KafkaStorageError, E::RequestTimedOut] {
        let (cluster, consumer) = reading().await;
        append(&cluster, 5);
        read_once(&consumer).await;
        accept_all(&consumer);
        consumer.take_results().clear();
        let fault = fail_once(&cluster, Match::api(ApiKey::ShareFetch).topic("t"), code);
        assert_eq!(read_and_accept(&consumer).await.len(), 5, "{code:?}: they are delivered again");
        assert_eq!(cluster.fault_hits(fault), 1);
        let codes: Vec<_> = consumer
            .take_results()
            .iter()
            .map(|result| result.error.as_ref().and_then(ottla_client::Error::code))
            .collect();
        assert_eq!(codes, [Some(code), None], "{code:?}");
    }
}

/// ShareAcknowledge, of the whole response: a refusal is the result, and the next poll raises it, too, unless it
/// may pass.
#[tokio::test(start_paused = true)]
async fn a_refused_share_acknowledge_is_the_result_and_raised() {
    use ErrorCode as E;
    for (code, raises) in
        [(E::GroupAuthorizationFailed, true), (E::InvalidRequest, true), (E::UnknownServerError, false)]
    {
        let (cluster, consumer) = reading().await;
        append(&cluster, 5);
        read_once(&consumer).await;
        accept_all(&consumer);
        fail_once(&cluster, Match::api(ApiKey::ShareAcknowledge), code);
        let error = commit(&consumer).await.expect("refused");
        assert_eq!((error.code(), error.context().partition), (Some(code), Some(0)), "{error}");
        if raises {
            let raised = within_deadline(consumer.poll(ms(500), 1)).await.expect_err("the next poll");
            assert_eq!((raised.code(), raised.context().partition), (Some(code), None), "{raised}");
        }
        assert_eq!(read_and_accept(&consumer).await.len(), 5, "{code:?}: they are delivered again");
    }
}
