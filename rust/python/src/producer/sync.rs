//! `Producer`: puts records into their partitions' batches and returns promises.

use std::sync::{Arc, Weak};
use std::time::Duration;

use ottla_client::producer::{Producer as Core, Sent};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::client::client_arg::resolve_connected_client;
use crate::client::connection_status::{ConnectionStatus, connections};
use crate::client::events::Events;
use crate::client::metrics::{metrics, topic_metrics};
use crate::client::sync as sync_client;
use crate::convert::bytes::bytes_arg;
use crate::convert::errors;
use crate::convert::record::{self, OwnedRecord};
use crate::producer::batch_delivery::BatchDelivery;
use crate::producer::delivery::Delivery;
use crate::producer::exit;
use crate::producer::hooks::Hooks;
use crate::producer::intercepted_rows;
use crate::producer::producer_handle::Engine;
use crate::producer::send_batch::{Given, Rows};
use crate::runtime::{ProcessLocal, runtime, seconds, wait_for};

/// How long `close` waits for unsent records unless told otherwise.
pub(crate) const CLOSE: Duration = Duration::from_secs(60);

/// A producer. Use it in a ``with`` block, or ``close()`` it, so that every record is written.
///
/// At the end of a ``with`` block, the first failure of a record whose result nothing has asked for
/// is raised. Any thread may use the producer.
///
/// Args:
///     bootstrap: addresses as ``host:port``, or a ``Client`` whose connections it shares.
///     config: configuration by Kafka's dotted names; keyword arguments are the same names with
///         underscores, and win. See ``Client``.
///     timeout: seconds in which the cluster must be found, as for ``Client``.
///     key_serializer: turns keys that are not None into bytes: see ``ottla.serializers``. Arrow
///         columns are sent as they are.
///     value_serializer: the same for values.
///     interceptors: see each record before it is sent, and what became of it: see
///         ``ottla.interceptors``. With them, ``send_batch`` takes only lists.
///     partitioner: the name of a partitioner (``partitioner.class``), or an object: see
///         ``ottla.partitioners``.
///
/// Raises:
///     AuthenticationError: the credentials, or the certificate of either side, were rejected.
///     BootstrapError: no bootstrap server could be used; the message lists each with its cause.
///     ConfigError: a key or a value is wrong, or a client was given together with configuration.
#[pyclass(frozen, module = "ottla")]
pub(crate) struct Producer {
    engine: ProcessLocal<Arc<Engine>>,
    hooks: Hooks,
}

/// What was sent is written although the program has let go of the producer: it may hold the promises.
impl Drop for Producer {
    fn drop(&mut self) {
        let Some(engine) = self.engine.peek().filter(|engine| engine.core.buffered() > 0) else { return };
        let (engine, Ok(runtime)) = (Arc::clone(engine), runtime()) else { return };
        runtime.spawn(async move {
            let longest = engine.core.client().config().delivery_timeout + Duration::from_secs(5);
            // Each record has its promise, and what nobody has asked about is logged.
            let _ = engine.core.close(longest).await;
            engine.core.warn_of_unseen_failures();
        });
    }
}

#[pymethods]
impl Producer {
    #[new]
    #[pyo3(signature = (bootstrap=None, config=None, *, timeout=None, key_serializer=None, value_serializer=None, interceptors=None, **kwargs))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        py: Python<'_>,
        bootstrap: Option<&Bound<'_, PyAny>>,
        config: Option<&Bound<'_, PyAny>>,
        timeout: Option<f64>,
        key_serializer: Option<&Bound<'_, PyAny>>,
        value_serializer: Option<&Bound<'_, PyAny>>,
        interceptors: Option<&Bound<'_, PyAny>>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let (hooks, kwargs) = Hooks::take(key_serializer, value_serializer, interceptors, kwargs)?;
        let (client, own_client) =
            resolve_connected_client(py, "Producer", bootstrap, config, timeout, kwargs.as_ref())?;
        let runtime = runtime()?;
        let _entered = runtime.enter();
        let core = Core::new(client).map_err(|error| errors::raise(py, &error))?;
        let engine = Arc::new(Engine::new(core, own_client));
        let open: Weak<Engine> = Arc::downgrade(&engine);
        exit::watch(open);
        Ok(Self { engine: ProcessLocal::new(engine), hooks })
    }

    /// Put a record into its partition's batch; returns at once unless the buffer is full.
    ///
    /// Args:
    ///     topic: the topic.
    ///     value: bytes, text (sent as UTF-8), or None for a tombstone; or what the serializer
    ///         takes.
    ///     key: bytes, text or None; or what the serializer takes. Records with the same key go to
    ///         the same partition.
    ///     headers: pairs of a name and a value, or a mapping; a name may occur more than once.
    ///     timestamp: milliseconds since 1970, or a ``datetime``. Default: now.
    ///     partition: the partition. Default: the partitioner chooses.
    ///     on_delivery: called once with an error or None, and the record's metadata, when it is
    ///         acknowledged or failed: on a thread of the producer, one record after the other. An
    ///         exception in it is raised by ``flush`` or ``close``. It is not called if this call
    ///         raises.
    ///
    /// Returns:
    ///     A future of where the record was written.
    ///
    /// Raises:
    ///     TypeError: the key, the value or a header has a wrong type; nothing is sent.
    ///     SerializationError: a serializer failed; nothing is sent.
    ///     UnknownTopicError: the topic did not appear within ``max.block.ms``.
    ///     TimeoutError: the call waited for ``max.block.ms`` in total: for the topic, for space in
    ///         the buffer, and for callbacks to keep up.
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
        partition: Option<i32>,
        on_delivery: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Delivery> {
        let given = record::SendArgs { topic, value, key, headers, timestamp, partition, on_delivery };
        let engine = self.engine.get()?;
        match &self.hooks.interceptors {
            None => self.send_record(py, engine, &given),
            Some(all) => all.around(py, &given, |given| self.send_record(py, engine, given)),
        }
    }

    /// Put many records into their batches.
    ///
    /// While the buffer is full it waits, up to ``max.block.ms`` a record.
    ///
    /// Args:
    ///     topic: the topic.
    ///     values: a list of bytes, text or None; or Arrow data: an array of values, or a batch or
    ///         table with the column ``value`` and optionally ``key``, ``headers``, ``timestamp``
    ///         and ``partition``.
    ///     keys: a list, or an Arrow array, as long as the values.
    ///     headers: headers of each record of a list.
    ///     timestamps: the timestamp of each record of a list.
    ///     partitions: the partition of each record of a list.
    ///
    /// Returns:
    ///     A future of all records. Records that are too large fail there.
    ///
    /// Raises:
    ///     TypeError: a value or a key has a wrong type; nothing is sent.
    ///     UnknownTopicError: the topic did not appear within ``max.block.ms``.
    ///     TimeoutError: the buffer stayed full for ``max.block.ms``.
    ///     KafkaError: if the call ended before its last record, ``delivery`` has the accepted
    ///         records and ``context["index"]`` is the index of the first record to send again.
    #[pyo3(signature = (topic, values, keys=None, *, headers=None, timestamps=None, partitions=None))]
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
    ) -> PyResult<BatchDelivery> {
        let engine = self.engine.get()?;
        let given = Given { topic, values, keys, headers, timestamps, partitions };
        let rows = Rows::new(py, &given, &self.hooks)?;
        let highest = rows.highest_partition();
        let target = || engine.target(py, topic, highest, || engine.core.blocks_until());
        let Rows::Owned(mut rows) = rows else {
            return Ok(rows.send(py, engine, topic, &*target()?)?.into());
        };
        let placed = target().and_then(|target| {
            if let Some(custom) = &self.hooks.partitioner {
                custom.place(py, topic, &mut rows, target.partitions())?;
            }
            Ok(target)
        });
        match placed {
            Ok(target) => Ok(Rows::Owned(rows).send(py, engine, topic, &target)?.into()),
            Err(error) => {
                intercepted_rows::refuse(py, topic, rows.told(), &error)?;
                Err(error)
            }
        }
    }

    /// Send all buffered records, and wait until they are acknowledged or failed.
    ///
    /// It waits for their ``on_delivery`` calls, too, and raises what one of them has raised.
    /// Failures of records are not raised here, but by ``Delivery.result()``.
    ///
    /// Args:
    ///     timeout: seconds. Default: ``delivery.timeout.ms`` plus 5 s.
    ///
    /// Raises:
    ///     TimeoutError: records are still under way after ``timeout`` seconds.
    #[pyo3(signature = (timeout=None))]
    fn flush(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<()> {
        let engine = self.engine.get()?;
        // Every record has its own deadline, so this one only has to be later.
        let longest = engine.core.client().config().delivery_timeout + Duration::from_secs(5);
        engine.flush(py, seconds(timeout, longest)?)
    }

    /// Return the partitions of a topic by index.
    ///
    /// Args:
    ///     topic: the topic's name. It is not made if it does not exist.
    ///     timeout: seconds. Default: ``default.api.timeout.ms``.
    ///
    /// Returns:
    ///     A dict whose keys are the partitions' numbers, from 0 on.
    ///
    /// Raises:
    ///     UnknownTopicError: the topic does not exist; known within 5 s.
    ///     TimeoutError: no broker has answered in time.
    #[pyo3(signature = (topic, *, timeout=None))]
    fn partitions_for<'py>(
        &self,
        py: Python<'py>,
        topic: &str,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        sync_client::partitions_for(py, self.engine.get()?.core.client(), topic, timeout)
    }

    /// Return the state of each connection, by broker, without waiting.
    ///
    /// On a shared client, those of its other users are included.
    fn connections(&self) -> PyResult<Vec<ConnectionStatus>> {
        Ok(connections(self.engine.get()?.core.client()))
    }

    /// Return the changes of the cluster and of the connections, from now on.
    ///
    /// Args:
    ///     all_topics: whether to include all topics, instead of those that this producer uses.
    ///     timeout: seconds for looking up the topics. Default: ``default.api.timeout.ms``.
    ///
    /// See ``Client.events``.
    #[pyo3(signature = (*, all_topics=false, timeout=None))]
    fn events(&self, py: Python<'_>, all_topics: bool, timeout: Option<f64>) -> PyResult<Events> {
        sync_client::events(py, self.engine.get()?.core.client(), all_topics, timeout)
    }

    /// Return the metrics of this producer and its client, by the Java client's names.
    ///
    /// See ``ottla.ProducerMetrics`` for their meaning.
    fn metrics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        metrics(py, self.engine.get()?.core.metrics())
    }

    /// Return the metrics of each topic that records were sent to, by topic.
    ///
    /// See ``ottla.TopicMetrics`` for their meaning.
    fn topic_metrics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        topic_metrics(py, &self.engine.get()?.core)
    }

    /// The bytes of ``buffer.memory`` that hold records without an acknowledgement.
    #[getter]
    fn buffered_bytes(&self) -> PyResult<usize> {
        Ok(self.engine.get()?.core.buffered())
    }

    /// Send all buffered records, wait until they are acknowledged, and close the producer.
    ///
    /// Records that are not acknowledged within ``timeout`` seconds fail.
    ///
    /// Args:
    ///     timeout: seconds. Default: 60.
    ///
    /// Raises:
    ///     TimeoutError: records were not acknowledged within ``timeout`` seconds.
    #[pyo3(signature = (timeout=None))]
    fn close(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<()> {
        let closed = self.engine.get()?.close(py, seconds(timeout, CLOSE)?);
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
        self.engine.get()?.leave(py, kind.is_some(), closed)
    }

    fn __repr__(&self) -> String {
        let Some(engine) = self.engine.peek() else {
            return "Producer(created in another process)".to_owned();
        };
        let servers = engine.core.client().config().bootstrap_servers.join(",");
        format!("Producer(bootstrap={servers:?}, buffered_bytes={})", engine.core.buffered())
    }
}

impl Producer {
    fn send_record(
        &self,
        py: Python<'_>,
        engine: &Arc<Engine>,
        given: &record::SendArgs<'_, '_>,
    ) -> PyResult<Delivery> {
        let core = &engine.core;
        let mut fields = OwnedRecord::new(given, &self.hooks.serializers)?;
        // One for the whole call, whatever it waits for; most wait for nothing.
        let mut deadline = None;
        let mut until = || *deadline.get_or_insert_with(|| core.blocks_until());
        let told = match fields.on_delivery.take() {
            Some(callback) => Some((engine.place(py, &mut until)?, callback)),
            None => None,
        };
        let target = engine.target(py, given.topic, fields.partition, &mut until)?;
        if let Some(custom) = &self.hooks.partitioner {
            custom.place_record(py, given.topic, &mut fields, target.partitions())?;
        }
        let mut room = None;
        let promise = loop {
            match fields.try_send(core, &target, room.take()).map_err(|error| errors::raise(py, &error))? {
                Sent::Accepted(promise) => break promise,
                Sent::Full(bytes) => room = Some(wait_for(py, core.room_for(bytes, until()))?),
            }
        };
        if let Some((place, callback)) = told {
            place.take(promise.clone(), fields.timestamp, callback);
        }
        Ok(Delivery::new(promise, fields.timestamp, engine))
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
pub(crate) fn partition_for_key(py: Python<'_>, key: &Bound<'_, PyAny>, partitions: usize) -> PyResult<i32> {
    if partitions == 0 {
        return Err(errors::config(py, "partitions is 0: expected the topic's number of partitions"));
    }
    match bytes_arg("key", key)? {
        Some(key) => Ok(ottla_client::producer::partition_for_key(key.as_slice(), partitions)),
        None => Err(errors::config(py, "key is None: a record without a key has no fixed partition")),
    }
}
