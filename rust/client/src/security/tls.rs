//! TLS: the configuration, rebuilt when its files change, and the handshake of each connection.
//!
//! Invariants: the broker's certificate is always verified against trusted authorities, and against
//! the host name unless that is turned off; SNI is the configured host. What the peer showed is kept
//! even if the handshake fails, so that the error can name it.

use std::sync::Arc;

use parking_lot::Mutex;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::ServerName;
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, RootCertStore};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::cert_verifier::{AnyHostnameVerifier, HandshakeRecorder};
use super::config_error;
use super::first_bytes::FirstBytes;
use super::peer::PeerCertificate;
use super::reload::FileBacked;
use super::stores::{TOKEN_ENDPOINT_STORE, identity, roots, token_endpoint_roots};
use super::tls_info::TlsInfo;
use crate::config::Config;
use crate::environment::Stream;
use crate::environment::read_observer::ObservedStream;
use crate::error::Result;
use crate::ip_zone::without_zone;

/// A client's TLS configuration, as of the current contents of its files.
#[derive(Debug)]
pub struct Tls(FileBacked<TlsMaterial>);

/// The input of a handshake.
struct TlsMaterial {
    config: ClientConfig,
    verifier: Arc<dyn ServerCertVerifier>,
    identity: Option<Arc<CertifiedKey>>,
}

impl Tls {
    /// Reads the configuration for brokers, and the files that it names.
    pub fn from_config(config: &Config) -> Result<Self> {
        let files = [
            &config.ssl_truststore_location,
            &config.ssl_keystore_location,
            &config.ssl_certificate_location,
            &config.ssl_key_location,
        ];
        Self::new(&files, config, TlsMaterial::for_brokers)
    }

    /// Reads the configuration for a token endpoint: its own trust store, or else the system's
    /// authorities, without a client certificate. The brokers' authorities are not used, because the
    /// endpoint receives the client's secret.
    pub(super) fn for_token_endpoint(config: &Config) -> Result<Self> {
        let location = &config.sasl_oauthbearer_token_endpoint_ssl_truststore_location;
        Self::new(&[location], config, TlsMaterial::for_token_endpoint)
    }

    fn new(files: &[&String], config: &Config, build: fn(&Config) -> Result<TlsMaterial>) -> Result<Self> {
        let files = files.iter().filter(|file| !file.is_empty()).map(|file| (*file).clone()).collect();
        let config = config.clone();
        FileBacked::new(files, move || build(&config)).map(Self)
    }

    /// Performs the handshake with the broker `host`. The second part of the result is what the peer
    /// showed, even if the handshake failed.
    pub async fn handshake(
        &self,
        stream: Box<dyn Stream>,
        host: &str,
    ) -> (Result<TlsStream<ObservedStream<FirstBytes>>, std::io::Error>, TlsInfo) {
        let material = self.0.current().await;
        let recorder = Arc::new(HandshakeRecorder {
            verifier: Arc::clone(&material.verifier),
            identity: material.identity.clone(),
            info: Mutex::new(TlsInfo {
                client_certificate_configured: material.identity.is_some(),
                ..TlsInfo::default()
            }),
        });
        let name = match ServerName::try_from(without_zone(host).to_owned()) {
            Ok(name) => name,
            Err(_) => {
                let message = format!("{host:?} is neither a valid host name nor an IP address");
                let error = std::io::Error::new(std::io::ErrorKind::InvalidInput, message);
                return (Err(error), TlsInfo::default());
            }
        };
        let mut config = material.config.clone();
        config.dangerous().set_certificate_verifier(Arc::clone(&recorder) as _);
        config.client_auth_cert_resolver = Arc::clone(&recorder) as _;
        let connecting = TlsConnector::from(Arc::new(config))
            .connect(name, ObservedStream::new(stream, FirstBytes::default()));
        let connected = connecting.into_fallible().await;
        let mut info = recorder.info.lock().clone();
        if let Ok(stream) = &connected {
            let (_, session) = stream.get_ref();
            info.version =
                session.protocol_version().and_then(|v| v.as_str()).map(|v| v.replace("TLSv1_", "TLSv1."));
            info.cipher = session
                .negotiated_cipher_suite()
                .and_then(|suite| suite.suite().as_str())
                .map(|name| name.replacen("TLS13_", "TLS_", 1));
            // A resumed session does not present the certificate again, but remembers it.
            if info.peer.is_none() {
                let chain = session.peer_certificates().unwrap_or_default();
                info.peer = chain.first().and_then(|certificate| PeerCertificate::from_der(certificate));
            }
        }
        let connected = connected.map_err(|(error, stream)| {
            info.first_bytes = stream.observer.as_slice().to_vec();
            error
        });
        (connected, info)
    }
}

impl TlsMaterial {
    fn for_brokers(config: &Config) -> Result<Self> {
        let provider = Arc::new(ring::default_provider());
        let verifier = verifier(config, &provider)?;
        let identity = identity(config, &provider)?.map(Arc::new);
        let built = ClientConfig::builder_with_provider(provider).with_protocol_versions(&versions(config)?);
        let built = built.map_err(|error| config_error(format!("ssl.enabled.protocols: {error}")))?;
        // Placeholders: each connection sets its own recorder for both.
        let config = built.with_root_certificates(RootCertStore::empty()).with_no_client_auth();
        Ok(Self { config, verifier, identity })
    }

    fn for_token_endpoint(config: &Config) -> Result<Self> {
        let provider = Arc::new(ring::default_provider());
        let roots = token_endpoint_roots(config)?;
        let built = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
        let verifier =
            built.build().map_err(|error| config_error(format!("{TOKEN_ENDPOINT_STORE}: {error}")))?;
        let built =
            ClientConfig::builder_with_provider(provider).with_protocol_versions(rustls::ALL_VERSIONS);
        let built = built.map_err(|error| config_error(error.to_string()))?;
        let config = built.with_root_certificates(RootCertStore::empty()).with_no_client_auth();
        Ok(Self { config, verifier, identity: None })
    }
}

pub(super) fn versions(config: &Config) -> Result<Vec<&'static rustls::SupportedProtocolVersion>> {
    let known = |name: &String| match name.as_str() {
        "TLSv1.2" => Ok(&rustls::version::TLS12),
        "TLSv1.3" => Ok(&rustls::version::TLS13),
        _ => Err(config_error(format!("ssl.enabled.protocols={name}: expected TLSv1.2, TLSv1.3 or both"))),
    };
    config.ssl_enabled_protocols.iter().map(known).collect()
}

/// The verifier of the broker's certificate.
fn verifier(config: &Config, provider: &Arc<CryptoProvider>) -> Result<Arc<dyn ServerCertVerifier>> {
    let built = WebPkiServerVerifier::builder_with_provider(Arc::new(roots(config)?), Arc::clone(provider));
    let strict = built.build().map_err(|error| config_error(format!("ssl.truststore: {error}")))?;
    match config.ssl_endpoint_identification_algorithm.to_ascii_lowercase().as_str() {
        "https" => Ok(strict),
        "" => Ok(Arc::new(AnyHostnameVerifier(strict))),
        other => {
            let key = "ssl.endpoint.identification.algorithm";
            Err(config_error(format!(
                "{key}={other:?}: expected https, or an empty value to accept any name"
            )))
        }
    }
}
