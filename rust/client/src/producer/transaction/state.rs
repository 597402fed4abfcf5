//! The state of a transactional producer: Java's states and transitions (`TransactionManager`), with the
//! classes of errors of KIP-1050. No I/O and no clock.
//!
//! Invariants: a transaction whose records or offsets may be incomplete cannot be committed. A fatal error
//! is final. After a request whose outcome stayed unknown, the producer gets a new epoch before the next
//! transaction, so that nothing late can affect it. An epoch that protocol 1 has used is never used with
//! protocol 2: partitions that still lack the markers of the last transaction would add records to it.

use crate::error::{Error, Kind, Result};
use crate::producer::idempotence::ProducerIdAndEpoch;

/// The version of the transaction protocol (KIP-890).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::producer) enum TransactionProtocol {
    /// The producer registers partitions and groups with the coordinator.
    V1,
    /// Partition leaders and group coordinators register them, and each end of a transaction bumps the epoch.
    V2,
}

/// How a transaction ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::producer) enum TransactionResult {
    Commit,
    Abort,
}

impl TransactionResult {
    pub(in crate::producer) fn call(self) -> &'static str {
        match self {
            Self::Commit => "commit_transaction",
            Self::Abort => "abort_transaction",
        }
    }
}

/// What the application may do.
#[derive(Debug, Clone)]
enum Phase {
    /// `init_transactions` was not called.
    Uninitialized,
    Initializing,
    /// No transaction is open.
    Ready,
    InTransaction,
    /// Waits for the transaction's records, before another process ends it.
    Preparing,
    /// Its records are acknowledged. Any process with its producer id and epoch may end it.
    Prepared,
    Ending(TransactionResult),
    /// The transaction can only be aborted, because of this error.
    Abortable(Error),
    /// Nothing works any more, because of this error.
    Fatal(Error),
}

/// The state of a transactional producer.
#[derive(Debug)]
pub(super) struct TransactionState {
    phase: Phase,
    producer: Option<ProducerIdAndEpoch>,
    protocol: TransactionProtocol,
    /// The number of the current or last transaction.
    number: u64,
    /// The coordinator may have an open transaction of this producer.
    started: bool,
    /// The producer needs a new epoch before the next transaction.
    needs_new_epoch: bool,
    /// The current epoch was used with protocol 1.
    epoch_of_v1: bool,
}

impl TransactionState {
    pub(super) fn new() -> Self {
        Self {
            phase: Phase::Uninitialized,
            producer: None,
            protocol: TransactionProtocol::V1,
            number: 0,
            started: false,
            needs_new_epoch: false,
            epoch_of_v1: false,
        }
    }

    /// The producer id and epoch, once initialized.
    pub(super) fn producer(&self) -> Option<ProducerIdAndEpoch> {
        self.producer
    }

    /// The protocol of the current transaction.
    pub(super) fn protocol(&self) -> TransactionProtocol {
        self.protocol
    }

    /// `init_transactions` begins.
    pub(super) fn begin_init(&mut self) -> Result<()> {
        match &self.phase {
            Phase::Uninitialized | Phase::Initializing => {
                self.phase = Phase::Initializing;
                Ok(())
            }
            _ => Err(self.wrong_call("init_transactions")),
        }
    }

    /// The coordinator has assigned an id and epoch.
    pub(super) fn initialized(&mut self, producer: ProducerIdAndEpoch) {
        self.producer = Some(producer);
        (self.started, self.needs_new_epoch, self.epoch_of_v1) = (false, false, false);
        if !matches!(self.phase, Phase::Fatal(_)) {
            self.phase = Phase::Ready;
        }
    }

    /// Begins a transaction and returns its number. It is under `protocol`, or under protocol 1 if the
    /// current epoch is.
    pub(super) fn begin(&mut self, protocol: TransactionProtocol) -> Result<u64> {
        match &self.phase {
            Phase::Ready => {
                self.phase = Phase::InTransaction;
                self.protocol = if self.epoch_of_v1 { TransactionProtocol::V1 } else { protocol };
                self.epoch_of_v1 = self.protocol == TransactionProtocol::V1;
                self.number += 1;
                Ok(self.number)
            }
            _ => Err(self.wrong_call("begin_transaction")),
        }
    }

    /// The open transaction's number and producer id, for a record or offsets to add.
    pub(super) fn open(&self, call: &str) -> Result<(u64, ProducerIdAndEpoch)> {
        match (&self.phase, self.producer) {
            (Phase::InTransaction, Some(producer)) => Ok((self.number, producer)),
            _ => Err(self.wrong_call(call)),
        }
    }

    /// The number and producer id of a transaction that is open or being committed.
    pub(super) fn current(&self) -> Option<(u64, ProducerIdAndEpoch)> {
        match &self.phase {
            Phase::InTransaction | Phase::Preparing | Phase::Ending(TransactionResult::Commit) => {
                Some((self.number, self.producer?))
            }
            _ => None,
        }
    }

    /// Begins to end the transaction.
    pub(super) fn begin_end(&mut self, result: TransactionResult) -> Result<()> {
        match (&self.phase, result) {
            (Phase::InTransaction | Phase::Prepared, _)
            | (Phase::Abortable(_) | Phase::Preparing, TransactionResult::Abort) => {
                self.phase = Phase::Ending(result);
                Ok(())
            }
            _ => Err(self.wrong_call(result.call())),
        }
    }

    /// Begins to wait for the records of a transaction that others will end.
    pub(super) fn begin_prepare(&mut self) -> Result<()> {
        match &self.phase {
            Phase::InTransaction | Phase::Preparing => {
                self.phase = Phase::Preparing;
                Ok(())
            }
            _ => Err(self.wrong_call("prepare_transaction")),
        }
    }

    /// All records are acknowledged. Returns the producer whose transaction others may end, or `None` if
    /// the coordinator knows of no transaction.
    pub(super) fn prepared(&mut self) -> Result<Option<ProducerIdAndEpoch>> {
        match &self.phase {
            Phase::Preparing => {
                self.phase = Phase::Prepared;
                Ok(self.producer.filter(|_| self.started))
            }
            _ => Err(self.wrong_call("prepare_transaction")),
        }
    }

    /// Whether the transaction is being ended like this.
    #[cfg(test)]
    pub(super) fn is_ending(&self, result: TransactionResult) -> bool {
        matches!(self.phase, Phase::Ending(ending) if ending == result)
    }

    /// The coordinator may have an open transaction from now on.
    pub(super) fn start(&mut self) {
        self.started = true;
    }

    pub(super) fn is_started(&self) -> bool {
        self.started
    }

    /// Whether the producer needs a new epoch before the next transaction.
    pub(super) fn needs_new_epoch(&self) -> bool {
        self.needs_new_epoch
    }

    /// Whether protocol 2 needs a new epoch first.
    pub(super) fn has_epoch_of_v1(&self) -> bool {
        self.epoch_of_v1
    }

    /// The outcome of a request is unknown, or the next transaction has another protocol.
    pub(super) fn require_new_epoch(&mut self) {
        self.needs_new_epoch = true;
    }

    /// The coordinator has ended the transaction; with protocol 2 it returns the next id and epoch.
    pub(super) fn ended(&mut self, next: Option<ProducerIdAndEpoch>) {
        self.producer = next.or(self.producer);
        self.started = false;
        if !self.needs_new_epoch && !matches!(self.phase, Phase::Fatal(_)) {
            self.phase = Phase::Ready;
        }
    }

    /// A record or a request of the transaction failed.
    pub(super) fn fail(&mut self, error: &Error) {
        match &self.phase {
            Phase::InTransaction | Phase::Preparing | Phase::Ending(TransactionResult::Commit) => {
                self.phase = Phase::Abortable(error.clone());
            }
            // The records of a transaction that is aborted are expected to fail.
            _ => {}
        }
    }

    /// Nothing works any more.
    pub(super) fn fail_fatally(&mut self, error: &Error) {
        if !matches!(self.phase, Phase::Fatal(_)) {
            self.phase = Phase::Fatal(error.clone());
        }
    }

    /// Why the queued records cannot be written any more, if they cannot.
    pub(super) fn abort_reason(&self) -> Option<Error> {
        match &self.phase {
            Phase::Abortable(cause) => Some(abortable(cause)),
            Phase::Ending(TransactionResult::Abort) => Some(aborted()),
            Phase::Fatal(cause) => Some(fatal(cause)),
            _ => None,
        }
    }

    /// The error of a commit that failed because of the state, if it did.
    pub(super) fn failure(&self) -> Option<Error> {
        match &self.phase {
            Phase::Abortable(cause) => Some(abortable(cause)),
            Phase::Fatal(cause) => Some(fatal(cause)),
            _ => None,
        }
    }

    /// Whether a transaction is open that closing the producer must abort.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.phase, Phase::InTransaction | Phase::Preparing | Phase::Abortable(_))
    }

    /// The error of a call that the state does not allow.
    fn wrong_call(&self, call: &str) -> Error {
        let advice = match &self.phase {
            Phase::Abortable(cause) => return abortable(cause).prefixed(call),
            Phase::Fatal(cause) => return fatal(cause).prefixed(call),
            Phase::Uninitialized => "call init_transactions first",
            Phase::Initializing => "init_transactions has not succeeded yet: call it again to wait for it",
            Phase::Ready if call == "init_transactions" => {
                "the producer is initialized: call it once per producer"
            }
            Phase::Ready => "no transaction is open: call begin_transaction first",
            Phase::InTransaction => "a transaction is open: commit or abort it first",
            Phase::Preparing => {
                "the transaction is being prepared: call prepare_transaction again to wait for it, or abort it"
            }
            Phase::Prepared => "the transaction is prepared: commit or abort it, or close this producer",
            Phase::Ending(TransactionResult::Commit) => {
                "the transaction is being committed: call commit_transaction again to wait for it"
            }
            Phase::Ending(TransactionResult::Abort) => {
                "the transaction is being aborted: call abort_transaction again to wait for it"
            }
        };
        Error::new(Kind::State, format!("{call}: {advice}"))
    }
}

/// The error of everything but an abort, while a transaction can only be aborted.
pub(super) fn abortable(cause: &Error) -> Error {
    if cause.kind() == Kind::TransactionAbortable {
        return cause.clone();
    }
    cause
        .clone()
        .prefixed("the transaction has failed; call abort_transaction, then go on")
        .as_kind(Kind::TransactionAbortable)
}

/// The error of every call after a fatal one.
pub(super) fn fatal(cause: &Error) -> Error {
    if cause.is_fatal() {
        return cause.clone();
    }
    cause.clone().prefixed("the producer cannot go on; close this producer, and create another one").fatal()
}

/// The error of records that were not written when their transaction was aborted.
fn aborted() -> Error {
    Error::new(Kind::TransactionAborted, "not written: the transaction was aborted")
}

#[cfg(test)]
#[allow(clippy::expect_used, reason = "a test may fail")]
mod tests;
