//! Partitions and offsets in Python: pairs of a topic and a number, and dicts by such pairs.

use std::collections::HashMap;
use std::sync::Arc;

use ottla_client::consumer::PartitionFilter;
use ottla_client::group_offsets::CommittedOffset;
use ottla_client::group_offsets::ConsumerGroupMetadata;
use ottla_client::{ListedOffset, OffsetSpec, TopicPartition};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple, PyType};

use super::record::Record;
use crate::convert::errors;
use crate::convert::mapping;
use crate::convert::names::items;
use crate::convert::number;
use crate::convert::offsets::{OffsetAndTimestamp, pair};
use crate::convert::text::check_name;

/// An offset with its metadata, as a group stores it.
///
/// Args:
///     offset: the offset of the next record to read.
///     metadata: text that the group stores with the offset, or None for none. Default: empty.
///         Brokers store none as empty text.
///     leader_epoch: the leader epoch of the record before the offset (KIP-320). Default: -1,
///         unknown.
///
/// Raises:
///     ConfigError: the offset is negative.
#[pyclass(frozen, get_all, eq, hash, module = "ottla")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct OffsetAndMetadata {
    /// The offset of the next record to read.
    offset: i64,
    /// The text that the group stores with the offset; None if the broker returned none.
    metadata: Option<String>,
    /// The leader epoch of the record before the offset; -1 if unknown.
    leader_epoch: i32,
}

#[pymethods]
impl OffsetAndMetadata {
    #[new]
    #[pyo3(signature = (offset, metadata=Some(String::new()), leader_epoch=-1), text_signature = "(offset, metadata='', leader_epoch=-1)")]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = number::offset)] offset: i64,
        metadata: Option<String>,
        #[pyo3(from_py_with = number::leader_epoch)] leader_epoch: i32,
    ) -> PyResult<Self> {
        check_offset(py, offset)?;
        Ok(Self { offset, metadata, leader_epoch })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> ReduceValue<'py, (i64, Option<&str>, i32)> {
        (py.get_type::<Self>(), (self.offset, self.metadata.as_deref(), self.leader_epoch))
    }

    fn __repr__(&self) -> String {
        let metadata = self.metadata.as_ref().map_or("None".to_owned(), |metadata| format!("{metadata:?}"));
        format!(
            "OffsetAndMetadata(offset={}, metadata={metadata}, leader_epoch={})",
            self.offset, self.leader_epoch
        )
    }
}

impl From<CommittedOffset> for OffsetAndMetadata {
    fn from(committed: CommittedOffset) -> Self {
        let CommittedOffset { offset, leader_epoch, metadata, .. } = committed;
        Self { offset, metadata, leader_epoch: leader_epoch.unwrap_or(-1) }
    }
}

impl From<&OffsetAndMetadata> for CommittedOffset {
    fn from(offset: &OffsetAndMetadata) -> Self {
        let leader_epoch = (offset.leader_epoch >= 0).then_some(offset.leader_epoch);
        Self { offset: offset.offset, leader_epoch, metadata: offset.metadata.clone(), ..Self::default() }
    }
}

/// The identity of a consumer in its group.
///
/// A transaction sends it along with the consumer's offsets (KIP-447). It can be pickled, for a
/// producer in another process.
///
/// Args:
///     group_id: the group (``group.id``).
///     generation: the group's generation, or the member's epoch with KIP-848. Default: -1, not a
///         member.
///     member_id: the member's id. Default: empty, not a member.
///     instance_id: the ``group.instance.id`` of a static member. Default: None.
#[pyclass(frozen, get_all, eq, hash, module = "ottla")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct GroupMetadata {
    /// The group (``group.id``).
    group_id: String,
    /// The group's generation, or the member's epoch with KIP-848; -1 if not a member.
    generation: i32,
    /// The member's id; empty if not a member.
    member_id: String,
    /// The ``group.instance.id`` of a static member (KIP-345); None for other members.
    instance_id: Option<String>,
}

impl From<ConsumerGroupMetadata> for GroupMetadata {
    fn from(member: ConsumerGroupMetadata) -> Self {
        Self {
            group_id: member.group_id.to_string(),
            generation: member.generation,
            member_id: member.member_id.to_string(),
            instance_id: member.instance_id.map(|id| id.to_string()),
        }
    }
}

impl From<&GroupMetadata> for ConsumerGroupMetadata {
    fn from(member: &GroupMetadata) -> Self {
        Self {
            group_id: member.group_id.as_str().into(),
            generation: member.generation,
            member_id: member.member_id.as_str().into(),
            instance_id: member.instance_id.as_deref().map(Into::into),
        }
    }
}

#[pymethods]
impl GroupMetadata {
    #[new]
    #[pyo3(signature = (group_id, generation=-1, member_id=String::new(), instance_id=None))]
    fn new(
        group_id: String,
        #[pyo3(from_py_with = number::generation)] generation: i32,
        member_id: String,
        instance_id: Option<String>,
    ) -> Self {
        Self { group_id, generation, member_id, instance_id }
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> ReduceValue<'py, (&str, i32, &str, Option<&str>)> {
        let arguments = (&*self.group_id, self.generation, &*self.member_id, self.instance_id.as_deref());
        (py.get_type::<Self>(), arguments)
    }

    fn __repr__(&self) -> String {
        format!(
            "GroupMetadata(group_id={:?}, generation={}, member_id={:?}, instance_id={})",
            self.group_id,
            self.generation,
            self.member_id,
            self.instance_id.as_ref().map_or_else(|| "None".to_owned(), |id| format!("{id:?}"))
        )
    }
}

/// The result of `__reduce__`: a class and the arguments of its constructor.
type ReduceValue<'py, Arguments> = (Bound<'py, PyType>, Arguments);

fn check_offset(py: Python<'_>, offset: i64) -> PyResult<()> {
    if offset < 0 {
        return Err(errors::config(py, format!("offset is {offset}: expected 0 or more")));
    }
    Ok(())
}

/// Converts a `(topic, partition)`.
pub(crate) fn partition(argument: &Bound<'_, PyAny>) -> PyResult<TopicPartition> {
    let (topic, partition) = pair(argument)?;
    check_name("topic", &topic)?;
    Ok((topic.into(), partition))
}

/// Converts partitions without duplicates; equal topic names share memory.
pub(crate) fn partitions(argument: &Bound<'_, PyAny>) -> PyResult<Vec<TopicPartition>> {
    let items = items(argument, "(topic, partition) in a list", |topic| format!("[({topic}, 0)]"))?;
    let mut names: HashMap<Arc<str>, Arc<str>> = HashMap::new();
    let mut all = Vec::new();
    for item in items {
        let (topic, partition) = partition(&item?)?;
        let topic = Arc::clone(names.entry(Arc::clone(&topic)).or_insert(topic));
        all.push((topic, partition));
    }
    let mut seen = std::collections::HashSet::new();
    all.retain(|partition| seen.insert(partition.clone()));
    Ok(all)
}

/// Converts partitions that were passed as positional arguments.
pub(super) fn arguments(argument: &Bound<'_, PyTuple>) -> PyResult<Vec<TopicPartition>> {
    partitions(argument.as_any())
}

/// Converts the partitions of a poll; None for all.
pub(super) fn filter(argument: Option<&Bound<'_, PyAny>>) -> PyResult<PartitionFilter> {
    Ok(argument.map(partitions).transpose()?.map_or_else(PartitionFilter::default, PartitionFilter::only))
}

/// Converts offsets to commit: by partition, as numbers or `OffsetAndMetadata`; or the offset after a record.
pub(crate) fn offsets(
    argument: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<HashMap<TopicPartition, CommittedOffset>>> {
    let Some(argument) = argument.filter(|argument| !argument.is_none()) else { return Ok(None) };
    if let Ok(record) = argument.cast::<Record>() {
        return Ok(Some(HashMap::from([record.get().position_after(argument.py())?])));
    }
    let mut offsets = HashMap::new();
    let expected = "a record, or offsets by partition, such as {(\"topic\", 0): 42}";
    for (key, offset) in mapping::items_as(argument, "offsets", expected)? {
        let committed = match offset.cast::<OffsetAndMetadata>() {
            Ok(offset) => CommittedOffset::from(offset.get()),
            Err(_) => {
                let number: i64 = number::offset(&offset)?;
                check_offset(argument.py(), number)?;
                CommittedOffset { offset: number, ..CommittedOffset::default() }
            }
        };
        offsets.insert(partition(&key)?, committed);
    }
    Ok(Some(offsets))
}

/// Returns a list of `(topic, partition)`.
pub(super) fn to_list<'py>(py: Python<'py>, partitions: &[TopicPartition]) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, partitions.iter().map(|(topic, partition)| (&**topic, *partition)))
}

/// Returns a dict by `(topic, partition)`, in order.
pub(crate) fn to_dict<'py, T>(
    py: Python<'py>,
    values: impl IntoIterator<Item = (TopicPartition, T)>,
    mut to_value: impl FnMut(T) -> PyResult<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut values: Vec<_> = values.into_iter().collect();
    values.sort_by(|a, b| a.0.cmp(&b.0));
    let dict = PyDict::new(py);
    for ((topic, partition), item) in values {
        dict.set_item((&*topic, partition), to_value(item)?)?;
    }
    Ok(dict)
}

/// Returns committed offsets by partition; None for a partition without one.
pub(super) fn committed<'py>(
    py: Python<'py>,
    offsets: HashMap<TopicPartition, Option<CommittedOffset>>,
) -> PyResult<Bound<'py, PyDict>> {
    to_dict(py, offsets, |committed| match committed {
        Some(committed) => Py::new(py, OffsetAndMetadata::from(committed)).map(Py::into_any),
        None => Ok(py.None()),
    })
}

/// Pairs each partition with the same offset spec.
pub(super) fn with_spec(
    partitions: Vec<TopicPartition>,
    spec: OffsetSpec,
) -> Vec<(TopicPartition, OffsetSpec)> {
    partitions.into_iter().map(|partition| (partition, spec)).collect()
}

/// Returns offsets as numbers, by partition.
pub(super) fn offsets_only<'py>(
    py: Python<'py>,
    offsets: HashMap<TopicPartition, ListedOffset>,
) -> PyResult<Bound<'py, PyDict>> {
    to_dict(py, offsets, |listed| Ok(listed.offset.into_pyobject(py)?.into_any().unbind()))
}

/// Returns offsets with timestamps, by partition; None for a partition without a matching record.
pub(super) fn offsets_by_time<'py>(
    py: Python<'py>,
    offsets: HashMap<TopicPartition, ListedOffset>,
) -> PyResult<Bound<'py, PyDict>> {
    to_dict(py, offsets, |listed| {
        if listed.offset < 0 {
            return Ok(py.None());
        }
        Py::new(py, OffsetAndTimestamp::from(listed)).map(Py::into_any)
    })
}
