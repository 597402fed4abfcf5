//! `connections()` of every client, producer and consumer: a list of `ConnectionStatus` that notebooks show as
//! a table.

use ottla_client::Client as Core;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

use crate::client::connection_status::ConnectionStatus;

/// Python's `ottla._internal.connections.Connections`, imported on first use.
static CONNECTIONS: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// The states of a client's connections, which become a `Connections` in Python.
pub(crate) struct Connections(Vec<ConnectionStatus>);

impl<'py> IntoPyObject<'py> for Connections {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        CONNECTIONS.import(py, "ottla._internal.connections", "Connections")?.call1((self.0,))
    }
}

/// Returns the state of each connection, by broker.
pub(crate) fn connections(core: &Core) -> Connections {
    Connections(core.connections().into_iter().map(ConnectionStatus::from).collect())
}
