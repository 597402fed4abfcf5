//! Verification of the broker's certificate during a TLS handshake.
//!
//! Invariants: [`HandshakeRecorder`] only records and delegates; [`AnyHostnameVerifier`] accepts any
//! host name, but checks everything else.

use std::sync::Arc;

use parking_lot::Mutex;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ResolvesClientCert, WebPkiServerVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::{CertificateError, DigitallySignedStruct, SignatureScheme};

use super::{PeerCertificate, TlsInfo};

/// Records what both sides show; delegates the verification.
#[derive(Debug)]
pub(super) struct HandshakeRecorder {
    pub(super) verifier: Arc<dyn ServerCertVerifier>,
    pub(super) identity: Option<Arc<CertifiedKey>>,
    pub(super) info: Mutex<TlsInfo>,
}

impl ServerCertVerifier for HandshakeRecorder {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.info.lock().peer = PeerCertificate::from_der(end_entity);
        self.verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verifier.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verifier.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}

impl ResolvesClientCert for HandshakeRecorder {
    fn resolve(&self, _hints: &[&[u8]], schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.info.lock().client_certificate_requested = true;
        let identity = self.identity.as_ref()?;
        identity.key.choose_scheme(schemes).map(|_| Arc::clone(identity))
    }

    fn has_certs(&self) -> bool {
        self.identity.is_some()
    }
}

/// Verifies everything except the host name (`ssl.endpoint.identification.algorithm=`).
#[derive(Debug)]
pub(super) struct AnyHostnameVerifier(pub(super) Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for AnyHostnameVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        use CertificateError as E;
        // The name is checked last, so everything else has passed.
        match self.0.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(rustls::Error::InvalidCertificate(E::NotValidForName | E::NotValidForNameContext { .. })) => {
                Ok(ServerCertVerified::assertion())
            }
            result => result,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
