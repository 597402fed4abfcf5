//! The calls of the application: `init_transactions`, `begin_transaction`, `send_offsets_to_transaction`,
//! `commit_transaction` and `abort_transaction`, as in the Java producer.
//!
//! Invariant: a call that fails leaves the producer in a state that its error names: call it again, abort, or
//! close.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::time::{Duration, Instant};

use super::running_call::Call;
use super::{NONE, TransactionManager, TransactionResult};
use super::{end, init_producer_id, offsets};
use crate::error::{Error, Kind, Result};
use crate::group_offsets::CommittedOffset;
use crate::group_offsets::ConsumerGroupMetadata;
use crate::metrics::Sensor;
use crate::producer::Producer;
use crate::producer::metrics::TransactionTimes;
use crate::retry::deadline;
use crate::topic_partition::TopicPartition;

impl Producer {
    /// Gets a producer id for `transactional.id`: fences older producers with this id, and ends what they
    /// left open. Call it once, before the first transaction.
    ///
    /// # Errors
    /// [`Kind::Timeout`] after `timeout` (default `max.block.ms`): call it again to wait for the same
    /// attempt. Every other error is fatal.
    pub async fn init_transactions(&self, timeout: Option<Duration>) -> Result<()> {
        let manager = self.transaction_manager("init_transactions")?;
        self.start();
        let (client, for_task) = (self.client().clone(), Arc::clone(manager));
        let prepare = || {
            manager.shared.lock().state.begin_init()?;
            Ok(async move {
                match init_producer_id::init_producer_id(&client, &for_task, None).await {
                    Ok(producer) => {
                        tracing::debug!(target: "ottla.transaction", id = producer.id, epoch = producer.epoch, "initialized");
                        for_task.shared.lock().state.initialized(producer);
                        Ok(())
                    }
                    Err(failure) => {
                        for_task.fail_fatally(&failure.error);
                        Err(for_task.shared.lock().state.failure().unwrap_or(failure.error))
                    }
                }
            })
        };
        let call = manager.running.run(Call::Init, self.call_deadline(timeout), prepare);
        timed(&self.times().init, call).await
    }

    /// Begins a transaction. Costs no request.
    pub fn begin_transaction(&self) -> Result<()> {
        let began = Instant::now();
        let manager = self.transaction_manager("begin_transaction")?;
        let protocol = manager.supported_protocol(self.client());
        let mut shared = manager.shared.lock();
        let number = shared.state.begin(protocol)?;
        shared.unregistered.clear();
        shared.refused_epoch = None;
        manager.open.store(number, Ordering::Release);
        self.times().begin.record_nanos_since(began);
        Ok(())
    }

    /// Commits a consumer's offsets with the transaction: each is the offset of the next record to read. The
    /// group checks `member` ([`crate::consumer::Consumer::group_metadata`]), so a consumer that lost its
    /// partitions fails here (KIP-447).
    ///
    /// # Errors
    /// After any error but [`Kind::State`] and [`Kind::Config`], abort the transaction or, if the error is
    /// fatal, close the producer.
    pub async fn send_offsets_to_transaction(
        &self,
        offsets: HashMap<TopicPartition, CommittedOffset>,
        member: &ConsumerGroupMetadata,
    ) -> Result<()> {
        let call = "send_offsets_to_transaction";
        let manager = self.transaction_manager(call)?;
        let (_, producer) = manager.shared.lock().state.open(call)?;
        if let Some(((topic, partition), committed)) = offsets.iter().find(|(_, to)| to.offset < 0) {
            let message = format!("{call}: the offset {} is invalid", committed.offset);
            return Err(Error::new(Kind::Config, message).at(topic, *partition));
        }
        if member.group_id.is_empty() {
            return Err(Error::new(Kind::Config, format!("{call}: the consumer has no group: set group.id")));
        }
        if offsets.is_empty() {
            return Ok(());
        }
        let deadline = self.max_block_deadline();
        let mut cancelled = FailOnCancel { manager, producer: self, armed: true };
        let sending = offsets::send_offsets(self.client(), manager, producer, member, &offsets, deadline);
        let sent = timed(&self.times().send_offsets, sending).await;
        cancelled.armed = false;
        sent.map_err(|failure| {
            manager.request_failed(offsets::failure_class(&failure), &failure.error);
            self.inner.wake.notify_one();
            manager.shared.lock().state.failure().unwrap_or(failure.error)
        })
    }

    /// Commits the transaction: waits until its records are acknowledged, then makes them and its offsets
    /// visible.
    ///
    /// # Errors
    /// [`Kind::Timeout`] after `timeout` (default `max.block.ms`): the commit continues; call it again to wait
    /// for its outcome. [`Kind::TransactionAbortable`]: nothing was committed; abort. Errors that
    /// [`Error::is_fatal`] names: close the producer; if [`Error::is_maybe_done`], it is not known whether the
    /// transaction was committed.
    pub async fn commit_transaction(&self, timeout: Option<Duration>) -> Result<()> {
        self.end_for_caller(TransactionResult::Commit, timeout).await
    }

    /// Aborts the transaction: records that were not sent fail with [`Kind::TransactionAborted`], and none
    /// becomes visible.
    ///
    /// # Errors
    /// [`Kind::Timeout`] after `timeout` (default `max.block.ms`): the abort continues; call it again to wait
    /// for it. Every other error is fatal.
    pub async fn abort_transaction(&self, timeout: Option<Duration>) -> Result<()> {
        self.end_for_caller(TransactionResult::Abort, timeout).await
    }

    /// Aborts an open transaction when the producer closes, and waits for a running call.
    pub(in crate::producer) async fn abort_open_transaction(&self, deadline: Instant) -> Result<()> {
        let Some(manager) = &self.inner.accumulator.transaction else { return Ok(()) };
        if manager.is_open() {
            tracing::info!(target: "ottla.transaction", "the producer is closed with an open transaction, which is aborted");
            return match self.end_transaction(TransactionResult::Abort, deadline).await {
                // Whoever has fenced this producer has aborted its transaction: nothing is left open.
                Err(error) if error.kind() == Kind::Fenced => {
                    tracing::info!(target: "ottla.transaction", %error, "the open transaction was aborted already");
                    Ok(())
                }
                aborted => aborted,
            };
        }
        manager.running.wait(deadline).await;
        Ok(())
    }

    async fn end_transaction(&self, result: TransactionResult, deadline: Instant) -> Result<()> {
        let manager = self.transaction_manager(result.call())?;
        let (inner, for_task) = (Arc::clone(&self.inner), Arc::clone(manager));
        let prepare = || {
            manager.shared.lock().state.begin_end(result)?;
            manager.open.store(NONE, Ordering::Release);
            // An append that saw the transaction open has finished when its queue can be locked.
            self.inner.accumulator.wait_for_appends();
            Ok(end::end(inner, for_task, result))
        };
        let sensor = match result {
            TransactionResult::Commit => &self.times().commit,
            TransactionResult::Abort => &self.times().abort,
        };
        timed(sensor, manager.running.run(Call::End(result), deadline, prepare)).await
    }

    /// Ends the transaction for the application. After a fatal error it knows of the records as much as the
    /// producer.
    async fn end_for_caller(&self, result: TransactionResult, timeout: Option<Duration>) -> Result<()> {
        let ended = self.end_transaction(result, self.call_deadline(timeout)).await;
        if ended.as_ref().is_err_and(Error::is_fatal) {
            self.inner.accumulator.failures.forget_from_now_on();
        }
        ended
    }

    fn times(&self) -> &TransactionTimes {
        &self.inner.accumulator.metrics.transactions
    }

    /// The deadline of a call that starts now: after `timeout`, by default `max.block.ms`.
    #[must_use]
    pub fn call_deadline(&self, timeout: Option<Duration>) -> Instant {
        timeout.map_or_else(|| self.max_block_deadline(), deadline)
    }

    pub(super) fn transaction_manager(&self, call: &str) -> Result<&Arc<TransactionManager>> {
        self.inner.accumulator.transaction.as_ref().ok_or_else(|| {
            Error::new(
                Kind::Config,
                format!("{call}: this producer has no transactions: set transactional.id"),
            )
        })
    }
}

/// Waits for a call, and records the nanoseconds that it took.
async fn timed<T>(sensor: &Sensor, call: impl Future<Output = T>) -> T {
    let began = Instant::now();
    let result = call.await;
    sensor.record_nanos_since(began);
    result
}

/// Fails the transaction if the call is cancelled: its offsets may be added later, or not at all.
struct FailOnCancel<'a> {
    manager: &'a TransactionManager,
    producer: &'a Producer,
    armed: bool,
}

impl Drop for FailOnCancel<'_> {
    fn drop(&mut self) {
        if !self.armed {
            return;
        }
        let error = Error::new(Kind::Timeout, "send_offsets_to_transaction was cancelled");
        {
            let mut shared = self.manager.shared.lock();
            shared.state.start();
            shared.state.require_new_epoch();
        }
        self.manager.request_failed(super::ErrorClass::Abortable, &error);
        self.producer.inner.wake.notify_one();
    }
}
