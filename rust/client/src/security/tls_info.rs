//! What a TLS handshake showed of both sides, for errors and for the doctor.

use super::PeerCertificate;

/// What the handshake showed, whether or not it succeeded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsInfo {
    /// The negotiated version: `TLSv1.2` or `TLSv1.3`.
    pub version: Option<String>,
    /// The negotiated cipher suite, by its standard name.
    pub cipher: Option<String>,
    /// The broker's certificate, whether or not it was accepted.
    pub peer: Option<PeerCertificate>,
    /// Whether the broker requested a client certificate.
    pub client_certificate_requested: bool,
    /// Whether a client certificate is configured.
    pub client_certificate_configured: bool,
    /// The first bytes of the response, if the handshake failed.
    pub(super) first_bytes: Vec<u8>,
}
