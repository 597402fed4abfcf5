//! A topology-aware Kafka client.
//!
//! - [`cluster`]: the [`Client`]: finding the cluster, routes, coordinators, and the one path that every
//!   request takes.
//! - [`metadata`]: which broker leads what, as an immutable snapshot.
//! - [`connection`]: one pipelined connection per broker and role, and the pool of them.
//! - [`requests`]: requests that go to the leaders of many partitions.
//! - [`retry`]: what to do about each error code, how long to wait, within which deadline.
//! - [`producer`]: records into batches, batches to leaders.
//! - [`consumer`]: reading from many leaders, alone or as a member of a group.
//! - [`admin`]: changing the cluster.
//! - [`security`]: TLS and SASL.
//! - [`doctor`]: checking each step of each connection, to find what is wrong.
//! - [`config`], [`metrics`], [`error`]: a row per key, the Java client's metrics, one error type.
//! - [`environment`]: DNS, sockets and randomness, injected.
//! - [`tasks`]: panics as errors, blocking work, pacing.
//!
//! The engine runs on the tokio runtime that it is called on, and starts nothing by itself before.

pub mod admin;
pub mod cluster;
pub mod config;
pub mod connection;
pub mod consumer;
pub mod doctor;
pub mod environment;
pub mod error;
pub mod metadata;
pub mod metrics;
mod printable;
pub mod producer;
pub mod requests;
pub mod retry;
mod secret;
pub mod security;
pub mod tasks;
mod topic_partition;

pub use cluster::{Client, Coordinator, CoordinatorKind, EventSubscription, IfMissing, Route};
pub use config::Config;
pub use error::{Error, Kind, Result};
pub use requests::{ListedOffset, OffsetSpec};
pub use topic_partition::TopicPartition;
