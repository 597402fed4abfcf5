//! What it means that a broker refuses the producer's epoch: a newer producer has fenced this one, or the
//! brokers have aborted its transaction, because it was open for too long.
//!
//! Invariant: under protocol 2, no call returns an error about the producer's epoch before the transaction's
//! coordinator has described the transaction. So the first error has the advice that holds for every later
//! call: abort, or close the producer. Under protocol 1, neither producer can go on, so nothing is asked.
//!
//! A broker that was away for a while takes itself for the coordinator until it has caught up, and refuses the
//! epochs that its successor has assigned. So a coordinator is found anew before it is asked.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::describe_transactions::{DescribeTransactionsRequest, TransactionState};
use tokio::time::{Instant, sleep};

use super::error_class::{ErrorClass, TransactionRequest};
use super::init_producer_id::with_advice;
use super::request_attempts::{Attempts, MIN_PAUSE, RequestFailure};
use super::{TransactionManager, TransactionProtocol};
use crate::cluster::{Client, Coordinator, CoordinatorKind};
use crate::error::{Error, Kind, Result};
use crate::producer::idempotence::ProducerIdAndEpoch;
use crate::producer::inner::ProducerInner;

/// The last epoch that a coordinator assigns (`isEpochExhausted` in Kafka's `TransactionMetadata`).
const LAST_EPOCH: i16 = i16::MAX - 1;

/// How often a broker is asked again that knows less than this producer.
const MOST_OUTDATED: u32 = 8;

/// What a transaction's coordinator knows about a producer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// The coordinator does not know the producer's epoch yet: it is not the coordinator any more.
    Outdated,
    /// The epoch is the producer's.
    Current,
    /// The transaction was aborted, and no other producer has begun anything since: the coordinator takes an
    /// abort for a repeated one, and returns the next epoch.
    Aborted,
    /// The transaction was committed, and nothing has begun since: the coordinator takes a commit for a repeated
    /// one, and returns the next epoch.
    Committed,
    /// Another producer has a later epoch.
    Fenced,
}

impl Standing {
    fn of(producer: ProducerIdAndEpoch, state: &TransactionState) -> Self {
        match state.producer_epoch.checked_sub(producer.epoch) {
            _ if state.producer_id != producer.id => Self::Fenced,
            Some(0) => Self::Current,
            Some(..0) => Self::Outdated,
            Some(1) if state.producer_epoch <= LAST_EPOCH => Self::of_ended(&state.transaction_state),
            _ => Self::Fenced,
        }
    }

    /// The standing in the state that has the next epoch.
    fn of_ended(state: &str) -> Self {
        match state {
            "PrepareAbort" | "CompleteAbort" => Self::Aborted,
            "PrepareCommit" | "CompleteCommit" => Self::Committed,
            _ => Self::Fenced,
        }
    }
}

impl TransactionManager {
    /// A broker has refused the epoch of a batch. Returns whether to hold the batch back: either the coordinator
    /// is asked what it means, or the transaction has failed, and the sender fails the batch for that reason.
    pub(in crate::producer) fn epoch_was_refused(&self, error: &Error) -> bool {
        let mut shared = self.shared.lock();
        if !is_ambiguous(error, shared.state.protocol()) {
            return false;
        }
        if shared.state.abort_reason().is_none() {
            shared.refused_epoch.get_or_insert_with(|| error.clone());
        }
        true
    }

    /// Whether batches must wait, because nobody knows yet what a refused epoch means.
    pub(in crate::producer) fn is_epoch_refused(&self) -> bool {
        self.shared.lock().refused_epoch.is_some()
    }
}

/// Whether the error of a record, an offset or a commit leaves open which of the two has happened.
pub(super) fn is_ambiguous(error: &Error, protocol: TransactionProtocol) -> bool {
    // Kafka returns INVALID_TXN_STATE for the commit of a transaction that it has aborted itself.
    let is_ended = error.code() == Some(ErrorCode::InvalidTxnState);
    protocol == TransactionProtocol::V2 && (is_ended || error.code().is_some_and(is_epoch_refusal))
}

/// Whether a broker refuses the producer's epoch by this code.
pub(super) fn is_epoch_refusal(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::InvalidProducerEpoch | ErrorCode::ProducerFenced)
}

/// Settles the state after a broker has refused the epoch of a batch.
pub(super) async fn settle(inner: &ProducerInner, manager: &TransactionManager) {
    let _request = manager.request_lock.lock().await;
    let (error, producer) = {
        let mut shared = manager.shared.lock();
        let current = shared.state.current().filter(|_| shared.state.abort_reason().is_none());
        match (shared.refused_epoch.clone(), current) {
            (Some(error), Some((_, producer))) => (error, producer),
            _ => {
                shared.refused_epoch = None;
                return;
            }
        }
    };
    let (_, failure) = explain(&inner.client, manager, producer, error, None).await;
    let RequestFailure { class, error } = failure;
    manager.request_failed(class, &error);
    // Last: batches wait until they fail.
    manager.shared.lock().refused_epoch = None;
}

/// Asks the coordinator what an ambiguous error means; the standing is unknown if it cannot be asked. The caller
/// holds the request lock.
pub(super) async fn explain(
    client: &Client,
    manager: &TransactionManager,
    producer: ProducerIdAndEpoch,
    error: Error,
    deadline: Option<Instant>,
) -> (Option<Standing>, RequestFailure) {
    let id = manager.transactional_id();
    let standing = match ask(client, manager, producer, deadline).await {
        Ok(standing) => standing,
        // The transaction is aborted meanwhile, which finds out as well.
        Err(_) if manager.abort_reason().is_some() => {
            return (None, RequestFailure { class: ErrorClass::Abortable, error });
        }
        Err(failure) => {
            tracing::debug!(target: "ottla.transaction", error = %failure.error, "cannot ask what a refused epoch means");
            let error = with_advice(error, ErrorCode::ProducerFenced).as_kind(Kind::Fenced);
            return (None, RequestFailure { class: ErrorClass::Fatal, error });
        }
    };
    tracing::debug!(target: "ottla.transaction", ?standing, %error, "the coordinator has said what a refused epoch means");
    let failure = match standing {
        Standing::Current => RequestFailure { class: ErrorClass::Abortable, error },
        Standing::Aborted => {
            let timeout = manager.timeout.as_millis();
            let why = format!(
                "the brokers have aborted the transaction, as they do after transaction.timeout.ms ({timeout} ms)"
            );
            RequestFailure { class: ErrorClass::Abortable, error: error.prefixed(why) }
        }
        Standing::Outdated => {
            let error = with_advice(error, ErrorCode::ProducerFenced).as_kind(Kind::Fenced);
            RequestFailure { class: ErrorClass::Fatal, error }
        }
        Standing::Committed | Standing::Fenced => {
            let why = format!(
                "a newer producer with transactional.id {id:?} has taken over; close this producer, and create another one"
            );
            RequestFailure { class: ErrorClass::Fatal, error: error.prefixed(why).as_kind(Kind::Fenced) }
        }
    };
    (Some(standing), failure)
}

/// Asks until a coordinator knows the producer's epoch, or a later one.
async fn ask(
    client: &Client,
    manager: &TransactionManager,
    producer: ProducerIdAndEpoch,
    deadline: Option<Instant>,
) -> Result<Standing, RequestFailure> {
    let id = manager.transactional_id();
    let mut outdated = 0;
    loop {
        let what = format!("describing the transaction of {id}");
        let attempts = Attempts::new(client, manager, TransactionRequest::Describe, what);
        let attempts = deadline.into_iter().fold(attempts, Attempts::until);
        let asked = |coordinator| describe(coordinator, id, producer);
        let standing = attempts.run((CoordinatorKind::Transaction, id), asked).await?;
        if standing != Standing::Outdated || outdated == MOST_OUTDATED {
            return Ok(standing);
        }
        outdated += 1;
        sleep(client.backoff(outdated).max(MIN_PAUSE)).await;
    }
}

async fn describe(coordinator: Coordinator, id: &str, producer: ProducerIdAndEpoch) -> Result<Standing> {
    let version = coordinator.version::<DescribeTransactionsRequest>(i16::MAX)?;
    let request = DescribeTransactionsRequest { transactional_ids: vec![id.to_owned()] };
    let response = coordinator.request(&request, version).await?;
    coordinator.throttle(response.throttle_time_ms);
    let state = response.transaction_states.into_iter().find(|state| state.transactional_id == id);
    let state = state.ok_or_else(|| Error::new(Kind::Protocol, "the response lacks the transactional id"))?;
    match ErrorCode::from(state.error_code) {
        ErrorCode::None => {
            let standing = Standing::of(producer, &state);
            if standing == Standing::Outdated {
                coordinator.forget();
            }
            Ok(standing)
        }
        code => Err(coordinator.refusal(code)),
    }
}

/// Adds what to do about a code, unless [`explain`] is to find out.
pub(in crate::producer) fn with_advice_if_clear(
    error: Error,
    code: ErrorCode,
    protocol: TransactionProtocol,
) -> Error {
    if is_ambiguous(&error, protocol) { error } else { with_advice(error, code) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(epoch: i16, id: i64, now: i16, state: &str) -> Standing {
        let transaction_state = state.to_owned();
        let described = TransactionState {
            producer_id: id,
            producer_epoch: now,
            transaction_state,
            ..Default::default()
        };
        Standing::of(ProducerIdAndEpoch { id: 7, epoch }, &described)
    }

    #[test]
    fn who_does_not_know_the_epoch_yet_is_outdated() {
        assert_eq!(standing(3, 7, 2, "PrepareCommit"), Standing::Outdated);
        assert_eq!(standing(3, 7, 0, "CompleteAbort"), Standing::Outdated);
    }

    #[test]
    fn only_an_ended_transaction_of_the_next_epoch_can_be_ended_again() {
        assert_eq!(standing(3, 7, 3, "Ongoing"), Standing::Current);
        assert_eq!(standing(3, 7, 4, "CompleteAbort"), Standing::Aborted);
        assert_eq!(standing(3, 7, 4, "PrepareAbort"), Standing::Aborted);
        assert_eq!(standing(3, 7, 4, "PrepareCommit"), Standing::Committed);
        assert_eq!(standing(3, 7, 4, "CompleteCommit"), Standing::Committed);
        for (epoch, id, now, state) in [
            (3, 7, 4, "Empty"),
            (3, 7, 4, "Ongoing"),
            (3, 7, 5, "CompleteCommit"),
            (3, 7, 5, "CompleteAbort"),
            (3, 8, 0, "CompleteAbort"),
            (3, 8, 2, "Ongoing"),
            (LAST_EPOCH, 7, i16::MAX, "CompleteAbort"),
            (i16::MAX, 7, i16::MIN, "Empty"),
        ] {
            assert_eq!(standing(epoch, id, now, state), Standing::Fenced, "{epoch} {id} {now} {state}");
        }
    }
}
