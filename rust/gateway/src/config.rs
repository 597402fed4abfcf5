//! [`GatewayConfig`]: the settings of a gateway.

use std::net::SocketAddr;

use ottla_client::Config;

use crate::addresses::Routing;
use crate::limits::Limits;
use crate::rules::AccessRules;
use crate::sasl::SaslConfig;

/// The settings of a gateway.
#[derive(Debug, Clone)]
pub struct GatewayConfig {
    /// The address at which clients bootstrap; port 0 lets the system choose one.
    pub listen: SocketAddr,
    /// The host name or address under which clients reach the gateway.
    pub advertised_host: String,
    /// How clients name the broker to which they connect.
    pub routing: Routing,
    /// How the gateway connects to the cluster: `bootstrap.servers`, TLS, a proxy, and credentials with which the
    /// gateway itself asks for the metadata.
    pub cluster: Config,
    /// TLS towards clients: the certificate and the key are in the keys `ssl.keystore.*` or `ssl.certificate.location`
    /// and `ssl.key.location`, the authorities for clients' certificates in `ssl.truststore.*`. Plaintext if `None`.
    pub tls: Option<TlsConfig>,
    /// How clients log in to the gateway. SASL passes through if `None`.
    pub sasl: Option<SaslConfig>,
    /// The requests that are not passed on.
    pub rules: AccessRules,
    /// How much of the gateway a client may use.
    pub limits: Limits,
    /// Whether faults may be injected.
    pub allow_faults: bool,
    /// Whether ended sessions are kept for the access log from the start; otherwise from when it is opened.
    pub keep_ended: bool,
}

/// TLS towards clients.
#[derive(Debug, Clone)]
pub struct TlsConfig {
    /// The files, by the keys of a client's own certificate and authorities.
    pub files: Config,
    /// Whether clients must have a certificate.
    pub client_auth: bool,
}
