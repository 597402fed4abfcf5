//! A connection for a single check, so that a request without a response delays no other.
//!
//! The caller sets the deadline.

use std::net::SocketAddr;
use std::sync::Arc;

use super::ProbeContext;
use crate::connection::setup::ConnectionSetup;
use crate::connection::{Connection, establish};
use crate::endpoint::Endpoint;
use crate::error::Result;

/// Connects to an address at which a broker has responded before.
pub(super) async fn connect(
    probe: &ProbeContext,
    endpoint: &Endpoint,
    address: SocketAddr,
) -> Result<Arc<Connection>> {
    let mut opening = open(probe, endpoint, address).await?;
    let sasl = opening.sasl().await?;
    establish(opening, sasl, &probe.environment)
}

/// Connects without authenticating, even if SASL is configured.
pub(super) async fn connect_without_sasl(
    probe: &ProbeContext,
    endpoint: &Endpoint,
    address: SocketAddr,
) -> Result<Arc<Connection>> {
    establish(open(probe, endpoint, address).await?, None, &probe.environment)
}

async fn open(probe: &ProbeContext, endpoint: &Endpoint, address: SocketAddr) -> Result<ConnectionSetup> {
    let mut opening = ConnectionSetup::tcp(endpoint, address, &probe.settings, &probe.environment).await?;
    opening.proxy().await?;
    opening.tls().await?;
    opening.api_versions().await?;
    Ok(opening)
}
