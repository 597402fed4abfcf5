//! `Producer`: the blocking API over a `ProducerHandle`.

use std::sync::{Arc, Weak};
use std::time::Duration;

use ottla_client::producer::SendResult;
use pyo3::PyVisit;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::client::client_arg::{Connecting, resolve_connected_client};
use crate::client::client_ops::SnapshotRequest;
use crate::client::cluster::Cluster;
use crate::client::docs::docs as client_docs;
use crate::client::events::Events;
use crate::client::sync as sync_client;
use crate::convert::errors;
use crate::convert::field_bytes::field_bytes;
use crate::convert::names::Names;
use crate::convert::number;
use crate::convert::renamed;
use crate::garbage::{Traverse, Visited};
use crate::producer::base::ProducerBase;
use crate::producer::batch_args::BatchArgs;
use crate::producer::batch_delivery::BatchDelivery;
use crate::producer::delivery::Delivery;
use crate::producer::docs::docs;
use crate::producer::hooks::Hooks;
use crate::producer::intercepted_rows;
use crate::producer::producer_handle::ProducerHandle;
use crate::producer::record::{OwnedRecord, RecordArgs};
use crate::producer::send_batch::Rows;
use crate::producer::transactional_id;
use crate::runtime::exit;
use crate::runtime::{CLOSE_TIMEOUT, ProcessLocal, runtime, seconds, wait_for};
use crate::typed::ColumnFormat;

/// A Kafka producer. A ``with`` block, or ``close()``, writes every record.
///
/// At its end, a ``with`` block raises the first failure of a record whose result was not
/// checked. A producer is safe to use from any thread.
///
/// Args:
///     bootstrap: addresses as ``host:port``, or a ``Client`` whose connections it
///         shares. With a client, the only configuration is ``transactional_id`` and
///         ``transaction_timeout_ms``.
///     config: configuration by Kafka's dotted names. Keyword arguments are the same
///         names with underscores, and take precedence. See ``Client``.
///     timeout: seconds in which the cluster must be found, as for ``Client``.
///     connect: whether to connect now, as for ``Client``.
///     key_serializer: converts keys other than None to bytes; see ``ottla.serializers``.
///         Arrow columns are sent unchanged.
///     value_serializer: the same for values.
///     interceptors: see each record before it is sent, and its result; see
///         ``ottla.interceptors``. With interceptors, ``send_batch`` accepts only lists.
///     partitioner: the name of a partitioner (``partitioner.class``), or an object; see
///         ``ottla.partitioners``.
///
/// Raises:
///     AuthenticationError: the credentials, or the certificate of either side, were
///         rejected.
///     BootstrapError: no bootstrap server was usable; the message lists each with its
///         cause.
///     ConfigError: a key or a value is invalid, or both a client and configuration were
///         passed.
#[pyclass(frozen, extends = ProducerBase, module = "ottla")]
pub(crate) struct Producer {
    pub(super) handle: ProcessLocal<Arc<ProducerHandle>>,
    hooks: Hooks,
}

/// Unsent records are written even after the application has dropped the producer,
/// because it may still hold their deliveries.
impl Drop for Producer {
    fn drop(&mut self) {
        let Some(handle) = self.handle.peek().filter(|handle| handle.core.buffered_bytes() > 0) else {
            return;
        };
        let (handle, Ok(runtime)) = (Arc::clone(handle), runtime()) else { return };
        runtime.spawn(async move {
            let longest = handle.core.client().config().delivery_timeout + Duration::from_secs(5);
            // Errors are reported by the deliveries; those that nothing checks are logged.
            let _ = handle.core.close(longest).await;
            handle.core.warn_unobserved_failures();
        });
    }
}

#[pymethods]
impl Producer {
    /// Records in flight keep their callbacks, and what these refer to.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Visited {
        self.hooks.traverse(0, &visit)?;
        self.handle.peek().map_or(Ok(()), |handle| handle.traverse(&visit))
    }

    #[new]
    #[pyo3(signature = (bootstrap=None, config=None, *, timeout=None, connect=true, key_serializer=None, value_serializer=None, interceptors=None, **kwargs))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        py: Python<'_>,
        bootstrap: Option<&Bound<'_, PyAny>>,
        config: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
        connect: bool,
        key_serializer: Option<&Bound<'_, PyAny>>,
        value_serializer: Option<&Bound<'_, PyAny>>,
        interceptors: Option<&Bound<'_, PyAny>>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let (hooks, kwargs) = Hooks::from_arguments(key_serializer, value_serializer, interceptors, kwargs)?;
        let (own_id, kwargs) = transactional_id::from_kwargs(py, bootstrap, kwargs)?;
        let connecting = Connecting { connect, timeout };
        let (client, own_client) =
            resolve_connected_client(py, "Producer", bootstrap, config, connecting, kwargs.as_ref())?;
        hooks.configure(py, client.config())?;
        let core =
            transactional_id::new_producer(client, own_id).map_err(|error| errors::raise(py, &error))?;
        let handle = Arc::new(ProducerHandle::new(core, own_client));
        let open: Weak<ProducerHandle> = Arc::downgrade(&handle);
        exit::register(open);
        let base = ProducerBase::new(Arc::<ProducerHandle>::clone(&handle));
        Ok(PyClassInitializer::from(base).add_subclass(Self { handle: ProcessLocal::new(handle), hooks }))
    }

    /// Add a record to its partition's batch; returns at once unless the buffer is full.
    ///
    #[doc = docs!(send_arguments)]
    ///     on_delivery: called once with an error or None and the record's metadata, when the
    ///         record is acknowledged or failed. Calls come from a thread of the producer,
    ///         one at a time. ``flush`` or ``close`` raises its exception. It is not called
    ///         if ``send`` raises.
    ///
    /// Returns:
    ///     A future of the record's metadata.
    ///
    /// Raises:
    ///     TypeError: the key, the value or a header has a wrong type; nothing is sent.
    ///     SerializationError: a serializer failed; nothing is sent.
    ///     UnknownTopicError: the topic did not appear within ``max.block.ms``.
    ///     TimeoutError: the call waited for ``max.block.ms`` in total: for the topic, for
    ///         buffer memory, and for slow callbacks.
    ///     RecordTooLargeError: the record is larger than ``max.request.size``.
    #[pyo3(signature = (topic, value=None, key=None, *, headers=None, timestamp=None, partition=None, on_delivery=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn send(
        &self,
        py: Python<'_>,
        topic: &str,
        value: Option<&Bound<'_, PyAny>>,
        key: Option<&Bound<'_, PyAny>>,
        headers: Option<&Bound<'_, PyAny>>,
        timestamp: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = number::partition)] partition: Option<i32>,
        on_delivery: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Delivery> {
        let args = RecordArgs { topic, value, key, headers, timestamp, partition, on_delivery };
        let handle = self.handle.get()?;
        match &self.hooks.interceptors {
            None => self.send_record(py, handle, &args),
            Some(all) => all.send_through(py, &args, |args| self.send_record(py, handle, args)),
        }
    }

    /// Add many records to their batches.
    ///
    /// While the buffer is full, the call waits for up to ``max.block.ms`` per record.
    ///
    #[doc = docs!(send_batch)]
    #[pyo3(signature = (topic, values, keys=None, *, headers=None, timestamps=None, partitions=None, key_format=None, value_format=None, **renamed), text_signature = "($self, topic, values, keys=None, *, headers=None, timestamps=None, partitions=None, key_format=None, value_format=None)")]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn send_batch(
        &self,
        py: Python<'_>,
        topic: &str,
        values: &Bound<'_, PyAny>,
        keys: Option<&Bound<'_, PyAny>>,
        headers: Option<&Bound<'_, PyAny>>,
        timestamps: Option<&Bound<'_, PyAny>>,
        partitions: Option<&Bound<'_, PyAny>>,
        key_format: Option<&Bound<'_, ColumnFormat>>,
        value_format: Option<&Bound<'_, ColumnFormat>>,
        renamed: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<BatchDelivery> {
        renamed::refuse_old_formats(py, "send_batch", renamed)?;
        let handle = self.handle.get()?;
        let args =
            BatchArgs { topic, values, keys, headers, timestamps, partitions, key_format, value_format };
        let rows = match Rows::new(py, &args, &self.hooks)? {
            Rows::Owned(rows) => Rows::Owned(wait_for(py, rows.encoded(topic))?),
            lists @ Rows::Lists(..) => lists,
        };
        let highest = rows.highest_partition();
        let writer = || handle.topic_writer(py, topic, highest, || handle.core.max_block_deadline());
        let Rows::Owned(mut rows) = rows else {
            return Ok(rows.send(py, handle, topic, &*writer()?)?.into());
        };
        let assigned = writer().and_then(|writer| {
            if let Some(custom) = &self.hooks.partitioner {
                custom.assign_partitions(py, topic, &mut rows, writer.partition_count())?;
            }
            Ok(writer)
        });
        match assigned {
            Ok(writer) => Ok(Rows::Owned(rows).send(py, handle, topic, &writer)?.into()),
            Err(error) => {
                intercepted_rows::report_unsent(py, topic, rows.into_intercepted(), &error)?;
                Err(error)
            }
        }
    }

    /// Send all buffered records, and wait until they are acknowledged or failed.
    ///
    /// It also waits for their ``on_delivery`` callbacks, and raises an exception of one of
    /// them. Failures of records are raised by ``Delivery.result()`` and not here.
    ///
    /// Args:
    ///     timeout: seconds to wait. Default: ``delivery.timeout.ms`` plus 5 s.
    ///
    /// Raises:
    ///     TimeoutError: records are still pending after ``timeout`` seconds.
    #[pyo3(signature = (*, timeout=None))]
    fn flush(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<()> {
        let handle = self.handle.get()?;
        // Every record has its own deadline, so this one only has to be later.
        let longest = handle.core.client().config().delivery_timeout + Duration::from_secs(5);
        handle.flush(py, seconds(timeout, longest)?)
    }

    #[doc = docs!(purge)]
    #[pyo3(signature = (*, queued=true, in_flight=false))]
    fn purge(&self, py: Python<'_>, queued: bool, in_flight: bool) -> PyResult<usize> {
        let core = &self.handle.get()?.core;
        Ok(py.detach(|| core.purge(queued, in_flight)))
    }

    #[doc = docs!(unacknowledged_records)]
    #[getter]
    fn unacknowledged_records(&self) -> PyResult<usize> {
        Ok(self.handle.get()?.core.unacknowledged_records())
    }

    #[doc = client_docs!(cluster)]
    #[pyo3(signature = (topics=None, *, all_topics=false, refresh=false, timeout=None))]
    fn cluster(
        &self,
        py: Python<'_>,
        topics: Option<Names>,
        all_topics: bool,
        refresh: bool,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Cluster> {
        let request = SnapshotRequest::new(topics, all_topics, refresh);
        sync_client::cluster(py, self.handle.get()?.core.client(), request, timeout)
    }

    #[doc = client_docs!(partitions_for)]
    #[pyo3(signature = (topic, *, timeout=None))]
    fn partitions_for<'py>(
        &self,
        py: Python<'py>,
        topic: &str,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        sync_client::partitions_for(py, self.handle.get()?.core.client(), topic, timeout)
    }

    #[doc = client_docs!(events, "producer")]
    #[pyo3(signature = (*, all_topics=false, timeout=None))]
    fn events(
        &self,
        py: Python<'_>,
        all_topics: bool,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Events> {
        sync_client::events(py, self.handle.get()?.core.client(), all_topics, timeout)
    }

    #[doc = client_docs!(client_instance_id, "producer")]
    #[pyo3(signature = (*, timeout=None))]
    fn client_instance_id(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<String> {
        let handle = self.handle.get()?;
        let timeout = seconds(timeout, handle.core.client().config().default_api_timeout)?;
        Ok(wait_for(py, handle.core.client_instance_id(timeout))?.to_string())
    }

    /// Send all buffered records, wait until they are acknowledged, and close the producer.
    ///
    /// Records that are not acknowledged within ``timeout`` seconds fail.
    ///
    /// Args:
    ///     timeout: seconds to wait. Default: 30.
    ///
    /// Raises:
    ///     TimeoutError: records were not acknowledged within ``timeout`` seconds.
    #[pyo3(signature = (*, timeout=None))]
    fn close(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<()> {
        let closed = self.handle.get()?.close(py, seconds(timeout, CLOSE_TIMEOUT)?);
        self.hooks.interceptors.iter().try_for_each(|all| all.close(py))?;
        closed
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        kind: Option<&Bound<'_, PyAny>>,
        _error: Option<&Bound<'_, PyAny>>,
        _trace: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let closed = self.close(py, None);
        self.handle.get()?.leave(py, kind.is_some(), closed)
    }
}

impl Producer {
    /// Returns the handle; fails in a forked child.
    pub(crate) fn handle(&self) -> PyResult<&Arc<ProducerHandle>> {
        self.handle.get()
    }

    fn send_record(
        &self,
        py: Python<'_>,
        handle: &Arc<ProducerHandle>,
        args: &RecordArgs<'_, '_>,
    ) -> PyResult<Delivery> {
        let core = &handle.core;
        let mut record = OwnedRecord::new(args, &self.hooks.serializers)?;
        // One deadline for the whole call, created only if it has to wait.
        let mut deadline = None;
        let mut until = || *deadline.get_or_insert_with(|| core.max_block_deadline());
        let callback = match record.on_delivery.take() {
            Some(callback) => Some((handle.callback_permit(py, &mut until)?, callback)),
            None => None,
        };
        let writer = handle.topic_writer(py, args.topic, record.partition, &mut until)?;
        if let Some(custom) = &self.hooks.partitioner {
            custom.assign_partition(py, args.topic, &mut record, writer.partition_count())?;
        }
        let attempt = |reservation| record.try_send(core, &writer, reservation);
        let delivery = match attempt(None).map_err(|error| errors::raise(py, &error))? {
            SendResult::Accepted(delivery) => delivery,
            SendResult::BufferFull(bytes) => wait_for(py, core.append_after(bytes, Some(until()), attempt))?,
        };
        if let Some((permit, callback)) = callback {
            permit.register(delivery.clone(), record.timestamp, callback);
        }
        Ok(Delivery::new(delivery, record.timestamp, handle))
    }
}

/// Return the partition of a key, as the Java client's default partitioner chooses it.
///
/// Args:
///     key: bytes, or text (as UTF-8).
///     partitions: the topic's number of partitions.
///
/// Raises:
///     ConfigError: the key is None, or ``partitions`` is 0.
#[pyfunction]
pub(crate) fn partition_for_key(
    py: Python<'_>,
    key: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = number::partitions)] partitions: usize,
) -> PyResult<i32> {
    if partitions == 0 {
        return Err(errors::config(py, "partitions is 0: expected the topic's number of partitions"));
    }
    match field_bytes("key", key)? {
        Some(key) => Ok(ottla_client::producer::partition_for_key(key.as_slice(), partitions)),
        None => Err(errors::config(py, "key is None: a record without a key has no fixed partition")),
    }
}
