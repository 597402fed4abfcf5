//! A schema registry in the process, with Confluent's API, over HTTP on loopback TCP or in memory. At Apicurio's
//! path, `/apis/ccompat/v7`, it also has the look-up of global ids in Apicurio's own API.
//!
//! - [`MockRegistry`] starts, stops and inspects it; [`MockRegistryConfig`] is its configuration.
//! - `state` is subjects and versions, without I/O, and `schemas` the schemas of all of them. `validity` decides
//!   which schemas can be registered, with `avro`, `json_schema` and `protobuf`; `settings`, `levels`, `modes`,
//!   `mode_rules` and `compatibility` which changes a subject accepts, reported as `difference`; `deletion` what can
//!   be deleted. `subject_names` are names with a context.
//! - `api` is the routes, functions from request and state to response (`exchange`), with `schema_routes`,
//!   `subject_routes`, `setting_routes`, `query`, `documents`, `format` and `failure`.
//!   `server` accepts connections. `fault` defines faults and decides which hit a request.
//!
//! Invariants: whatever a client sends, the mock responds or closes that connection; stopping keeps the
//! schemas, and the address refuses connections until the registry is started again.

mod api;
mod avro;
mod compatibility;
mod contract;
mod deletion;
mod difference;
mod documents;
mod exchange;
mod failure;
mod fault;
mod format;
mod import;
mod json_schema;
mod levels;
mod mode_rules;
mod modes;
mod protobuf;
mod query;
mod schema_routes;
mod schemas;
mod server;
mod setting_routes;
mod settings;
mod state;
mod subject_names;
mod subject_routes;
mod validity;

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::runtime::Handle;

pub use contract::Contract;
pub use failure::RegistryFailure;
pub use fault::{RegistryFault, RegistryFaultId, RegistryMatch, RegistryReaction};
pub use levels::CompatibilityLevel;
pub use schemas::RegistryReference;
pub use state::StoredSchema;

use crate::transport::{ReservedAddress, Transport};
use fault::RegistryFaults;
use import::Import;
use schemas::SchemaDocument;
use server::RunningServer;
use state::{Listed, RegistryState};

/// Requests beyond this number are no longer recorded.
const MAX_RECORDED: usize = 1_000_000;

/// The credentials that the registry requires.
#[derive(Debug, Clone)]
pub enum RegistryAuth {
    /// User and password.
    Basic(String, String),
    /// A token.
    Bearer(String),
}

/// The configuration of a mock registry.
#[derive(Debug, Clone, Default)]
pub struct MockRegistryConfig {
    /// How clients reach it.
    pub transport: Transport,
    /// The credentials that it requires; `None` lets everyone in.
    pub auth: Option<RegistryAuth>,
    /// The path before that of the API, such as `/apis/ccompat/v7`.
    pub path: String,
}

/// A request that the registry received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryRequest {
    /// The method.
    pub method: String,
    /// The path and the query, without the path of the configuration.
    pub path: String,
}

/// The state that the registry's tasks share.
#[derive(Debug)]
struct Shared {
    config: MockRegistryConfig,
    state: Mutex<RegistryState>,
    faults: Mutex<RegistryFaults>,
    requests: Mutex<Vec<RegistryRequest>>,
    connections: Mutex<u64>,
}

impl Shared {
    fn record(&self, method: &str, path: &str) {
        let mut requests = self.requests.lock();
        if requests.len() < MAX_RECORDED {
            requests.push(RegistryRequest { method: method.to_owned(), path: path.to_owned() });
        }
    }
}

/// Whether the registry accepts connections.
#[derive(Debug)]
enum Listening {
    Running(RunningServer),
    Stopped(ReservedAddress),
}

/// A schema registry in this process.
#[derive(Debug)]
pub struct MockRegistry {
    shared: Arc<Shared>,
    address: SocketAddr,
    runtime: Handle,
    listening: tokio::sync::Mutex<Option<Listening>>,
}

impl MockRegistry {
    /// Starts a registry without schemas, in the current tokio runtime.
    ///
    /// # Errors
    ///
    /// No port is free.
    pub async fn start(config: MockRegistryConfig) -> io::Result<Self> {
        let reserved = config.transport.reserve(IpAddr::V4(Ipv4Addr::LOCALHOST))?;
        let (address, runtime) = (reserved.address, Handle::current());
        let shared = Arc::new(Shared {
            config,
            state: Mutex::default(),
            faults: Mutex::default(),
            requests: Mutex::default(),
            connections: Mutex::default(),
        });
        let running = server::listen(reserved, Arc::clone(&shared), &runtime)?;
        let listening = tokio::sync::Mutex::new(Some(Listening::Running(running)));
        Ok(Self { shared, address, runtime, listening })
    }

    /// The URL, as a value of `schema.registry.url`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}{}", self.address, self.shared.config.path)
    }

    /// Registers a schema, whatever the subject's level of compatibility.
    ///
    /// # Errors
    ///
    /// The schema is invalid, or the subject refuses changes.
    pub fn register(
        &self,
        subject: &str,
        schema_type: &str,
        text: &str,
        references: &[RegistryReference],
    ) -> Result<StoredSchema, RegistryFailure> {
        let references = references.to_vec();
        let document =
            SchemaDocument::new(schema_type.to_owned(), text.to_owned(), references, Contract::default());
        self.shared.state.lock().register(subject, document, Import::default())
    }

    /// Sets which changes a subject accepts from clients, or all subjects that have no level of their own.
    pub fn set_compatibility(&self, subject: Option<&str>, level: CompatibilityLevel) {
        self.shared.state.lock().settings.set_level(subject, level);
    }

    /// Makes a subject refuse schemas that differ from its latest version, or accept all again.
    pub fn refuse_changes(&self, subject: &str, refuse: bool) {
        self.shared.state.lock().refuse_changes(subject, refuse);
    }

    /// Deletes a version softly: it remains available by id, and as a reference.
    ///
    /// # Errors
    ///
    /// The subject or the version does not exist.
    pub fn delete_version(&self, subject: &str, version: i32) -> Result<(), RegistryFailure> {
        self.shared.state.lock().delete_version(subject, version)
    }

    /// The names of the subjects.
    #[must_use]
    pub fn subjects(&self) -> Vec<String> {
        self.shared.state.lock().subjects(Listed::Alive)
    }

    /// The requests that arrived.
    #[must_use]
    pub fn requests(&self) -> Vec<RegistryRequest> {
        self.shared.requests.lock().clone()
    }

    /// The number of requests with this method, or any, and a path that begins so.
    #[must_use]
    pub fn request_count(&self, method: Option<&str>, path: &str) -> usize {
        let matches = |request: &&RegistryRequest| {
            method.is_none_or(|method| request.method.eq_ignore_ascii_case(method))
                && request.path.starts_with(path)
        };
        self.shared.requests.lock().iter().filter(matches).count()
    }

    /// The number of connections that were accepted.
    #[must_use]
    pub fn connection_count(&self) -> u64 {
        *self.shared.connections.lock()
    }

    /// Injects a fault.
    pub fn inject(&self, fault: RegistryFault) -> RegistryFaultId {
        self.shared.faults.lock().inject(fault)
    }

    /// The number of requests that a fault has hit.
    #[must_use]
    pub fn fault_hits(&self, fault: RegistryFaultId) -> u64 {
        self.shared.faults.lock().hits(fault)
    }

    /// Removes all faults.
    pub fn clear_faults(&self) {
        self.shared.faults.lock().clear();
    }

    /// Stops: connections break, and new ones are refused.
    ///
    /// # Errors
    ///
    /// The address cannot be kept.
    pub async fn stop(&self) -> io::Result<()> {
        let mut listening = self.listening.lock().await;
        if let Some(Listening::Running(running)) = listening.take() {
            *listening = Some(Listening::Stopped(running.stop().await?));
        }
        Ok(())
    }

    /// Starts again at the same address.
    ///
    /// # Errors
    ///
    /// The address cannot be used.
    pub async fn restart(&self) -> io::Result<()> {
        let mut listening = self.listening.lock().await;
        match listening.take() {
            Some(Listening::Stopped(reserved)) => {
                let running = server::listen(reserved, Arc::clone(&self.shared), &self.runtime)?;
                *listening = Some(Listening::Running(running));
            }
            other => *listening = other,
        }
        Ok(())
    }

    /// Stops for good, and releases the address.
    pub async fn close(&self) {
        if let Some(Listening::Running(running)) = self.listening.lock().await.take() {
            let _ = running.stop().await;
        }
    }
}

impl Drop for MockRegistry {
    fn drop(&mut self) {
        if let Some(Listening::Running(running)) = self.listening.get_mut() {
            running.abort();
        }
    }
}
