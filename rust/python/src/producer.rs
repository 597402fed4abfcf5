//! `Producer` and `Delivery`: a record sent, and the promise of what becomes of it.

use std::sync::Arc;
use std::time::Duration;

use ottla_client::producer::{Completion, Delivery as Promise, Producer as Core, Sent, Target, Written};
use ottla_client::{Error, Kind};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tokio::time::Instant;

use crate::batch_delivery::BatchDelivery;
use crate::client::Client;
use crate::errors;
use crate::partitioner::{Chosen, Custom};
use crate::record::{Data, Fields, data};
use crate::runtime::{Owned, check_process, pid, runtime, seconds, wait, wait_for};
use crate::send_batch::{Given, Rows};

/// How long `close` waits for unsent records unless told otherwise.
pub(crate) const CLOSE: Duration = Duration::from_secs(60);

/// Where a record was written.
#[pyclass(frozen, module = "ottla")]
pub(crate) struct RecordMetadata {
    topic: Arc<str>,
    #[pyo3(get)]
    partition: i32,
    #[pyo3(get)]
    offset: Option<i64>,
    #[pyo3(get)]
    timestamp: i64,
}

impl RecordMetadata {
    /// Of a record with this timestamp.
    pub(crate) fn new(completion: &Completion, written: Written, timestamp: i64) -> Self {
        let (topic, partition) = completion.partition();
        Self {
            topic: Arc::clone(topic),
            partition: *partition,
            offset: (written.offset >= 0).then_some(written.offset),
            timestamp: if written.log_append_time >= 0 { written.log_append_time } else { timestamp },
        }
    }
}

#[pymethods]
impl RecordMetadata {
    #[getter]
    fn topic(&self) -> &str {
        &self.topic
    }

    fn __repr__(&self) -> String {
        let offset = self.offset.map_or("None".to_owned(), |offset| offset.to_string());
        format!(
            "RecordMetadata(topic={:?}, partition={}, offset={offset}, timestamp={})",
            self.topic, self.partition, self.timestamp
        )
    }
}

/// The promise of one record.
#[pyclass(frozen, module = "ottla")]
pub(crate) struct Delivery {
    promise: Promise,
    timestamp: i64,
    pid: u32,
}

impl Delivery {
    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<ottla_client::Result<Written>> {
        if let Some(result) = self.promise.result() {
            return Ok(result);
        }
        // What is known may be told anywhere, but nothing comes to a forked child.
        check_process(self.pid)?;
        let timeout = seconds(timeout, Duration::MAX)?;
        match wait(py, async { tokio::time::timeout(timeout, self.promise.wait()).await.ok() })? {
            Some(result) => Ok(result),
            None => {
                let (topic, partition) = self.promise.completion.partition();
                let words =
                    format!("not acknowledged within {} s; it is still under way", timeout.as_secs_f64());
                Err(errors::raise(py, &Error::new(Kind::Timeout, words).at(topic, *partition)))
            }
        }
    }
}

#[pymethods]
impl Delivery {
    fn done(&self) -> bool {
        self.promise.result().is_some()
    }

    #[pyo3(signature = (timeout=None))]
    fn result(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<RecordMetadata> {
        match self.wait(py, timeout)? {
            Ok(written) => Ok(RecordMetadata::new(&self.promise.completion, written, self.timestamp)),
            Err(error) => Err(errors::raise(py, &error)),
        }
    }

    #[pyo3(signature = (timeout=None))]
    fn exception(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Option<Py<PyAny>>> {
        match self.wait(py, timeout)? {
            Ok(_) => Ok(None),
            Err(error) => errors::value(py, &error).map(Some),
        }
    }

    #[getter]
    fn topic(&self) -> &str {
        &self.promise.completion.partition().0
    }

    #[getter]
    fn partition(&self) -> i32 {
        self.promise.completion.partition().1
    }

    fn __repr__(&self) -> String {
        let state = match self.promise.result() {
            None => "pending".to_owned(),
            Some(Ok(written)) => format!("offset={}", written.offset),
            Some(Err(error)) => format!("failed: {error}"),
        };
        format!("Delivery({}-{}, {state})", self.topic(), self.partition())
    }
}

/// A producer.
#[pyclass(frozen, module = "ottla")]
pub(crate) struct Producer {
    core: Owned<Core>,
    /// The client was made for this producer and goes with it.
    own_client: bool,
    partitioner: Option<Custom>,
}

/// The topic, looked up if it has to be.
fn target(
    py: Python<'_>,
    core: &Core,
    topic: &str,
    until: impl FnOnce() -> Instant,
) -> PyResult<Arc<Target>> {
    match core.known_target(topic) {
        Some(target) => Ok(target),
        None => wait_for(py, core.target(topic, until())),
    }
}

#[pymethods]
impl Producer {
    #[new]
    #[pyo3(signature = (bootstrap=None, config=None, *, timeout=None, **kwargs))]
    fn new(
        py: Python<'_>,
        bootstrap: Option<&Bound<'_, PyAny>>,
        config: Option<&Bound<'_, PyAny>>,
        timeout: Option<f64>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let (partitioner, kwargs) = Custom::take(kwargs)?;
        let (client, own_client) =
            Client::given_or_connected(py, "Producer", bootstrap, config, timeout, kwargs.as_ref())?;
        let runtime = runtime()?;
        let _entered = runtime.enter();
        let core = Core::new(client).map_err(|error| errors::raise(py, &error))?;
        Ok(Self { core: Owned::new(core), own_client, partitioner })
    }

    #[pyo3(signature = (topic, value=None, key=None, *, headers=None, timestamp=None, partition=None))]
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
    ) -> PyResult<Delivery> {
        let core = self.core.get()?;
        let mut fields = Fields::new(value, key, headers, timestamp, partition)?;
        // One for the whole call, whatever it waits for; most wait for nothing.
        let mut deadline = None;
        let mut until = || *deadline.get_or_insert_with(|| core.blocks_until());
        let target = target(py, core, topic, &mut until)?;
        if let (None, Some(custom)) = (partition, &self.partitioner) {
            let [key, value] = [&fields.key, &fields.value].map(|data| data.as_ref().map(Data::as_slice));
            fields.partition = Some(custom.choose(py, topic, key, value, target.partitions())?);
        }
        loop {
            match fields.try_send(core, &target).map_err(|error| errors::raise(py, &error))? {
                Sent::Accepted(promise) => {
                    let timestamp = fields.timestamp;
                    return Ok(Delivery { promise, timestamp, pid: pid() });
                }
                Sent::Full(bytes) => wait_for(py, core.room_for(bytes, until()))?,
            }
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
        let core = self.core.get()?;
        let given = Given { values, keys, headers, timestamps, partitions };
        let Some(custom) = &self.partitioner else {
            let rows = Rows::new(py, &given)?;
            let target = target(py, core, topic, || core.blocks_until())?;
            return Ok(rows.send(py, core, &target)?.into());
        };
        let target = target(py, core, topic, || core.blocks_until())?;
        let Chosen { values, keys, partitions } =
            custom.choose_all(py, topic, target.partitions(), &given)?;
        let (keys, partitions) = (keys.as_ref(), partitions.as_ref());
        let given = Given { values: &values, keys, partitions, ..given };
        Ok(Rows::new(py, &given)?.send(py, core, &target)?.into())
    }

    #[pyo3(signature = (timeout=None))]
    fn flush(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<()> {
        let core = self.core.get()?;
        // Every record has its own deadline, so this one only has to be later.
        let timeout = seconds(timeout, core.client().config().delivery_timeout + Duration::from_secs(5))?;
        wait_for(py, core.flush(timeout))
    }

    #[getter]
    fn buffered_bytes(&self) -> PyResult<usize> {
        Ok(self.core.get()?.buffered())
    }

    #[pyo3(signature = (timeout=None))]
    fn close(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<()> {
        let core = self.core.get()?;
        let closed = wait_for(py, core.close(seconds(timeout, CLOSE)?));
        if self.own_client {
            py.detach(|| core.client().close());
        }
        closed
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (*_args))]
    fn __exit__(&self, py: Python<'_>, _args: &Bound<'_, PyAny>) -> PyResult<()> {
        self.close(py, None)
    }

    fn __repr__(&self) -> String {
        let Some(core) = self.core.peek() else { return "Producer(made in another process)".to_owned() };
        let servers = core.client().config().bootstrap_servers.join(",");
        format!("Producer(bootstrap={servers:?}, buffered_bytes={})", core.buffered())
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
