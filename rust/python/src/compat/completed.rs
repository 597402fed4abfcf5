//! `Completed`: the messages of a producer that are acknowledged or failed, in the order of their reports.
//!
//! Invariant: the messages of a batch keep their order; all waits end as soon as there is one, or `wake` is called.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ottla_client::producer::ProduceResult;
use parking_lot::Mutex;
use pyo3::PyVisit;
use tokio::sync::Notify;

use crate::garbage::{Traverse, Visited, visit_locked};
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
    /// Several threads may wait: one in a poll, another in a flush.
    changed: Notify,
    /// Whether the next wait is to end although nothing is completed.
    woken: AtomicBool,
}

impl GroupReceiver for Completed {
    fn on_group_done(&self, mut group: DeliveryGroup) {
        // Taken from the end.
        group.waiters.reverse();
        self.groups.lock().push_back(group);
        self.changed.notify_waiters();
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

    /// Ends the waits of all threads, or the next one.
    pub(super) fn wake(&self) {
        self.woken.store(true, Ordering::Release);
        self.changed.notify_waiters();
    }

    /// Lets all threads that wait look again.
    pub(super) fn notify(&self) {
        self.changed.notify_waiters();
    }

    /// Waits until there is a message or another reason to look again.
    pub(super) async fn wait(&self) {
        // It sees what happens from here on.
        let changed = self.changed.notified();
        let is_woken = self.woken.swap(false, Ordering::AcqRel);
        if !is_woken && !self.has_some() {
            changed.await;
        }
    }

    /// Whether there is a message.
    pub(super) fn has_some(&self) -> bool {
        !self.groups.lock().is_empty()
    }
}

/// Without the GIL, a batch that completes adds its messages.
impl Traverse for Completed {
    fn traverse(&self, visit: &PyVisit<'_>) -> Visited {
        visit_locked(&self.groups, visit)
    }
}
