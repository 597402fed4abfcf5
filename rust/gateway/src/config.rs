//! [`GatewayConfig`]: the settings of a gateway.

use std::net::SocketAddr;

use ottla_client::Config;

use crate::addresses::Routing;
use crate::limits::Limits;

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
    /// How much of the gateway a client may use.
    pub limits: Limits,
}
