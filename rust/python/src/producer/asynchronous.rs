//! `AsyncProducer`: the twin of `Producer` for asyncio, over the same core.
//!
//! Invariant: no call waits on the loop's thread, and no thread is made to wait in.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Weak};
use std::time::Duration;

use ottla_client::producer::{Producer as Core, Sent, UnseenFailure};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::asyncio::{self, FutureCompleter, LoopCache, start};
use crate::client::asynchronous as async_client;
use crate::client::client_arg::{connect_if_new, resolve_client};
use crate::client::connection_status::{ConnectionStatus, connections};
use crate::client::metrics::{metrics, topic_metrics};
use crate::convert::errors;
use crate::convert::record::{self, OwnedRecord};
use crate::producer::backlog::{Backlog, Cancelled, Waiting, ask};
use crate::producer::batch_delivery::AsyncBatchDelivery;
use crate::producer::delivery_groups::Groups;
use crate::producer::exit;
use crate::producer::hooks::Hooks;
use crate::producer::intercepted_rows::{self, Told};
use crate::producer::producer_handle::leave;
use crate::producer::send_batch::{Given, Rows};
use crate::producer::sync::CLOSE;
use crate::runtime::{ProcessLocal, runtime, seconds};

struct Parts {
    core: Arc<Core>,
    groups: Arc<Groups>,
    backlog: Arc<Backlog>,
}

/// A producer for asyncio; it mirrors ``Producer``.
///
/// Methods that block there return a native future of the running loop here, without a thread that
/// waits. The futures of a batch complete together, so thousands of ``send`` at once cost little.
/// One producer may be used from several loops.
///
/// Making a producer does not connect: ``async with`` does, or ``connect()``, or the first record.
/// At the end of an ``async with`` block it is closed, and the first failure of a record that
/// nothing has awaited is raised.
///
/// Args:
///     bootstrap: addresses as ``host:port``, or a ``Client`` or ``AsyncClient`` whose connections
///         it shares.
///     config: configuration by Kafka's dotted names; keyword arguments are the same names with
///         underscores, and win. See ``Client``.
///     timeout: seconds in which ``connect()`` must find the cluster; until then, servers that fail
///         are tried again. Default: ``default.api.timeout.ms``, 60 s.
///     key_serializer: as for ``Producer``; called on the loop's thread.
///     value_serializer: as for ``Producer``; called on the loop's thread.
///     interceptors: as for ``Producer``; called on the loop's thread.
///     partitioner: as for ``Producer``; called on the loop's thread.
///
/// Raises:
///     ConfigError: a key or a value is wrong, or a client was given together with configuration.
#[pyclass(frozen, module = "ottla")]
pub(crate) struct AsyncProducer {
    parts: ProcessLocal<Parts>,
    hooks: Arc<Hooks>,
    loop_cache: LoopCache,
    /// For connecting.
    timeout: Duration,
    /// The client was made for this producer and goes with it.
    own_client: bool,
}

/// What was sent is written although the program has let go of the producer: it may await the futures.
impl Drop for AsyncProducer {
    fn drop(&mut self) {
        let Some(Parts { core, backlog, .. }) = self.parts.peek() else { return };
        if core.buffered() == 0 && backlog.is_empty() {
            return;
        }
        let (backlog, Ok(runtime)) = (Arc::clone(backlog), runtime()) else { return };
        let (core, own_client) = (Arc::clone(core), self.own_client);
        runtime.spawn(async move {
            let config = core.client().config();
            let _ = backlog.close(config.max_block + config.delivery_timeout + Duration::from_secs(5)).await;
            core.warn_of_unseen_failures();
            if own_client {
                core.client().close();
            }
        });
    }
}

#[pymethods]
impl AsyncProducer {
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
        let (client, own_client) = resolve_client(py, "AsyncProducer", bootstrap, config, kwargs.as_ref())?;
        let timeout = seconds(timeout, client.config().default_api_timeout)?;
        let runtime = runtime()?;
        let _entered = runtime.enter();
        let core = Arc::new(Core::new(client).map_err(|error| errors::raise(py, &error))?);
        let groups = Arc::new(Groups::default());
        let backlog =
            Arc::new(Backlog::new(Arc::clone(&core), Arc::clone(&groups), hooks.partitioner.clone()));
        let open: Weak<Backlog> = Arc::downgrade(&backlog);
        exit::watch(open);
        let parts = ProcessLocal::new(Parts { core, groups, backlog });
        Ok(Self { parts, hooks: Arc::new(hooks), loop_cache: LoopCache::default(), timeout, own_client })
    }

    /// Find the cluster, unless it was found before.
    ///
    /// Raises:
    ///     AuthenticationError: the credentials, or the certificate of either side, were rejected.
    ///     BootstrapError: no bootstrap server could be used; the message lists each with its
    ///         cause.
    fn connect<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let client = self.parts.get()?.core.client().clone();
        start(py, connect_if_new(client, self.own_client, self.timeout), |py, ()| Ok(py.None()))
    }

    /// Send a record; the future completes when it is acknowledged or failed.
    ///
    /// The record is in its batch when the call returns, unless its topic must be looked up or the
    /// buffer is full. Then it waits for that for up to ``max.block.ms``, and later records of its
    /// topic stay behind it. Cancelling the future concerns this record alone: a record that waits
    /// is not sent, a record in a batch may still be written.
    ///
    /// Args:
    ///     topic: the topic.
    ///     value: bytes, text (sent as UTF-8), or None for a tombstone; or what the serializer
    ///         takes.
    ///     key: bytes, text or None; or what the serializer takes.
    ///     headers: pairs of a name and a value, or a mapping.
    ///     timestamp: milliseconds since 1970, or a ``datetime``. Default: now.
    ///     partition: the partition. Default: the partitioner chooses.
    ///     on_delivery: called once with an error or None, and the record's metadata, on the loop's
    ///         thread. It is called for a record that fails while it waits, too (``partition`` is
    ///         -1 if none was chosen), but not for one that is cancelled while it waits. An
    ///         exception in it goes to the loop's exception handler. With it, the future need not
    ///         be awaited.
    ///
    /// Returns:
    ///     A future of where the record was written.
    ///
    /// Raises:
    ///     TypeError: the key, the value or a header has a wrong type; nothing is sent.
    ///     SerializationError: a serializer failed; nothing is sent.
    ///     UnknownTopicError: the topic did not appear within ``max.block.ms``.
    ///     TimeoutError: the buffer stayed full for ``max.block.ms``, or the record was not
    ///         acknowledged within ``delivery.timeout.ms``.
    ///     RecordTooLargeError: the record is larger than ``max.request.size`` or the topic's
    ///         ``max.message.bytes``.
    ///     KafkaError: the record failed; ``maybe_done`` says whether it may have been written.
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
        partition: Option<i32>,
        on_delivery: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let given = record::SendArgs { topic, value, key, headers, timestamp, partition, on_delivery };
        match &self.hooks.interceptors {
            None => self.send_record(py, &given),
            Some(all) => all.around(py, &given, |given| self.send_record(py, given)),
        }
    }

    /// Put many records into their batches; the future completes when all are there.
    ///
    /// Rows are encoded outside the loop's thread. Await a call before the next one, and before
    /// ``send``, if the order of their records matters. Cancelling the future ends the call between
    /// two rows.
    ///
    /// Args:
    ///     topic: the topic.
    ///     values: a list, or Arrow data, as for ``Producer.send_batch``.
    ///     keys: a list, or an Arrow array, as long as the values.
    ///     headers: headers of each record of a list.
    ///     timestamps: the timestamp of each record of a list.
    ///     partitions: the partition of each record of a list.
    ///
    /// Returns:
    ///     A future of an ``AsyncBatchDelivery``.
    ///
    /// Raises:
    ///     KafkaError: the call ended before its last record, as with ``Producer.send_batch``.
    #[pyo3(signature = (topic, values, keys=None, *, headers=None, timestamps=None, partitions=None))]
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
    ) -> PyResult<Bound<'py, PyAny>> {
        let Parts { core, groups, .. } = self.parts.get()?;
        let given = Given { topic, values, keys, headers, timestamps, partitions };
        let rows = Rows::new(py, &given, &self.hooks)?;
        let highest = rows.highest_partition();
        let mut rows = rows.owned()?;
        let (core, topic) = (Arc::clone(core), Arc::<str>::from(topic));
        let told = Told {
            topic: Arc::clone(&topic),
            groups: Arc::clone(groups),
            loop_queue: asyncio::running_loop_queue(py)?,
        };
        let custom = self.hooks.partitioner.clone();
        let work = async move {
            let deadline = core.blocks_until();
            let target = match core.target_up_to(&topic, highest, deadline).await {
                Ok(target) => target,
                Err(error) => {
                    told.refuse(rows.told(), error.clone());
                    return Err(error);
                }
            };
            if let Some(custom) = custom {
                let count = target.partitions();
                let place = move |py: Python<'_>| {
                    if let Err(error) = custom.place(py, &topic, &mut rows, count) {
                        intercepted_rows::refuse(py, &topic, rows.told(), &error)?;
                        return Err(error);
                    }
                    Ok(rows)
                };
                match ask(&told.loop_queue, deadline, place).await {
                    Ok(placed) => rows = placed,
                    Err(trouble) => return Ok(Err(trouble)),
                }
            }
            Ok(Ok(rows.send(&core, &target, &told).await))
        };
        start(py, work, |py, sent| match sent {
            Ok((runs, Ok(()))) => AsyncBatchDelivery::from(runs).into_py_any(py),
            Ok((runs, Err(error))) => {
                let accepted = runs.count();
                let delivery = AsyncBatchDelivery::from(runs);
                Err(errors::with_partial_delivery(py, errors::raise(py, &error), accepted, delivery))
            }
            Err(trouble) => Err(trouble.raise(py)),
        })
    }

    /// Send all buffered records; the future completes when all are acknowledged or failed.
    ///
    /// Failures are not raised here, but by each record's future.
    ///
    /// Args:
    ///     timeout: seconds. Default: ``max.block.ms`` plus ``delivery.timeout.ms``, plus 5 s.
    ///
    /// Raises:
    ///     TimeoutError: records are still under way after ``timeout`` seconds.
    #[pyo3(signature = (timeout=None))]
    fn flush<'py>(&self, py: Python<'py>, timeout: Option<f64>) -> PyResult<Bound<'py, PyAny>> {
        let Parts { core, groups, backlog } = self.parts.get()?;
        let backlog = Arc::clone(backlog);
        // Every record has its own deadline, so this one only has to be later.
        let config = core.client().config();
        let longest = config.max_block + config.delivery_timeout + Duration::from_secs(5);
        let timeout = seconds(timeout, longest)?;
        let (core, groups) = (Arc::clone(core), Arc::clone(groups));
        let work = async move { backlog.flush(timeout).await };
        start(py, work, move |py, ()| {
            groups.failed.warn(py);
            core.warn_of_unseen_failures();
            Ok(py.None())
        })
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
    ) -> PyResult<Bound<'py, PyAny>> {
        async_client::partitions_for(py, self.parts.get()?.core.client(), topic, timeout)
    }

    /// Return the state of each connection, by broker, without waiting.
    ///
    /// On a shared client, those of its other users are included.
    fn connections(&self) -> PyResult<Vec<ConnectionStatus>> {
        Ok(connections(self.parts.get()?.core.client()))
    }

    /// Return the changes of the cluster and of the connections, from now on.
    ///
    /// Args:
    ///     all_topics: whether to include all topics, instead of those that this producer uses.
    ///     timeout: seconds for looking up the topics. Default: ``default.api.timeout.ms``.
    ///
    /// See ``AsyncClient.events``.
    #[pyo3(signature = (*, all_topics=false, timeout=None))]
    fn events<'py>(
        &self,
        py: Python<'py>,
        all_topics: bool,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        async_client::events(py, self.parts.get()?.core.client(), all_topics, timeout)
    }

    /// Return the metrics of this producer and its client, by the Java client's names.
    ///
    /// See ``ottla.ProducerMetrics`` for their meaning.
    fn metrics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        metrics(py, self.parts.get()?.core.metrics())
    }

    /// Return the metrics of each topic that records were sent to, by topic.
    ///
    /// See ``ottla.TopicMetrics`` for their meaning.
    fn topic_metrics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        topic_metrics(py, &self.parts.get()?.core)
    }

    /// The bytes of ``buffer.memory`` that hold records without an acknowledgement.
    #[getter]
    fn buffered_bytes(&self) -> PyResult<usize> {
        Ok(self.parts.get()?.core.buffered())
    }

    /// Send all buffered records, wait until they are acknowledged, and close the producer.
    ///
    /// Records that are not acknowledged within ``timeout`` seconds fail. Cancelling the future
    /// ends the wait, not the closing.
    ///
    /// Args:
    ///     timeout: seconds. Default: 60.
    ///
    /// Raises:
    ///     TimeoutError: records were not acknowledged within ``timeout`` seconds.
    #[pyo3(signature = (timeout=None))]
    fn close<'py>(&self, py: Python<'py>, timeout: Option<f64>) -> PyResult<Bound<'py, PyAny>> {
        self.start_closing(py, timeout, |_, _, closed| closed)
    }

    fn __aenter__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let producer = this.get();
        let client = producer.parts.get()?.core.client().clone();
        let work = connect_if_new(client, producer.own_client, producer.timeout);
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
        self.start_closing(py, None, move |py, unseen, closed| leave(py, failed, closed, || unseen))
    }

    fn __repr__(&self) -> String {
        let Some(Parts { core, .. }) = self.parts.peek() else {
            return "AsyncProducer(created in another process)".to_owned();
        };
        let servers = core.client().config().bootstrap_servers.join(",");
        format!("AsyncProducer(bootstrap={servers:?}, buffered_bytes={})", core.buffered())
    }
}

impl AsyncProducer {
    /// Closes it; `end` makes of the failures that nobody has asked about, and of what closing came to, what
    /// the wait for it raises.
    fn start_closing<'py>(
        &self,
        py: Python<'py>,
        timeout: Option<f64>,
        end: impl FnOnce(Python<'_>, Option<UnseenFailure>, PyResult<()>) -> PyResult<()> + Send + 'static,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Parts { core, groups, backlog } = self.parts.get()?;
        let backlog = Arc::clone(backlog);
        let own_client = self.own_client.then(|| core.client().clone());
        let timeout = seconds(timeout, CLOSE)?;
        // Not the future's own work: cancelling the wait does not leave the producer half closed.
        let closing = runtime()?.spawn(async move {
            let closed = backlog.close(timeout).await;
            if let Some(client) = own_client {
                client.close();
            }
            closed
        });
        let work = async move {
            let ended = |error: tokio::task::JoinError| {
                let words = format!("closing has ended early: {error}");
                ottla_client::Error::new(ottla_client::Kind::Closed, words)
            };
            // Whatever it came to, the interceptors are told of the end first.
            Ok(closing.await.map_err(ended).and_then(|closed| closed))
        };
        let (hooks, groups, core) = (Arc::clone(&self.hooks), Arc::clone(groups), Arc::clone(core));
        start(py, work, move |py, closed: ottla_client::Result<()>| {
            hooks.interceptors.iter().try_for_each(|all| all.close(py))?;
            groups.failed.warn(py);
            core.warn_of_unseen_failures();
            let unseen =
                UnseenFailure::total(groups.failed.take_all(py).into_iter().chain(core.unseen_failure()));
            end(py, unseen, closed.map_err(|error| errors::raise(py, &error)))?;
            Ok(py.None())
        })
    }

    fn send_record<'py>(
        &self,
        py: Python<'py>,
        given: &record::SendArgs<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Parts { core, groups, backlog } = self.parts.get()?;
        let mut fields = OwnedRecord::new(given, &self.hooks.serializers)?;
        let (future, loop_handle) = self.loop_cache.future(py)?;
        let loop_queue = loop_handle.get().loop_queue();
        if backlog.is_empty()
            && let Some(target) = core.known_target(given.topic)
            && !target.ends_before(fields.partition)
        {
            if let Some(custom) = &self.hooks.partitioner {
                custom.place_record(py, given.topic, &mut fields, target.partitions())?;
            }
            if let Sent::Accepted(delivery) =
                fields.try_send(core, &target, None).map_err(|error| errors::raise(py, &error))?
            {
                let told = (Some(future.clone().unbind()), fields.on_delivery);
                groups.add(delivery, fields.timestamp, told, loop_queue);
                return Ok(future);
            }
        }
        let cancelled = Arc::new(AtomicBool::new(false));
        future.call_method1("add_done_callback", (Cancelled(Arc::clone(&cancelled)),))?;
        let promise = FutureCompleter::of(future.clone().unbind(), Arc::clone(loop_queue));
        let deadline = core.blocks_until();
        backlog.push(given.topic, Waiting { fields, promise, deadline, cancelled })?;
        Ok(future)
    }
}
