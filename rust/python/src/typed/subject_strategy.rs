//! The arguments `subject` and `subject_strategy`: how subjects are named.
//!
//! Invariant: a callable is called without locks of the core, and its exception is the error of the call.

use std::sync::Arc;

use ottla_client::typed::{SubjectName, SubjectNaming};
use ottla_client::{Error, Kind, Result};
use ottla_schema::Header;
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::named::named;
use crate::convert::errors;
use crate::convert::nested_calls::nested;

const STRATEGIES: [&str; 3] = ["topic", "record", "topic_record"];

/// Converts the arguments.
pub(super) fn subject_name(
    py: Python<'_>,
    subject: Option<String>,
    strategy: Option<&Bound<'_, PyAny>>,
) -> PyResult<SubjectName> {
    let strategy = strategy.filter(|strategy| !strategy.is_none());
    match (subject, strategy) {
        (Some(_), Some(_)) => Err(errors::config(py, "pass either subject or subject_strategy, not both")),
        (Some(subject), None) => Ok(SubjectName::Given(subject.into())),
        (None, None) => Ok(SubjectName::Topic),
        (None, Some(strategy)) => match strategy.cast::<PyString>() {
            Ok(name) => {
                let names = STRATEGIES.map(|name| (name, name));
                Ok(match named(py, "subject_strategy", name.to_str()?, &names)? {
                    "record" => SubjectName::Record,
                    "topic_record" => SubjectName::TopicRecord,
                    _ => SubjectName::Topic,
                })
            }
            Err(_) if strategy.is_callable() => {
                Ok(SubjectName::Custom(Arc::new(CalledNaming(strategy.clone().unbind()))))
            }
            Err(_) => {
                let ty = strategy.get_type().name()?;
                let message = format!(
                    "subject_strategy is of type {ty}: expected \"topic\", \"record\", \"topic_record\", or a callable that returns a name"
                );
                Err(errors::argument_type(py, message))
            }
        },
    }
}

/// A callable of the application.
#[derive(Debug)]
struct CalledNaming(Py<PyAny>);

impl SubjectNaming for CalledNaming {
    fn subject(&self, topic: &str, header: Header, type_name: Option<&str>) -> Result<String> {
        Python::attach(|py| {
            let returned =
                nested("subject_strategy", || self.0.bind(py).call1((topic, header.column(), type_name)));
            let name = returned.and_then(|name| name.extract::<String>());
            name.map_err(|error| {
                let message = format!("subject_strategy failed: {}", error.value(py));
                Error::new(Kind::Config, message).topic(topic)
            })
        })
    }
}
