#![doc = include_str!("../README.md")]
//! # Modules
//!
//! - [`cluster`]: the [`Client`]: bootstrapping, routing, coordinators, and the path of every request.
//! - [`metadata`]: brokers, topics and leaders, as an immutable snapshot.
//! - [`connection`]: pipelined connections, and the pool of them, one per broker and role.
//! - [`requests`]: requests to the leaders of many partitions.
//! - [`retry`]: backoff, deadlines and failures that persist.
//! - [`producer`]: accumulates records in batches and sends them to partition leaders.
//! - [`consumer`]: reads from partition leaders, alone or as a group member; [`group_offsets`]: commits offsets to groups, and fetches them.
//! - [`admin`]: creates and deletes topics; lists, describes and aborts transactions.
//! - [`security`]: TLS and SASL.
//! - [`doctor`]: checks each step of each connection and reports what is wrong.
//! - [`config`], [`metrics`], [`error`]: a row per key, the Java client's metrics, one error type with the
//!   recovery from each error code.
//! - `typed`: keys and values with a schema, as typed columns.
//! - `schema_registry`: the client of a schema registry.
//! - `telemetry`: pushes the metrics that the cluster subscribes to.
//! - [`environment`]: DNS, sockets, randomness and tokens, injected.
//! - `proxy`: connections through SOCKS5 and HTTP proxies.
//! - `http`: requests to token endpoints and schema registries.
//! - [`tasks`]: panics as errors, blocking work, limits on long passes.
//!
//! The client runs on the tokio runtime of its caller and starts no thread or task before it is used.

pub mod admin;
pub mod cluster;
pub mod config;
pub mod connection;
pub mod consumer;
pub mod doctor;
mod endpoint;
pub mod environment;
pub mod error;
mod event_text;
mod first_names;
pub mod group_offsets;
mod http;
mod ip_zone;
pub mod metadata;
pub mod metrics;
mod names;
mod printable;
pub mod producer;
mod proxy;
pub mod request_statistics;
pub mod requests;
pub mod retry;
#[cfg(feature = "arrow")]
pub mod schema_registry;
mod secret;
pub mod security;
mod shell;
pub mod tasks;
mod telemetry;
mod topic_partition;
#[cfg(feature = "arrow")]
pub mod typed;

pub use cluster::{Client, Coordinator, CoordinatorKind, EventSubscription, IfMissing, Route};
pub use config::Config;
pub use endpoint::Endpoint;
pub use error::{Error, Kind, Result};
pub use event_text::EventText;
pub use names::check_name;
pub use requests::{ListedOffset, OffsetSpec};
pub use topic_partition::TopicPartition;
