#![doc = include_str!("../README.md")]
//! # Modules
//!
//! - [`MockCluster`] starts and stops brokers and inspects the cluster; [`MockConfig`] is its configuration.
//! - `state` is the cluster without I/O: brokers, topics, leaders. `log` is a partition's batches. `group` is
//!   the members of groups and their committed offsets.
//! - `share_partition` is the records of a partition that a share group has in flight.
//! - `transaction` is the state of the transaction coordinators.
//! - `api` has one file per API, a function from request and state to response.
//! - `transport` is TCP or in-memory streams. `broker` accepts connections, `connection` reads and writes
//!   frames, `dispatch` takes a request from its bytes to its response. `session` and `scram` are SASL.
//! - `schema_registry` is a schema registry, over HTTP.
//! - [`fault`] combines the reactions of the faults that hit a request; the crate `ottla-faults` defines faults.
//!
//! Invariant: whatever a client sends, the mock responds or closes that connection; it never panics.

mod api;
mod broker;
mod clock;
mod cluster;
mod config;
mod connection;
mod dispatch;
pub mod fault;
mod group;
mod info;
mod log;
mod request_log;
pub mod schema_registry;
mod scram;
mod session;
mod share_partition;
mod shared;
mod state;
mod transaction;
mod transport;

pub use cluster::MockCluster;
pub use config::{
    ApiLimit, GroupConfig, MockConfig, SaslConfig, SaslMechanism, ShareGroupConfig, TopicSpec, Transport,
};
pub use fault::{Fault, FaultId, Match, Reaction, When};
pub use group::CommittedOffset;
pub use info::{
    BrokerInfo, GroupInfo, LogInfo, MemberInfo, PartitionInfo, PushedMetrics, ReassignmentInfo, TopicInfo,
    TransactionInfo,
};
pub use log::StoredBatch;
pub use request_log::RecordedRequest;
pub use state::ApiError;
pub use transport::{MemoryListener, MemoryNetwork};
