//! The settings of a connection, derived from the configuration.

use std::sync::Arc;

use tokio::time::Duration;

use super::{FinalizedFeatures, SetupProgress};
use crate::config::{Config, DnsLookup};
use crate::environment::SocketOptions;
use crate::error::{Error, Kind, Result};
use crate::metrics::Metrics;
use crate::proxy::Proxy;
use crate::retry::persistent_failures::PersistentFailures;
use crate::security::Security;

/// The settings of a connection.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `client.id`, sent in each request's header.
    pub client_id: String,
    /// How long a response may take.
    pub request_timeout: Duration,
    /// TLS and SASL.
    pub security: Arc<Security>,
    pub(crate) dns_lookup: DnsLookup,
    /// The proxy through which brokers are reached.
    pub(crate) proxy: Option<Arc<Proxy>>,
    pub(crate) setup_timeout: Duration,
    pub(super) setup_timeout_max: Duration,
    pub(super) max_idle: Duration,
    pub(super) max_in_flight: usize,
    pub(super) frame_max: usize,
    pub(crate) socket: SocketOptions,
    pub(crate) progress: SetupProgress,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) failures: Arc<PersistentFailures>,
    pub(crate) features: Arc<FinalizedFeatures>,
    /// Whether the peers are KRaft controllers and not brokers.
    pub(crate) has_controllers: bool,
    /// The broker that should respond; `None` if any may.
    pub(super) expected: Option<ExpectedPeer>,
    /// The first bootstrap server, to suggest as the argument of `ottla doctor`.
    pub(super) bootstrap: Arc<str>,
}

/// The broker that a connection should lead to (KIP-1242).
#[derive(Debug, Clone)]
pub(super) struct ExpectedPeer {
    pub(super) cluster_id: Arc<str>,
    pub(super) node_id: i32,
}

impl Settings {
    /// The same settings for an attempt to connect, which reports its steps in `progress`.
    pub(crate) fn for_attempt(&self, progress: SetupProgress) -> Self {
        Self { progress, ..self.clone() }
    }
}

impl TryFrom<&Config> for Settings {
    type Error = Error;

    /// Also reads the certificates and keys that the configuration names.
    fn try_from(config: &Config) -> Result<Self> {
        let proxy = Proxy::parse("proxy.url", &config.proxy_url)?;
        if proxy.is_some() && config.client_dns_lookup != DnsLookup::UseAllDnsIps {
            let message = "client.dns.lookup=resolve_canonical_bootstrap_servers_only: names are not resolved here, but by the proxy of proxy.url: remove one of the two keys";
            return Err(Error::new(Kind::Config, message));
        }
        Ok(Self {
            client_id: config.client_id.clone(),
            request_timeout: config.request_timeout,
            security: Arc::new(Security::from_config(config)?),
            dns_lookup: config.client_dns_lookup,
            proxy: proxy.map(Arc::new),
            setup_timeout: config.connection_setup_timeout,
            setup_timeout_max: config.connection_setup_timeout_max,
            max_idle: config.connections_max_idle,
            max_in_flight: config.max_in_flight,
            frame_max: config.receive_message_max,
            socket: SocketOptions { send_buffer: config.send_buffer, receive_buffer: config.receive_buffer },
            progress: SetupProgress::default(),
            metrics: Arc::new(Metrics::from(config)),
            failures: Arc::default(),
            features: Arc::default(),
            expected: None,
            has_controllers: config.has_controllers(),
            bootstrap: config.addresses().first().map(String::as_str).unwrap_or_default().into(),
        })
    }
}
