//! A Kafka cluster in the process: brokers on loopback TCP or in memory, real partition logs, faults as data.
//!
//! - [`MockCluster`] starts and stops brokers and is what tests hold; [`MockConfig`] says how big.
//! - `state` is the cluster without I/O: brokers, topics, leaders; `log` is one partition's batches;
//!   `group` is who consumes together and how far they are.
//! - `api` has one file per API, a plain function from request and state to response.
//! - `transport` is TCP or pipes in memory, `broker` accepts, `connection` reads and writes frames, `dispatch` takes one request from its
//!   bytes to its answer; `session` is who a connection is, `scram` how it proves that.
//! - [`fault`] says what goes wrong, and when.
//!
//! Invariant: whatever a client sends, the mock answers or closes that connection; it never panics.

mod api;
mod broker;
mod cluster;
mod config;
mod connection;
mod dispatch;
pub mod fault;
mod group;
mod groups_view;
mod log;
mod logs_view;
mod scram;
mod seen;
mod session;
mod shared;
mod state;
mod transport;
mod view;

pub use cluster::MockCluster;
pub use config::{ApiLimit, GroupConfig, MockConfig, SaslConfig, SaslMechanism, TopicSpec, Transport};
pub use fault::{Fault, FaultId, Match, Reaction, When};
pub use group::CommittedOffset;
pub use log::StoredBatch;
pub use seen::SeenRequest;
pub use state::Refusal;
pub use transport::{PipeListener, Pipes};
pub use view::{BrokerInfo, GroupInfo, LogView, MemberInfo, PartitionInfo, TopicInfo};
