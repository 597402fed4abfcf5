//! A topology-aware Kafka client.
//!
//! - `cluster`: the [`Client`], its routes, and the one path that every request takes.
//! - [`bootstrap`](Client::connect): finding the cluster from a few addresses.
//! - [`coordinator`](Client::coordinator): who coordinates a group or a transactional id.
//! - `refresh` and `topics`: keeping the metadata fresh, and finding topics in it.
//! - [`metadata`]: who leads what, as an immutable snapshot.
//! - [`metrics`]: what a client counts, by the Java client's names.
//! - [`connection`]: one pipelined connection per broker, and the pool of them.
//! - [`recovery`]: what to do about each error code; [`backoff`]: how long to wait.
//! - [`producer`]: records into batches, batches to leaders.
//! - [`consumer`]: reading from many leaders.
//! - [`admin`]: changing the cluster.
//! - [`security`]: TLS and SASL.
//! - [`doctor`]: looking at every step of every connection, to tell what is wrong.
//! - [`environment`]: names, sockets and randomness, injected.
//!
//! The engine runs on the tokio runtime that it is called on, and starts nothing by itself before.

pub mod admin;
pub mod aside;
mod ask_leaders;
pub mod backoff;
mod bootstrap;
mod cluster;
pub mod config;
pub mod connection;
pub mod consumer;
mod coordinator;
pub mod doctor;
pub mod environment;
pub mod error;
mod find_cluster;
mod list_offsets;
mod listening;
pub mod metadata;
pub mod metrics;
mod nearest_names;
mod offset_for_leader_epoch;
mod pace;
pub mod panics;
mod persistent_failures;
mod printable;
pub mod producer;
mod race;
pub mod recovery;
mod refresh;
mod resolver;
mod retry;
pub mod security;
mod tap;
mod topics;

pub use cluster::{Client, Route};
pub use config::Config;
pub use coordinator::{Coordinator, CoordinatorKind};
pub use error::{Error, Kind, Result};
pub use list_offsets::{ListedOffset, OffsetSpec, TopicPartition};
pub use listening::Listening;
pub use topics::IfMissing;
