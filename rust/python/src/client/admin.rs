//! `Admin`: topics and the offsets of groups.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use ottla_client::Client as Core;
use ottla_client::admin::NewTopic;
use ottla_client::consumer::ConsumerGroupMetadata;
use ottla_client::consumer::offsets::{CommittedOffset, commit, committed};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::client::client_arg::resolve_connected_client;
use crate::convert::errors;
use crate::runtime::{ProcessLocal, seconds, wait_for};

/// A client that creates and deletes topics, and reads and alters the offsets of groups.
///
/// Use it in a ``with`` block, or ``close()`` it.
///
/// Args:
///     bootstrap: addresses as ``host:port``, or a ``Client`` whose connections it shares.
///     config: configuration by Kafka's dotted names. Keyword arguments are the same names with
///         underscores and take precedence. See ``Client``.
///     timeout: seconds to find the cluster, as for ``Client``.
///
/// Raises:
///     AuthenticationError: the credentials, or the certificate of either side, were rejected.
///     BootstrapError: no bootstrap server could be used; the message lists each with its cause.
///     ConfigError: a key or a value is invalid, or a client is combined with configuration.
#[pyclass(frozen, module = "ottla")]
pub(crate) struct Admin {
    core: ProcessLocal<Core>,
    /// Whether the client was created for this object and is closed with it.
    own_client: bool,
}

impl Admin {
    fn timeout(&self, timeout: Option<f64>) -> PyResult<Duration> {
        seconds(timeout, self.core.get()?.config().default_api_timeout)
    }
}

#[pymethods]
impl Admin {
    #[new]
    #[pyo3(signature = (bootstrap=None, config=None, *, timeout=None, **kwargs))]
    fn new(
        py: Python<'_>,
        bootstrap: Option<&Bound<'_, PyAny>>,
        config: Option<&Bound<'_, PyAny>>,
        timeout: Option<f64>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let (core, own_client) = resolve_connected_client(py, "Admin", bootstrap, config, timeout, kwargs)?;
        Ok(Self { core: ProcessLocal::new(core), own_client })
    }

    /// Create a topic, and wait until all its partitions have leaders.
    ///
    /// Args:
    ///     name: the topic's name.
    ///     partitions: the number of partitions. Default: the cluster's ``num.partitions``.
    ///     replication: the number of replicas. Default: the cluster's
    ///         ``default.replication.factor``.
    ///     configs: the topic's configuration, by Kafka's names, such as ``retention.ms``.
    ///     timeout: seconds. Default: ``default.api.timeout.ms``.
    ///
    /// Raises:
    ///     TopicExistsError: the topic exists; with ``maybe_done``, this call may have created it.
    ///     ConfigError: the number of partitions or replicas, or the configuration, is invalid.
    ///     AuthorizationError: the principal may not create the topic.
    ///     TimeoutError: the topic was not created, or has no leaders, in time.
    #[pyo3(signature = (name, partitions=None, replication=None, configs=None, *, timeout=None))]
    fn create_topic(
        &self,
        py: Python<'_>,
        name: String,
        partitions: Option<i32>,
        replication: Option<i16>,
        configs: Option<BTreeMap<String, String>>,
        timeout: Option<f64>,
    ) -> PyResult<()> {
        if partitions.is_some_and(|partitions| partitions < 1) {
            return Err(errors::config(
                py,
                format!("partitions is {}: expected 1 or more", partitions.unwrap_or(0)),
            ));
        }
        let configs = configs.unwrap_or_default().into_iter().collect();
        let topic = NewTopic { name, partitions, replication, configs };
        wait_for(py, self.core.get()?.create_topics(&[topic], self.timeout(timeout)?))
    }

    /// Delete a topic.
    ///
    /// Args:
    ///     name: the topic's name.
    ///     timeout: seconds. Default: ``default.api.timeout.ms``.
    ///
    /// Raises:
    ///     UnknownTopicError: the topic does not exist; with ``maybe_done``, this call may have
    ///         deleted it.
    ///     AuthorizationError: the principal may not delete the topic.
    ///     TimeoutError: the controller did not respond in time.
    #[pyo3(signature = (name, *, timeout=None))]
    fn delete_topic(&self, py: Python<'_>, name: String, timeout: Option<f64>) -> PyResult<()> {
        wait_for(py, self.core.get()?.delete_topics(&[name], self.timeout(timeout)?))
    }

    /// Set the committed offsets of a group without members; creates the group if needed.
    ///
    /// Args:
    ///     group_id: the group (``group.id``).
    ///     offsets: the offset of the next record to read, by ``(topic, partition)``.
    ///     timeout: seconds. Default: ``default.api.timeout.ms``.
    ///
    /// Raises:
    ///     AuthorizationError: the principal may not commit for the group or a topic.
    ///     FencedError: the group has members; only they may commit.
    ///     UnknownTopicError: a topic or a partition does not exist.
    #[pyo3(signature = (group_id, offsets, *, timeout=None))]
    fn alter_consumer_group_offsets(
        &self,
        py: Python<'_>,
        group_id: &str,
        offsets: BTreeMap<(String, i32), i64>,
        timeout: Option<f64>,
    ) -> PyResult<()> {
        let core = self.core.get()?;
        let timeout = self.timeout(timeout)?;
        let offsets: HashMap<_, _> = offsets
            .into_iter()
            .map(|((topic, partition), offset)| {
                let committed = CommittedOffset { offset, ..CommittedOffset::default() };
                ((Arc::<str>::from(topic), partition), committed)
            })
            .collect();
        let results =
            wait_for(py, commit(core, &ConsumerGroupMetadata::without_member(group_id), offsets, timeout))?;
        let mut failed: Vec<_> =
            results.into_iter().filter_map(|(at, result)| Some((at, result.err()?))).collect();
        failed.sort_by(|a, b| a.0.cmp(&b.0));
        match failed.first() {
            Some((_, error)) => Err(errors::raise(py, error)),
            None => Ok(()),
        }
    }

    /// Return the offsets that a group has committed.
    ///
    /// Args:
    ///     group_id: the group (``group.id``).
    ///     timeout: seconds. Default: ``default.api.timeout.ms``.
    ///
    /// Returns:
    ///     The offset of the next record to read, by ``(topic, partition)``.
    ///
    /// Raises:
    ///     AuthorizationError: the principal may not read the group's offsets.
    ///     TimeoutError: the group's coordinator did not respond in time.
    #[pyo3(signature = (group_id, *, timeout=None))]
    fn list_consumer_group_offsets(
        &self,
        py: Python<'_>,
        group_id: &str,
        timeout: Option<f64>,
    ) -> PyResult<BTreeMap<(String, i32), i64>> {
        let core = self.core.get()?;
        let timeout = self.timeout(timeout)?;
        let offsets = wait_for(
            py,
            committed(core, &ConsumerGroupMetadata::without_member(group_id), None, false, timeout),
        )?;
        let offset = |((topic, partition), at): ((Arc<str>, i32), Option<CommittedOffset>)| {
            Some(((topic.to_string(), partition), at?.offset))
        };
        Ok(offsets.into_iter().filter_map(offset).collect())
    }

    /// Close the connections, unless they belong to a shared client.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let core = self.core.get()?;
        if self.own_client {
            py.detach(|| core.close());
        }
        Ok(())
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (*_args))]
    fn __exit__(&self, py: Python<'_>, _args: &Bound<'_, PyAny>) -> PyResult<()> {
        self.close(py)
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(format!("Admin(bootstrap={:?})", self.core.get()?.config().bootstrap_servers.join(",")))
    }
}
