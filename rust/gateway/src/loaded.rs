//! [`Loaded`]: what a gateway has made of files and of the configuration of its cluster.
//!
//! Invariant: a reload makes all of it anew before it replaces any of it, so that a file that cannot be used changes
//! nothing. Sessions that are open keep what they began with.

use std::collections::BTreeSet;
use std::sync::Arc;

use ottla_client::connection::Settings;
use ottla_client::environment::Environment;
use ottla_client::security::TlsServer;
use ottla_client::{Client, Config, Error};

use crate::brokers::Era;
use crate::config::TlsConfig;
use crate::sasl::{Logins, SaslConfig};

/// Where everything comes from but the configuration of the cluster.
#[derive(Debug)]
pub(crate) struct Sources {
    pub(crate) tls: Option<TlsConfig>,
    pub(crate) sasl: Option<SaslConfig>,
    /// Whether nobody can read what clients send.
    pub(crate) has_privacy: bool,
    pub(crate) environment: Environment,
}

/// What was made of files and of the configuration of the cluster.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The gateway's own client.
    pub(crate) client: Client,
    /// The era of the client's bootstrap servers.
    pub(crate) era: Era,
    /// How connections to brokers are made.
    pub(crate) settings: Settings,
    /// TLS towards clients.
    pub(crate) tls: Option<TlsServer>,
    /// The logins of clients, unless SASL passes through.
    pub(crate) logins: Option<Arc<Logins>>,
}

impl Loaded {
    /// Reads the files. Of the logins `before`, secrets are kept.
    pub(crate) fn new(cluster: Config, sources: &Sources, before: Option<&Self>) -> Result<Self, Error> {
        let settings = Settings::try_from(&cluster)?;
        let tls = sources.tls.as_ref().map(|tls| TlsServer::from_config(&tls.files, tls.client_auth));
        let tls = tls.transpose()?;
        let logins =
            sources.sasl.as_ref().map(|sasl| match before.and_then(|before| before.logins.as_ref()) {
                Some(before) => before.reloaded(sasl, &cluster, sources.has_privacy),
                None => Logins::new(sasl, &cluster, sources.has_privacy),
            });
        let logins = logins.transpose()?.map(Arc::new);
        let client = Client::new(cluster, sources.environment.clone())?;
        let era = match before {
            None => Era::default(),
            Some(before) if servers(&before.client) == servers(&client) => before.era,
            Some(before) => before.era.next(),
        };
        Ok(Self { client, era, settings, tls, logins })
    }
}

/// The bootstrap servers, in whatever order they are named.
fn servers(client: &Client) -> BTreeSet<(&str, u16)> {
    client.servers().iter().map(|server| (server.host.as_str(), server.port)).collect()
}
