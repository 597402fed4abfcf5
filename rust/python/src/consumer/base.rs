//! What a consumer does without waiting, for threads and for asyncio alike.

use std::sync::Arc;

use ottla_client::config::GroupProtocol;
use ottla_client::consumer::group::Subscription;
use ottla_client::metadata::Pattern;
use ottla_client::{Error, Kind, OffsetSpec, TopicPartition};
use parking_lot::Mutex;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

use super::partitions::{self, GroupMetadata};
use crate::client::connection_status::{ConnectionStatus, connections};
use crate::client::metrics::metrics;
use crate::consumer::consumer_handle::ConsumerHandle;
use crate::convert::errors;
use crate::runtime::{ProcessLocal, runtime};

/// What a consumer has subscribed to, as it was given.
#[derive(Clone)]
enum SubscriptionArg {
    Topics(Vec<Arc<str>>),
    Pattern(String),
}

/// The methods that ``Consumer`` and ``AsyncConsumer`` share. They do not wait.
#[pyclass(frozen, subclass, module = "ottla._core")]
pub(crate) struct ConsumerBase {
    handle: ProcessLocal<Arc<ConsumerHandle>>,
    subscribed: Mutex<Option<SubscriptionArg>>,
}

impl ConsumerBase {
    pub(super) fn new(handle: ConsumerHandle, topics: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let base = Self { handle: ProcessLocal::new(Arc::new(handle)), subscribed: Mutex::default() };
        if let Some(topics) = topics.filter(|topics| !topics.is_none()) {
            base.subscribe_to(topics.py(), SubscriptionArg::Topics(names(topics)?))?;
        }
        Ok(base)
    }

    /// The handle, unless the consumer was closed.
    pub(super) fn handle(&self) -> PyResult<&Arc<ConsumerHandle>> {
        let handle = self.handle.get()?;
        if handle.is_closed() { Err(errors::closed("this consumer was closed")) } else { Ok(handle) }
    }

    /// The handle, closed or not.
    pub(super) fn handle_even_if_closed(&self) -> PyResult<&Arc<ConsumerHandle>> {
        self.handle.get()
    }

    /// For a `repr`, which never raises.
    pub(super) fn peek(&self) -> Option<&Arc<ConsumerHandle>> {
        self.handle.peek()
    }

    fn subscribe_to(&self, py: Python<'_>, subscribed: SubscriptionArg) -> PyResult<()> {
        let handle = self.handle()?;
        let subscription = match &subscribed {
            SubscriptionArg::Topics(topics) => Subscription::Topics(topics.clone()),
            SubscriptionArg::Pattern(text) => {
                pattern(handle, text).map_err(|error| errors::raise(py, &error))?
            }
        };
        let runtime = runtime()?;
        let _entered = runtime.enter();
        handle.core.subscribe(subscription).map_err(|error| errors::raise(py, &error))?;
        *self.subscribed.lock() = Some(subscribed);
        Ok(())
    }

    pub(super) fn forget_subscription(&self) {
        *self.subscribed.lock() = None;
    }

    /// The partitions that were named, or all that are assigned.
    pub(super) fn partitions_or_assigned(&self, given: &Bound<'_, PyTuple>) -> PyResult<Vec<TopicPartition>> {
        if given.is_empty() { Ok(self.handle()?.core.assignment()) } else { partitions::arguments(given) }
    }

    fn seek_to(&self, given: &Bound<'_, PyTuple>, spec: OffsetSpec) -> PyResult<()> {
        let partitions = partitions::arguments(given)?;
        let result = self.handle()?.core.seek_to(&partitions, spec);
        result.map_err(|error| errors::raise(given.py(), &error))
    }
}

/// The names of topics; one text is a mistake for a list of one.
fn names(topics: &Bound<'_, PyAny>) -> PyResult<Vec<Arc<str>>> {
    if topics.is_instance_of::<PyString>() {
        let message = format!("topics is the text {topics}: expected a list of topics");
        return Err(PyTypeError::new_err(message));
    }
    let names = topics.try_iter()?.map(|name| name?.extract::<String>());
    let names = names.collect::<PyResult<Vec<_>>>()?;
    if names.is_empty() {
        let message = "topics is empty: name at least one, or unsubscribe()";
        return Err(errors::config(topics.py(), message));
    }
    Ok(names.iter().map(|name| Arc::from(name.as_str())).collect())
}

#[pymethods]
impl ConsumerBase {
    /// Subscribe to topics as a member of the group; replaces an earlier subscription.
    ///
    /// The consumer joins the group with the next poll or iteration.
    ///
    /// Callbacks are called inside a poll, by the thread that polls. They may commit, seek and
    /// pause, but not poll. The poll raises what a callback raises.
    ///
    /// Args:
    ///     topics: the topics; those that do not exist yet are read once they do.
    ///     pattern: instead of topics, a regular expression for whole topic names: in Java's
    ///         syntax, or with ``group.protocol=consumer`` in that of RE2, as the brokers match it.
    ///     on_assigned: called with the consumer and the new partitions, as topic and number, after
    ///         each rebalance; there may be none.
    ///     on_revoked: called with the consumer and partitions before it gives them up, in time to
    ///         commit.
    ///     on_lost: called with the consumer and partitions that it has lost, when a commit would
    ///         be rejected. Default: ``on_revoked``.
    ///
    /// Raises:
    ///     ConfigError: there is no ``group.id``, the pattern is invalid, or both or neither of
    ///         topics and pattern are given.
    ///     StateError: partitions are assigned by hand.
    ///     TypeError: ``topics`` is a single text, or a callback is not callable.
    #[pyo3(signature = (topics=None, *, pattern=None, on_assigned=None, on_revoked=None, on_lost=None))]
    fn subscribe(
        &self,
        py: Python<'_>,
        topics: Option<&Bound<'_, PyAny>>,
        pattern: Option<&Bound<'_, PyAny>>,
        on_assigned: Option<Py<PyAny>>,
        on_revoked: Option<Py<PyAny>>,
        on_lost: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let handle = self.handle()?;
        let subscribed = match (topics, pattern) {
            (Some(topics), None) => SubscriptionArg::Topics(names(topics)?),
            (None, Some(pattern)) => {
                // A compiled one is as good as its text.
                let text = if pattern.is_instance_of::<PyString>() {
                    pattern
                } else {
                    &pattern.getattr("pattern")?
                };
                SubscriptionArg::Pattern(text.extract()?)
            }
            _ => return Err(errors::config(py, "subscribe() takes either topics or a pattern")),
        };
        for (name, callback) in
            [("on_assigned", &on_assigned), ("on_revoked", &on_revoked), ("on_lost", &on_lost)]
        {
            if callback.as_ref().is_some_and(|callback| !callback.bind(py).is_callable()) {
                return Err(PyTypeError::new_err(format!("{name} is not callable")));
            }
        }
        handle.listener.set(on_assigned, on_revoked, on_lost);
        self.subscribe_to(py, subscribed)
    }

    /// Read exactly these partitions, without group membership; replaces an earlier assignment.
    ///
    /// Partitions that were assigned before keep their position. The others begin at the offset
    /// that the group has committed, or where ``auto.offset.reset`` says.
    ///
    /// Args:
    ///     partitions: pairs of a topic and a partition's number.
    ///
    /// Raises:
    ///     StateError: topics are subscribed to.
    fn assign(&self, py: Python<'_>, partitions: &Bound<'_, PyAny>) -> PyResult<()> {
        let partitions = partitions::partitions(partitions)?;
        let handle = self.handle()?;
        let runtime = runtime()?;
        let _entered = runtime.enter();
        handle.core.assign(partitions).map_err(|error| errors::raise(py, &error))
    }

    /// Return the assigned partitions as pairs of a topic and a number, in order.
    fn assignment<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        partitions::to_list(py, &self.handle()?.core.assignment())
    }

    /// Return the topics that were subscribed to, or the pattern as text.
    fn subscription(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.handle()?;
        let subscribed = self.subscribed.lock().clone();
        Ok(match subscribed {
            Some(SubscriptionArg::Topics(topics)) => {
                PyList::new(py, topics.iter().map(|topic| &**topic))?.into_any().unbind()
            }
            Some(SubscriptionArg::Pattern(text)) => PyString::new(py, &text).into_any().unbind(),
            None => PyList::empty(py).into_any().unbind(),
        })
    }

    /// Set a partition's position. Records that were fetched before are dropped.
    ///
    /// Args:
    ///     topic: the topic.
    ///     partition: the partition.
    ///     offset: the offset of the next record to read.
    ///     leader_epoch: the leader epoch of the record before it, if known. With it, a log that
    ///         was truncated below the offset is detected (KIP-320).
    ///
    /// Raises:
    ///     ConfigError: the offset is negative.
    ///     StateError: the partition is not assigned.
    #[pyo3(signature = (topic, partition, offset, *, leader_epoch=None))]
    fn seek(
        &self,
        py: Python<'_>,
        topic: &str,
        partition: i32,
        offset: i64,
        leader_epoch: Option<i32>,
    ) -> PyResult<()> {
        let result = self.handle()?.core.seek(&(topic.into(), partition), offset, leader_epoch);
        result.map_err(|error| errors::raise(py, &error))
    }

    /// Continue at the first offset; it is looked up in the background.
    ///
    /// Args:
    ///     partitions: pairs of a topic and a number. Default: all assigned partitions.
    ///
    /// Raises:
    ///     StateError: a partition is not assigned.
    #[pyo3(signature = (*partitions))]
    fn seek_to_beginning(&self, partitions: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.seek_to(partitions, OffsetSpec::Earliest)
    }

    /// Continue at the end of the log; it is looked up in the background.
    ///
    /// Args:
    ///     partitions: pairs of a topic and a number. Default: all assigned partitions.
    ///
    /// Raises:
    ///     StateError: a partition is not assigned.
    #[pyo3(signature = (*partitions))]
    fn seek_to_end(&self, partitions: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.seek_to(partitions, OffsetSpec::Latest)
    }

    /// Return no records of partitions until ``resume``.
    ///
    /// Keep polling: a member that does not poll is removed from its group
    /// (``max.poll.interval.ms``).
    ///
    /// Args:
    ///     partitions: pairs of a topic and a number. Default: all assigned partitions.
    ///
    /// Raises:
    ///     StateError: a partition is not assigned.
    #[pyo3(signature = (*partitions))]
    fn pause(&self, partitions: &Bound<'_, PyTuple>) -> PyResult<()> {
        let paused = self.handle()?.core.pause(&self.partitions_or_assigned(partitions)?, true);
        paused.map_err(|error| errors::raise(partitions.py(), &error))
    }

    /// Return records of paused partitions again.
    ///
    /// Args:
    ///     partitions: pairs of a topic and a number. Default: all assigned partitions.
    ///
    /// Raises:
    ///     StateError: a partition is not assigned.
    #[pyo3(signature = (*partitions))]
    fn resume(&self, partitions: &Bound<'_, PyTuple>) -> PyResult<()> {
        let resumed = self.handle()?.core.pause(&self.partitions_or_assigned(partitions)?, false);
        resumed.map_err(|error| errors::raise(partitions.py(), &error))
    }

    /// Return the paused partitions as pairs of a topic and a number, in order.
    fn paused<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        partitions::to_list(py, &self.handle()?.core.paused())
    }

    /// Return the number of records between each partition's position and its end.
    ///
    /// It is the difference to the high watermark of the last fetch, or with ``read_committed`` to
    /// the last stable offset; no request is sent.
    ///
    /// Returns:
    ///     The lag by ``(topic, partition)``; None if it is not known yet.
    fn lag<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let lag = self.handle()?.core.lag();
        partitions::to_dict(py, lag, |lag| Ok(lag.into_pyobject(py)?.into_any().unbind()))
    }

    /// Return the identity of this consumer in its group.
    ///
    /// Raises:
    ///     ConfigError: there is no ``group.id``.
    fn group_metadata(&self, py: Python<'_>) -> PyResult<GroupMetadata> {
        match self.handle()?.core.member() {
            Some(member) => Ok(member.into()),
            None => {
                Err(errors::raise(py, &Error::new(Kind::Config, "this consumer has no group: set group.id")))
            }
        }
    }

    /// Return the state of each connection, by broker, without waiting.
    ///
    /// On a shared client, those of its other users are included.
    fn connections(&self) -> PyResult<Vec<ConnectionStatus>> {
        Ok(connections(self.handle()?.core.client()))
    }

    /// Return the client's metrics, by the Java client's names, without waiting.
    ///
    /// On a shared client, its other users are included.
    ///
    /// See ``ottla.Metrics`` for their meaning.
    fn metrics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        metrics(py, self.handle()?.core.client().metrics())
    }

    /// End the poll that waits, or else the next one, with ``WakeupError``.
    ///
    /// Any thread may call it.
    fn wakeup(&self) -> PyResult<()> {
        self.handle_even_if_closed()?.core.wakeup();
        Ok(())
    }

    /// Commits nothing automatically from now on.
    pub(super) fn _stop_auto_commit(&self) -> PyResult<()> {
        self.handle_even_if_closed()?.core.stop_auto_commit();
        Ok(())
    }

    /// Logs why closing failed, where an exception of the application is raised instead.
    #[allow(clippy::unused_self, reason = "a method for Python")]
    pub(super) fn _closing_failed(&self, error: &str) {
        tracing::warn!(target: "ottla.group", error, "the consumer could not be closed as it should after the exception in its with block");
    }

    /// Whether the consumer was closed.
    #[getter]
    fn closed(&self) -> PyResult<bool> {
        Ok(self.handle_even_if_closed()?.is_closed())
    }
}

/// What is printed of a consumer; it has no handle in a forked child.
pub(super) fn repr(class: &str, base: &ConsumerBase) -> String {
    let Some(handle) = base.peek() else { return format!("{class}(made in another process)") };
    let config = handle.core.client().config();
    format!(
        "{class}(bootstrap={:?}, group_id={:?}, partitions={}{})",
        config.bootstrap_servers.join(","),
        config.group_id,
        handle.core.assignment().len(),
        if handle.is_closed() { ", closed" } else { "" }
    )
}

/// A pattern as the group's protocol matches it: with KIP-848 the brokers do, otherwise the client.
fn pattern(handle: &ConsumerHandle, text: &str) -> Result<Subscription, Error> {
    match handle.core.client().config().group_protocol {
        GroupProtocol::Consumer => Ok(Subscription::Regex(text.to_owned())),
        GroupProtocol::Classic => Pattern::java(text).map(Subscription::Matching),
    }
}
