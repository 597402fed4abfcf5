//! `ConsumerBase`: the methods that do not wait, shared by `Consumer` and `AsyncConsumer`.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;

use ottla_client::config::GroupProtocol;
use ottla_client::consumer::group::Subscription;
use ottla_client::metadata::Pattern;
use ottla_client::{Client, Error, Kind, ListedOffset, OffsetSpec, TopicPartition};
use pyo3::PyVisit;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

use super::partitions::{self, GroupMetadata};
use super::subscription_arg::SubscriptionArg;
use super::watermarks::Watermarks;
use crate::client::connections::{Connections, connections};
use crate::client::docs::docs as client_docs;
use crate::client::metrics::metrics;
use crate::client::request_statistics::{RequestStatistics, request_statistics};
use crate::client::sasl_credentials::set_sasl_credentials;
use crate::consumer::consumer_handle::ConsumerHandle;
use crate::convert::number;
use crate::convert::renamed;
use crate::convert::{self, errors};
use crate::garbage::{Traverse, Visited};
use crate::runtime::{ProcessLocal, runtime};

/// The methods that ``Consumer`` and ``AsyncConsumer`` share; none of them waits.
#[pyclass(frozen, subclass, module = "ottla._core")]
pub(crate) struct ConsumerBase {
    handle: ProcessLocal<Arc<ConsumerHandle>>,
}

impl ConsumerBase {
    pub(super) fn new(handle: ConsumerHandle, topics: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let base = Self { handle: ProcessLocal::new(Arc::new(handle)) };
        if let Some(topics) = topics.filter(|topics| !topics.is_none()) {
            base.subscribe_to(topics.py(), SubscriptionArg::Topics(names(topics)?))?;
        }
        Ok(base)
    }

    /// Returns the handle, unless the consumer was closed.
    pub(crate) fn handle(&self) -> PyResult<&Arc<ConsumerHandle>> {
        ConsumerHandle::open(&self.handle)
    }

    /// Returns the client, unless the consumer was closed.
    pub(crate) fn client(&self) -> PyResult<&Client> {
        Ok(self.handle()?.core.client())
    }

    /// Returns the handle, even if the consumer was closed.
    pub(super) fn handle_even_if_closed(&self) -> PyResult<&Arc<ConsumerHandle>> {
        self.handle.get()
    }

    /// Returns the handle for a `repr`, which never raises.
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
        handle.core.subscribe(subscription).map_err(|error| errors::raise(py, &error))?;
        *handle.subscription.lock() = Some(subscribed);
        Ok(())
    }

    /// Converts partition arguments; without any, returns all assigned partitions.
    pub(super) fn partitions_or_assigned(
        &self,
        arguments: &Bound<'_, PyTuple>,
    ) -> PyResult<Vec<TopicPartition>> {
        if arguments.is_empty() {
            Ok(self.handle()?.core.assignment())
        } else {
            partitions::arguments(arguments)
        }
    }

    /// Looks up offsets of the given partitions, or of all assigned ones.
    pub(super) fn list_offsets(
        &self,
        arguments: &Bound<'_, PyTuple>,
        spec: OffsetSpec,
        isolation_level: Option<&str>,
        timeout: Option<f64>,
    ) -> PyResult<impl Future<Output = Result<HashMap<TopicPartition, ListedOffset>, Error>> + Send + 'static>
    {
        let specs = partitions::with_spec(self.partitions_or_assigned(arguments)?, spec);
        self.handle()?.list_offsets(arguments.py(), specs, isolation_level, timeout)
    }

    fn seek_to(&self, arguments: &Bound<'_, PyTuple>, spec: OffsetSpec) -> PyResult<()> {
        let partitions = partitions::arguments(arguments)?;
        let result = self.handle()?.core.seek_to(&partitions, spec);
        result.map_err(|error| errors::raise(arguments.py(), &error))
    }
}

/// Converts topic names; refuses a single string, which would be a list of letters.
pub(super) fn names(topics: &Bound<'_, PyAny>) -> PyResult<Vec<Arc<str>>> {
    let names = convert::names::names(topics, "topics")?;
    if names.is_empty() {
        let message = "topics is empty: name at least one, or unsubscribe()";
        return Err(errors::config(topics.py(), message));
    }
    Ok(names.iter().map(|name| Arc::from(name.as_str())).collect())
}

#[pymethods]
impl ConsumerBase {
    /// A call in flight shares the handle, and may still call what it refers to.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Visited {
        let handle = self.handle.peek().filter(|handle| Arc::strong_count(handle) == 1);
        handle.map_or(Ok(()), |handle| handle.traverse(&visit))
    }

    fn __clear__(&self) {
        if let Some(handle) = self.handle.peek() {
            handle.forget_callbacks();
        }
    }

    /// Subscribe to topics; replaces an earlier subscription.
    ///
    /// With a ``group.id``, the consumer joins the group with the next poll or iteration, and the
    /// group assigns partitions. Without one, it reads all partitions of the topics, new ones
    /// included, from ``auto.offset.reset``; its positions exist only in memory.
    ///
    /// Callbacks run inside a poll, on the thread that polls. They may commit, seek and pause, but
    /// not poll. The poll raises a callback's exception.
    ///
    /// Args:
    ///     topics: a list of topics. Topics that do not exist yet are read once they do.
    ///     pattern: instead of topics, a regular expression that matches whole topic names. It is
    ///         in Java's syntax, or in RE2's in a group with ``group.protocol=consumer``. The flags
    ///         of a compiled ``re.Pattern`` count.
    ///     on_assigned: called after each rebalance with the consumer and the added partitions, as
    ///         a possibly empty list of topic and number.
    ///     on_revoked: called with the consumer and the partitions that it is about to give up, in
    ///         time to commit.
    ///     on_lost: called with the consumer and the partitions that it has lost; a commit for them
    ///         would be rejected. Default: ``on_revoked``.
    ///
    /// Raises:
    ///     ConfigError: the pattern is invalid, or not exactly one of topics and pattern is passed.
    ///     StateError: partitions are assigned with ``assign``.
    ///     ArgumentTypeError: ``topics`` is a single string, or ``pattern`` is none.
    ///     TypeError: a callback is not callable.
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
            (None, Some(pattern)) => SubscriptionArg::pattern(pattern)?,
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
    /// Partitions that were assigned before keep their positions. Others start at the group's
    /// committed offset, or as ``auto.offset.reset`` says.
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

    /// Return the subscribed topics as a list, or the pattern as a string.
    fn subscription(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let subscribed = self.handle()?.subscription.lock().clone();
        Ok(match subscribed {
            Some(SubscriptionArg::Topics(topics)) => {
                PyList::new(py, topics.iter().map(|topic| &**topic))?.into_any().unbind()
            }
            Some(SubscriptionArg::Pattern(text)) => PyString::new(py, &text).into_any().unbind(),
            None => PyList::empty(py).into_any().unbind(),
        })
    }

    /// Set a partition's position, and drop the records that were fetched for it.
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
        #[pyo3(from_py_with = number::partition)] partition: i32,
        #[pyo3(from_py_with = number::offset)] offset: i64,
        #[pyo3(from_py_with = number::leader_epoch)] leader_epoch: Option<i32>,
    ) -> PyResult<()> {
        let result = self.handle()?.core.seek(&(topic.into(), partition), offset, leader_epoch);
        result.map_err(|error| errors::raise(py, &error))
    }

    /// Continue at the beginning of the log; its offset is looked up in the background.
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

    /// Continue at the end of the log; its offset is looked up in the background.
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

    /// Stop returning records of partitions until ``resume``.
    ///
    /// Keep polling: a member that does not poll for ``max.poll.interval.ms`` leaves its group.
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

    /// Resume returning records of paused partitions.
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
    /// The end is the high watermark of the last fetch, or with ``read_committed`` the last stable
    /// offset. No request is sent.
    ///
    /// Returns:
    ///     The lag by ``(topic, partition)``; None if it is not known yet.
    fn lag<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let lag = self.handle()?.core.lag();
        partitions::to_dict(py, lag, |lag| Ok(lag.into_pyobject(py)?.into_any().unbind()))
    }

    /// Return the bounds of each partition's log, as the last fetch has reported them.
    ///
    /// No request is sent.
    ///
    /// Returns:
    ///     ``Watermarks`` by ``(topic, partition)``; None if they are not known yet.
    fn watermarks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        partitions::to_dict(py, self.handle()?.core.watermarks(), |bounds| Watermarks::of(py, bounds))
    }

    #[doc = client_docs!(set_sasl_credentials)]
    fn set_sasl_credentials(&self, py: Python<'_>, username: String, password: String) -> PyResult<()> {
        set_sasl_credentials(py, self.client()?, username, password)
    }

    /// Return the identity of this consumer in its group.
    ///
    /// A subscribed consumer with ``group.protocol=consumer`` has its member id before it joins.
    ///
    /// Raises:
    ///     ConfigError: there is no ``group.id``.
    fn group_metadata(&self, py: Python<'_>) -> PyResult<GroupMetadata> {
        match self.handle()?.core.group_metadata() {
            Some(member) => Ok(member.into()),
            None => {
                Err(errors::raise(py, &Error::new(Kind::Config, "this consumer has no group: set group.id")))
            }
        }
    }

    /// The id of this member; empty before it has one, and without a group.
    ///
    /// With ``group.protocol=consumer`` the consumer has it from the beginning, in other groups
    /// once it has joined.
    #[getter]
    fn member_id(&self) -> PyResult<String> {
        Ok(self.handle()?.core.member_id().to_string())
    }

    /// The old name of ``topic_names()``, which raises an ``AttributeError``.
    #[getter]
    fn list_topics(this: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        Err(renamed::old_method(this.as_any(), "list_topics", "topic_names"))
    }

    /// Return the state of each connection, by broker, without waiting.
    ///
    /// On a shared client, this includes the connections of its other users.
    fn connections(&self) -> PyResult<Connections> {
        Ok(connections(self.handle()?.core.client()))
    }

    /// Return the client's metrics, by the Java client's names, without waiting.
    ///
    /// On a shared client, they include its other users. ``ottla.Metrics`` describes each.
    fn metrics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        metrics(py, self.handle()?.core.client().metrics())
    }

    /// Return statistics of the client's requests: by API, the slowest, and retries.
    ///
    /// On a shared client, they include its other users.
    fn request_statistics(&self, py: Python<'_>) -> PyResult<RequestStatistics> {
        request_statistics(py, self.handle()?.core.client())
    }

    /// End the current poll, or else the next one, with ``WakeupError``; from any thread.
    fn wakeup(&self) -> PyResult<()> {
        self.handle_even_if_closed()?.core.wakeup();
        Ok(())
    }

    /// Ends a consumer that the application has forgotten: at once, and without leaving the group.
    pub(super) fn _abandon(&self) -> PyResult<()> {
        self.handle_even_if_closed()?.abandon();
        Ok(())
    }

    /// Stops automatic commits.
    pub(super) fn _stop_auto_commit(&self) -> PyResult<()> {
        self.handle_even_if_closed()?.core.stop_auto_commit();
        Ok(())
    }

    /// Logs an error of closing, when an exception of the application is raised instead.
    #[allow(clippy::unused_self, reason = "a method for Python")]
    pub(super) fn _closing_failed(&self, error: &str) {
        tracing::warn!(target: "ottla.group", error, "closing the consumer failed after an exception in its with block");
    }

    /// Whether the consumer was closed.
    #[getter]
    fn closed(&self) -> PyResult<bool> {
        Ok(self.handle_even_if_closed()?.is_closed())
    }
}

/// Returns the `repr` of a consumer; it has no handle in a forked child.
pub(super) fn repr(class: &str, base: &ConsumerBase) -> String {
    let Some(handle) = base.peek() else { return format!("{class}(created in another process)") };
    let config = handle.core.client().config();
    format!(
        "{class}(bootstrap={:?}, group_id={:?}, partitions={}{})",
        config.bootstrap_servers.join(","),
        config.group_id,
        handle.core.assignment().len(),
        if handle.is_closed() { ", closed" } else { "" }
    )
}

/// Converts a pattern: the brokers match those of KIP-848 members, and the client all others.
fn pattern(handle: &ConsumerHandle, text: &str) -> Result<Subscription, Error> {
    let config = handle.core.client().config();
    match config.group_protocol {
        GroupProtocol::Consumer if !config.group_id.is_empty() => Ok(Subscription::Regex(text.to_owned())),
        _ => Pattern::java(text).map(Subscription::Matching),
    }
}
