//! `Completed`: the messages of a producer that are acknowledged or failed, in the order of their reports.
//!
//! Invariant: the messages of a batch keep their order; a wait ends as soon as there is one, or `wake` is called.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ottla_client::producer::ProduceResult;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::producer::delivery_groups::{DeliveryGroup, GroupReceiver, RecordWaiter};

/// A message whose report is due.
pub(super) struct Report {
    pub(super) produce_result: Arc<ProduceResult>,
    pub(super) waiter: RecordWaiter,
}

/// The completed messages.
#[derive(Default)]
pub(super) struct Completed {
    groups: Mutex<VecDeque<DeliveryGroup>>,
    added: Notify,
    /// Whether a wait is to end although nothing is completed.
    woken: AtomicBool,
}

impl GroupReceiver for Completed {
    fn on_group_done(&self, mut group: DeliveryGroup) {
        // Taken from the end.
        group.waiters.reverse();
        self.groups.lock().push_back(group);
        self.added.notify_one();
    }
}

impl Completed {
    /// Removes and returns the next message.
    pub(super) fn pop(&self) -> Option<Report> {
        let mut groups = self.groups.lock();
        loop {
            let group = groups.front_mut()?;
            if let Some(waiter) = group.waiters.pop() {
                return Some(Report { produce_result: Arc::clone(group.produce_result()), waiter });
            }
            groups.pop_front();
        }
    }

    /// Ends a wait.
    pub(super) fn wake(&self) {
        self.woken.store(true, Ordering::Release);
        self.added.notify_one();
    }

    /// Waits until there is a message, or `wake` is called.
    pub(super) async fn wait(&self) {
        loop {
            let added = self.added.notified();
            let is_woken = self.woken.swap(false, Ordering::AcqRel);
            if is_woken || self.has_some() {
                return;
            }
            added.await;
        }
    }

    /// Whether there is a message.
    pub(super) fn has_some(&self) -> bool {
        !self.groups.lock().is_empty()
    }
}
