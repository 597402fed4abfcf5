//! The kinds of TLS failures that have a fix of their own.
//!
//! `ottla doctor` has one fix for each. `tls_error.rs` classifies a failure and writes its message.

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
    /// The broker rejected the client certificate.
    ClientCertificateRejected,
    /// No version of TLS is accepted by both sides.
    Version,
    /// No cipher suite is accepted by both sides.
    Cipher,
    /// The broker does not know the requested host name (SNI).
    ServerName,
}
