//! What was seen, as plain data: nothing here judges.

use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use ottla_protocol::ErrorCode;

use super::check::{Check, Reason};
use crate::connection::Endpoint;

/// How a check failed.
#[derive(Debug, Clone)]
pub struct Failure {
    /// For programs.
    pub reason: Reason,
    /// For people.
    pub message: String,
    /// The broker's code, if it gave one.
    pub code: Option<ErrorCode>,
}

/// One check: how long it took, and how it failed if it did.
#[derive(Debug, Clone)]
pub struct Step {
    /// What was checked.
    pub check: Check,
    /// How long it took.
    pub took: Duration,
    /// How it failed.
    pub failure: Option<Failure>,
}

/// The versions of one API that a broker speaks.
#[derive(Debug, Clone, Copy)]
pub struct ApiFacts {
    /// The API's name.
    pub name: &'static str,
    /// The lowest version.
    pub min: i16,
    /// The highest version.
    pub max: i16,
}

/// A broker as metadata names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerView {
    /// Its id.
    pub id: i32,
    /// The address that it advertises to this listener's clients.
    pub endpoint: Endpoint,
    /// Its rack.
    pub rack: Option<String>,
}

/// The cluster as one broker sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// The cluster's id.
    pub cluster_id: Option<String>,
    /// The brokers that are alive, by id.
    pub brokers: Vec<BrokerView>,
}

/// What TLS showed, whether or not it came to an end.
#[derive(Debug, Clone)]
pub struct TlsFacts {
    /// The version that was agreed on.
    pub version: Option<String>,
    /// The cipher suite that was agreed on.
    pub cipher: Option<String>,
    /// Whom the broker's certificate is for.
    pub subject: Option<String>,
    /// Who issued it.
    pub issuer: Option<String>,
    /// The host names and addresses that it is for.
    pub names: Vec<String>,
    /// Until when it is valid.
    pub not_after: Option<SystemTime>,
    /// Whether the broker asked for a certificate of ours.
    pub client_certificate_requested: bool,
}

/// One address of a name.
#[derive(Debug, Clone)]
pub struct AddressFacts {
    /// The address.
    pub address: SocketAddr,
    /// The checks, up to the first that failed.
    pub steps: Vec<Step>,
    /// What TLS showed, if it was spoken.
    pub tls: Option<TlsFacts>,
    /// What the broker speaks.
    pub apis: Vec<ApiFacts>,
    /// The oldest release of Kafka that speaks all this.
    pub release: Option<&'static str>,
    /// The SASL mechanisms that the listener offers, where that was found out.
    pub mechanisms: Vec<String>,
    /// The cluster as this broker sees it.
    pub view: Option<View>,
    /// Who it is that answers, where that was found out.
    pub node: Option<i32>,
}

/// A server's name and its addresses.
#[derive(Debug, Clone)]
pub struct EndpointFacts {
    /// The name and port.
    pub endpoint: Endpoint,
    /// Resolving the name.
    pub dns: Step,
    /// What its addresses did.
    pub addresses: Vec<AddressFacts>,
}

/// One partition, asked of its leader.
#[derive(Debug, Clone)]
pub struct PartitionFacts {
    /// The topic.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// The checks, up to the first that failed.
    pub steps: Vec<Step>,
    /// Where the log starts.
    pub start: Option<i64>,
    /// Where it ends.
    pub end: Option<i64>,
    /// Whom the broker that refused names as leader, asked again after it did; none if it names
    /// nobody.
    pub leader_now: Option<i32>,
}

/// A broker of the metadata.
#[derive(Debug, Clone)]
pub struct BrokerFacts {
    /// Its id.
    pub id: i32,
    /// Its rack.
    pub rack: Option<String>,
    /// How many partitions it leads, of those that were looked up.
    pub leads: usize,
    /// How many replicas it holds, of the partitions that were looked up.
    pub replicas: usize,
    /// The directories in which it keeps partitions, where it reports them.
    pub log_dirs: Vec<LogDirFacts>,
    /// What its advertised address did.
    pub endpoint: EndpointFacts,
    /// Partitions that it leads.
    pub partitions: Vec<PartitionFacts>,
}

/// What the metadata says about topics.
#[derive(Debug, Clone)]
pub struct TopicFacts {
    /// Looking them up.
    pub step: Step,
    /// The topic that was asked for; all if none was.
    pub name: Option<String>,
    /// What the broker said about the topic that was asked for.
    pub error: Option<ErrorCode>,
    /// How many topics there are.
    pub topics: usize,
    /// How many partitions these have.
    pub partitions: usize,
    /// Partitions that nobody leads; the first of them.
    pub leaderless: Vec<(String, i32)>,
    /// How many partitions nobody leads.
    pub leaderless_count: usize,
    /// How many partitions have replicas that are not in sync.
    pub under_replicated: usize,
    /// Brokers that hold replicas but that the metadata does not name, so that they are down, with
    /// the number of their replicas; by id.
    pub missing_brokers: Vec<(i32, usize)>,
}

/// A directory in which a broker keeps partitions.
#[derive(Debug, Clone)]
pub struct LogDirFacts {
    /// The path on the broker.
    pub path: String,
    /// The error that the broker reports for it, such as a failed disk.
    pub error: Option<ErrorCode>,
    /// The size of its volume in bytes; none before Kafka 3.3.
    pub total_bytes: Option<i64>,
    /// The bytes that are free; none before Kafka 3.3.
    pub usable_bytes: Option<i64>,
}

/// A controller that votes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VoterFacts {
    /// Its id.
    pub id: i32,
    /// How far its copy of the metadata is behind the leader's, in milliseconds; none if unknown.
    pub lag_ms: Option<i64>,
}

/// The quorum of KRaft controllers.
#[derive(Debug, Clone)]
pub struct QuorumFacts {
    /// The checks, one.
    pub steps: Vec<Step>,
    /// The controller that leads: the active one.
    pub leader: Option<i32>,
    /// The controllers that vote, by id.
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
    /// The group's state, in Kafka's words.
    pub state: Option<String>,
    /// How many members it has.
    pub members: Option<usize>,
}

/// All that was seen.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// How brokers were talked to.
    pub security_protocol: String,
    /// The bootstrap servers.
    pub bootstrap: Vec<EndpointFacts>,
    /// The cluster, as the first bootstrap server that answered sees it.
    pub cluster: Option<View>,
    /// The topics.
    pub topics: Option<TopicFacts>,
    /// The quorum of controllers; none where the cluster has no KRaft quorum or does not report it.
    pub quorum: Option<QuorumFacts>,
    /// The brokers of that view, at the addresses that they advertise.
    pub brokers: Vec<BrokerFacts>,
    /// The coordinator of the group that was asked for.
    pub coordinator: Option<CoordinatorFacts>,
    /// How long all this took.
    pub took: Duration,
}
