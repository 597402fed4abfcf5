//! Connecting to an origin: all addresses of its name in turn, or of its proxy, then TLS.
//!
//! Invariant: errors of TLS name the origin's server and its keys, not the broker's.

use std::net::IpAddr;

use tokio::time::Instant;

use super::{Origin, Server, failed};
use crate::endpoint::Endpoint;
use crate::environment::happy_eyeballs::{attempt_delay, first_success};
use crate::environment::{Environment, SocketOptions, Stream};
use crate::error::{Error, Outlook, Result};
use crate::proxy::open_tunnel;
use crate::security::{Tls, TlsInfo, tls_error_in};

const OPTIONS: SocketOptions = SocketOptions { send_buffer: -1, receive_buffer: -1 };
/// Failures of further addresses are not listed.
const LISTED: usize = 3;

/// Opens a stream, secured if the origin has TLS.
pub(super) async fn connect(
    origin: &Origin,
    environment: &Environment,
    deadline: Instant,
) -> Result<Box<dyn Stream>> {
    let network = &environment.network;
    let target = Endpoint { host: origin.host.clone(), port: origin.port };
    let reached = origin.proxy.as_ref().map_or(&target, |proxy| &proxy.endpoint);
    let resolved = network.resolve(&reached.host, reached.port).await;
    let resolved = resolved.map_err(|error| failed(format_args!("the name cannot be resolved: {error}")));
    let addresses = resolved.map_err(|error| blame_proxy(error, origin))?;
    if addresses.is_empty() {
        return Err(blame_proxy(failed("the name has no address"), origin));
    }
    let delay = attempt_delay(addresses.len(), Some(deadline));
    // The caller names the host: an address need not be named twice.
    let is_address = reached.host.parse::<IpAddr>().is_ok();
    let connected = first_success(addresses, delay, |address| async move {
        let connected = network.connect(address, OPTIONS).await;
        connected.map_err(|error| match is_address {
            true => failed(error),
            false => failed(format_args!("{address}: {error}")),
        })
    });
    let connected = connected.await.map_err(|failures| blame_proxy(summed_up(&failures), origin));
    let mut stream = connected?;
    if let Some(proxy) = &origin.proxy {
        open_tunnel(proxy, &target, &mut stream).await?;
    }
    match &origin.tls {
        None => Ok(stream),
        Some(tls) => secure(stream, tls, origin).await,
    }
}

/// Names the proxy, if there is one, as the subject of an error before it has connected.
fn blame_proxy(error: Error, origin: &Origin) -> Error {
    match &origin.proxy {
        Some(proxy) => proxy.blame(error),
        None => error,
    }
}

fn summed_up(failures: &[Error]) -> Error {
    let listed: Vec<&str> = failures.iter().take(LISTED).map(Error::message).collect();
    let more = failures.len().saturating_sub(LISTED);
    let rest = if more > 0 { format!("; and {more} more") } else { String::new() };
    failed(format_args!("{}{rest}", listed.join("; ")))
}

async fn secure(stream: Box<dyn Stream>, tls: &Tls, origin: &Origin) -> Result<Box<dyn Stream>> {
    let (connected, info) = tls.handshake(stream, &origin.host).await;
    match connected {
        Ok(stream) => Ok(Box::new(stream)),
        Err(error) => Err(origin.tls_failure(&error, Some(&info)).unwrap_or_else(|| failed(error))),
    }
}

impl Origin {
    /// Explains the TLS error inside an error of an open connection.
    pub(super) fn tls_error(&self, error: &std::io::Error) -> Option<Error> {
        self.tls_failure(error, None)
    }

    fn tls_failure(&self, error: &std::io::Error, info: Option<&TlsInfo>) -> Option<Error> {
        let explained = tls_error_in(error, info, &self.host)?;
        if is_not_tls(error) {
            let message = format!("{} does not speak TLS on this port", self.server.name);
            let advised = failed(format_args!("{message}: use http, or the port for https"));
            return Some(advised.with_outlook(Outlook::Permanent));
        }
        // Without the phase: for the broker's connection, a token request is part of SASL.
        let message = self.server.in_its_terms(explained.message());
        let error = Error::new(explained.kind(), message).with_outlook(explained.outlook());
        Some(error.with_tls_fault(explained.tls_fault()))
    }
}

fn is_not_tls(error: &std::io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    matches!(inner, Some(rustls::Error::InvalidMessage(_)))
}

impl Server {
    /// A message about a broker and its keys, as one about this server.
    pub(crate) fn in_its_terms(self, message: &str) -> String {
        let message = message.replace("the broker's", &format!("{}'s", self.name));
        self.with_key_prefix(&message.replace("the broker", self.name))
    }

    /// Puts this server's prefix in front of each key about TLS in a message.
    pub(crate) fn with_key_prefix(self, message: &str) -> String {
        let mut out = String::with_capacity(message.len());
        let mut rest = message;
        while let Some(at) = rest.find("ssl.") {
            let (before, key) = rest.split_at(at);
            out.push_str(before);
            if !before.ends_with(['.', '_', '/']) && !before.ends_with(char::is_alphanumeric) {
                out.push_str(self.key_prefix);
            }
            out.push_str("ssl.");
            rest = &key["ssl.".len()..];
        }
        out.push_str(rest);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_keys_of_the_server() {
        let server = Server { name: "the registry", key_prefix: "schema.registry." };
        let message = "the broker's key: see ssl.keystore.location, schema.registry.ssl.key.location";
        assert_eq!(
            server.in_its_terms(message),
            "the registry's key: see schema.registry.ssl.keystore.location, schema.registry.ssl.key.location"
        );
        assert_eq!(server.with_key_prefix("/etc/ssl.pem: no ssl"), "/etc/ssl.pem: no ssl");
    }
}
