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
use super::docs::docs;
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
    #[doc = docs!(init_transactions)]
    #[pyo3(signature = (*, timeout=None))]
    fn init_transactions(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<()> {
        wait_for(py, self.handle.get()?.core.init_transactions(timeout_arg(timeout)?))
    }

    #[doc = docs!(send_offsets_to_transaction)]
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

    #[doc = docs!(commit_transaction)]
    #[pyo3(signature = (*, timeout=None))]
    fn commit_transaction(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<()> {
        wait_for(py, self.handle.get()?.core.commit_transaction(timeout_arg(timeout)?))
    }

    #[doc = docs!(abort_transaction)]
    #[pyo3(signature = (*, timeout=None))]
    fn abort_transaction(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<()> {
        wait_for(py, self.handle.get()?.core.abort_transaction(timeout_arg(timeout)?))
    }

    #[doc = docs!(prepare_transaction)]
    #[pyo3(signature = (*, timeout=None))]
    fn prepare_transaction(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Option<PreparedTransaction>> {
        let prepared = wait_for(py, self.handle.get()?.core.prepare_transaction(timeout_arg(timeout)?))?;
        Ok(prepared.map(PreparedTransaction::from))
    }

    #[doc = docs!(transaction)]
    fn transaction<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("ottla._internal.transactions")?.getattr("Transaction")?.call1((this,))
    }
}

#[pymethods]
impl AsyncProducer {
    #[doc = docs!(init_transactions)]
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

    #[doc = docs!(send_offsets_to_transaction)]
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

    #[doc = docs!(commit_transaction)]
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

    #[doc = docs!(abort_transaction)]
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

    #[doc = docs!(prepare_transaction)]
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

    #[doc = docs!(transaction)]
    fn transaction<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("ottla._internal.transactions")?.getattr("AsyncTransaction")?.call1((this,))
    }
}
