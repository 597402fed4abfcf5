//! The application's hooks of a consumer: deserializers, interceptors and custom assignors.

use std::sync::Arc;

use ottla_client::consumer::assignor::Assignor;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::assignors::{self, AssignorObject};
use super::deserializers::Deserializers;
use super::interceptors::Interceptors;

pub(super) struct Hooks {
    pub(super) deserializers: Deserializers,
    pub(super) interceptors: Option<Interceptors>,
    pub(super) assignors: Vec<Arc<dyn Assignor>>,
    /// The assignors that are objects of the application.
    pub(super) assignor_objects: Vec<AssignorObject>,
}

impl Hooks {
    /// Takes the hooks from the constructor's arguments, and returns the remaining keywords.
    pub(super) fn from_arguments<'py>(
        key_deserializer: Option<&Bound<'py, PyAny>>,
        value_deserializer: Option<&Bound<'py, PyAny>>,
        interceptors: Option<&Bound<'py, PyAny>>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<(Self, Option<Bound<'py, PyDict>>)> {
        let deserializers = Deserializers::new(key_deserializer, value_deserializer)?;
        let interceptors = Interceptors::new(interceptors)?;
        let (assignors, assignor_objects, kwargs) = assignors::extract(kwargs)?;
        Ok((Self { deserializers, interceptors, assignors, assignor_objects }, kwargs))
    }
}
