//! What tests do with transactions: inspect them, fence producers, and change the protocol's version.

use ottla_protocol::ErrorCode;
use tokio::time::Instant;

use crate::MockCluster;
use crate::info::TransactionInfo;
use crate::state::{ApiError, TRANSACTION_VERSION};

impl MockCluster {
    /// The transactional ids and their states.
    #[must_use]
    pub fn transactions(&self) -> Vec<TransactionInfo> {
        let now = Instant::now();
        self.shared.change(|state| {
            state.expire_transactions(now);
            let info =
                |(id, metadata): (&String, &crate::transaction::TransactionMetadata)| TransactionInfo {
                    transactional_id: id.clone(),
                    state: metadata.state_name(now).to_owned(),
                    producer_id: metadata.producer().id,
                    producer_epoch: metadata.producer().epoch,
                    partitions: metadata.partitions().iter().cloned().collect(),
                    groups: metadata.groups().iter().cloned().collect(),
                };
            state.transactions.iter().map(info).collect()
        })
    }

    /// Fences a producer, as a newer one with the same transactional id does: aborts its transaction.
    pub fn fence_producer(&self, transactional_id: &str) -> Result<(), ApiError> {
        let now = Instant::now();
        self.shared.change(|state| {
            let Some(metadata) = state.transactions.get_mut(transactional_id) else {
                return Err(unknown(transactional_id));
            };
            let millis = i32::try_from(metadata.timeout().as_millis()).unwrap_or(i32::MAX);
            // Twice, because the first call aborts an open transaction.
            for _ in 0..2 {
                if state.init_transactional_producer(transactional_id, None, millis, now).is_ok() {
                    break;
                }
            }
            Ok(())
        })
    }

    /// Sets the epoch of a transactional id, as if its producer had been initialized that often.
    pub fn set_producer_epoch(&self, transactional_id: &str, epoch: i16) -> Result<(), ApiError> {
        self.shared.change(|state| {
            let metadata = state.transactions.get_mut(transactional_id);
            metadata.ok_or_else(|| unknown(transactional_id)).map(|metadata| metadata.set_epoch(epoch))
        })
    }

    /// Finalizes a level of the feature `transaction.version`, as an upgrade or a downgrade does. Clients
    /// learn it when they next ask a broker for its versions.
    pub fn set_transaction_version(&self, level: i16) {
        self.shared.change(|state| {
            state.features.finalize(TRANSACTION_VERSION, level);
        });
    }
}

fn unknown(transactional_id: &str) -> ApiError {
    ApiError::new(ErrorCode::TransactionalIdNotFound, transactional_id)
}
