//! Whether a broker's error means that the batch was certainly not written.
//!
//! Invariant: an error that may follow the append never counts as a rejection. Otherwise the sequence
//! number of a written batch would be reused, and the broker would drop the new records as
//! duplicates.

use ottla_protocol::ErrorCode;

use crate::config::Acks;

/// Whether a broker with this error has certainly written nothing, because it checks this before it
/// appends. With `acks=all` it then waits for its followers: if it loses the leadership or the topic
/// meanwhile, it reports an error although the records are in its log, and perhaps in the next
/// leader's.
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
