//! What a broker's error says about the log: that nothing was written, or that nobody knows.
//!
//! Invariant: an error that may come after the append never counts as a refusal: the number of a batch
//! that is in the log would be another record's, which the broker would take for the first and drop.

use ottla_protocol::ErrorCode;

use crate::config::Acks;

/// Whether a broker that answers this has surely written nothing: it looks at these before it appends.
/// With `acks=all` it then waits for its followers, and if it loses its place or the topic meanwhile
/// it says so although the records are in its log, and may be in the next leader's.
pub(super) fn is_rejected_before_append(code: ErrorCode, acks: Acks) -> bool {
    use ErrorCode as E;
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
        | E::FencedLeaderEpoch => acks != Acks::All,
        _ => false,
    }
}
