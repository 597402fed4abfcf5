//! The results of the checks as plain data, without conclusions.

use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use ottla_protocol::ErrorCode;

use super::check::{Check, Reason};
use crate::admin::transactions::OpenTransaction;
use crate::endpoint::Endpoint;

/// How a check failed.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The reason, for programs.
    pub reason: Reason,
    /// The cause, for people.
    pub message: String,
    /// The broker's error code, if it returned one.
    pub code: Option<ErrorCode>,
}

/// One check: its duration, and its failure if it failed.
#[derive(Debug, Clone)]
pub struct Step {
    /// The check.
    pub check: Check,
    /// Its duration.
    pub duration: Duration,
    /// How it failed; `None` if it passed.
    pub failure: Option<Failure>,
}

/// The versions of one API that a broker supports.
#[derive(Debug, Clone, Copy)]
pub struct ApiFacts {
    /// The API's name.
    pub name: &'static str,
    /// The lowest version.
    pub min: i16,
    /// The highest version.
    pub max: i16,
}

/// A broker as the metadata describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerView {
    /// The id.
    pub id: i32,
    /// The address that it advertises to clients of this listener.
    pub endpoint: Endpoint,
    /// The rack.
    pub rack: Option<String>,
}

/// The cluster as one broker describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// The cluster id.
    pub cluster_id: Option<String>,
    /// The live brokers, by id.
    pub brokers: Vec<BrokerView>,
}

/// What the TLS handshake showed, whether or not it succeeded.
#[derive(Debug, Clone)]
pub struct TlsFacts {
    /// The negotiated version.
    pub version: Option<String>,
    /// The negotiated cipher suite.
    pub cipher: Option<String>,
    /// The subject of the broker's certificate.
    pub subject: Option<String>,
    /// Its issuer.
    pub issuer: Option<String>,
    /// The host names and addresses that it is valid for.
    pub names: Vec<String>,
    /// The end of its validity.
    pub not_after: Option<SystemTime>,
    /// Whether the broker requested a client certificate.
    pub client_certificate_requested: bool,
}

/// One address of a server's name.
#[derive(Debug, Clone)]
pub struct AddressFacts {
    /// The address.
    pub address: SocketAddr,
    /// The checks, up to the first that failed.
    pub steps: Vec<Step>,
    /// What the TLS handshake showed, if TLS is configured.
    pub tls: Option<TlsFacts>,
    /// The APIs that the broker supports.
    pub apis: Vec<ApiFacts>,
    /// The oldest release of Kafka that supports them.
    pub release: Option<&'static str>,
    /// The version of the gateway of ottla that responds for the broker; `None` without one, or with one that is older
    /// than this field.
    pub gateway: Option<String>,
    /// The SASL mechanisms that the listener offers, if known.
    pub mechanisms: Vec<String>,
    /// The cluster as this broker describes it.
    pub view: Option<View>,
    /// The id of the broker that responds, if known.
    pub node: Option<i32>,
    /// The ids of other clusters whose brokers respond at further connections.
    pub other_clusters: Vec<String>,
    /// Other brokers of the cluster that respond at further connections to an advertised address; `None`
    /// is one whose id is not known.
    pub other_nodes: Vec<Option<i32>>,
}

/// A server's name and its addresses.
#[derive(Debug, Clone)]
pub struct EndpointFacts {
    /// The name and port.
    pub endpoint: Endpoint,
    /// The check of resolving the name.
    pub dns: Step,
    /// Its addresses.
    pub addresses: Vec<AddressFacts>,
}

/// One partition, checked at its leader.
#[derive(Debug, Clone)]
pub struct PartitionFacts {
    /// The topic.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// The checks, up to the first that failed.
    pub steps: Vec<Step>,
    /// The log's first offset.
    pub start: Option<i64>,
    /// Its end offset.
    pub end: Option<i64>,
    /// The leader that the broker names after it rejected the request; `None` if it names none.
    pub leader_now: Option<i32>,
}

/// A broker of the cluster.
#[derive(Debug, Clone)]
pub struct BrokerFacts {
    /// The id.
    pub id: i32,
    /// The rack.
    pub rack: Option<String>,
    /// How many of the described partitions it leads.
    pub leads: usize,
    /// How many replicas of the described partitions it hosts.
    pub replicas: usize,
    /// Its log directories, if it reports them.
    pub log_dirs: Vec<LogDirFacts>,
    /// Its advertised address.
    pub endpoint: EndpointFacts,
    /// The checked partitions that it leads.
    pub partitions: Vec<PartitionFacts>,
}

/// What the metadata says about topics.
#[derive(Debug, Clone)]
pub struct TopicFacts {
    /// The check of fetching them.
    pub step: Step,
    /// The requested topic; `None` for all topics.
    pub name: Option<String>,
    /// The error of the requested topic.
    pub error: Option<ErrorCode>,
    /// The number of topics.
    pub topics: usize,
    /// The number of their partitions.
    pub partitions: usize,
    /// The first partitions without a leader.
    pub leaderless: Vec<(String, i32)>,
    /// The number of partitions without a leader.
    pub leaderless_count: usize,
    /// The number of partitions with out-of-sync replicas.
    pub under_replicated: usize,
    /// Brokers that are down, by id, with the number of their replicas: replica lists contain them, but
    /// the metadata does not list them as brokers.
    pub missing_brokers: Vec<(i32, usize)>,
}

/// A log directory of a broker.
#[derive(Debug, Clone)]
pub struct LogDirFacts {
    /// The path on the broker.
    pub path: String,
    /// The error that the broker reports for it, such as a failed disk.
    pub error: Option<ErrorCode>,
    /// The size of its volume in bytes; `None` before Kafka 3.3.
    pub total_bytes: Option<i64>,
    /// The free bytes of its volume; `None` before Kafka 3.3.
    pub usable_bytes: Option<i64>,
}

/// A voter of the KRaft quorum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VoterFacts {
    /// The id.
    pub id: i32,
    /// How far its metadata log lags behind the leader's, in milliseconds; `None` if unknown.
    pub lag_ms: Option<i64>,
}

/// The quorum of KRaft controllers.
#[derive(Debug, Clone)]
pub struct QuorumFacts {
    /// The check.
    pub steps: Vec<Step>,
    /// The active controller.
    pub leader: Option<i32>,
    /// The voters, by id.
    pub voters: Vec<VoterFacts>,
}

/// The coordinator of a group.
#[derive(Debug, Clone)]
pub struct CoordinatorFacts {
    /// The group.
    pub group: String,
    /// The checks, up to the first that failed.
    pub steps: Vec<Step>,
    /// The coordinator's id.
    pub broker: Option<i32>,
    /// The group's state, by Kafka's name.
    pub state: Option<String>,
    /// The number of its members.
    pub members: Option<usize>,
}

/// All facts.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// The configured `security.protocol`.
    pub security_protocol: String,
    /// The bootstrap servers.
    pub bootstrap: Vec<EndpointFacts>,
    /// The cluster as described by the first bootstrap server that responded.
    pub cluster: Option<View>,
    /// The topics.
    pub topics: Option<TopicFacts>,
    /// The quorum of controllers; `None` if the cluster has no KRaft quorum or does not report it.
    pub quorum: Option<QuorumFacts>,
    /// The cluster's brokers, at their advertised addresses.
    pub brokers: Vec<BrokerFacts>,
    /// The coordinator of the requested group.
    pub coordinator: Option<CoordinatorFacts>,
    /// The open transactions of the described partitions.
    pub open_transactions: Vec<OpenTransaction>,
    /// The duration of all checks.
    pub duration: Duration,
}
