//! The transactions of `Producer` and `AsyncProducer` (KIP-98, KIP-447, KIP-890).
//!
//! Invariant: a call whose wait was cancelled or interrupted continues in the core, and repeating it waits for
//! the same outcome.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use ottla_client::group_offsets::CommittedOffset;
use ottla_client::group_offsets::ConsumerGroupMetadata;
use ottla_client::{Error, Kind, TopicPartition};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::asynchronous::AsyncProducer;
use super::prepared_transaction::PreparedTransaction;
use super::sync::Producer;
use crate::asyncio::start;
use crate::consumer::{ConsumerBase, GroupMetadata, partitions};
use crate::convert::errors;
use crate::convert::number;
use crate::runtime::{seconds, wait_for};

/// Converts a timeout in seconds; None leaves it to `max.block.ms`.
fn timeout_arg(timeout: Option<f64>) -> PyResult<Option<Duration>> {
    timeout.map(|timeout| seconds(Some(timeout), Duration::ZERO)).transpose()
}

/// The offsets and the identity of `consumer`: a consumer of either API, or its `GroupMetadata`.
fn offsets_and_member(
    offsets: Option<&Bound<'_, PyAny>>,
    consumer: &Bound<'_, PyAny>,
) -> PyResult<(HashMap<TopicPartition, CommittedOffset>, ConsumerGroupMetadata)> {
    let py = consumer.py();
    let offsets = partitions::offsets(offsets)?;
    if let Ok(member) = consumer.cast::<GroupMetadata>() {
        let offsets = offsets.ok_or_else(|| {
            let message = "send_offsets_to_transaction: pass the offsets, or the consumer instead of its group metadata";
            errors::raise(py, &Error::new(Kind::Config, message))
        })?;
        return Ok((offsets, member.get().into()));
    }
    let of_consumer = if let Ok(base) = consumer.cast::<ConsumerBase>() {
        base.get().handle()?.core.offsets_for_transaction(offsets)
    } else {
        let ty = consumer.get_type().name()?;
        let message = format!("consumer is of type {ty}: expected a consumer or its GroupMetadata");
        return Err(PyTypeError::new_err(message));
    };
    of_consumer.map_err(|error| errors::raise(py, &error))
}

#[pymethods]
impl Producer {
    /// Get a producer id for ``transactional.id``; call it once, before the first transaction.
    ///
    /// It fences older producers with the same id, and ends the transactions that they left open.
    ///
    /// Args:
    ///     timeout: seconds to wait. Default: ``max.block.ms``.
    ///
    /// Raises:
    ///     AuthorizationError: the principal may not use the id; close the producer.
    ///     BrokerError: ``transaction.timeout.ms`` is above the brokers' maximum, or another fatal
    ///         error; close the producer.
    ///     ConfigError: ``transactional.id`` is not set.
    ///     StateError: the producer is initialized.
    ///     TimeoutError: call it again to wait for the same attempt.
    #[pyo3(signature = (*, timeout=None))]
    fn init_transactions(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<()> {
        wait_for(py, self.handle.get()?.core.init_transactions(timeout_arg(timeout)?))
    }

    /// Begin a transaction; the records sent from now on belong to it. Costs no request.
    ///
    /// Raises:
    ///     FencedError: a newer producer with the same id has taken over; close this one.
    ///     StateError: ``init_transactions`` was not called, or a transaction is open.
    ///     TransactionAbortableError: the open transaction has failed; abort it.
    fn begin_transaction(&self, py: Python<'_>) -> PyResult<()> {
        self.handle.get()?.core.begin_transaction().map_err(|error| errors::raise(py, &error))
    }

    /// Commit a consumer's offsets together with the transaction.
    ///
    /// The group checks that the consumer still owns its partitions (KIP-447). Set the consumer's
    /// ``enable.auto.commit`` to false.
    ///
    /// Args:
    ///     offsets: a record that was processed; or the offset of the next record to read, or an
    ///         ``OffsetAndMetadata``, by ``(topic, partition)``; None for the positions of all
    ///         assigned partitions.
    ///     consumer: the consumer, or its ``GroupMetadata`` if it is in another process.
    ///
    /// Raises:
    ///     CommitFailedError: the consumer has lost its place in the group; abort.
    ///     ConfigError: the consumer has no group, or commits automatically.
    ///     FencedError: a newer producer with the same id has taken over; close this one.
    ///     StateError: no transaction is open.
    ///     TransactionAbortableError: the offsets were not added; abort.
    fn send_offsets_to_transaction(
        &self,
        py: Python<'_>,
        offsets: Option<&Bound<'_, PyAny>>,
        consumer: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let handle = self.handle.get()?;
        let (offsets, member) = offsets_and_member(offsets, consumer)?;
        wait_for(py, handle.core.send_offsets_to_transaction(offsets, &member))
    }

    /// Commit the transaction: its records and offsets become visible together.
    ///
    /// It waits until all records of the transaction are acknowledged.
    ///
    /// Args:
    ///     timeout: seconds to wait. Default: ``max.block.ms``.
    ///
    /// Raises:
    ///     FencedError: a newer producer with the same id has taken over, or the transaction was
    ///         open for longer than ``transaction.timeout.ms``; close the producer. ``maybe_done``
    ///         says whether the transaction may have been committed.
    ///     StateError: no transaction is open.
    ///     TimeoutError: the commit continues; call it again to wait for its outcome.
    ///     TransactionAbortableError: nothing was committed; abort.
    #[pyo3(signature = (*, timeout=None))]
    fn commit_transaction(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<()> {
        wait_for(py, self.handle.get()?.core.commit_transaction(timeout_arg(timeout)?))
    }

    /// Abort the transaction: none of its records and offsets becomes visible.
    ///
    /// Records that were not sent yet fail with ``TransactionAbortedError``.
    ///
    /// Args:
    ///     timeout: seconds to wait. Default: ``max.block.ms``.
    ///
    /// Raises:
    ///     FencedError: a newer producer with the same id has taken over; close this one.
    ///     StateError: no transaction is open.
    ///     TimeoutError: the abort continues; call it again to wait for it.
    #[pyo3(signature = (*, timeout=None))]
    fn abort_transaction(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<()> {
        wait_for(py, self.handle.get()?.core.abort_transaction(timeout_arg(timeout)?))
    }

    /// Wait until every record of the transaction is acknowledged, and leave its end to others.
    ///
    /// Any process can end it with ``Admin.end_prepared_transactions``; closing this producer does
    /// not abort it. The brokers abort it after ``transaction.timeout.ms``.
    ///
    /// Args:
    ///     timeout: seconds to wait. Default: ``max.block.ms``.
    ///
    /// Returns:
    ///     What others need to end it; None if nothing was written.
    ///
    /// Raises:
    ///     FencedError: a newer producer with the same id has taken over; close this one.
    ///     StateError: no transaction is open.
    ///     TimeoutError: call it again to wait for the same records, or abort.
    ///     TransactionAbortableError: a record failed; abort.
    #[pyo3(signature = (*, timeout=None))]
    fn prepare_transaction(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Option<PreparedTransaction>> {
        let prepared = wait_for(py, self.handle.get()?.core.prepare_transaction(timeout_arg(timeout)?))?;
        Ok(prepared.map(PreparedTransaction::from))
    }

    /// Return a context manager for one transaction.
    ///
    /// The ``with`` block begins the transaction and commits it at its end; an exception in the
    /// block aborts it and is raised. If the commit fails, the transaction is aborted, and the
    /// error is raised.
    fn transaction<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("ottla._internal.transactions")?.getattr("Transaction")?.call1((this,))
    }
}

#[pymethods]
impl AsyncProducer {
    /// Get a producer id for ``transactional.id``; see ``Producer.init_transactions``.
    ///
    /// Cancelling the future ends the wait; call it again to wait for the same attempt.
    ///
    /// Args:
    ///     timeout: seconds to wait. Default: ``max.block.ms``.
    #[pyo3(signature = (*, timeout=None))]
    fn init_transactions<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let core = Arc::clone(&self.handle.get()?.core);
        let timeout = timeout_arg(timeout)?;
        start(py, async move { core.init_transactions(timeout).await }, |py, ()| Ok(py.None()))
    }

    /// Begin a transaction, without waiting; see ``Producer.begin_transaction``.
    fn begin_transaction(&self, py: Python<'_>) -> PyResult<()> {
        self.handle.get()?.core.begin_transaction().map_err(|error| errors::raise(py, &error))
    }

    /// Commit a consumer's offsets together with the transaction.
    ///
    /// See ``Producer.send_offsets_to_transaction``.
    ///
    /// Args:
    ///     offsets: as there.
    ///     consumer: a ``Consumer`` or ``AsyncConsumer``, or its ``GroupMetadata``.
    fn send_offsets_to_transaction<'py>(
        &self,
        py: Python<'py>,
        offsets: Option<&Bound<'py, PyAny>>,
        consumer: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let core = Arc::clone(&self.handle.get()?.core);
        let (offsets, member) = offsets_and_member(offsets, consumer)?;
        let work = async move { core.send_offsets_to_transaction(offsets, &member).await };
        start(py, work, |py, ()| Ok(py.None()))
    }

    /// Commit the transaction; see ``Producer.commit_transaction``.
    ///
    /// It waits for all records that were sent, awaited or not. Cancelling the future ends the
    /// wait; call it again to wait for the same outcome.
    ///
    /// Args:
    ///     timeout: seconds to wait. Default: ``max.block.ms``.
    #[pyo3(signature = (*, timeout=None))]
    fn commit_transaction<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let backlog = Arc::clone(&self.handle.get()?.backlog);
        let timeout = timeout_arg(timeout)?;
        start(py, async move { backlog.commit_transaction(timeout).await }, |py, ()| Ok(py.None()))
    }

    /// Abort the transaction; see ``Producer.abort_transaction``.
    ///
    /// Args:
    ///     timeout: seconds to wait. Default: ``max.block.ms``.
    #[pyo3(signature = (*, timeout=None))]
    fn abort_transaction<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let handle = self.handle.get()?;
        let (backlog, groups) = (Arc::clone(&handle.backlog), Arc::clone(&handle.groups));
        let timeout = timeout_arg(timeout)?;
        start(py, async move { backlog.abort_transaction(timeout).await }, move |py, ()| {
            // The application has dealt with them by aborting.
            groups.failed.take_all(py);
            Ok(py.None())
        })
    }

    /// Leave the end of the transaction to others; see ``Producer.prepare_transaction``.
    ///
    /// It waits for all records that were sent, awaited or not. Cancelling the future ends the
    /// wait; call it again to wait for the same records.
    ///
    /// Args:
    ///     timeout: seconds to wait. Default: ``max.block.ms``.
    ///
    /// Returns:
    ///     What others need to end it; None if nothing was written.
    #[pyo3(signature = (*, timeout=None))]
    fn prepare_transaction<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let backlog = Arc::clone(&self.handle.get()?.backlog);
        let timeout = timeout_arg(timeout)?;
        start(py, async move { backlog.prepare_transaction(timeout).await }, |py, prepared| {
            prepared.map(PreparedTransaction::from).into_py_any(py)
        })
    }

    /// Return a context manager for ``async with``; see ``Producer.transaction``.
    fn transaction<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("ottla._internal.transactions")?.getattr("AsyncTransaction")?.call1((this,))
    }
}
