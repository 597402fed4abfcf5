//! What the operating system says of a connection, told as an error of ours.

use crate::error::{Error, Kind, Outlook, Phase};

/// An error of the transport, in words that tell a firewall from a crash.
pub(super) fn transport_error(error: &std::io::Error, phase: Phase, address: &str) -> Error {
    use std::io::ErrorKind as E;
    if let Some(error) = crate::security::tls_error_in(error, None, address) {
        return error;
    }
    let words = match error.kind() {
        E::ConnectionRefused => "connection refused: nothing listens there".to_owned(),
        E::ConnectionReset | E::BrokenPipe | E::ConnectionAborted => {
            "the broker closed the connection (reset)".to_owned()
        }
        E::UnexpectedEof => "the broker closed the connection".to_owned(),
        E::TimedOut => "timed out in the network".to_owned(),
        E::HostUnreachable | E::NetworkUnreachable => "no route to the address".to_owned(),
        _ => error.to_string(),
    };
    let outlook = if error.kind() == E::ConnectionRefused { Outlook::Permanent } else { Outlook::Transient };
    Error::new(Kind::Connection, words).phase(phase).address(address).with_outlook(outlook)
}
