//! `LastTopic`: the name of the last record's topic as a Python string, which consecutive records share.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyString;

/// The name of the last record's topic.
#[derive(Default)]
pub(crate) struct LastTopic(Option<(Arc<str>, Py<PyString>)>);

impl LastTopic {
    /// Returns a topic's name as a string.
    pub(crate) fn string<'py>(&mut self, py: Python<'py>, name: &Arc<str>) -> Bound<'py, PyString> {
        match &self.0 {
            Some((known, topic)) if Arc::ptr_eq(known, name) => topic.bind(py).clone(),
            _ => {
                let topic = PyString::intern(py, name);
                self.0 = Some((Arc::clone(name), topic.clone().unbind()));
                topic
            }
        }
    }
}
