//! `Client` and `AsyncClient`: metadata, offsets, events.
//!
//! - `base`: methods that do not wait; `sync` and `asynchronous`: those that do; `docs`: the docstrings of both.
//! - `client_ops`: each operation once, as a future; `sync` blocks on it, `asynchronous` returns it to
//!   asyncio.
//! - `client_arg`: the client that a producer, consumer or admin uses; `interceptor_chain`: their interceptors;
//!   `first_connect`: how consumers find the cluster that did not connect at once.
//! - `sasl_credentials`: replaces them while the client runs.
//! - `cluster`, `connection_status`, `connections`, `events`, `async_events`, `metrics`, `request_statistics`: the
//!   results.

pub(crate) mod async_events;
pub(crate) mod asynchronous;
pub(crate) mod base;
pub(crate) mod client_arg;
pub(crate) mod client_ops;
pub(crate) mod cluster;
pub(crate) mod connection_status;
pub(crate) mod connections;
pub(crate) mod docs;
pub(crate) mod events;
pub(crate) mod first_connect;
pub(crate) mod interceptor_chain;
pub(crate) mod metrics;
pub(crate) mod request_statistics;
pub(crate) mod sasl_credentials;
pub(crate) mod sync;
