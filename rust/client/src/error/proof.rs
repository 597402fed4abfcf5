//! Which error codes prove that a broker has changed nothing: of records, of committed offsets, of the cluster.
//!
//! Invariant: a code is a proof only if brokers check it before they write. An error that may follow the write never is:
//! a sequence number would be used again, and a change that was made would be reported as refused.

use ottla_protocol::ErrorCode;
use ottla_protocol::ErrorCode as E;

/// Whether a leader with this error has certainly appended nothing.
///
/// With `acks=all` it waits for its followers after the append: if it loses the leadership or the topic meanwhile, it
/// reports an error although the records are in its log, and perhaps in the next leader's.
pub(crate) fn proves_no_append(code: ErrorCode, acks_all: bool) -> bool {
    match code {
        E::TopicAuthorizationFailed
        | E::ClusterAuthorizationFailed
        | E::TransactionalIdAuthorizationFailed
        | E::MessageTooLarge
        | E::RecordListTooLarge
        | E::CorruptMessage
        | E::InvalidRecord
        | E::InvalidTimestamp
        | E::InvalidRequest
        | E::InvalidRequiredAcks
        | E::InvalidTopicException
        | E::PolicyViolation
        | E::UnsupportedCompressionType
        | E::UnsupportedForMessageFormat
        | E::UnsupportedVersion
        | E::ThrottlingQuotaExceeded
        | E::NotEnoughReplicas
        | E::OutOfOrderSequenceNumber
        | E::UnknownProducerId
        | E::InvalidProducerEpoch
        | E::ProducerFenced
        | E::InvalidProducerIdMapping
        | E::InvalidTxnState
        | E::ConcurrentTransactions
        | E::TransactionAbortable => true,
        E::NotLeaderOrFollower
        | E::UnknownTopicOrPartition
        | E::UnknownTopicId
        | E::LeaderNotAvailable
        | E::ReplicaNotAvailable
        | E::FencedLeaderEpoch => !acks_all,
        _ => false,
    }
}

/// Whether a coordinator with this error for an offset has certainly not committed it.
pub(crate) fn proves_no_commit(code: ErrorCode) -> bool {
    matches!(
        code,
        E::TopicAuthorizationFailed
            | E::UnknownTopicOrPartition
            | E::UnknownTopicId
            | E::OffsetMetadataTooLarge
            | E::InvalidCommitOffsetSize
            | E::CoordinatorLoadInProgress
            | E::InvalidRequest
    )
}

/// Whether a broker that returns this code for a change of the cluster has certainly changed nothing, so that the change
/// may be repeated without doubt about the first attempt.
///
/// A controller, coordinator or leader that resigns fails what waits for its followers (NOT_CONTROLLER,
/// NOT_COORDINATOR, NOT_LEADER_OR_FOLLOWER), and a coordinator whose write takes too long is
/// COORDINATOR_NOT_AVAILABLE: the change may be in the log.
#[must_use]
pub fn proves_no_change(code: ErrorCode) -> bool {
    matches!(code, E::CoordinatorLoadInProgress | E::ThrottlingQuotaExceeded)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a broker reports that resigns while a change waits for its followers.
    const RESIGNED: [ErrorCode; 5] = [
        E::NotController,
        E::NotCoordinator,
        E::NotLeaderOrFollower,
        E::CoordinatorNotAvailable,
        E::RequestTimedOut,
    ];

    #[test]
    fn what_a_broker_reports_that_resigns_proves_nothing() {
        for code in RESIGNED {
            assert!(!proves_no_change(code) && !proves_no_commit(code), "{code}");
            assert!(!proves_no_append(code, true), "{code}");
        }
    }

    #[test]
    fn a_leader_that_waits_for_nobody_has_appended_nothing() {
        assert!(proves_no_append(E::NotLeaderOrFollower, false));
        assert!(!proves_no_append(E::RequestTimedOut, false));
    }

    #[test]
    fn success_and_what_no_release_has_yet_prove_nothing() {
        for code in [E::None, E::Unknown(9_999), E::UnknownServerError] {
            assert!(
                !proves_no_change(code) && !proves_no_commit(code) && !proves_no_append(code, false),
                "{code}"
            );
        }
    }
}
