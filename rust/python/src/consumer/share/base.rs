//! `ShareConsumerBase`: the methods that do not wait, shared by `ShareConsumer` and `AsyncShareConsumer`.

use std::sync::Arc;

use ottla_client::Client;
use pyo3::PyVisit;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::handle::{ShareConsumerHandle, acknowledge_type};
use crate::client::connections::{Connections, connections};
use crate::client::docs::docs as client_docs;
use crate::client::metrics::metrics;
use crate::client::request_statistics::{RequestStatistics, request_statistics};
use crate::client::sasl_credentials::set_sasl_credentials;
use crate::consumer::base::names;
use crate::consumer::partitions;
use crate::consumer::record::Record;
use crate::convert::errors;
use crate::convert::number;
use crate::garbage::{Traverse, Visited};
use crate::runtime::ProcessLocal;
use pyo3::types::PyDict;

/// The methods that ``ShareConsumer`` and ``AsyncShareConsumer`` share; none of them waits.
#[pyclass(frozen, subclass, module = "ottla._core")]
pub(crate) struct ShareConsumerBase {
    handle: ProcessLocal<Arc<ShareConsumerHandle>>,
}

impl ShareConsumerBase {
    pub(super) fn new(handle: ShareConsumerHandle, topics: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let base = Self { handle: ProcessLocal::new(Arc::new(handle)) };
        if let Some(topics) = topics.filter(|topics| !topics.is_none()) {
            base.subscribe(topics.py(), topics)?;
        }
        Ok(base)
    }

    /// Returns the handle, unless the consumer was closed.
    pub(super) fn handle(&self) -> PyResult<&Arc<ShareConsumerHandle>> {
        let handle = self.handle.get()?;
        if handle.is_closed() { Err(errors::closed("this share consumer was closed")) } else { Ok(handle) }
    }

    /// Returns the client, unless the consumer was closed.
    pub(crate) fn client(&self) -> PyResult<&Client> {
        Ok(self.handle()?.core.client())
    }

    /// Returns the handle, even if the consumer was closed.
    pub(super) fn handle_even_if_closed(&self) -> PyResult<&Arc<ShareConsumerHandle>> {
        self.handle.get()
    }
}

#[pymethods]
impl ShareConsumerBase {
    /// A call in flight shares the handle, and may still call what it refers to.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Visited {
        let handle = self.handle.peek().filter(|handle| Arc::strong_count(handle) == 1);
        handle.map_or(Ok(()), |handle| handle.traverse(&visit))
    }

    fn __clear__(&self) {
        if let Some(handle) = self.handle.peek() {
            handle.set_callback(None);
        }
    }

    /// Subscribe to topics as a member of the share group; replaces an earlier subscription.
    ///
    /// The consumer joins the group with the next poll or iteration.
    ///
    /// Args:
    ///     topics: a list of topics. Topics that do not exist yet are read once they do.
    ///
    /// Raises:
    ///     ConfigError: ``topics`` is empty.
    ///     ArgumentTypeError: ``topics`` is a single string.
    pub(super) fn subscribe(&self, py: Python<'_>, topics: &Bound<'_, PyAny>) -> PyResult<()> {
        let topics = names(topics)?;
        self.handle()?.core.subscribe(topics).map_err(|error| errors::raise(py, &error))
    }

    /// Leave the group. Delivered records can still be acknowledged and committed.
    fn unsubscribe(&self, py: Python<'_>) -> PyResult<()> {
        self.handle()?.core.unsubscribe().map_err(|error| errors::raise(py, &error))
    }

    /// Return the subscribed topics, in order.
    fn subscription<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.handle()?.core.subscription().iter().map(|topic| &**topic))
    }

    /// Return the partitions that this member reads, as of the last poll.
    ///
    /// Other members of the group may read the same partitions.
    ///
    /// Returns:
    ///     Pairs of a topic and a number, in order.
    fn assignment<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        partitions::to_list(py, &self.handle()?.core.assignment())
    }

    /// Acknowledge a record of the last poll; the next poll, commit or close sends it.
    ///
    /// Until it is sent, a later acknowledgement of the record replaces it.
    ///
    /// Args:
    ///     record: the record.
    ///     type: an ``ottla.AcknowledgeType``. Default: ``ACCEPT``.
    ///
    /// Raises:
    ///     ConfigError: the type is unknown.
    ///     StateError: the last poll did not deliver the record, or
    ///         ``share.acknowledgement.mode`` is ``implicit``.
    #[pyo3(signature = (record, r#type=None))]
    fn acknowledge(
        &self,
        py: Python<'_>,
        record: &Bound<'_, Record>,
        r#type: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let ((topic, partition), offset) = record.get().location(py)?;
        let kind = type_or_accept(r#type)?;
        let acknowledged = self.handle()?.core.acknowledge(&topic, partition, offset, kind);
        acknowledged.map_err(|error| errors::raise(py, &error))
    }

    /// Acknowledge delivered records by offset, such as one that cannot be deserialized.
    ///
    /// Args:
    ///     topic: the topic.
    ///     partition: the partition.
    ///     first_offset: the offset of the first record.
    ///     last_offset: the offset of the last record, inclusive. Default: ``first_offset``.
    ///     type: an ``ottla.AcknowledgeType``. Default: ``ACCEPT``.
    ///
    /// Raises:
    ///     ConfigError: the type is unknown.
    ///     StateError: the last poll delivered none of the records, or
    ///         ``share.acknowledgement.mode`` is ``implicit``.
    #[pyo3(signature = (topic, partition, first_offset, last_offset=None, r#type=None))]
    fn acknowledge_offsets(
        &self,
        py: Python<'_>,
        topic: &str,
        #[pyo3(from_py_with = number::partition)] partition: i32,
        #[pyo3(from_py_with = number::first_offset)] first_offset: i64,
        #[pyo3(from_py_with = number::last_offset)] last_offset: Option<i64>,
        r#type: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let offsets = (first_offset, last_offset.unwrap_or(first_offset));
        let kind = type_or_accept(r#type)?;
        let acknowledged = self.handle()?.core.acknowledge_offsets(topic, partition, offsets, kind);
        acknowledged.map_err(|error| errors::raise(py, &error))
    }

    /// Acknowledge all records of the last poll that are not acknowledged yet.
    ///
    /// Args:
    ///     type: an ``ottla.AcknowledgeType``. Default: ``ACCEPT``.
    ///
    /// Raises:
    ///     ConfigError: the type is unknown.
    ///     StateError: ``share.acknowledgement.mode`` is ``implicit``.
    #[pyo3(signature = (r#type=None))]
    fn acknowledge_all(&self, py: Python<'_>, r#type: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let kind = type_or_accept(r#type)?;
        self.handle()?.core.acknowledge_all(kind).map_err(|error| errors::raise(py, &error))
    }

    /// Send the acknowledgements of delivered records without waiting for the results.
    ///
    /// See ``commit``. The acknowledgement commit callback gets the results; without it, failures
    /// are logged.
    fn commit_async(&self, py: Python<'_>) -> PyResult<()> {
        self.handle()?.core.commit_async().map_err(|error| errors::raise(py, &error))
    }

    /// Set the callback for results of acknowledgements; replaces an earlier one.
    ///
    /// A later poll, commit or close calls it on its own thread or task, once for each partition
    /// of a request, with an error or None, and the acknowledged offsets: a dict with one entry,
    /// pairs of a first and a last offset by ``(topic, partition)``. A record is delivered again
    /// only after the result of its earlier acknowledgement. Without a callback, failures are
    /// logged.
    ///
    /// Args:
    ///     callback: the callback, or None for none.
    ///
    /// Raises:
    ///     TypeError: the callback is not callable.
    #[pyo3(signature = (callback))]
    fn set_acknowledgement_commit_callback(&self, callback: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        if callback.is_some_and(|callback| !callback.is_callable()) {
            return Err(PyTypeError::new_err("callback is not callable"));
        }
        self.handle()?.set_callback(callback.map(|callback| callback.clone().unbind()));
        Ok(())
    }

    /// The seconds for which a record stays acquired (``group.share.record.lock.duration.ms``).
    ///
    /// None before the first records arrived.
    #[getter]
    fn acquisition_lock_timeout(&self) -> PyResult<Option<f64>> {
        Ok(self.handle()?.core.acquisition_lock_timeout().map(|timeout| timeout.as_secs_f64()))
    }

    /// The id of this member in its group; empty before the first poll.
    #[getter]
    fn member_id(&self) -> PyResult<String> {
        Ok(self.handle()?.core.member_id().to_string())
    }

    #[doc = client_docs!(set_sasl_credentials)]
    fn set_sasl_credentials(&self, py: Python<'_>, username: String, password: String) -> PyResult<()> {
        set_sasl_credentials(py, self.client()?, username, password)
    }

    /// Return the state of each connection, by broker, without waiting.
    ///
    /// On a shared client, this includes the connections of its other users.
    fn connections(&self) -> PyResult<Connections> {
        Ok(connections(self.handle()?.core.client()))
    }

    /// Return the client's metrics, by the Java client's names, without waiting.
    ///
    /// On a shared client, they include its other users. ``ottla.Metrics`` describes each.
    fn metrics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        metrics(py, self.handle()?.core.client().metrics())
    }

    /// Return statistics of the client's requests: by API, the slowest, and retries.
    ///
    /// On a shared client, they include its other users.
    fn request_statistics(&self, py: Python<'_>) -> PyResult<RequestStatistics> {
        request_statistics(py, self.handle()?.core.client())
    }

    /// End the current poll, or else the next one, with ``WakeupError``; from any thread.
    fn wakeup(&self) -> PyResult<()> {
        self.handle_even_if_closed()?.core.wakeup();
        Ok(())
    }

    /// Whether the consumer was closed.
    #[getter]
    fn closed(&self) -> PyResult<bool> {
        Ok(self.handle_even_if_closed()?.is_closed())
    }

    /// Logs an error of closing, when an exception of the application is raised instead.
    #[allow(clippy::unused_self, reason = "a method for Python")]
    pub(super) fn _closing_failed(&self, error: &str) {
        tracing::warn!(target: "ottla.share", error, "closing the share consumer failed after an exception in its with block");
    }
}

fn type_or_accept(
    value: Option<&Bound<'_, PyAny>>,
) -> PyResult<ottla_client::consumer::share::AcknowledgeType> {
    value.map_or(Ok(ottla_client::consumer::share::AcknowledgeType::Accept), acknowledge_type)
}

/// Returns the `repr` of a share consumer; it has no handle in a forked child.
pub(super) fn repr(class: &str, base: &ShareConsumerBase) -> String {
    let Some(handle) = base.handle.peek() else { return format!("{class}(created in another process)") };
    let config = handle.core.client().config();
    format!(
        "{class}(bootstrap={:?}, group_id={:?}, partitions={}{})",
        config.bootstrap_servers.join(","),
        config.group_id,
        handle.core.assignment().len(),
        if handle.is_closed() { ", closed" } else { "" }
    )
}
