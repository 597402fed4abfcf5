//! `Cluster`, `Broker`, `Topic` and `Partition`: a metadata snapshot as frozen Python objects.

use std::sync::Arc;

use ottla_client::metadata::{Broker as CoreBroker, Snapshot, Topic as CoreTopic};
use ottla_protocol::ErrorCode;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyMappingProxy};

use crate::convert::notebook;

/// A broker of the cluster, as the metadata describes it.
#[pyclass(frozen, get_all, module = "ottla")]
pub(crate) struct Broker {
    /// The broker's id (``node.id``).
    id: i32,
    /// The host name or address that the broker advertises to clients.
    host: String,
    /// The port that the broker advertises to clients.
    port: u16,
    /// The broker's rack (``broker.rack``); None if it has none.
    rack: Option<String>,
}

#[pymethods]
impl Broker {
    fn __repr__(&self) -> String {
        let rack = self.rack.as_ref().map(|rack| format!(", rack={rack:?}")).unwrap_or_default();
        format!("Broker(id={}, host={:?}, port={}{rack})", self.id, self.host, self.port)
    }
}

impl From<&CoreBroker> for Broker {
    fn from(broker: &CoreBroker) -> Self {
        Self {
            id: broker.id,
            host: broker.endpoint.host.clone(),
            port: broker.endpoint.port,
            rack: broker.rack.clone(),
        }
    }
}

/// A partition of a topic: its leader, its replicas and their state.
#[pyclass(frozen, get_all, module = "ottla")]
pub(crate) struct Partition {
    /// The partition's number in its topic, from 0.
    index: i32,
    /// The id of the broker that leads the partition; None while there is no leader.
    leader: Option<i32>,
    /// The leader epoch (KIP-320), which grows with each change of the leader; -1 if unknown.
    leader_epoch: i32,
    /// The ids of the brokers that have a replica, the preferred leader first.
    replicas: Vec<i32>,
    /// The ids of the brokers whose replicas are in sync.
    isr: Vec<i32>,
    /// The ids of the brokers whose replicas are offline.
    offline_replicas: Vec<i32>,
    /// Kafka's name of the partition's error, such as ``LEADER_NOT_AVAILABLE``, or None.
    error: Option<&'static str>,
}

#[pymethods]
impl Partition {
    fn __repr__(&self) -> String {
        let leader = self.leader.map_or("None".to_owned(), |leader| leader.to_string());
        format!(
            "Partition(index={}, leader={leader}, replicas={:?}, isr={:?})",
            self.index, self.replicas, self.isr
        )
    }
}

/// A topic and its partitions.
#[pyclass(frozen, module = "ottla")]
pub(crate) struct Topic(Arc<CoreTopic>);

#[pymethods]
impl Topic {
    /// The topic's name.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// The topic's id (KIP-516) as a string; None if the brokers do not support topic ids.
    #[getter]
    fn id(&self) -> Option<String> {
        (!self.0.id.is_zero()).then(|| self.0.id.to_string())
    }

    /// Whether the topic is Kafka's own, such as ``__consumer_offsets``.
    #[getter]
    fn internal(&self) -> bool {
        self.0.is_internal
    }

    /// Kafka's name of the topic's error, such as ``UNKNOWN_TOPIC_OR_PARTITION``, or None.
    #[getter]
    fn error(&self) -> Option<&'static str> {
        error_name(self.0.error)
    }

    /// The topic's partitions by number, in a new dict.
    #[getter]
    fn partitions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        partitions(py, &self.0)
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        notebook::html(slf.py(), "topic_html", (slf,))
    }

    fn __repr__(&self) -> String {
        format!("Topic(name={:?}, partitions={})", self.0.name, self.0.partitions.len())
    }
}

/// Returns a topic's partitions by number.
pub(crate) fn partitions<'py>(py: Python<'py>, topic: &CoreTopic) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for partition in &topic.partitions {
        let object = Partition {
            index: partition.index,
            leader: (partition.leader >= 0).then_some(partition.leader),
            leader_epoch: partition.leader_epoch,
            replicas: topic.replicas(partition).to_vec(),
            isr: topic.isr(partition).to_vec(),
            offline_replicas: topic.offline(partition).to_vec(),
            error: error_name(partition.error),
        };
        dict.set_item(partition.index, Py::new(py, object)?)?;
    }
    Ok(dict)
}

fn error_name(code: ErrorCode) -> Option<&'static str> {
    (code != ErrorCode::None).then(|| code.name())
}

/// An immutable snapshot of the cluster's metadata.
///
/// ``Client.cluster()`` returns the current one.
#[pyclass(frozen, module = "ottla")]
pub(crate) struct Cluster {
    snapshot: Arc<Snapshot>,
    /// Created on first use: a cluster may have 20,000 topics.
    topics: PyOnceLock<Py<PyMappingProxy>>,
}

impl From<Arc<Snapshot>> for Cluster {
    fn from(snapshot: Arc<Snapshot>) -> Self {
        Self { snapshot, topics: PyOnceLock::new() }
    }
}

#[pymethods]
impl Cluster {
    /// The cluster's id (``cluster.id``); None if unknown.
    #[getter]
    fn cluster_id(&self) -> Option<&str> {
        self.snapshot.cluster_id.as_deref()
    }

    /// The snapshot's number, which grows with each refresh; 0 before the first.
    #[getter]
    fn generation(&self) -> u64 {
        self.snapshot.generation
    }

    /// The brokers by id, in a new dict.
    #[getter]
    fn brokers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for broker in self.snapshot.brokers.values() {
            dict.set_item(broker.id, Py::new(py, Broker::from(broker))?)?;
        }
        Ok(dict)
    }

    /// The topics that the client knows: a read-only mapping by name, in alphabetical order.
    #[getter]
    fn topics(&self, py: Python<'_>) -> PyResult<Py<PyMappingProxy>> {
        let topics = self.topics.get_or_try_init(py, || -> PyResult<_> {
            let mut topics: Vec<_> = self.snapshot.topics().collect();
            topics.sort_by(|a, b| a.name.cmp(&b.name));
            let dict = PyDict::new(py);
            for topic in topics {
                dict.set_item(&*topic.name, Py::new(py, Topic(Arc::clone(topic)))?)?;
            }
            Ok(PyMappingProxy::new(py, dict.as_mapping()).unbind())
        })?;
        Ok(topics.clone_ref(py))
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        notebook::html(slf.py(), "cluster_html", (slf,))
    }

    fn __repr__(&self) -> String {
        format!(
            "Cluster(cluster_id={:?}, brokers={}, topics={})",
            self.snapshot.cluster_id.as_deref().unwrap_or_default(),
            self.snapshot.brokers.len(),
            self.snapshot.topic_count()
        )
    }
}
