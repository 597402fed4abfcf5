//! Rebalances: what happens before and after the application's callback.
//!
//! Invariant: prepare → callback → finish, in this order. Only [`Consumer::finish_rebalance`] gives up revoked
//! and lost partitions and lets the membership continue; it does so even if it is cancelled.

use std::fmt;

use tokio::time::{Instant, timeout_at};

use crate::consumer::Consumer;
use crate::consumer::call_sequence::Progress;
use crate::consumer::group::RebalanceEvent;
use crate::environment::BoxFuture;
use crate::error::Result;

/// A Rust program's callback for rebalances; `ConsumerRebalanceListener` in Java.
pub trait RebalanceListener: fmt::Debug + Send + Sync {
    /// Called inside a poll, or while the consumer closes: after partitions were assigned, before partitions
    /// are revoked and after partitions were lost. It may commit, seek and pause, but not poll. The poll
    /// returns its error once the rebalance is finished.
    fn on_rebalance<'a>(
        &'a self,
        consumer: &'a Consumer,
        event: &'a RebalanceEvent,
    ) -> BoxFuture<'a, Result<()>>;
}

/// Completes an event when it is dropped, if it was not completed before.
struct CompleteOnDrop<'a>(&'a Consumer, Option<&'a RebalanceEvent>);

impl CompleteOnDrop<'_> {
    fn complete(mut self) -> Result<()> {
        self.1.take().map_or(Ok(()), |event| self.0.complete_rebalance(event))
    }
}

impl Drop for CompleteOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(event) = self.1.take() {
            // A membership that failed reports its error in the next poll again.
            let _ = self.0.complete_rebalance(event);
        }
    }
}

impl Consumer {
    /// Runs before the application's rebalance callback: commits delivered records before a revocation, and
    /// adds assigned partitions.
    pub async fn prepare_rebalance(&self, event: &RebalanceEvent) {
        match event {
            RebalanceEvent::Revoke(_) => self.commits.before_revocation().await,
            RebalanceEvent::Assign { all, .. } if !self.subscription.is_user_assigned() => {
                self.shared.subscriptions.lock().replace(all.clone(), self.initial_state());
                self.shared.fetcher_wakeup.notify_one();
            }
            RebalanceEvent::Assign { .. } | RebalanceEvent::Lost(_) | RebalanceEvent::Failed(_) => {}
        }
    }

    /// Waits a few seconds at most for commits of revoked partitions, including those of the application's
    /// callback. [`Consumer::complete_rebalance`] rejects later ones.
    async fn await_pending_commits(&self, event: &RebalanceEvent) {
        if matches!(event, RebalanceEvent::Revoke(_)) {
            self.commits.wait_for_pending().await;
        }
    }

    /// Runs after the application's callback: removes revoked and lost partitions, and lets the group
    /// member continue.
    pub fn complete_rebalance(&self, event: &RebalanceEvent) -> Result<()> {
        // What the application has assigned meanwhile is its own.
        if let RebalanceEvent::Revoke(partitions) | RebalanceEvent::Lost(partitions) = event
            && !self.subscription.is_user_assigned()
        {
            self.shared.subscriptions.lock().remove(partitions);
        }
        if let Some(group) = self.shared.group.get() {
            group.complete_event();
        }
        self.shared.fetcher_wakeup.notify_one();
        match event {
            RebalanceEvent::Failed(error) => Err(error.clone()),
            _ => Ok(()),
        }
    }

    /// Runs after the application's callback. Waits for commits of revoked partitions, until the deadline at
    /// most and only if the callback `succeeded`, and completes the rebalance, even if it is cancelled.
    pub async fn finish_rebalance(
        &self,
        event: &RebalanceEvent,
        succeeded: bool,
        deadline: Option<Instant>,
    ) -> Result<()> {
        let completion = CompleteOnDrop(self, Some(event));
        if succeeded {
            let pending = self.await_pending_commits(event);
            match deadline {
                // Late commits are rejected.
                Some(deadline) => drop(timeout_at(deadline, pending).await),
                None => pending.await,
            }
        }
        completion.complete()
    }

    /// Handles a rebalance with the listener of a Rust program.
    pub(super) async fn handle_rebalance(
        &self,
        event: &RebalanceEvent,
        deadline: Option<Instant>,
    ) -> Result<Progress> {
        self.prepare_rebalance(event).await;
        let listener = match event {
            RebalanceEvent::Failed(_) => None,
            _ => self.listener.as_deref(),
        };
        let called = match (listener, deadline) {
            (None, _) => Ok(Progress::Nothing),
            (Some(listener), None) => listener.on_rebalance(self, event).await.map(|()| Progress::Something),
            (Some(listener), Some(deadline)) => {
                match timeout_at(deadline, listener.on_rebalance(self, event)).await {
                    Ok(called) => called.map(|()| Progress::Something),
                    // `CallSequence` reports it.
                    Err(_) => Ok(Progress::Something),
                }
            }
        };
        let finished = self.finish_rebalance(event, called.is_ok(), deadline).await;
        called.and_then(|progress| finished.map(|()| progress))
    }
}
