//! Partition assignors written in Python, from `partition_assignment_strategy`.
//!
//! Invariants: the core calls them on threads that may wait for the GIL. An exception or an invalid
//! result becomes an error that names the assignor. The core validates the assignment itself.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use ottla_client::consumer::assignor::{
    Assignor, GroupAssignment, LastAssignment, MemberAssignment, MemberSubscription as CoreSubscription,
    Topics, by_name,
};
use ottla_client::{Error, Kind, Result, TopicPartition};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

use super::partitions;
use crate::convert::errors;

/// The keyword argument; if it holds only names, it is an ordinary configuration key.
const KEYWORD: &str = "partition_assignment_strategy";

/// The subscription of a member of a classic group, for assignors; see ``ottla.assignors``.
#[pyclass(frozen, get_all, module = "ottla.assignors")]
pub(crate) struct MemberSubscription {
    /// The member's id in this group.
    member_id: String,
    /// The ``group.instance.id`` of a static member (KIP-345); None for other members.
    instance_id: Option<String>,
    /// The topics that the member subscribes to.
    topics: Vec<String>,
    /// The partitions that the member owns while it joins, as topic and number (KIP-429).
    owned: Py<PyList>,
    /// The generation in which ``owned`` was assigned (KIP-792); -1 if unknown.
    generation: i32,
    /// The member's rack (``client.rack``, KIP-881); None if it has none.
    rack: Option<String>,
    /// The user data that the member's assignor added to its subscription, or None.
    user_data: Option<Py<PyBytes>>,
}

#[pymethods]
impl MemberSubscription {
    fn __repr__(&self) -> String {
        format!("MemberSubscription(member_id={:?}, topics={:?})", self.member_id, self.topics)
    }
}

impl MemberSubscription {
    fn new(py: Python<'_>, member: &CoreSubscription) -> PyResult<Self> {
        Ok(Self {
            member_id: member.member_id.to_string(),
            instance_id: member.instance_id.as_deref().map(str::to_owned),
            topics: member.topics.iter().map(ToString::to_string).collect(),
            owned: partitions::to_list(py, &member.owned)?.unbind(),
            generation: member.generation,
            rack: member.rack.as_deref().map(str::to_owned),
            user_data: member.user_data.as_ref().map(|data| PyBytes::new(py, data).unbind()),
        })
    }
}

/// An object of the application, which the core shares.
pub(super) type AssignorObject = Arc<Py<PyAny>>;

/// Assignors, the objects among them, and the remaining keyword arguments.
type ExtractedAssignors<'py> = (Vec<Arc<dyn Assignor>>, Vec<AssignorObject>, Option<Bound<'py, PyDict>>);

/// Extracts the assignors from a consumer's keyword arguments, unless all of them are names.
pub(super) fn extract<'py>(kwargs: Option<&Bound<'py, PyDict>>) -> PyResult<ExtractedAssignors<'py>> {
    let Some(kwargs) = kwargs else { return Ok((Vec::new(), Vec::new(), None)) };
    let unchanged = || Ok((Vec::new(), Vec::new(), Some(kwargs.clone())));
    let Some(argument) = kwargs.get_item(KEYWORD)? else { return unchanged() };
    let argument: Vec<Bound<'_, PyAny>> = match argument.try_iter() {
        _ if argument.is_none() || argument.is_instance_of::<PyString>() => return unchanged(),
        Ok(items) => items.collect::<PyResult<_>>()?,
        Err(_) => vec![argument],
    };
    if argument.iter().all(|argument| argument.is_instance_of::<PyString>()) {
        return unchanged();
    }
    let mut objects = Vec::new();
    let assignors = argument.iter().map(|one| assignor(one, &mut objects)).collect::<PyResult<_>>()?;
    let rest = kwargs.copy()?;
    rest.del_item(KEYWORD)?;
    Ok((assignors, objects, Some(rest)))
}

fn assignor(argument: &Bound<'_, PyAny>, objects: &mut Vec<AssignorObject>) -> PyResult<Arc<dyn Assignor>> {
    let py = argument.py();
    if let Ok(name) = argument.cast::<PyString>() {
        let name = name.to_string();
        return by_name(&name).ok_or_else(|| errors::config(py, format!("there is no assignor {name:?}")));
    }
    let name = argument.getattr("name").and_then(|name| name.extract::<String>());
    match name {
        Ok(name) if argument.hasattr("assign")? => {
            let cooperative = match argument.getattr_opt("cooperative")? {
                Some(cooperative) => cooperative.is_truthy()?,
                None => false,
            };
            let object = Arc::new(argument.clone().unbind());
            objects.push(Arc::clone(&object));
            Ok(Arc::new(PythonAssignor { name, cooperative, object }))
        }
        _ => {
            let ty = argument.get_type().name()?;
            let message = format!(
                "{KEYWORD}: an object of type {ty} is not an assignor: it needs a name and assign(topics, members); see ottla.assignors"
            );
            Err(errors::config(py, message))
        }
    }
}

/// An assignor of the application.
#[derive(Debug)]
struct PythonAssignor {
    name: String,
    cooperative: bool,
    object: AssignorObject,
}

impl PythonAssignor {
    fn error(&self, message: impl std::fmt::Display) -> Error {
        Error::new(Kind::Config, format!("the assignor {}: {message}", self.name))
    }

    /// Calls a method of the assignor; returns `None` if it has no such method.
    fn call<T>(
        &self,
        method: &str,
        call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Result<Option<T>> {
        let called = Python::try_attach(|py| match self.object.bind(py).getattr_opt(method) {
            Ok(Some(method)) => call(&method).map(Some),
            Ok(None) => Ok(None),
            Err(error) => Err(error),
        });
        match called {
            Some(Ok(returned)) => Ok(returned),
            Some(Err(error)) => Err(self.error(format_args!("{method}() raised {error}"))),
            None => Err(self.error("the interpreter is ending")),
        }
    }
}

impl Assignor for PythonAssignor {
    fn name(&self) -> &str {
        &self.name
    }

    fn cooperative(&self) -> bool {
        self.cooperative
    }

    fn user_data(&self, topics: &[Arc<str>], _: &LastAssignment) -> Option<Bytes> {
        let topics: Vec<&str> = topics.iter().map(AsRef::as_ref).collect();
        let result = self.call("user_data", |method| method.call1((topics,))?.extract::<Option<Vec<u8>>>());
        result
            .unwrap_or_else(|error| {
                tracing::warn!(target: "ottla.group", %error, "joining without user data");
                None
            })
            .flatten()
            .map(Bytes::from)
    }

    fn on_assignment(&self, assignment: &MemberAssignment, generation: i32) {
        let result = self.call("on_assignment", |method| {
            let partitions = partitions::to_list(method.py(), &assignment.partitions)?;
            method.call1((partitions, generation)).map(drop)
        });
        if let Err(error) = result {
            tracing::warn!(target: "ottla.group", %error, "an assignor's on_assignment failed");
        }
    }

    fn assign(&self, topics: &Topics, members: &[CoreSubscription]) -> Result<GroupAssignment> {
        let assigned = self.call("assign", |method| {
            let py = method.py();
            let racks_by_topic = PyDict::new(py);
            for (topic, infos) in topics {
                let racks = PyDict::new(py);
                for info in infos {
                    racks.set_item(
                        info.partition,
                        info.racks.iter().map(AsRef::<str>::as_ref).collect::<Vec<_>>(),
                    )?;
                }
                racks_by_topic.set_item(&**topic, racks)?;
            }
            let members = members.iter().map(|member| MemberSubscription::new(py, member)?.into_pyobject(py));
            let members = PyList::new(py, members.collect::<PyResult<Vec<_>>>()?)?;
            method.call1((racks_by_topic, members))?.extract::<HashMap<String, Vec<(String, i32)>>>()
        })?;
        let assigned = assigned.ok_or_else(|| self.error("it no longer has assign()"))?;
        let names: HashMap<&str, &Arc<str>> = topics.keys().map(|name| (&**name, name)).collect();
        let partition = |(topic, partition): (String, i32)| -> TopicPartition {
            (names.get(&*topic).map_or_else(|| Arc::from(&*topic), |name| Arc::clone(name)), partition)
        };
        let assignment = |(id, all): (String, Vec<(String, i32)>)| {
            let partitions = all.into_iter().map(partition).collect();
            (Arc::from(id), MemberAssignment { partitions, user_data: None })
        };
        Ok(assigned.into_iter().map(assignment).collect())
    }
}
