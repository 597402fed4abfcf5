//! Connections through a proxy: SOCKS5 or HTTP CONNECT, to brokers, token endpoints and schema registries.
//!
//! - `address`, `credentials`: the URL of a proxy. `socks5`, `http_connect`: the handshakes, without I/O.
//! - `tunnel`: runs a handshake on a stream that is connected to the proxy.
//!
//! Invariants: the proxy resolves the names of the servers, so that none is looked up here; what a proxy sends
//! is bounded, and nothing of it is printed unescaped; no error contains the user or the password.

mod address;
mod credentials;
mod http_connect;
mod socks5;
mod tunnel;

pub(crate) use address::Proxy;
pub(crate) use tunnel::open_tunnel;

use zeroize::Zeroizing;

use crate::error::{Error, Kind, Outlook, ProxyFault};

/// A handshake with a proxy: what it sends, and how much it has to read.
trait Handshake {
    /// What to send now, if anything; it may contain a password.
    fn take_output(&mut self) -> Option<Zeroizing<Vec<u8>>>;
    /// How many bytes may be read at most; none at the end.
    fn wanted(&self) -> usize;
    /// Takes at least one byte, and at most as many as are wanted.
    fn receive(&mut self, bytes: &[u8]) -> Result<(), Error>;
    /// The error for a connection that the proxy closed before the end.
    fn closed(&self) -> Error {
        fault(ProxyFault::ServerUnreachable, "it closed the connection during its handshake")
    }
}

/// A fault whose cause stays until someone removes it, unless it is a server that cannot be reached.
fn fault(fault: ProxyFault, message: impl Into<String>) -> Error {
    let (kind, outlook) = match fault {
        ProxyFault::Credentials => (Kind::Authentication, Outlook::Permanent),
        ProxyFault::Refused => (Kind::Connection, Outlook::Permanent),
        ProxyFault::NotAProxy => (Kind::Connection, Outlook::ProbablyPermanent),
        ProxyFault::ServerUnreachable => (Kind::Connection, Outlook::Transient),
    };
    Error::new(kind, message).with_outlook(outlook).with_proxy_fault(Some(fault))
}
