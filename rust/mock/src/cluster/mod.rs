//! [`MockCluster`]: what tests use to start and stop brokers and to inspect the cluster.
//!
//! Invariant: dropping it ends every task and closes every socket.

mod groups;
mod logs;
mod reassignments;
mod telemetry;
mod transactions;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ottla_protocol::ApiKey;
use ottla_protocol::wire::Uuid;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::time::Instant;

use crate::broker::{self, RunningBroker};
use crate::config::{MockConfig, TopicSpec, Transport};
use crate::fault::{Fault, FaultId};
use crate::info::{BrokerInfo, PartitionInfo, TopicInfo};
use crate::request_log::RecordedRequest;
use crate::shared::SharedCluster;
use crate::state::{ApiError, ClusterState, NewTopic, Node, TopicConfig};
use crate::transport::{self, ReservedAddress};

static CLUSTERS: AtomicU64 = AtomicU64::new(1);

#[derive(Debug)]
enum BrokerProcess {
    Running(RunningBroker),
    Stopped(ReservedAddress),
}

/// A Kafka cluster in this process.
#[derive(Debug)]
pub struct MockCluster {
    pub(crate) shared: Arc<SharedCluster>,
    runtime: Handle,
    addresses: BTreeMap<i32, SocketAddr>,
    /// A broker that is being stopped or started is absent.
    processes: Mutex<HashMap<i32, BrokerProcess>>,
}

impl MockCluster {
    /// Starts a cluster on the current tokio runtime.
    pub async fn start(config: MockConfig) -> io::Result<Self> {
        Self::start_on(config, &Handle::current())
    }

    /// Starts a cluster on a given tokio runtime.
    pub fn start_on(config: MockConfig, runtime: &Handle) -> io::Result<Self> {
        let ip = transport::resolve(&config.host)?;
        let host = config.advertised_host.as_ref().unwrap_or(&config.host);
        let mut reserved = Vec::with_capacity(config.brokers);
        let mut nodes = BTreeMap::new();
        for (id, number) in (1..).zip(0..config.brokers) {
            let port = config.transport.reserve(ip)?;
            let rack = number.checked_rem(config.racks.len()).and_then(|i| config.racks.get(i)).cloned();
            let host = match &config.transport {
                Transport::Tcp => host.clone(),
                Transport::Memory(_) => port.address.ip().to_string(),
            };
            let node = Node { id, host, port: port.address.port(), rack, alive: true, registered: true };
            nodes.insert(id, node);
            reserved.push((id, port));
        }
        let config = Arc::new(config);
        let seed = CLUSTERS.fetch_add(1, Ordering::Relaxed);
        let state = ClusterState::new(Arc::clone(&config), nodes, seed);
        let shared = Arc::new(SharedCluster::new(config, state));
        let addresses = reserved.iter().map(|(id, port)| (*id, port.address)).collect();
        // Created before the listeners: if one fails, dropping the cluster ends the earlier ones.
        let cluster =
            Self { shared, runtime: runtime.clone(), addresses, processes: Mutex::new(HashMap::new()) };
        for (id, port) in reserved {
            let listening = broker::listen(port, id, Arc::clone(&cluster.shared), runtime)?;
            cluster.processes.lock().insert(id, BrokerProcess::Running(listening));
        }
        Ok(cluster)
    }

    /// The addresses of all brokers, as a value of `bootstrap.servers`.
    #[must_use]
    pub fn bootstrap(&self) -> String {
        let addresses: Vec<String> = self.addresses.values().map(ToString::to_string).collect();
        addresses.join(",")
    }

    /// All brokers, stopped ones included.
    #[must_use]
    pub fn brokers(&self) -> Vec<BrokerInfo> {
        let state = self.shared.state.lock();
        let info = |(id, address): (&i32, &SocketAddr)| {
            let node = state.brokers.get(id);
            BrokerInfo {
                id: *id,
                address: *address,
                rack: node.and_then(|node| node.rack.clone()),
                alive: node.is_some_and(|node| node.alive),
            }
        };
        self.addresses.iter().map(info).collect()
    }

    /// The cluster's id.
    #[must_use]
    pub fn cluster_id(&self) -> String {
        self.shared.state.lock().cluster_id.clone()
    }

    /// The broker id of the controller; -1 if no broker runs.
    #[must_use]
    pub fn controller(&self) -> i32 {
        self.shared.state.lock().controller
    }

    /// Makes a broker the controller.
    pub fn elect_controller(&self, broker: i32) -> Result<(), ApiError> {
        self.shared.change(|state| state.elect_controller(broker))
    }

    /// Sets a user's password for every mechanism; `None` removes the user. Open sessions continue.
    pub fn set_user(&self, user: &str, password: Option<&str>) {
        self.shared.state.lock().users.set(user, password);
    }

    /// Changes the address that metadata advertises for a broker, as wrong `advertised.listeners` do. The
    /// broker still listens at its old address.
    pub fn advertise(&self, broker: i32, host: &str, port: u16) -> Result<(), ApiError> {
        self.shared.change(|state| state.advertise(broker, host, port))
    }

    /// Creates a topic.
    pub fn create_topic(&self, spec: TopicSpec) -> Result<Uuid, ApiError> {
        let pairs = spec.configs.iter().map(|(key, value)| (key.as_str(), Some(value.as_str())));
        let new = NewTopic {
            name: &spec.name,
            partitions: spec.partitions.unwrap_or(-1),
            replication: spec.replication.unwrap_or(-1),
            assignments: None,
            config: TopicConfig::new(pairs)?,
        };
        self.shared.change(|state| state.create_topic(new).map(|topic| topic.id))
    }

    /// Deletes a topic.
    pub fn delete_topic(&self, name: &str) -> Result<(), ApiError> {
        let deleted = self.shared.change(|state| state.delete_topic(name));
        deleted.map(|_| ()).map_err(|code| ApiError::new(code, format!("There is no topic {name}.")))
    }

    /// A topic; `None` if it does not exist.
    #[must_use]
    pub fn topic(&self, name: &str) -> Option<TopicInfo> {
        let state = self.shared.state.lock();
        let topic = state.topic(name)?;
        let info = |p: &crate::state::Partition| PartitionInfo {
            leader: (p.leader >= 0).then_some(p.leader),
            leader_epoch: p.leader_epoch,
            replicas: p.replicas.clone(),
            isr: p.isr.clone(),
        };
        Some(TopicInfo { id: topic.id, partitions: topic.partitions.iter().map(info).collect() })
    }

    /// The leader of a partition; `None` if it has no leader or does not exist.
    #[must_use]
    pub fn leader(&self, topic: &str, partition: i32) -> Option<i32> {
        let state = self.shared.state.lock();
        state.partition(topic, partition).ok().map(|p| p.leader).filter(|id| *id >= 0)
    }

    /// Makes an in-sync replica the leader of a partition.
    pub fn move_leader(&self, topic: &str, partition: i32, to: i32) -> Result<(), ApiError> {
        self.shared.change(|state| state.move_leader(topic, partition, to))
    }

    /// Stops a broker as a crash does: its sockets close, then its leaderships move. Its port stays
    /// reserved and refuses connections. Stopping a stopped broker has no effect.
    pub async fn stop_broker(&self, id: i32) -> io::Result<()> {
        let process = self.processes.lock().remove(&id).ok_or_else(|| no_such_broker(id))?;
        let reserved = match process {
            BrokerProcess::Running(listening) => listening.stop().await?,
            BrokerProcess::Stopped(reserved) => reserved,
        };
        self.processes.lock().insert(id, BrokerProcess::Stopped(reserved));
        let now = Instant::now();
        let change = |state: &mut ClusterState| state.change_brokers(now, |state| state.broker_down(id));
        self.shared.change(change).map_err(io::Error::other)
    }

    /// Fences a broker, as KRaft's controller does with a frozen one: metadata omits it and its leaderships
    /// move. Its sockets stay open and it still responds; add [`crate::Reaction::Silence`] to freeze it.
    pub fn fence_broker(&self, id: i32) -> Result<(), ApiError> {
        let now = Instant::now();
        self.shared.change(|state| state.change_brokers(now, |state| state.broker_down(id)))
    }

    /// Starts a stopped broker on its old port. Starting a running broker has no effect.
    pub async fn start_broker(&self, id: i32) -> io::Result<()> {
        let process = self.processes.lock().remove(&id).ok_or_else(|| no_such_broker(id))?;
        let listening = match process {
            BrokerProcess::Running(listening) => listening,
            BrokerProcess::Stopped(reserved) => {
                let now = Instant::now();
                let change =
                    |state: &mut ClusterState| state.change_brokers(now, |state| state.broker_up(id));
                self.shared.change(change).map_err(io::Error::other)?;
                broker::listen(reserved, id, Arc::clone(&self.shared), &self.runtime)?
            }
        };
        self.processes.lock().insert(id, BrokerProcess::Running(listening));
        Ok(())
    }

    /// Stops all brokers and waits: afterwards no port listens and no connection is open. Dropping the
    /// cluster does the same without waiting.
    pub async fn close(&self) {
        let processes = std::mem::take(&mut *self.processes.lock());
        for process in processes.into_values() {
            if let BrokerProcess::Running(listening) = process {
                listening.end().await;
            }
        }
    }

    /// The number of a broker's open connections.
    #[must_use]
    pub fn connections(&self, broker: i32) -> usize {
        self.shared.open_connections(broker)
    }

    /// The last requests, oldest first, at most [`MockConfig::request_log`].
    #[must_use]
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.shared.request_log.lock().all()
    }

    /// The number of requests of an API, at one broker or at all.
    #[must_use]
    pub fn request_count(&self, broker: Option<i32>, api: ApiKey) -> u64 {
        self.shared.request_log.lock().count(broker, api)
    }

    /// Clears the request log and the counts.
    pub fn clear_requests(&self) {
        self.shared.request_log.lock().clear();
    }

    /// Injects a fault. One of a link never hits a request: a gateway in front of the cluster has these.
    pub fn inject(&self, fault: Fault) -> FaultId {
        let times = if fault.then.is_of_a_link() { Some(0) } else { fault.times };
        self.shared.faults.lock().inject(Fault { times, ..fault })
    }

    /// The number of requests that a fault has hit; 0 after its removal.
    #[must_use]
    pub fn fault_hits(&self, id: FaultId) -> u64 {
        self.shared.faults.lock().hits(id)
    }

    /// Removes one fault; returns whether it was there.
    pub fn remove_fault(&self, id: FaultId) -> bool {
        self.shared.faults.lock().remove(id).is_some()
    }

    /// Removes all faults.
    pub fn clear_faults(&self) {
        self.shared.faults.lock().clear();
    }
}

fn no_such_broker(id: i32) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("no broker {id}, or it is being started or stopped"))
}

impl Drop for MockCluster {
    fn drop(&mut self) {
        for process in self.processes.lock().values() {
            if let BrokerProcess::Running(listening) = process {
                listening.abort();
            }
        }
    }
}
