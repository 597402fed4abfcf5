//! Transactions of a producer (KIP-98, KIP-447, KIP-890): the state that the application's calls, the
//! accumulator and the sender share.
//!
//! - `state`: what may happen next; no I/O. `error_class`: what to do about an error.
//! - `calls`: the application's calls. Each runs in a task, so a call that timed out can be repeated to wait
//!   for the same outcome; `running_call` is that task.
//! - `request_attempts`: repeats a request until its outcome is known. `init_producer_id`,
//!   `add_partitions`, `offsets` and `end` are the requests.
//! - `fencing`: what it means that a broker refuses the producer's epoch. `sender_task`: what the sender does
//!   about transactions in the background.
//! - `prepare`: leaves the end of a transaction to others.
//!
//! Invariants: a record is accepted only while a transaction is open, and belongs to that transaction. One
//! request about transactions is in flight at a time. A record that failed, or that was not accepted, stops
//! the commit.

mod add_partitions;
mod calls;
mod end;
mod error_class;
mod fencing;
mod init_producer_id;
mod offsets;
mod partition_results;
mod prepare;
mod request_attempts;
mod running_call;
mod sender_task;
mod state;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::time::Duration;

use super::idempotence::ProducerIdAndEpoch;
use super::partition_transaction::PartitionTransaction;
use super::queue::QueueState;
use crate::cluster::Client;
use crate::error::{Error, Kind, Result};
use crate::topic_partition::TopicPartition;
pub(crate) use end::{end_txn_version, lacks_v2};
use error_class::{ErrorClass, record_error_is_fatal};
pub(super) use fencing::with_advice_if_clear;
pub use prepare::PreparedTransaction;
pub(super) use request_attempts::concurrent_transactions_backoff;
use running_call::RunningCalls;
pub(super) use sender_task::SenderTask;
use state::TransactionState;
pub(super) use state::{TransactionProtocol, TransactionResult};

/// The name of a producer's transactions, and how long one may be open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionalId {
    /// `transactional.id`: a newer producer with the same id fences this one.
    pub id: String,
    /// `transaction.timeout.ms`: the brokers abort a transaction that is open for longer.
    pub timeout: Duration,
}

/// `open` while no transaction is open.
const NONE: u64 = 0;

/// The lowest level of the feature `transaction.version` with protocol 2.
const V2_LEVEL: i16 = 2;

/// The transactions of one producer.
#[derive(Debug)]
pub(super) struct TransactionManager {
    transactional_id: String,
    /// How long a transaction may be open before the brokers abort it.
    timeout: Duration,
    shared: Mutex<Shared>,
    /// The number of the open transaction, or [`NONE`]: checked for each record, without a lock.
    open: AtomicU64,
    /// Held by the request in flight.
    request_lock: tokio::sync::Mutex<()>,
    running: RunningCalls,
    /// A partition leader does not support protocol 2, whatever the cluster has finalized.
    v2_unsupported: AtomicBool,
}

#[derive(Debug)]
struct Shared {
    state: TransactionState,
    /// The partitions that the coordinator does not know yet (protocol 1).
    unregistered: Vec<TopicPartition>,
    /// A broker has refused the producer's epoch with this error, and the coordinator is asked what it means
    /// (protocol 2).
    refused_epoch: Option<Error>,
}

impl TransactionManager {
    pub(super) fn new(TransactionalId { id, timeout }: TransactionalId) -> Self {
        Self {
            transactional_id: id,
            timeout,
            shared: Mutex::new(Shared {
                state: TransactionState::new(),
                unregistered: Vec::new(),
                refused_epoch: None,
            }),
            open: AtomicU64::new(NONE),
            request_lock: tokio::sync::Mutex::default(),
            running: RunningCalls::default(),
            v2_unsupported: AtomicBool::new(false),
        }
    }

    pub(super) fn transactional_id(&self) -> &str {
        &self.transactional_id
    }

    /// The producer id and epoch, once initialized.
    pub(super) fn producer(&self) -> Option<ProducerIdAndEpoch> {
        self.shared.lock().state.producer()
    }

    /// The protocol of the current transaction.
    pub(super) fn protocol(&self) -> TransactionProtocol {
        self.shared.lock().state.protocol()
    }

    /// The newest protocol that the cluster supports, as last reported by the brokers.
    fn supported_protocol(&self, client: &Client) -> TransactionProtocol {
        let level = client.inner.settings.features.transaction_version();
        if level >= V2_LEVEL && !self.v2_unsupported.load(Ordering::Acquire) {
            TransactionProtocol::V2
        } else {
            TransactionProtocol::V1
        }
    }

    /// Adds a partition to the open transaction, before a record is appended to it. The caller holds the
    /// partition's lock.
    pub(super) fn add_record_to(&self, partition: &TopicPartition, queue: &mut QueueState) -> Result<()> {
        let open = self.open.load(Ordering::Acquire);
        if open != NONE && queue.transaction.number() == open {
            return Ok(());
        }
        let mut shared = self.shared.lock();
        let (number, producer) = shared.state.open("send")?;
        let registered = shared.state.protocol() == TransactionProtocol::V2;
        if registered {
            shared.state.start();
        } else {
            shared.unregistered.push(partition.clone());
        }
        queue.begin_transaction(PartitionTransaction::new(number, registered), producer);
        Ok(())
    }

    /// A record of the open transaction was not accepted, or a batch failed. `is_sequenced`: the batch has
    /// used sequence numbers.
    pub(super) fn record_failed(&self, error: &Error, is_sequenced: bool) {
        let mut shared = self.shared.lock();
        if is_sequenced && shared.state.protocol() == TransactionProtocol::V1 {
            // The broker may expect other sequence numbers than the next batch has.
            shared.state.require_new_epoch();
        }
        if record_error_is_fatal(error, shared.state.protocol()) {
            self.open.store(NONE, Ordering::Release);
            shared.state.fail_fatally(error);
        } else if error.kind() != Kind::State {
            shared.state.fail(error);
            self.close_if_failed(&shared);
        }
    }

    /// A partition leader does not support protocol 2: later transactions use protocol 1.
    pub(super) fn leader_lacks_v2(&self) {
        self.v2_unsupported.store(true, Ordering::Release);
    }

    /// Why the queued records cannot be written any more, if they cannot.
    pub(super) fn abort_reason(&self) -> Option<Error> {
        self.shared.lock().state.abort_reason()
    }

    /// Whether a transaction is open that closing the producer must abort.
    pub(super) fn is_open(&self) -> bool {
        self.shared.lock().state.is_open()
    }

    /// Ends the running call when the producer is dropped.
    pub(super) fn stop(&self) {
        self.running.abort();
    }

    /// The sender has died with this error: nothing works any more.
    pub(super) fn fail_fatally(&self, error: &Error) {
        self.open.store(NONE, Ordering::Release);
        self.shared.lock().state.fail_fatally(error);
    }

    /// A request has failed for good.
    fn request_failed(&self, class: ErrorClass, error: &Error) {
        let mut shared = self.shared.lock();
        match class {
            ErrorClass::Fatal => shared.state.fail_fatally(error),
            ErrorClass::Abortable | ErrorClass::Retry | ErrorClass::RetrySoon => shared.state.fail(error),
        }
        self.close_if_failed(&shared);
    }

    /// Accepts no more records after a failure.
    fn close_if_failed(&self, shared: &Shared) {
        if shared.state.failure().is_some() {
            self.open.store(NONE, Ordering::Release);
        }
    }
}
