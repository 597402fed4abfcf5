//! Maps the operating system's errors on a connection to the client's.

use crate::error::{Error, Kind, Outlook, Phase};

/// Converts an I/O error. The message distinguishes a firewall from a crash.
pub(super) fn transport_error(error: &std::io::Error, phase: Phase, address: &str) -> Error {
    use std::io::ErrorKind as E;
    if let Some(error) = crate::security::tls_error_in(error, None, address) {
        return error;
    }
    let message = match error.kind() {
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
    Error::new(Kind::Connection, message).phase(phase).address(address).with_outlook(outlook)
}
