//! The kinds of TLS failures that have a remedy of their own.
//!
//! `ottla doctor` gives one fix for each of them. `tls_error.rs` decides which one it is, together
//! with the message.

/// What is wrong with a TLS handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TlsFault {
    /// The broker's certificate has expired.
    Expired,
    /// The broker's certificate is not valid yet.
    NotYetValid,
    /// The broker's certificate is for other host names.
    WrongName,
    /// The broker's certificate was issued by an authority that is not trusted.
    UnknownIssuer,
    /// The broker's certificate is not for servers, or is an authority's.
    Purpose,
    /// The broker's certificate was revoked.
    Revoked,
    /// The broker requires a client certificate, and none is configured.
    ClientCertificateMissing,
    /// The broker refused the client certificate.
    ClientCertificateRefused,
    /// There is no version of TLS that both sides accept.
    Version,
    /// There is no cipher suite that both sides accept.
    Cipher,
    /// The broker does not know the requested host name (SNI).
    ServerName,
}
