//! What tests do with the reassignments of a `MockCluster`.

use crate::convert::number;
use pyo3::prelude::*;

use super::{MockCluster, to_config_error};

#[pymethods]
impl MockCluster {
    /// Keep reassignments open, or complete all.
    fn hold_reassignments(&self, hold: bool) -> PyResult<()> {
        self.with(|core| {
            core.hold_reassignments(hold);
            Ok(())
        })
    }

    /// Complete a reassignment that is held open.
    fn complete_reassignment(
        &self,
        py: Python<'_>,
        topic: &str,
        #[pyo3(from_py_with = number::partition)] partition: i32,
    ) -> PyResult<()> {
        self.with(|core| {
            let completed = core.complete_reassignment(topic, partition);
            completed.map_err(|error| to_config_error(py, &error))
        })
    }

    /// Return the brokers that a partition's reassignment adds and removes, or None.
    fn reassignment(
        &self,
        topic: &str,
        #[pyo3(from_py_with = number::partition)] partition: i32,
    ) -> PyResult<Option<(Vec<i32>, Vec<i32>)>> {
        self.with(|core| {
            let found = core.reassignment(topic, partition);
            Ok(found.map(|reassignment| (reassignment.adding, reassignment.removing)))
        })
    }
}
