//! TLS: the configuration made once, and the handshake on each connection.
//!
//! Invariants: the broker's certificate is always checked against trusted authorities, and against
//! the host's name unless that was turned off; SNI is the host that was configured. What the peer
//! showed is kept even when the handshake fails, so that the error can name it.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ResolvesClientCert, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

use super::heard::Heard;
use super::pem;
use crate::config::Config;
use crate::environment::Stream;
use crate::error::{Error, Kind, Result};

/// What a handshake needs; the same for all connections of a client.
#[derive(Debug)]
pub struct Tls {
    config: ClientConfig,
    verifier: Arc<dyn ServerCertVerifier>,
    identity: Option<Arc<CertifiedKey>>,
}

/// What the handshake showed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsInfo {
    /// `TLSv1.2` or `TLSv1.3`, once agreed on.
    pub version: Option<String>,
    /// The cipher suite by its standard name, once agreed on.
    pub cipher: Option<String>,
    /// The broker's certificate, whether or not it was accepted.
    pub peer: Option<PeerCertificate>,
    /// Whether the broker asked for a certificate of ours.
    pub client_certificate_requested: bool,
    /// Whether there is one to give.
    pub client_certificate_configured: bool,
    /// How the answer began, where the handshake failed.
    pub(super) heard: Vec<u8>,
}

/// The broker's own certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerCertificate {
    /// Whom it is for, as `CN=…,O=…`.
    pub subject: String,
    /// Who issued it.
    pub issuer: String,
    /// The host names and addresses that it is for.
    pub names: Vec<String>,
    /// From when on it is valid.
    pub not_before: SystemTime,
    /// Until when it is valid.
    pub not_after: SystemTime,
}

impl PeerCertificate {
    /// Reads a certificate; `None` if it is malformed.
    #[must_use]
    pub fn from_der(der: &[u8]) -> Option<Self> {
        let certificate = Certificate::from_der(der).ok()?;
        let of = certificate.tbs_certificate();
        let names = match of.get_extension::<SubjectAltName>() {
            Ok(Some((_, names))) => names.0.iter().filter_map(shown_name).collect(),
            _ => Vec::new(),
        };
        let validity = of.validity();
        Some(Self {
            subject: super::peer_words(&of.subject().to_string()),
            issuer: super::peer_words(&of.issuer().to_string()),
            names,
            not_before: UNIX_EPOCH + validity.not_before.to_unix_duration(),
            not_after: UNIX_EPOCH + validity.not_after.to_unix_duration(),
        })
    }
}

fn shown_name(name: &GeneralName) -> Option<String> {
    match name {
        GeneralName::DnsName(name) => Some(super::peer_words(name.as_str())),
        GeneralName::IpAddress(bytes) => match *bytes.as_bytes() {
            [a, b, c, d] => Some(std::net::Ipv4Addr::new(a, b, c, d).to_string()),
            ref bytes => Some(std::net::Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).to_string()),
        },
        _ => None,
    }
}

fn wrong(message: impl Into<String>) -> Error {
    Error::new(Kind::Config, message)
}

impl Tls {
    /// Reads what the configuration names.
    pub fn from_config(config: &Config) -> Result<Self> {
        let provider = Arc::new(ring::default_provider());
        let verifier = verifier(config, &provider)?;
        let identity = identity(config, &provider)?.map(Arc::new);
        let built = ClientConfig::builder_with_provider(provider).with_protocol_versions(&versions(config)?);
        let built = built.map_err(|error| wrong(format!("ssl.enabled.protocols: {error}")))?;
        // Each connection gets an observer in the place of both.
        let config = built.with_root_certificates(RootCertStore::empty()).with_no_client_auth();
        Ok(Self { config, verifier, identity })
    }

    /// For a token endpoint: the system's authorities and the configured ones, and no certificate
    /// of ours.
    pub(super) fn for_token_endpoint(config: &Config) -> Result<Self> {
        let provider = Arc::new(ring::default_provider());
        let mut roots = self::roots(config)?;
        if !config.ssl_truststore_location.is_empty() || !config.ssl_truststore_certificates.is_empty() {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        let built = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
        let verifier = built.build().map_err(|error| wrong(format!("ssl.truststore: {error}")))?;
        let built =
            ClientConfig::builder_with_provider(provider).with_protocol_versions(rustls::ALL_VERSIONS);
        let built = built.map_err(|error| wrong(error.to_string()))?;
        let config = built.with_root_certificates(RootCertStore::empty()).with_no_client_auth();
        Ok(Self { config, verifier, identity: None })
    }

    /// Shakes hands with the broker called `host`. What it showed is in the second part in any case.
    pub async fn handshake(
        &self,
        stream: Box<dyn Stream>,
        host: &str,
    ) -> (Result<TlsStream<Heard>, std::io::Error>, TlsInfo) {
        let observer = Arc::new(Observer {
            verifier: Arc::clone(&self.verifier),
            identity: self.identity.clone(),
            seen: Mutex::new(TlsInfo {
                client_certificate_configured: self.identity.is_some(),
                ..TlsInfo::default()
            }),
        });
        let name = match ServerName::try_from(host.to_owned()) {
            Ok(name) => name,
            Err(_) => {
                let words = format!("{host:?} cannot be the name in a certificate");
                let error = std::io::Error::new(std::io::ErrorKind::InvalidInput, words);
                return (Err(error), TlsInfo::default());
            }
        };
        let mut config = self.config.clone();
        config.dangerous().set_certificate_verifier(Arc::clone(&observer) as _);
        config.client_auth_cert_resolver = Arc::clone(&observer) as _;
        let connecting = TlsConnector::from(Arc::new(config)).connect(name, Heard::new(stream));
        let connected = connecting.into_fallible().await;
        let mut info = observer.seen.lock().clone();
        if let Ok(stream) = &connected {
            let (_, session) = stream.get_ref();
            info.version =
                session.protocol_version().and_then(|v| v.as_str()).map(|v| v.replace("TLSv1_", "TLSv1."));
            info.cipher = session
                .negotiated_cipher_suite()
                .and_then(|suite| suite.suite().as_str())
                .map(|name| name.replacen("TLS13_", "TLS_", 1));
            // A resumed session shows no certificate again, but knows it.
            if info.peer.is_none() {
                let chain = session.peer_certificates().unwrap_or_default();
                info.peer = chain.first().and_then(|own| PeerCertificate::from_der(own));
            }
        }
        let connected = connected.map_err(|(error, stream)| {
            info.heard = stream.first().to_vec();
            error
        });
        (connected, info)
    }
}

fn versions(config: &Config) -> Result<Vec<&'static rustls::SupportedProtocolVersion>> {
    let known = |name: &String| match name.as_str() {
        "TLSv1.2" => Ok(&rustls::version::TLS12),
        "TLSv1.3" => Ok(&rustls::version::TLS13),
        _ => Err(wrong(format!("ssl.enabled.protocols={name}: expected TLSv1.2, TLSv1.3 or both"))),
    };
    config.ssl_enabled_protocols.iter().map(known).collect()
}

/// Who checks the broker's certificate.
fn verifier(config: &Config, provider: &Arc<CryptoProvider>) -> Result<Arc<dyn ServerCertVerifier>> {
    let built = WebPkiServerVerifier::builder_with_provider(Arc::new(roots(config)?), Arc::clone(provider));
    let strict = built.build().map_err(|error| wrong(format!("ssl.truststore: {error}")))?;
    match config.ssl_endpoint_identification_algorithm.to_ascii_lowercase().as_str() {
        "https" => Ok(strict),
        "" => Ok(Arc::new(AnyName(strict))),
        other => {
            let key = "ssl.endpoint.identification.algorithm";
            Err(wrong(format!("{key}={other:?}: expected https, or nothing to accept any name")))
        }
    }
}

/// The authorities that are trusted: the configured ones, or else the system's.
pub(super) fn roots(config: &Config) -> Result<RootCertStore> {
    pem::check_type("ssl.truststore.type", &config.ssl_truststore_type)?;
    if !config.ssl_truststore_password.is_empty() {
        return Err(wrong("ssl.truststore.password: a PEM trust store has no password; leave it out"));
    }
    let (location, text) = (&config.ssl_truststore_location, &config.ssl_truststore_certificates);
    let (key, certificates) = match (location.is_empty(), text.is_empty()) {
        (true, true) => return system_roots(),
        (false, true) => {
            let key = "ssl.truststore.location";
            (key, pem::certificates(key, &pem::read_file(key, location)?)?)
        }
        (true, false) => {
            let key = "ssl.truststore.certificates";
            (key, pem::certificates(key, text)?)
        }
        (false, false) => {
            return Err(wrong(
                "ssl.truststore.location and ssl.truststore.certificates are both given: choose one",
            ));
        }
    };
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        roots
            .add(certificate)
            .map_err(|error| wrong(format!("{key}: a certificate cannot be used: {error}")))?;
    }
    Ok(roots)
}

fn system_roots() -> Result<RootCertStore> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    // Systems carry odd certificates that others do without.
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        let why = found.errors.first().map(|error| format!(" ({error})")).unwrap_or_default();
        return Err(wrong(format!(
            "this system has no trusted certificates{why}: install ca-certificates or name a PEM file in ssl.truststore.location"
        )));
    }
    Ok(roots)
}

/// This client's own certificate and key, if there are any.
fn identity(config: &Config, provider: &Arc<CryptoProvider>) -> Result<Option<CertifiedKey>> {
    pem::check_type("ssl.keystore.type", &config.ssl_keystore_type)?;
    if !config.ssl_keystore_password.is_empty() {
        return Err(wrong(
            "ssl.keystore.password: a PEM key store has none; the key's password is ssl.key.password",
        ));
    }
    let (location, chain) = (&config.ssl_keystore_location, &config.ssl_keystore_certificate_chain);
    let key = &config.ssl_keystore_key;
    let password = &config.ssl_key_password;
    let (chain, key) = match (location.is_empty(), chain.is_empty(), key.is_empty()) {
        (true, true, true) => return Ok(None),
        (false, true, true) => {
            let name = "ssl.keystore.location";
            let text = pem::read_file(name, location)?;
            (pem::certificates(name, &text)?, pem::private_key(name, &text, password)?)
        }
        (true, false, false) => (
            pem::certificates("ssl.keystore.certificate.chain", chain)?,
            pem::private_key("ssl.keystore.key", key.expose(), password)?,
        ),
        (false, ..) => {
            return Err(wrong(
                "ssl.keystore.location excludes ssl.keystore.certificate.chain and ssl.keystore.key: choose one",
            ));
        }
        (true, ..) => {
            return Err(wrong(
                "ssl.keystore.certificate.chain and ssl.keystore.key belong together: one of them is missing",
            ));
        }
    };
    let made = CertifiedKey::from_der(chain, key, provider);
    made.map(Some)
        .map_err(|error| wrong(format!("ssl.keystore: the key or its certificate cannot be used: {error}")))
}

/// Sees what both sides show, and leaves the judgement to others.
#[derive(Debug)]
struct Observer {
    verifier: Arc<dyn ServerCertVerifier>,
    identity: Option<Arc<CertifiedKey>>,
    seen: Mutex<TlsInfo>,
}

impl ServerCertVerifier for Observer {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.seen.lock().peer = PeerCertificate::from_der(end_entity);
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

impl ResolvesClientCert for Observer {
    fn resolve(&self, _hints: &[&[u8]], schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.seen.lock().client_certificate_requested = true;
        let identity = self.identity.as_ref()?;
        identity.key.choose_scheme(schemes).map(|_| Arc::clone(identity))
    }

    fn has_certs(&self) -> bool {
        self.identity.is_some()
    }
}

/// Checks everything but the name.
#[derive(Debug)]
struct AnyName(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        use CertificateError as E;
        // The name is what is checked last, so everything else was found to be in order.
        match self.0.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(rustls::Error::InvalidCertificate(E::NotValidForName | E::NotValidForNameContext { .. })) => {
                Ok(ServerCertVerified::assertion())
            }
            judged => judged,
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

/// A time as people write it, in UTC: `2026-11-21 03:00`.
pub(super) fn shown_time(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    match x509_cert::der::DateTime::from_unix_duration(since) {
        Ok(at) => format!(
            "{:04}-{:02}-{:02} {:02}:{:02} UTC",
            at.year(),
            at.month(),
            at.day(),
            at.hour(),
            at.minutes()
        ),
        Err(_) => "another age".to_owned(),
    }
}
