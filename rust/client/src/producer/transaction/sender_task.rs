//! What the sender does about transactions in the background: it registers partitions (protocol 1), and finds
//! out what a refused epoch means (protocol 2).
//!
//! Invariant: one such task runs at a time, and the sender stays free to send other batches meanwhile.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::{TransactionManager, add_partitions, fencing};
use crate::producer::inner::ProducerInner;
use crate::tasks::panics::catch;

/// The sender's task about transactions.
#[derive(Default)]
pub(in crate::producer) struct SenderTask {
    task: JoinSet<()>,
}

impl TransactionManager {
    /// Whether batches wait for a request that the sender's task makes.
    pub(in crate::producer) fn needs_request(&self) -> bool {
        let shared = self.shared.lock();
        !shared.unregistered.is_empty() || shared.refused_epoch.is_some()
    }
}

impl SenderTask {
    /// Starts a task if there is something to do, unless one runs.
    pub(in crate::producer) fn start(
        &mut self,
        inner: &Arc<ProducerInner>,
        manager: &Arc<TransactionManager>,
    ) {
        if !self.task.is_empty() {
            return;
        }
        let (partitions, is_refused) = {
            let mut shared = manager.shared.lock();
            (std::mem::take(&mut shared.unregistered), shared.refused_epoch.is_some())
        };
        if partitions.is_empty() && !is_refused {
            return;
        }
        let (inner, manager) = (Arc::clone(inner), Arc::clone(manager));
        self.task.spawn(async move {
            let work = async {
                if !partitions.is_empty() {
                    add_partitions::register(&inner, &manager, partitions).await;
                }
                if is_refused {
                    fencing::settle(&inner, &manager).await;
                }
            };
            if let Err(panicked) = catch("a request about the transaction", work).await {
                manager.fail_fatally(&panicked);
            }
        });
    }

    /// Waits for the task; returns `None` at once if there is none.
    pub(in crate::producer) async fn finished(&mut self) -> Option<()> {
        self.task.join_next().await.map(|_| ())
    }
}
