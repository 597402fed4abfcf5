//! Prepares a transaction whose end is decided elsewhere: its records are acknowledged, and the producer sends
//! no EndTxn (the first phase of KIP-939's two-phase commit, for all brokers).
//!
//! Invariants: a prepared transaction has every record that was accepted. Closing or dropping its producer
//! leaves it open; only `transaction.timeout.ms` or a newer producer with its id aborts it unasked.

use std::sync::atomic::Ordering;

use tokio::time::{Duration, timeout_at};

use super::{NONE, TransactionProtocol};
use crate::error::{Error, Kind, Result};
use crate::producer::Producer;

/// A transaction whose records are acknowledged, and that anyone with these values can end:
/// [`Client::end_prepared_transactions`](crate::Client::end_prepared_transactions).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedTransaction {
    /// The transactional id.
    pub transactional_id: String,
    /// The producer id.
    pub producer_id: i64,
    /// The producer epoch.
    pub producer_epoch: i16,
    /// The version of the transaction protocol, 1 or 2, with which it must end.
    pub protocol: u8,
}

impl Producer {
    /// Waits until every record of the transaction is acknowledged, and leaves its end to others. `None` if
    /// nothing was written: there is no transaction to end. This producer may still commit or abort it.
    ///
    /// # Errors
    /// [`Kind::Timeout`] after `timeout` (default `max.block.ms`): call it again to wait for the same
    /// records, or abort. [`Kind::TransactionAbortable`]: a record failed; abort.
    pub async fn prepare_transaction(
        &self,
        timeout: Option<Duration>,
    ) -> Result<Option<PreparedTransaction>> {
        let manager = self.transaction_manager("prepare_transaction")?;
        manager.shared.lock().state.begin_prepare()?;
        manager.open.store(NONE, Ordering::Release);
        // An append that saw the transaction open has finished when its queue can be locked.
        self.inner.accumulator.wait_for_appends();
        let emptied = {
            let _flushing = self.suspend_linger();
            timeout_at(self.call_deadline(timeout), self.inner.accumulator.wait_until_empty()).await
        };
        if emptied.is_err() {
            let message = "prepare_transaction: some records are still unacknowledged: call it again to wait for them, or abort";
            return Err(Error::new(Kind::Timeout, message));
        }
        let mut shared = manager.shared.lock();
        let protocol = match shared.state.protocol() {
            TransactionProtocol::V1 => 1,
            TransactionProtocol::V2 => 2,
        };
        Ok(shared.state.prepared()?.map(|producer| PreparedTransaction {
            transactional_id: manager.transactional_id().to_owned(),
            producer_id: producer.id,
            producer_epoch: producer.epoch,
            protocol,
        }))
    }
}
