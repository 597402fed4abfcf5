//! A Kafka proxy that knows the protocol: it gives every broker an address of its own, and rewrites the addresses in
//! responses, so that clients that cannot reach the brokers reach all of them through one host.
//!
//! - [`Gateway`], [`GatewayConfig`], [`Limits`]: start one, with its settings.
//! - [`addresses`]: the addresses of the brokers, by port or by server name.
//! - `brokers`, `follow`, `listeners`: the brokers of the cluster, and a listener for each.
//! - `loaded`: what was made of files, which a reload replaces.
//! - `serving`, `shared`: from an accepted connection to the end of its session, and what sessions share.
//! - `connection_counts`, `warnings`: limits on what strangers can use, and what is said about it.
//! - `sessions`, `events`: the open sessions and what the ended ones did; what happened lately.
//! - `faults`: faults on demand.
//! - [`monitoring`]: what a gateway shows: the status over HTTP, metrics, the access log.
//! - `session`: one client connection and its connection to a broker.
//! - `rules`: the requests that are not passed on. `refusal`: Kafka's own responses to those.
//! - `topic_ids`: what is known of topics by their ids.
//! - `sasl`: clients that log in to the gateway, and the gateway that logs in to brokers for them.
//! - `stream`: the bytes of a session as frames. `rewrite`: the parts of responses that contain addresses.
//!
//! Invariant: what is not an address passes through with the bytes of the peer, and is never gathered in memory.

pub mod addresses;
mod brokers;
mod config;
mod connection_counts;
mod events;
mod faults;
mod follow;
mod gateway;
mod limits;
mod listeners;
mod loaded;
pub mod monitoring;
mod refusal;
mod rewrite;
mod rules;
mod sasl;
mod serving;
mod session;
mod sessions;
mod shared;
mod stream;
mod topic_ids;
mod warnings;

pub use config::{GatewayConfig, TlsConfig};
pub use events::{Event, EventKind};
pub use faults::FaultError;
pub use gateway::{FindBrokersError, Gateway, GatewayError};
pub use limits::Limits;
pub use rules::{AccessRules, RuleOptions};
pub use sasl::SaslConfig;
pub use session::{ApiCount, Coordinated, Counts, LastError, Role, SessionInfo};
pub use sessions::{EndedSession, Totals};
#[cfg(feature = "fuzzing")]
pub use stream::fuzzing::rewriting;
