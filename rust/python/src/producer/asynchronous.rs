//! `AsyncProducer`: the asyncio API over an `AsyncProducerHandle`.
//!
//! Invariant: no call blocks the loop's thread or occupies another one while it waits.

use std::sync::{Arc, Weak};
use std::time::Duration;

use ottla_client::producer::Producer as CoreProducer;
use pyo3::PyVisit;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::asyncio::{LoopCache, start};
use crate::client::asynchronous as async_client;
use crate::client::client_arg::{connect_if_new, resolve_client};
use crate::client::client_ops::SnapshotRequest;
use crate::client::docs::docs as client_docs;
use crate::convert::errors;
use crate::convert::names::Names;
use crate::convert::number;
use crate::convert::renamed;
use crate::garbage::{Traverse, Visited};
use crate::producer::async_producer_handle::AsyncProducerHandle;
use crate::producer::backlog::Backlog;
use crate::producer::base::ProducerBase;
use crate::producer::batch_args::BatchArgs;
use crate::producer::delivery_groups::DeliveryGroups;
use crate::producer::docs::docs;
use crate::producer::hooks::Hooks;
use crate::producer::producer_handle::leave;
use crate::producer::record::RecordArgs;
use crate::producer::transactional_id;
use crate::runtime::exit;
use crate::runtime::{CLOSE_TIMEOUT, ProcessLocal, runtime, seconds};
use crate::typed::ColumnFormat;

/// A Kafka producer for asyncio; it mirrors ``Producer``.
///
/// Methods that block there return a future of the running loop here, and no thread waits
/// for it. The futures of a batch complete together, so thousands of concurrent ``send``
/// calls are cheap. A producer may be used from several loops.
///
/// Creating a producer does not connect: ``async with``, ``connect()`` or the first
/// record does. At its end, an ``async with`` block closes the producer, and raises the
/// first failure of a record that was not awaited.
///
/// Args:
///     bootstrap: addresses as ``host:port``, or a ``Client`` or ``AsyncClient`` whose
///         connections it shares.
///     config: configuration by Kafka's dotted names. Keyword arguments are the same
///         names with underscores, and take precedence. See ``Client``.
///     timeout: seconds in which ``connect()`` must find the cluster; until then it
///         retries servers that fail. Default: ``default.api.timeout.ms``, 60 s.
///     key_serializer: as for ``Producer``; called on the loop's thread.
///     value_serializer: as for ``Producer``; called on the loop's thread.
///     interceptors: as for ``Producer``; called on the loop's thread.
///     partitioner: as for ``Producer``; called on the loop's thread.
///
/// Raises:
///     ConfigError: a key or a value is invalid, or both a client and configuration were
///         passed.
#[pyclass(frozen, extends = ProducerBase, module = "ottla")]
pub(crate) struct AsyncProducer {
    pub(super) handle: ProcessLocal<AsyncProducerHandle>,
    hooks: Arc<Hooks>,
    loop_cache: LoopCache,
    /// The timeout of `connect`.
    timeout: Duration,
}

/// Unsent records are written even after the application has dropped the producer,
/// because it may still await their futures.
impl Drop for AsyncProducer {
    fn drop(&mut self) {
        let Some(handle) = self.handle.peek() else { return };
        let AsyncProducerHandle { core, backlog, own_client, .. } = handle;
        if core.buffered_bytes() == 0 && backlog.is_empty() {
            return;
        }
        let (backlog, Ok(runtime)) = (Arc::clone(backlog), runtime()) else { return };
        let (core, own_client) = (Arc::clone(core), *own_client);
        runtime.spawn(async move {
            let config = core.client().config();
            let _ = backlog.close(config.max_block + config.delivery_timeout + Duration::from_secs(5)).await;
            core.warn_unobserved_failures();
            if own_client {
                core.client().close();
            }
        });
    }
}

#[pymethods]
impl AsyncProducer {
    /// Records in flight keep their futures and callbacks, and what these refer to; those that wait, the partitioner.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Visited {
        let Some(handle) = self.handle.peek() else { return Ok(()) };
        if handle.backlog.is_empty() && Arc::strong_count(&self.hooks) == 1 {
            // The backlog shares the partitioner.
            self.hooks.traverse(1, &visit)?;
        }
        handle.traverse(&visit)
    }

    #[new]
    #[pyo3(signature = (bootstrap=None, config=None, *, timeout=None, key_serializer=None, value_serializer=None, interceptors=None, **kwargs))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        py: Python<'_>,
        bootstrap: Option<&Bound<'_, PyAny>>,
        config: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
        key_serializer: Option<&Bound<'_, PyAny>>,
        value_serializer: Option<&Bound<'_, PyAny>>,
        interceptors: Option<&Bound<'_, PyAny>>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let (hooks, kwargs) = Hooks::from_arguments(key_serializer, value_serializer, interceptors, kwargs)?;
        let (own_id, kwargs) = transactional_id::from_kwargs(py, bootstrap, kwargs)?;
        let (client, own_client) = resolve_client(py, "AsyncProducer", bootstrap, config, kwargs.as_ref())?;
        hooks.configure(py, client.config())?;
        let timeout = seconds(timeout, client.config().default_api_timeout)?;
        let core = Arc::new(
            transactional_id::new_producer(client, own_id).map_err(|error| errors::raise(py, &error))?,
        );
        let groups = Arc::new(DeliveryGroups::default());
        let backlog =
            Arc::new(Backlog::new(Arc::clone(&core), Arc::clone(&groups), hooks.partitioner.clone()));
        let open: Weak<Backlog> = Arc::downgrade(&backlog);
        exit::register(open);
        let base = ProducerBase::new(Arc::<CoreProducer>::clone(&core));
        let handle = ProcessLocal::new(AsyncProducerHandle { core, groups, backlog, own_client });
        let hooks = Arc::new(hooks);
        let producer = Self { handle, hooks, loop_cache: LoopCache::default(), timeout };
        Ok(PyClassInitializer::from(base).add_subclass(producer))
    }

    /// Find the cluster, unless it was found before.
    ///
    /// Raises:
    ///     AuthenticationError: the credentials, or the certificate of either side, were
    ///         rejected.
    ///     BootstrapError: no bootstrap server was usable; the message lists each with its
    ///         cause.
    fn connect<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let AsyncProducerHandle { core, own_client, .. } = self.handle.get()?;
        start(py, connect_if_new(core.client().clone(), *own_client, self.timeout), |py, ()| Ok(py.None()))
    }

    /// Send a record; the future completes when it is acknowledged or failed.
    ///
    /// The record is in its batch when the call returns, unless its topic has to be looked up
    /// or the buffer is full. In that case it waits for up to ``max.block.ms``, and later
    /// records of the topic wait behind it. Cancelling the future affects this record alone:
    /// a waiting record is not sent, but a record in a batch may still be written.
    ///
    #[doc = docs!(send_arguments)]
    ///     on_delivery: called once with an error or None and the record's metadata, on the
    ///         loop's thread. It is also called for a record that fails while it waits
    ///         (``partition`` is -1 if none was chosen), but not for one that is cancelled
    ///         while it waits. Its exception goes to the loop's exception handler. With it,
    ///         the future need not be awaited.
    ///
    /// Returns:
    ///     A future of the record's metadata.
    ///
    /// Raises:
    ///     TypeError: the key, the value or a header has a wrong type; nothing is sent.
    ///     SerializationError: a serializer failed; nothing is sent.
    ///     UnknownTopicError: the topic did not appear within ``max.block.ms``.
    ///     TimeoutError: the buffer stayed full for ``max.block.ms``, or the record was not
    ///         acknowledged within ``delivery.timeout.ms``.
    ///     RecordTooLargeError: the record is larger than ``max.request.size`` or the topic's
    ///         ``max.message.bytes``.
    ///     KafkaError: the record failed; ``maybe_done`` says whether it may have been
    ///         written.
    #[pyo3(signature = (topic, value=None, key=None, *, headers=None, timestamp=None, partition=None, on_delivery=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn send<'py>(
        &self,
        py: Python<'py>,
        topic: &str,
        value: Option<&Bound<'py, PyAny>>,
        key: Option<&Bound<'py, PyAny>>,
        headers: Option<&Bound<'py, PyAny>>,
        timestamp: Option<&Bound<'py, PyAny>>,
        #[pyo3(from_py_with = number::partition)] partition: Option<i32>,
        on_delivery: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let args = RecordArgs { topic, value, key, headers, timestamp, partition, on_delivery };
        let handle = self.handle.get()?;
        match &self.hooks.interceptors {
            None => handle.send(py, &self.hooks, &self.loop_cache, &args),
            Some(all) => {
                all.send_through(py, &args, |args| handle.send(py, &self.hooks, &self.loop_cache, args))
            }
        }
    }

    /// Add many records to their batches; the future completes when all are there.
    ///
    /// Rows are encoded outside the loop's thread. If the order of records matters, await
    /// each call before the next one, and before ``send``. Cancelling the future ends the
    /// call between two rows.
    ///
    #[doc = docs!(send_batch)]
    #[pyo3(signature = (topic, values, keys=None, *, headers=None, timestamps=None, partitions=None, key_format=None, value_format=None, **renamed), text_signature = "($self, topic, values, keys=None, *, headers=None, timestamps=None, partitions=None, key_format=None, value_format=None)")]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn send_batch<'py>(
        &self,
        py: Python<'py>,
        topic: &str,
        values: &Bound<'py, PyAny>,
        keys: Option<&Bound<'py, PyAny>>,
        headers: Option<&Bound<'py, PyAny>>,
        timestamps: Option<&Bound<'py, PyAny>>,
        partitions: Option<&Bound<'py, PyAny>>,
        key_format: Option<&Bound<'py, ColumnFormat>>,
        value_format: Option<&Bound<'py, ColumnFormat>>,
        renamed: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        renamed::refuse_old_formats(py, "send_batch", renamed)?;
        let args =
            BatchArgs { topic, values, keys, headers, timestamps, partitions, key_format, value_format };
        self.handle.get()?.send_batch(py, &self.hooks, &args)
    }

    /// Send all buffered records; the future completes when all are acknowledged or failed.
    ///
    /// Failures are raised by each record's future and not here.
    ///
    /// Args:
    ///     timeout: seconds to wait. Default: ``max.block.ms`` plus ``delivery.timeout.ms``
    ///         plus 5 s.
    ///
    /// Raises:
    ///     TimeoutError: records are still pending after ``timeout`` seconds.
    #[pyo3(signature = (*, timeout=None))]
    fn flush<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let AsyncProducerHandle { core, groups, backlog, .. } = self.handle.get()?;
        let backlog = Arc::clone(backlog);
        // Every record has its own deadline, so this one only has to be later.
        let config = core.client().config();
        let longest = config.max_block + config.delivery_timeout + Duration::from_secs(5);
        let timeout = seconds(timeout, longest)?;
        let (core, groups) = (Arc::clone(core), Arc::clone(groups));
        let work = async move { backlog.flush(timeout).await };
        start(py, work, move |py, ()| {
            groups.failed.warn(py);
            core.warn_unobserved_failures();
            Ok(py.None())
        })
    }

    #[doc = docs!(purge)]
    #[pyo3(signature = (*, queued=true, in_flight=false))]
    fn purge(&self, py: Python<'_>, queued: bool, in_flight: bool) -> PyResult<usize> {
        let AsyncProducerHandle { core, backlog, .. } = self.handle.get()?;
        Ok(py.detach(|| (if queued { backlog.purge() } else { 0 }) + core.purge(queued, in_flight)))
    }

    #[doc = docs!(unacknowledged_records)]
    #[getter]
    fn unacknowledged_records(&self) -> PyResult<usize> {
        let AsyncProducerHandle { core, backlog, .. } = self.handle.get()?;
        Ok(backlog.count() + core.unacknowledged_records())
    }

    #[doc = client_docs!(cluster)]
    #[pyo3(signature = (topics=None, *, all_topics=false, refresh=false, timeout=None))]
    fn cluster<'py>(
        &self,
        py: Python<'py>,
        topics: Option<Names>,
        all_topics: bool,
        refresh: bool,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let request = SnapshotRequest::new(topics, all_topics, refresh);
        async_client::cluster(py, self.handle.get()?.core.client(), request, timeout)
    }

    #[doc = client_docs!(partitions_for)]
    #[pyo3(signature = (topic, *, timeout=None))]
    fn partitions_for<'py>(
        &self,
        py: Python<'py>,
        topic: &str,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        async_client::partitions_for(py, self.handle.get()?.core.client(), topic, timeout)
    }

    #[doc = client_docs!(events, "producer")]
    #[pyo3(signature = (*, all_topics=false, timeout=None))]
    fn events<'py>(
        &self,
        py: Python<'py>,
        all_topics: bool,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        async_client::events(py, self.handle.get()?.core.client(), all_topics, timeout)
    }

    #[doc = client_docs!(client_instance_id, "producer")]
    #[pyo3(signature = (*, timeout=None))]
    fn client_instance_id<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let core = Arc::clone(&self.handle.get()?.core);
        let timeout = seconds(timeout, core.client().config().default_api_timeout)?;
        let work = async move { core.client_instance_id(timeout).await };
        start(py, work, async_client::instance_id_to_python)
    }

    /// Send all buffered records, wait until they are acknowledged, and close the producer.
    ///
    /// Records that are not acknowledged within ``timeout`` seconds fail. Cancelling the
    /// future ends the wait, but the producer still closes.
    ///
    /// Args:
    ///     timeout: seconds to wait. Default: 30.
    ///
    /// Raises:
    ///     TimeoutError: records were not acknowledged within ``timeout`` seconds.
    #[pyo3(signature = (*, timeout=None))]
    fn close<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let timeout = seconds(timeout, CLOSE_TIMEOUT)?;
        self.handle.get()?.close(py, &self.hooks, timeout, |_, _, closed| closed)
    }

    fn __aenter__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let producer = this.get();
        let AsyncProducerHandle { core, own_client, .. } = producer.handle.get()?;
        let work = connect_if_new(core.client().clone(), *own_client, producer.timeout);
        let this_too = this.clone().into_any().unbind();
        start(this.py(), work, |_, ()| Ok(this_too))
    }

    fn __aexit__<'py>(
        &self,
        py: Python<'py>,
        kind: Option<&Bound<'py, PyAny>>,
        _error: Option<&Bound<'py, PyAny>>,
        _trace: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let failed = kind.is_some();
        self.handle.get()?.close(py, &self.hooks, CLOSE_TIMEOUT, move |py, unobserved, closed| {
            leave(py, failed, closed, || unobserved)
        })
    }
}
