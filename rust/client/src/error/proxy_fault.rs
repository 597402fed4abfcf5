//! The kinds of failures at a proxy that have a fix of their own.
//!
//! `ottla doctor` has one fix for each. `proxy` classifies a failure and writes its message.

/// Why a proxy did not connect this client to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProxyFault {
    /// It asks for a user and a password, or rejects them.
    Credentials,
    /// It does not allow the connection.
    Refused,
    /// It cannot connect to the server, or failed to.
    ServerUnreachable,
    /// It does not speak the protocol of the configured proxy.
    NotAProxy,
}
