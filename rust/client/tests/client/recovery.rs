//! Proves: the recovery table equals the design's, and each error code that Kafka's producers and
//! consumers retry is retried here.

use ottla_client::error::recovery::{Recovery, recovery};
use ottla_protocol::ErrorCode as E;

#[test]
fn the_table_equals_the_designs() {
    let table: &[(&[E], Recovery)] = &[
        (&[E::None], Recovery::Done),
        (&[E::NotLeaderOrFollower, E::FencedLeaderEpoch, E::UnknownLeaderEpoch], Recovery::Refresh),
        (&[E::UnknownTopicOrPartition, E::UnknownTopicId, E::LeaderNotAvailable], Recovery::Refresh),
        (&[E::NotCoordinator, E::CoordinatorNotAvailable], Recovery::FindCoordinator),
        (&[E::CoordinatorLoadInProgress, E::ThrottlingQuotaExceeded], Recovery::Backoff),
        (&[E::RequestTimedOut, E::NotEnoughReplicas, E::NotEnoughReplicasAfterAppend], Recovery::Backoff),
        (&[E::IllegalGeneration, E::UnknownMemberId, E::RebalanceInProgress], Recovery::Rejoin),
        (&[E::FencedMemberEpoch], Recovery::Rejoin),
        (&[E::StaleMemberEpoch], Recovery::AwaitEpoch),
        (&[E::FencedInstanceId], Recovery::Application),
        (&[E::OffsetOutOfRange], Recovery::ResetOffset),
        (&[E::TopicAuthorizationFailed, E::GroupAuthorizationFailed], Recovery::Application),
        (&[E::ClusterAuthorizationFailed, E::SaslAuthenticationFailed], Recovery::Application),
        (&[E::OutOfOrderSequenceNumber, E::UnknownProducerId], Recovery::ProducerEpoch),
        (&[E::InvalidProducerEpoch, E::ProducerFenced], Recovery::ProducerEpoch),
        (&[E::DuplicateSequenceNumber], Recovery::Written),
        (&[E::MessageTooLarge, E::RecordListTooLarge], Recovery::Split),
        (&[E::FetchSessionIdNotFound, E::InvalidFetchSessionEpoch], Recovery::NewSession),
        (&[E::NotController], Recovery::FindController),
        (&[E::RebootstrapRequired], Recovery::Rebootstrap),
        (&[E::UnknownServerError], Recovery::Passing),
        (&[E::Unknown(-77), E::Unknown(31_000)], Recovery::Application),
    ];
    for (codes, expected) in table {
        for code in *codes {
            assert_eq!(recovery(*code), *expected, "{code:?}");
        }
    }
}

#[test]
fn no_code_reads_as_success_or_panics() {
    for number in i16::MIN..=i16::MAX {
        let code = E::from(number);
        assert_eq!(recovery(code) == Recovery::Done, number == 0, "{number}");
    }
}

#[test]
fn errors_for_the_application_are_never_retried() {
    for number in 0..200 {
        let code = E::from(number);
        if recovery(code) == Recovery::Application {
            assert!(!recovery(code).retries(), "{code:?}");
        }
    }
}

/// The client retries every code that Java's clients retry, and others only where this test lists them.
#[test]
fn every_code_has_a_recovery_and_java_s_retries_are_covered() {
    let known: Vec<E> = (-1..1_000).map(E::from).filter(|code| !matches!(code, E::Unknown(_))).collect();
    assert!(known.len() > 130, "{}", known.len());
    let left: Vec<E> = known
        .iter()
        .copied()
        .filter(|code| code.is_retriable() && recovery(*code) == Recovery::Application)
        .collect();
    // Results of ElectLeaders: the caller asked for just that election.
    assert_eq!(left, [E::PreferredLeaderNotAvailable, E::EligibleLeadersNotAvailable, E::ElectionNotNeeded]);
}
