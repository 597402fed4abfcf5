//! `MockCluster`: an in-process Kafka cluster, for `ottla.testing`.
//!
//! `reassignments`, `telemetry` and `transactions` have the methods on those, `tuples` converts groups and
//! offsets to plain Python values. `schema_registry` is `MockRegistry`.

mod reassignments;
mod schema_registry;
mod telemetry;
mod transactions;
mod tuples;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ottla_mock::{
    ApiError, ApiLimit, FaultId, GroupConfig, Match, MockCluster as Core, MockConfig, SaslConfig,
    ShareGroupConfig, TopicSpec,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert::errors;
use crate::convert::names::Names;
use crate::convert::number;
use crate::faults::{self, api_key};
use crate::runtime::{ProcessLocal, runtime, wait};
pub(crate) use schema_registry::MockRegistry;
use tuples::{GroupTuple, OffsetMap};

/// The cluster behind ``ottla.testing.MockCluster``, which documents its methods.
#[pyclass(frozen, module = "ottla.testing")]
pub(crate) struct MockCluster {
    core: parking_lot::Mutex<Option<Arc<ProcessLocal<Core>>>>,
}

impl MockCluster {
    fn with<T>(&self, call: impl FnOnce(&Core) -> PyResult<T>) -> PyResult<T> {
        // The lock is not held during the call, which may wait: a waiter for the lock may hold the GIL.
        let owned = self.core.lock().clone();
        let owned = owned.ok_or_else(|| errors::closed("this mock cluster was closed"))?;
        let core = owned.get()?;
        // Tasks spawned by the call run on the runtime's threads, as handlers do.
        let runtime = runtime()?;
        let _entered = runtime.enter();
        call(core)
    }
}

fn to_config_error(py: Python<'_>, error: &ApiError) -> PyErr {
    errors::config(py, error.to_string())
}

#[pymethods]
impl MockCluster {
    #[new]
    #[pyo3(signature = (brokers=3, *, racks=None, auto_create_topics=true, default_partitions=1, max_message_bytes=1_048_588, users=None, session_lifetime=None, without=None, group_heartbeat_interval=0.2, group_session_timeout=45.0, group_initial_delay=0.01, share_lock_duration=30.0, transaction_version=2, transaction_max_timeout=900.0, client_telemetry=false))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = number::brokers)] brokers: usize,
        racks: Option<Names>,
        auto_create_topics: bool,
        #[pyo3(from_py_with = number::default_partitions)] default_partitions: i32,
        #[pyo3(from_py_with = number::max_message_bytes)] max_message_bytes: usize,
        users: Option<BTreeMap<String, String>>,
        #[pyo3(from_py_with = number::session_lifetime)] session_lifetime: Option<f64>,
        without: Option<Names>,
        #[pyo3(from_py_with = number::group_heartbeat_interval)] group_heartbeat_interval: f64,
        #[pyo3(from_py_with = number::group_session_timeout)] group_session_timeout: f64,
        #[pyo3(from_py_with = number::group_initial_delay)] group_initial_delay: f64,
        #[pyo3(from_py_with = number::share_lock_duration)] share_lock_duration: f64,
        #[pyo3(from_py_with = number::transaction_version)] transaction_version: Option<i16>,
        #[pyo3(from_py_with = number::transaction_max_timeout)] transaction_max_timeout: f64,
        client_telemetry: bool,
    ) -> PyResult<Self> {
        if !(1..=1000).contains(&brokers) {
            return Err(errors::config(py, format!("brokers is {brokers}: expected 1 to 1000")));
        }
        let mut config = MockConfig {
            brokers,
            auto_create_topics,
            default_partitions,
            max_message_bytes,
            client_telemetry,
            ..MockConfig::default()
        };
        let seconds = |name: &str, value: f64| {
            let invalid = |_| errors::config(py, format!("{name}: expected seconds"));
            Duration::try_from_secs_f64(value).map_err(invalid)
        };
        let session_lifetime =
            session_lifetime.map(|value| seconds("session_lifetime", value)).transpose()?;
        let heartbeat_interval = seconds("group_heartbeat_interval", group_heartbeat_interval)?;
        let session_timeout = seconds("group_session_timeout", group_session_timeout)?;
        let share = ShareGroupConfig {
            heartbeat_interval,
            session_timeout,
            record_lock_duration: seconds("share_lock_duration", share_lock_duration)?,
            ..ShareGroupConfig::default()
        };
        config.groups = GroupConfig {
            consumer_heartbeat_interval: heartbeat_interval,
            consumer_session_timeout: session_timeout,
            share,
            initial_rebalance_delay: seconds("group_initial_delay", group_initial_delay)?,
            ..GroupConfig::default()
        };
        config.transaction_version = transactions::version(py, transaction_version)?;
        config.transaction_max_timeout = seconds("transaction_max_timeout", transaction_max_timeout)?;
        for api in without.map(|Names(names)| names).unwrap_or_default() {
            config.api_limits.insert(api_key(py, &api)?, ApiLimit::Absent);
        }
        config.sasl = users.map(|users| SaslConfig { users, session_lifetime, ..SaslConfig::default() });
        if let Some(Names(racks)) = racks {
            config.racks = racks;
        }
        let core = wait(py, Core::start(config))??;
        Ok(Self { core: parking_lot::Mutex::new(Some(Arc::new(ProcessLocal::new(core)))) })
    }

    /// The brokers' addresses, as a value of ``bootstrap.servers``.
    #[getter]
    fn bootstrap(&self) -> PyResult<String> {
        self.with(|core| Ok(core.bootstrap()))
    }

    /// The address of each broker, by id.
    #[getter]
    fn brokers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for broker in self.with(|core| Ok(core.brokers()))? {
            dict.set_item(broker.id, broker.address.to_string())?;
        }
        Ok(dict)
    }

    /// Create a topic; its leaders are spread over the brokers.
    #[pyo3(signature = (name, partitions=None, replication=None, configs=None))]
    fn create_topic(
        &self,
        py: Python<'_>,
        name: String,
        #[pyo3(from_py_with = number::partitions)] partitions: Option<i32>,
        #[pyo3(from_py_with = number::replication)] replication: Option<i16>,
        configs: Option<BTreeMap<String, String>>,
    ) -> PyResult<()> {
        let configs = configs.unwrap_or_default().into_iter().collect();
        let spec = TopicSpec { name, partitions, replication, configs };
        self.with(|core| core.create_topic(spec).map(drop).map_err(|error| to_config_error(py, &error)))
    }

    /// Set a user's password, or remove the user.
    #[pyo3(signature = (user, password))]
    fn set_user(&self, user: &str, password: Option<&str>) -> PyResult<()> {
        self.with(|core| {
            core.set_user(user, password);
            Ok(())
        })
    }

    /// Delete a topic.
    fn delete_topic(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        self.with(|core| core.delete_topic(name).map_err(|error| to_config_error(py, &error)))
    }

    /// Return the id of the broker that leads a partition.
    fn leader(
        &self,
        topic: &str,
        #[pyo3(from_py_with = number::partition)] partition: i32,
    ) -> PyResult<Option<i32>> {
        self.with(|core| Ok(core.leader(topic, partition)))
    }

    /// Make another broker the leader of a partition.
    fn move_leader(
        &self,
        py: Python<'_>,
        topic: &str,
        #[pyo3(from_py_with = number::partition)] partition: i32,
        #[pyo3(from_py_with = number::to)] to: i32,
    ) -> PyResult<()> {
        self.with(|core| core.move_leader(topic, partition, to).map_err(|error| to_config_error(py, &error)))
    }

    /// Delete the records before an offset, and return the log's new start.
    fn delete_records(
        &self,
        py: Python<'_>,
        topic: &str,
        #[pyo3(from_py_with = number::partition)] partition: i32,
        #[pyo3(from_py_with = number::before)] before: i64,
    ) -> PyResult<i64> {
        self.with(|core| {
            core.delete_records(topic, partition, before).map_err(|error| to_config_error(py, &error))
        })
    }

    /// Return the partition's high watermark.
    fn end_offset(
        &self,
        py: Python<'_>,
        topic: &str,
        #[pyo3(from_py_with = number::partition)] partition: i32,
    ) -> PyResult<i64> {
        self.with(|core| {
            let log = core.partition_log(topic, partition).map_err(|error| to_config_error(py, &error))?;
            Ok(log.high_watermark)
        })
    }

    /// Append a batch of values, and return the offset of the first.
    fn append(
        &self,
        py: Python<'_>,
        topic: &str,
        #[pyo3(from_py_with = number::partition)] partition: i32,
        values: Vec<Vec<u8>>,
    ) -> PyResult<i64> {
        let values: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
        self.with(|core| core.append(topic, partition, &values).map_err(|error| to_config_error(py, &error)))
    }

    /// Append values in a transaction, and return the offset of the first.
    fn append_in_transaction(
        &self,
        py: Python<'_>,
        topic: &str,
        #[pyo3(from_py_with = number::partition)] partition: i32,
        #[pyo3(from_py_with = number::producer_id)] producer_id: i64,
        values: Vec<Vec<u8>>,
    ) -> PyResult<i64> {
        let values: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
        self.with(|core| {
            let appended = core.append_in_transaction(topic, partition, producer_id, &values);
            appended.map_err(|error| to_config_error(py, &error))
        })
    }

    /// Commit or abort a transaction, and return the offset of its marker.
    fn end_transaction(
        &self,
        py: Python<'_>,
        topic: &str,
        #[pyo3(from_py_with = number::partition)] partition: i32,
        #[pyo3(from_py_with = number::producer_id)] producer_id: i64,
        commit: bool,
    ) -> PyResult<i64> {
        self.with(|core| {
            let ended = core.end_transaction(topic, partition, producer_id, commit);
            ended.map_err(|error| to_config_error(py, &error))
        })
    }

    /// Remove the end of a log, from an offset on.
    fn truncate(
        &self,
        py: Python<'_>,
        topic: &str,
        #[pyo3(from_py_with = number::partition)] partition: i32,
        #[pyo3(from_py_with = number::offset)] offset: i64,
    ) -> PyResult<()> {
        self.with(|core| core.truncate(topic, partition, offset).map_err(|error| to_config_error(py, &error)))
    }

    /// Return the id of the broker that coordinates a group or a transactional id.
    fn coordinator(&self, key: &str) -> PyResult<Option<i32>> {
        self.with(|core| Ok(core.coordinator(key)))
    }

    /// Make another broker the coordinator of a group or a transactional id.
    fn move_coordinator(
        &self,
        py: Python<'_>,
        key: &str,
        #[pyo3(from_py_with = number::to)] to: i32,
    ) -> PyResult<()> {
        self.with(|core| core.move_coordinator(key, to).map_err(|error| to_config_error(py, &error)))
    }

    /// Return a group as plain values, or None if it does not exist.
    fn group(&self, group: &str) -> PyResult<Option<GroupTuple>> {
        self.with(|core| Ok(core.group(group).map(tuples::group)))
    }

    /// End a member's session.
    fn expire_member(&self, py: Python<'_>, group: &str, member_id: &str) -> PyResult<()> {
        self.with(|core| core.expire_member(group, member_id).map_err(|error| to_config_error(py, &error)))
    }

    /// Return the offsets that a group has committed, by topic and partition.
    fn committed(&self, group: &str) -> PyResult<OffsetMap> {
        self.with(|core| Ok(tuples::offsets(core.committed_offsets(group))))
    }

    /// Commit an offset for a group.
    fn commit(
        &self,
        group: &str,
        topic: &str,
        #[pyo3(from_py_with = number::partition)] partition: i32,
        #[pyo3(from_py_with = number::offset)] offset: i64,
    ) -> PyResult<()> {
        self.with(|core| {
            core.commit(group, topic, partition, offset);
            Ok(())
        })
    }

    /// Remove an offset of a group.
    fn expire_offset(
        &self,
        group: &str,
        topic: &str,
        #[pyo3(from_py_with = number::partition)] partition: i32,
    ) -> PyResult<()> {
        self.with(|core| {
            core.expire_offset(group, topic, partition);
            Ok(())
        })
    }

    /// Advertise another host and port for a broker.
    fn advertise(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number::broker)] broker: i32,
        host: &str,
        #[pyo3(from_py_with = number::port)] port: u16,
    ) -> PyResult<()> {
        self.with(|core| core.advertise(broker, host, port).map_err(|error| to_config_error(py, &error)))
    }

    /// Stop a broker: its connections break, and its leaderships move.
    fn stop_broker(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number::broker)] broker: i32,
    ) -> PyResult<()> {
        self.with(|core| Ok(wait(py, core.stop_broker(broker))??))
    }

    /// Start a stopped broker at its old address.
    fn start_broker(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number::broker)] broker: i32,
    ) -> PyResult<()> {
        self.with(|core| Ok(wait(py, core.start_broker(broker))??))
    }

    /// Return the number of a broker's open connections.
    fn connections(&self, #[pyo3(from_py_with = number::broker)] broker: i32) -> PyResult<usize> {
        self.with(|core| Ok(core.connections(broker)))
    }

    /// Return the number of requests of an API, at one broker or at all.
    #[pyo3(signature = (api, broker=None))]
    fn request_count(
        &self,
        py: Python<'_>,
        api: &str,
        #[pyo3(from_py_with = number::broker)] broker: Option<i32>,
    ) -> PyResult<u64> {
        let api = api_key(py, api)?;
        self.with(|core| Ok(core.request_count(broker, api)))
    }

    /// Inject a fault, a dict with one key, and return its id.
    #[pyo3(signature = (reaction, *, api=None, broker=None, topic=None, partition=None, client_id=None, skip=0, times=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn inject(
        &self,
        py: Python<'_>,
        reaction: &Bound<'_, PyDict>,
        api: Option<&str>,
        #[pyo3(from_py_with = number::broker)] broker: Option<i32>,
        topic: Option<String>,
        #[pyo3(from_py_with = number::partition)] partition: Option<i32>,
        client_id: Option<String>,
        #[pyo3(from_py_with = number::skip)] skip: u64,
        #[pyo3(from_py_with = number::times)] times: Option<u64>,
    ) -> PyResult<u64> {
        let on = Match { broker, topic, partition, client_id, skip, ..Match::default() };
        let fault = faults::fault(reaction, api, on, times)?;
        if fault.then.is_of_a_link() {
            let name = fault.then.name();
            return Err(errors::config(
                py,
                format!(
                    "a mock cluster has no fault {name}: inject it into an ottla.testing.Gateway in front of it"
                ),
            ));
        }
        self.with(|core| Ok(core.inject(fault).0))
    }

    /// Return the number of requests that a fault has hit.
    fn fault_hits(&self, #[pyo3(from_py_with = number::fault)] fault: u64) -> PyResult<u64> {
        self.with(|core| Ok(core.fault_hits(FaultId(fault))))
    }

    /// Remove a fault; return whether it was there.
    fn remove_fault(&self, #[pyo3(from_py_with = number::fault)] fault: u64) -> PyResult<bool> {
        self.with(|core| Ok(core.remove_fault(FaultId(fault))))
    }

    /// Remove all faults.
    fn clear_faults(&self) -> PyResult<()> {
        self.with(|core| {
            core.clear_faults();
            Ok(())
        })
    }

    /// Stop all brokers.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let core = self.core.lock().take();
        // After a fork, the cluster belongs to the parent: a child has nothing to stop.
        match core.as_deref().map(ProcessLocal::get) {
            Some(Ok(core)) => wait(py, core.close()),
            _ => Ok(()),
        }
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (*_args))]
    fn __exit__(&self, py: Python<'_>, _args: &Bound<'_, PyAny>) -> PyResult<()> {
        self.close(py)
    }

    fn __repr__(&self) -> String {
        match self.bootstrap() {
            Ok(bootstrap) => format!("MockCluster(bootstrap={bootstrap:?})"),
            Err(_) => "MockCluster(closed)".to_owned(),
        }
    }
}
