//! The application's hooks for each record before it is sent: interceptors, serializers and a custom
//! partitioner, in this order.

use std::sync::Arc;

use ottla_client::config::Config;
use pyo3::PyVisit;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::garbage::{Traverse, Visited};
use crate::producer::interceptors::Interceptors;
use crate::producer::partitioner::CustomPartitioner;
use crate::producer::serializers::Serializers;

pub(crate) struct Hooks {
    pub(crate) interceptors: Option<Interceptors>,
    pub(crate) serializers: Serializers,
    pub(crate) partitioner: Option<Arc<CustomPartitioner>>,
}

impl Hooks {
    /// Takes the hooks from the constructor's arguments, and returns the remaining keywords.
    pub(crate) fn from_arguments<'py>(
        key_serializer: Option<&Bound<'py, PyAny>>,
        value_serializer: Option<&Bound<'py, PyAny>>,
        interceptors: Option<&Bound<'py, PyAny>>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<(Self, Option<Bound<'py, PyDict>>)> {
        let serializers = Serializers::new(key_serializer, value_serializer)?;
        let interceptors = Interceptors::new(interceptors)?;
        let (partitioner, kwargs) = CustomPartitioner::from_kwargs(kwargs)?;
        Ok((Self { interceptors, serializers, partitioner: partitioner.map(Arc::new) }, kwargs))
    }

    /// Configures the interceptors, once the client is known.
    pub(crate) fn configure(&self, py: Python<'_>, config: &Config) -> PyResult<()> {
        self.interceptors.iter().try_for_each(|all| all.configure(py, config))
    }
}

impl Hooks {
    /// Visits the objects, with the partitioner if nothing but this and `sharers` more refer to it.
    pub(crate) fn traverse(&self, sharers: usize, visit: &PyVisit<'_>) -> Visited {
        self.interceptors.traverse(visit)?;
        self.serializers.traverse(visit)?;
        match &self.partitioner {
            Some(partitioner) if Arc::strong_count(partitioner) == 1 + sharers => partitioner.traverse(visit),
            _ => Ok(()),
        }
    }
}
