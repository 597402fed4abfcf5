//! `Producer`: puts records into their partitions' batches and returns promises.

use std::sync::{Arc, Weak};
use std::time::Duration;

use ottla_client::producer::{Producer as Core, Sent};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::batch_delivery::BatchDelivery;
use crate::client::{self, Client, ConnectionStatus};
use crate::delivery::Delivery;
use crate::engine::Engine;
use crate::errors;
use crate::events::Events;
use crate::exit;
use crate::hooks::Hooks;
use crate::record::{self, Fields, data};
use crate::runtime::{Owned, runtime, seconds, wait_for};
use crate::send_batch::{Given, Rows};
use crate::told_rows;

/// How long `close` waits for unsent records unless told otherwise.
pub(crate) const CLOSE: Duration = Duration::from_secs(60);

/// A producer.
#[pyclass(frozen, module = "ottla")]
pub(crate) struct Producer {
    engine: Owned<Arc<Engine>>,
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
            Client::given_or_connected(py, "Producer", bootstrap, config, timeout, kwargs.as_ref())?;
        let runtime = runtime()?;
        let _entered = runtime.enter();
        let core = Core::new(client).map_err(|error| errors::raise(py, &error))?;
        let engine = Arc::new(Engine::new(core, own_client));
        let open: Weak<Engine> = Arc::downgrade(&engine);
        exit::watch(open);
        Ok(Self { engine: Owned::new(engine), hooks })
    }

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
        let given = record::Given { topic, value, key, headers, timestamp, partition, on_delivery };
        let engine = self.engine.get()?;
        match &self.hooks.interceptors {
            None => self.send_record(py, engine, &given),
            Some(all) => all.around(py, &given, |given| self.send_record(py, engine, given)),
        }
    }

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
                told_rows::refuse(py, topic, rows.told(), &error)?;
                Err(error)
            }
        }
    }

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
        client::partitions_for(py, self.engine.get()?.core.client(), topic, timeout)
    }

    fn connections(&self) -> PyResult<Vec<ConnectionStatus>> {
        Ok(client::connections(self.engine.get()?.core.client()))
    }

    #[pyo3(signature = (*, all_topics=false, timeout=None))]
    fn events(&self, py: Python<'_>, all_topics: bool, timeout: Option<f64>) -> PyResult<Events> {
        client::events(py, self.engine.get()?.core.client(), all_topics, timeout)
    }

    fn metrics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        client::metrics(py, self.engine.get()?.core.metrics())
    }

    fn topic_metrics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        client::topic_metrics(py, &self.engine.get()?.core)
    }

    #[getter]
    fn buffered_bytes(&self) -> PyResult<usize> {
        Ok(self.engine.get()?.core.buffered())
    }

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
        let Some(engine) = self.engine.peek() else { return "Producer(made in another process)".to_owned() };
        let servers = engine.core.client().config().bootstrap_servers.join(",");
        format!("Producer(bootstrap={servers:?}, buffered_bytes={})", engine.core.buffered())
    }
}

impl Producer {
    fn send_record(
        &self,
        py: Python<'_>,
        engine: &Arc<Engine>,
        given: &record::Given<'_, '_>,
    ) -> PyResult<Delivery> {
        let core = &engine.core;
        let mut fields = Fields::new(given, &self.hooks.serializers)?;
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

/// The partition that a key goes to, as the Java client chooses it.
#[pyfunction]
pub(crate) fn partition_for_key(py: Python<'_>, key: &Bound<'_, PyAny>, partitions: usize) -> PyResult<i32> {
    if partitions == 0 {
        return Err(errors::config(py, "partitions is 0: expected the topic's number of partitions"));
    }
    match data("key", key)? {
        Some(key) => Ok(ottla_client::producer::partition_for_key(key.as_slice(), partitions)),
        None => Err(errors::config(py, "key is None: a record without a key has no fixed partition")),
    }
}
