//! `Client` and `AsyncClient`: the cluster and its topology, offsets, events, topics.
//!
//! `client_ops` has each operation once, as a future: `sync` waits for it, `asynchronous` hands it to asyncio.

pub(crate) mod admin;
pub(crate) mod asynchronous;
pub(crate) mod client_arg;
pub(crate) mod client_ops;
pub(crate) mod cluster;
pub(crate) mod connection_status;
pub(crate) mod events;
pub(crate) mod metrics;
pub(crate) mod sync;
