//! `Cluster` and what is in it: a snapshot of the metadata as plain, frozen Python objects.

use std::sync::Arc;

use ottla_client::metadata::{Broker as CoreBroker, Snapshot, Topic as CoreTopic};
use ottla_protocol::ErrorCode;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyMappingProxy};

/// A broker.
#[pyclass(frozen, get_all, module = "ottla")]
pub(crate) struct Broker {
    id: i32,
    host: String,
    port: u16,
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

/// A partition.
#[pyclass(frozen, get_all, module = "ottla")]
pub(crate) struct Partition {
    index: i32,
    leader: Option<i32>,
    leader_epoch: i32,
    replicas: Vec<i32>,
    isr: Vec<i32>,
    offline_replicas: Vec<i32>,
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

/// A topic.
#[pyclass(frozen, module = "ottla")]
pub(crate) struct Topic(Arc<CoreTopic>);

#[pymethods]
impl Topic {
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn id(&self) -> Option<String> {
        (!self.0.id.is_zero()).then(|| self.0.id.to_string())
    }

    #[getter]
    fn internal(&self) -> bool {
        self.0.is_internal
    }

    #[getter]
    fn error(&self) -> Option<&'static str> {
        error_name(self.0.error)
    }

    #[getter]
    fn partitions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        partitions(py, &self.0)
    }

    fn __repr__(&self) -> String {
        format!("Topic(name={:?}, partitions={})", self.0.name, self.0.partitions.len())
    }
}

/// A topic's partitions by index.
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

/// The cluster as the client knew it at one moment.
#[pyclass(frozen, module = "ottla")]
pub(crate) struct Cluster {
    snapshot: Arc<Snapshot>,
    /// Made when it is first asked for: there may be 20,000.
    topics: PyOnceLock<Py<PyMappingProxy>>,
}

impl From<Arc<Snapshot>> for Cluster {
    fn from(snapshot: Arc<Snapshot>) -> Self {
        Self { snapshot, topics: PyOnceLock::new() }
    }
}

#[pymethods]
impl Cluster {
    #[getter]
    fn cluster_id(&self) -> Option<&str> {
        self.snapshot.cluster_id.as_deref()
    }

    #[getter]
    fn controller(&self) -> Option<i32> {
        (self.snapshot.controller >= 0).then_some(self.snapshot.controller)
    }

    #[getter]
    fn generation(&self) -> u64 {
        self.snapshot.generation
    }

    #[getter]
    fn brokers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for broker in self.snapshot.brokers.values() {
            dict.set_item(broker.id, Py::new(py, Broker::from(broker))?)?;
        }
        Ok(dict)
    }

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

    fn __repr__(&self) -> String {
        format!(
            "Cluster(cluster_id={:?}, brokers={}, topics={})",
            self.snapshot.cluster_id.as_deref().unwrap_or_default(),
            self.snapshot.brokers.len(),
            self.snapshot.topic_count()
        )
    }
}
