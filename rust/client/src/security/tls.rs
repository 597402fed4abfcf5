//! TLS: the configuration, made anew when its files have changed, and the handshake on each connection.
//!
//! Invariants: the broker's certificate is always checked against trusted authorities, and against
//! the host's name unless that was turned off; SNI is the host that was configured. What the peer
//! showed is kept even when the handshake fails, so that the error can name it.

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

use super::peer::PeerCertificate;
use super::reload::FromFiles;
use super::stores::{TOKEN_ENDPOINT_STORE, identity, roots, token_endpoint_roots};
use crate::config::Config;
use crate::environment::Stream;
use crate::environment::read_observer::ObservedStream;
use crate::error::{Error, Kind, Result};
use crate::security::cert_verifier::{AnyName, Observer};
use crate::security::first_bytes::Heard;

/// How a client shakes hands: with what its files say at the time.
#[derive(Debug)]
pub struct Tls(FromFiles<Stores>);

/// What a handshake needs.
struct Stores {
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

fn wrong(message: impl Into<String>) -> Error {
    Error::new(Kind::Config, message)
}

impl Tls {
    /// Reads what the configuration names.
    pub fn from_config(config: &Config) -> Result<Self> {
        let files = [
            &config.ssl_truststore_location,
            &config.ssl_keystore_location,
            &config.ssl_certificate_location,
            &config.ssl_key_location,
        ];
        Self::new(&files, config, Stores::for_brokers)
    }

    /// For a token endpoint: its own trust store, or else the system's authorities, and no certificate of
    /// ours. Authorities of brokers are not those of a token endpoint, which gets the client's secret.
    pub(super) fn for_token_endpoint(config: &Config) -> Result<Self> {
        let location = &config.sasl_oauthbearer_token_endpoint_ssl_truststore_location;
        Self::new(&[location], config, Stores::for_token_endpoint)
    }

    fn new(files: &[&String], config: &Config, make: fn(&Config) -> Result<Stores>) -> Result<Self> {
        let files = files.iter().filter(|file| !file.is_empty()).map(|file| (*file).clone()).collect();
        let config = config.clone();
        FromFiles::new(files, move || make(&config)).map(Self)
    }

    /// Shakes hands with the broker called `host`. What it showed is in the second part in any case.
    pub async fn handshake(
        &self,
        stream: Box<dyn Stream>,
        host: &str,
    ) -> (Result<TlsStream<ObservedStream<Heard>>, std::io::Error>, TlsInfo) {
        let stores = self.0.current().await;
        let observer = Arc::new(Observer {
            verifier: Arc::clone(&stores.verifier),
            identity: stores.identity.clone(),
            seen: Mutex::new(TlsInfo {
                client_certificate_configured: stores.identity.is_some(),
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
        let mut config = stores.config.clone();
        config.dangerous().set_certificate_verifier(Arc::clone(&observer) as _);
        config.client_auth_cert_resolver = Arc::clone(&observer) as _;
        let connecting =
            TlsConnector::from(Arc::new(config)).connect(name, ObservedStream::new(stream, Heard::default()));
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
            info.heard = stream.observer.first().to_vec();
            error
        });
        (connected, info)
    }
}

impl Stores {
    fn for_brokers(config: &Config) -> Result<Self> {
        let provider = Arc::new(ring::default_provider());
        let verifier = verifier(config, &provider)?;
        let identity = identity(config, &provider)?.map(Arc::new);
        let built = ClientConfig::builder_with_provider(provider).with_protocol_versions(&versions(config)?);
        let built = built.map_err(|error| wrong(format!("ssl.enabled.protocols: {error}")))?;
        // Each connection gets an observer in the place of both.
        let config = built.with_root_certificates(RootCertStore::empty()).with_no_client_auth();
        Ok(Self { config, verifier, identity })
    }

    fn for_token_endpoint(config: &Config) -> Result<Self> {
        let provider = Arc::new(ring::default_provider());
        let roots = token_endpoint_roots(config)?;
        let built = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
        let verifier = built.build().map_err(|error| wrong(format!("{TOKEN_ENDPOINT_STORE}: {error}")))?;
        let built =
            ClientConfig::builder_with_provider(provider).with_protocol_versions(rustls::ALL_VERSIONS);
        let built = built.map_err(|error| wrong(error.to_string()))?;
        let config = built.with_root_certificates(RootCertStore::empty()).with_no_client_auth();
        Ok(Self { config, verifier, identity: None })
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
