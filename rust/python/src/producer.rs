//! `Producer` and `Delivery`: a record sent, and the promise of what becomes of it.

use std::sync::Arc;
use std::time::Duration;

use ottla_client::producer::{Delivery as Promise, Producer as Core, Record, Sent, Target, Written};
use ottla_client::{Error, Kind};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::client::Client;
use crate::errors;
use crate::partitioner::{Chosen, Custom};
use crate::record::{Data, Headers, data, timestamp};
use crate::runtime::{Owned, check_process, runtime, seconds, wait, wait_for};
use crate::send_batch::{self, BatchDelivery};

/// How long `close` waits for unsent records unless told otherwise.
const CLOSE: Duration = Duration::from_secs(60);

/// Where a record was written.
#[pyclass(frozen, get_all, module = "ottla")]
pub(crate) struct RecordMetadata {
    topic: String,
    partition: i32,
    offset: Option<i64>,
    timestamp: i64,
}

#[pymethods]
impl RecordMetadata {
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
    fn metadata(&self, written: Written) -> RecordMetadata {
        let (topic, partition) = self.promise.completion.partition();
        RecordMetadata {
            topic: topic.to_string(),
            partition: *partition,
            offset: (written.offset >= 0).then_some(written.offset),
            timestamp: if written.log_append_time >= 0 { written.log_append_time } else { self.timestamp },
        }
    }

    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<ottla_client::Result<Written>> {
        if let Some(result) = self.promise.result() {
            return Ok(result);
        }
        // What is known may be told anywhere, but nothing comes to a forked child.
        check_process(self.pid)?;
        let timeout = seconds(timeout, Duration::MAX)?;
        match wait(py, tokio_timeout(timeout, self.promise.wait()))? {
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

/// `None` when the time is over first.
pub(crate) async fn tokio_timeout<T>(timeout: Duration, future: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(timeout, future).await.ok()
}

#[pymethods]
impl Delivery {
    fn done(&self) -> bool {
        self.promise.result().is_some()
    }

    #[pyo3(signature = (timeout=None))]
    fn result(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<RecordMetadata> {
        match self.wait(py, timeout)? {
            Ok(written) => Ok(self.metadata(written)),
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
pub(crate) fn target(py: Python<'_>, core: &Core, topic: &str) -> PyResult<Arc<Target>> {
    match core.known_target(topic) {
        Some(target) => Ok(target),
        None => wait_for(py, core.target(topic)),
    }
}

/// Sends one record, waiting without the GIL while the buffer is full.
fn send_record(
    py: Python<'_>,
    core: &Core,
    target: &Target,
    partition: Option<i32>,
    record: &Record<'_>,
) -> PyResult<Promise> {
    loop {
        match core.try_send(target, partition, record).map_err(|error| errors::raise(py, &error))? {
            Sent::Accepted(promise) => return Ok(promise),
            Sent::Full(bytes) => wait_for(py, core.room_for(bytes))?,
        }
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
        let millis = self::timestamp(timestamp)?;
        let value = value.map_or(Ok(None), |value| data("value", value))?;
        let key = key.map_or(Ok(None), |key| data("key", key))?;
        let headers = Headers::new(headers)?;
        let target = target(py, core, topic)?;
        let record = Record {
            timestamp: millis,
            key: key.as_ref().map(Data::as_slice),
            value: value.as_ref().map(Data::as_slice),
            headers: &headers.as_headers(),
        };
        let partition = match (partition, &self.partitioner) {
            (None, Some(custom)) => {
                Some(custom.choose(py, topic, record.key, record.value, target.partitions())?)
            }
            (partition, _) => partition,
        };
        let promise = send_record(py, core, &target, partition, &record)?;
        Ok(Delivery { promise, timestamp: millis, pid: std::process::id() })
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
        let target = target(py, core, topic)?;
        let given = send_batch::Given { values, keys, headers, timestamps, partitions };
        let Some(custom) = &self.partitioner else {
            return send_batch::send_batch(py, core, &target, &given);
        };
        let Chosen { values, keys, partitions } =
            custom.choose_all(py, topic, target.partitions(), &given)?;
        let (keys, partitions) = (keys.as_ref(), partitions.as_ref());
        let given = send_batch::Given { values: &values, keys, partitions, ..given };
        send_batch::send_batch(py, core, &target, &given)
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
