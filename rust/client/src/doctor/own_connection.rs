//! A connection for one check alone, so that a request that is never answered holds up no other.

use std::net::SocketAddr;
use std::sync::Arc;

use super::Probe;
use crate::connection::setup::ConnectionSetup;
use crate::connection::{Connection, Endpoint, establish};
use crate::error::Result;

/// Connects to an address at which a broker has answered before. The caller sets the deadline.
pub(super) async fn connect(
    probe: &Probe,
    endpoint: &Endpoint,
    address: SocketAddr,
) -> Result<Arc<Connection>> {
    let mut opening = ConnectionSetup::tcp(endpoint, address, &probe.settings, &probe.environment).await?;
    opening.tls().await?;
    opening.api_versions().await?;
    let sasl = opening.sasl().await?;
    establish(opening, sasl, &probe.environment)
}
