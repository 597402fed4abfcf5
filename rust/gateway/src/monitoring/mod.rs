//! What a gateway shows of itself to people and programs.
//!
//! - `json.rs`, `documents.rs`: connections, totals, events and addresses as JSON.
//! - `prometheus.rs`: metrics in Prometheus' text format.
//! - `routes.rs`: what is served over HTTP: **a new path is a row of its table**.
//! - `server.rs`, `origin.rs`: the HTTP server, and which requests pages of browsers may not make.
//! - `access_log.rs`: a line for each connection that has ended.
//!
//! Invariants: nothing here knows anything secret, and whoever asks cannot slow the connections of clients.

mod access_log;
mod documents;
mod json;
mod origin;
mod prometheus;
mod routes;
mod server;

pub use access_log::AccessLog;
pub use documents::{addresses, ended_connections, events, open_connections, totals};
pub use json::Json;
pub use server::StatusServer;
