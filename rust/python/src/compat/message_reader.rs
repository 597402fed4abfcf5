//! `MessageReader`: returns a consumer's records as messages, and notes their offsets in an `OffsetStore`.
//!
//! Invariant: an offset is noted when its message is returned, not before.

use ottla_client::TopicPartition;
use ottla_client::consumer::PollTarget;
use pyo3::PyVisit;
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::message::Message;
use super::offset_store::OffsetStore;
use crate::consumer::Consumer;
use crate::consumer::blocking::{poll, poll_args};
use crate::consumer::consumer_handle::{ConsumerHandle, convert_error};
use crate::consumer::poll_guard::Activity;
use crate::convert::errors;
use crate::convert::last_topic::LastTopic;
use crate::convert::number;
use crate::garbage::Visited;

/// Returns the records of a consumer as messages.
///
/// Args:
///     consumer: the consumer.
///     store: where the offsets of returned messages are noted.
#[pyclass(frozen, module = "ottla._core")]
pub(crate) struct MessageReader {
    consumer: Py<Consumer>,
    store: Py<OffsetStore>,
}

impl MessageReader {
    fn pop(&self, py: Python<'_>, handle: &ConsumerHandle) -> PyResult<Option<Py<Message>>> {
        let mut returned = None;
        let message = handle.core.pop_record(|set, entry| {
            let message = Message::consumed(&handle.topic(py, &set.partition.0), set, entry, None)?;
            returned = Some((set.partition.clone(), entry.offset, set.leader_epoch));
            Ok::<_, PyErr>(message)
        })?;
        if let Some((partition, offset, epoch)) = returned {
            self.store.get().note(&partition, offset, epoch);
        }
        Ok(message)
    }

    fn pop_many(&self, py: Python<'_>, handle: &ConsumerHandle, limit: usize) -> PyResult<Vec<Py<Message>>> {
        // The last offset of consecutive messages of a partition.
        let mut returned: Vec<(TopicPartition, (i64, i32))> = Vec::new();
        let mut last = LastTopic::default();
        let messages = handle.core.pop_records(limit, |set, entry| {
            let topic = last.string(py, &set.partition.0);
            let message = Message::consumed(&topic, set, entry, None);
            let message = message.map_err(|error| convert_error(py, error))?;
            let at = (entry.offset, set.leader_epoch);
            match returned.last_mut() {
                Some((partition, last)) if *partition == set.partition => *last = at,
                _ => returned.push((set.partition.clone(), at)),
            }
            Ok(message)
        })?;
        for (partition, (offset, epoch)) in returned {
            self.store.get().note(&partition, offset, epoch);
        }
        Ok(messages)
    }
}

#[pymethods]
impl MessageReader {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Visited {
        visit.call(&self.consumer)?;
        visit.call(&self.store)
    }

    #[new]
    fn new(consumer: Py<Consumer>, store: Py<OffsetStore>) -> Self {
        Self { consumer, store }
    }

    /// Return a message that is buffered, or None if there is none or a poll is due.
    fn buffered(&self, py: Python<'_>) -> PyResult<Option<Py<Message>>> {
        let handle = self.consumer.bind(py).as_super().get().handle()?;
        if !handle.core.polled_recently() {
            return Ok(None);
        }
        let _guard =
            handle.poll_lock.lock(Activity::Interruptible).map_err(|error| errors::raise(py, &error))?;
        let message = self.pop(py, handle)?;
        handle.check_not_closed()?;
        Ok(message)
    }

    /// Return messages as soon as there are any, or an empty list after the timeout.
    ///
    /// Args:
    ///     limit: the maximum number of messages.
    ///     timeout: seconds to wait.
    fn poll<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = number::max_records)] limit: Option<usize>,
        #[pyo3(from_py_with = number::timeout)] timeout: f64,
    ) -> PyResult<Bound<'py, PyList>> {
        let consumer = self.consumer.bind(py);
        let handle = consumer.as_super().get().handle()?;
        let limit = handle.max_records(limit);
        // What a call for one message leaves, the next ones take without a poll.
        let args = poll_args(PollTarget::records(handle.max_records(None).max(limit)), timeout)?;
        let messages = poll(consumer, handle, &args, |handle| {
            let messages = match limit {
                1 => self.pop(py, handle)?.into_iter().collect(),
                _ => self.pop_many(py, handle, limit)?,
            };
            Ok((!messages.is_empty()).then_some(messages))
        })?;
        if messages.is_none() {
            self.store.get().note_drained();
        }
        PyList::new(py, messages.unwrap_or_default())
    }
}
