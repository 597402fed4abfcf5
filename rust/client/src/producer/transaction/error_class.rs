//! What to do about an error of a transactional request, by request and code (KIP-1050).
//!
//! Invariant: an error that does not prove that the request had no effect is `is_in_doubt`: its effect may
//! still come, so the producer takes a new epoch before its next transaction.

use ottla_protocol::ErrorCode;

use super::state::{TransactionProtocol, TransactionResult};
use crate::error::recovery::{Recovery, recovery};
use crate::error::{Error, Kind, Outlook};

/// A transactional request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TransactionRequest {
    InitProducerId,
    AddPartitions,
    AddOffsets,
    OffsetCommit,
    End(TransactionResult),
    /// DescribeTransactions, to find out what a refused epoch means.
    Describe,
}

impl TransactionRequest {
    /// The class of an error without a rule: an abort can follow, unless it is the abort that failed.
    fn unexpected(self) -> ErrorClass {
        match self {
            Self::End(_) | Self::InitProducerId | Self::Describe => ErrorClass::Fatal,
            Self::AddPartitions | Self::AddOffsets | Self::OffsetCommit => ErrorClass::Abortable,
        }
    }
}

/// What to do about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ErrorClass {
    /// Repeat the request soon: the coordinator is still ending the previous transaction.
    RetrySoon,
    /// Repeat the request after a backoff.
    Retry,
    /// Abort the transaction; the next one may succeed.
    Abortable,
    /// The producer cannot go on.
    Fatal,
}

/// The class of an error of a request.
pub(super) fn error_class(request: TransactionRequest, error: &Error) -> ErrorClass {
    let Some(code) = error.code() else {
        // Without a code, the error is the connection's or the client's own.
        return match error.kind() {
            _ if error.is_transient() => ErrorClass::Retry,
            Kind::Closed | Kind::Internal | Kind::Authentication => ErrorClass::Fatal,
            _ => request.unexpected(),
        };
    };
    use ErrorCode as E;
    match code {
        E::ConcurrentTransactions => ErrorClass::RetrySoon,
        // The transaction that the coordinator was about to abort has just been ended by its producer.
        E::InvalidTxnState if request == TransactionRequest::InitProducerId => ErrorClass::RetrySoon,
        E::ProducerFenced
        | E::InvalidProducerEpoch
        | E::InvalidProducerIdMapping
        | E::TransactionalIdAuthorizationFailed
        | E::ClusterAuthorizationFailed
        | E::InvalidTransactionTimeout
        | E::InvalidTxnState
        | E::UnsupportedVersion
        | E::UnsupportedForMessageFormat
        | E::InvalidRequest => ErrorClass::Fatal,
        E::TransactionAbortable => match request {
            TransactionRequest::End(TransactionResult::Abort) | TransactionRequest::InitProducerId => {
                ErrorClass::Fatal
            }
            _ => ErrorClass::Abortable,
        },
        // Without the outcome of an end, the application could neither go on nor repeat its work.
        E::UnknownServerError | E::Unknown(_) => match request {
            TransactionRequest::End(_) => ErrorClass::Retry,
            TransactionRequest::InitProducerId | TransactionRequest::Describe => ErrorClass::Fatal,
            _ => ErrorClass::Abortable,
        },
        E::UnknownTopicOrPartition | E::UnknownTopicId if error.outlook() == Outlook::Permanent => {
            request.unexpected()
        }
        _ if error.is_transient() || recovery(code) == Recovery::FindCoordinator => ErrorClass::Retry,
        _ => request.unexpected(),
    }
}

/// Whether a request that was sent may have taken effect although it failed.
pub(super) fn is_in_doubt(error: &Error) -> bool {
    use ErrorCode as E;
    let Some(code) = error.code() else { return true };
    // A coordinator checks these before it writes to its log, and returns any other code after the write
    // too: COORDINATOR_NOT_AVAILABLE if its replicas did not respond, for example.
    !matches!(
        code,
        E::ConcurrentTransactions
            | E::CoordinatorLoadInProgress
            | E::ProducerFenced
            | E::InvalidProducerEpoch
            | E::InvalidProducerIdMapping
            | E::InvalidTxnState
            | E::InvalidTransactionTimeout
            | E::InvalidRequest
            | E::TransactionAbortable
            | E::TransactionalIdAuthorizationFailed
            | E::ClusterAuthorizationFailed
            | E::GroupAuthorizationFailed
            | E::TopicAuthorizationFailed
            | E::IllegalGeneration
            | E::UnknownMemberId
            | E::FencedInstanceId
            | E::StaleMemberEpoch
            | E::FencedMemberEpoch
            | E::UnknownTopicOrPartition
            | E::UnknownTopicId
            | E::OperationNotAttempted
            | E::OffsetMetadataTooLarge
            | E::UnsupportedVersion
    )
}

/// The class of an error of a record of the transaction: the records fail, so it cannot be committed.
pub(super) fn record_error_is_fatal(error: &Error, protocol: TransactionProtocol) -> bool {
    use ErrorCode as E;
    if error.kind() == Kind::TransactionAbortable {
        // It repeats the reason for which the transaction can only be aborted.
        return false;
    }
    match error.code() {
        // Under protocol 2, `fencing` finds out what it means.
        Some(E::InvalidProducerEpoch) => protocol == TransactionProtocol::V1,
        Some(
            E::ProducerFenced
            | E::InvalidProducerIdMapping
            | E::TransactionalIdAuthorizationFailed
            | E::ClusterAuthorizationFailed
            | E::UnsupportedVersion,
        ) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(request: TransactionRequest, code: ErrorCode) -> ErrorClass {
        error_class(request, &Error::from_code(code))
    }

    #[test]
    fn a_fenced_producer_never_goes_on() {
        let commit = TransactionRequest::End(TransactionResult::Commit);
        for request in [commit, TransactionRequest::AddPartitions, TransactionRequest::OffsetCommit] {
            for code in [ErrorCode::ProducerFenced, ErrorCode::InvalidProducerIdMapping] {
                assert_eq!(class(request, code), ErrorClass::Fatal, "{request:?} {code}");
            }
        }
    }

    #[test]
    fn an_initialization_that_met_the_end_of_a_transaction_is_repeated() {
        let code = ErrorCode::InvalidTxnState;
        assert_eq!(class(TransactionRequest::InitProducerId, code), ErrorClass::RetrySoon);
        let commit = TransactionRequest::End(TransactionResult::Commit);
        assert_eq!(class(commit, code), ErrorClass::Fatal);
    }

    #[test]
    fn transaction_abortable_is_fatal_only_while_aborting() {
        let code = ErrorCode::TransactionAbortable;
        for (request, expected) in [
            (TransactionRequest::End(TransactionResult::Commit), ErrorClass::Abortable),
            (TransactionRequest::OffsetCommit, ErrorClass::Abortable),
            (TransactionRequest::End(TransactionResult::Abort), ErrorClass::Fatal),
        ] {
            assert_eq!(class(request, code), expected, "{request:?}");
        }
    }

    #[test]
    fn an_unknown_server_error_of_an_end_is_neither_success_nor_failure() {
        let code = ErrorCode::UnknownServerError;
        let commit = TransactionRequest::End(TransactionResult::Commit);
        assert_eq!(class(commit, code), ErrorClass::Retry);
        assert!(is_in_doubt(&Error::from_code(code)));
        assert!(is_in_doubt(&Error::new(Kind::Connection, "lost")));
        assert!(!is_in_doubt(&Error::from_code(ErrorCode::ConcurrentTransactions)));
    }

    #[test]
    fn a_member_that_was_removed_aborts_its_transaction() {
        for code in [
            ErrorCode::IllegalGeneration,
            ErrorCode::UnknownMemberId,
            ErrorCode::FencedMemberEpoch,
            ErrorCode::StaleMemberEpoch,
            ErrorCode::FencedInstanceId,
            ErrorCode::GroupAuthorizationFailed,
            ErrorCode::TopicAuthorizationFailed,
        ] {
            assert_eq!(class(TransactionRequest::OffsetCommit, code), ErrorClass::Abortable, "{code}");
        }
    }
}
