//! Proves: the one table of recovery says what the design's table says, and every code that a
//! produce or fetch retries by itself is one that it tries again.

use ottla_client::retry::recovery::{Recovery, recovery};
use ottla_protocol::ErrorCode as E;

#[test]
fn the_table_is_the_designs() {
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
        (&[E::UnknownServerError, E::Unknown(-77), E::Unknown(31_000)], Recovery::Application),
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
fn what_the_application_must_decide_is_never_tried_again() {
    for number in 0..200 {
        let code = E::from(number);
        if recovery(code) == Recovery::Application {
            assert!(!recovery(code).retries(), "{code:?}");
        }
    }
}

/// The client goes on by itself after whatever Java's clients go on after, and the other way round
/// only where it says so here.
#[test]
fn every_code_is_decided_and_what_java_retries_is_retried() {
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
