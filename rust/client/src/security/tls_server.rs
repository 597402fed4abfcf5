//! TLS as a server, for connections that clients open: the configuration, rebuilt when its files change, and the
//! handshake.
//!
//! Invariant: a client's certificate is always verified where one is required. What a client has sent is never in an
//! error, apart from its server name and the subject of its verified certificate.

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::sign::SingleCertAndKey;
use tokio_rustls::TlsAcceptor;

use super::config_error;
use super::peer::PeerCertificate;
use super::reload::FileBacked;
use super::stores::{identity, roots};
use super::tls::versions;
use crate::config::Config;
use crate::environment::Stream;
use crate::error::Result;

/// A server's TLS configuration, as of the current contents of its files.
#[derive(Debug)]
pub struct TlsServer(FileBacked<ServerConfig>);

/// A connection after the handshake.
pub struct AcceptedStream {
    /// The stream.
    pub stream: Box<dyn Stream>,
    /// The server name that the client asked for (SNI), in lower case.
    pub server_name: Option<String>,
    /// The client's certificate, if one is required.
    pub certificate: Option<PeerCertificate>,
}

impl std::fmt::Debug for AcceptedStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AcceptedStream").field("server_name", &self.server_name).finish_non_exhaustive()
    }
}

impl TlsServer {
    /// Reads the server's certificate and key from the keys `ssl.keystore.*` of a configuration. With `client_auth`
    /// clients must have a certificate of the authorities in `ssl.truststore.*`.
    ///
    /// # Errors
    /// If a file cannot be used, or no certificate is configured.
    pub fn from_config(config: &Config, client_auth: bool) -> Result<Self> {
        let mut files =
            vec![&config.ssl_keystore_location, &config.ssl_certificate_location, &config.ssl_key_location];
        if client_auth {
            files.push(&config.ssl_truststore_location);
        }
        let files = files.into_iter().filter(|file| !file.is_empty()).cloned().collect();
        let config = config.clone();
        FileBacked::new(files, move || build(&config, client_auth)).map(Self)
    }

    /// Performs the handshake. The caller limits its time.
    pub async fn accept(&self, stream: Box<dyn Stream>) -> std::io::Result<AcceptedStream> {
        let config = self.0.current().await;
        let stream = TlsAcceptor::from(config).accept(stream).await?;
        let (_, session) = stream.get_ref();
        let server_name = session.server_name().map(str::to_ascii_lowercase);
        let chain = session.peer_certificates().unwrap_or_default();
        let certificate = chain.first().and_then(|certificate| PeerCertificate::from_der(certificate));
        Ok(AcceptedStream { stream: Box::new(stream), server_name, certificate })
    }
}

fn build(config: &Config, client_auth: bool) -> Result<ServerConfig> {
    let provider = Arc::new(ring::default_provider());
    let Some(identity) = identity(config, &provider)? else {
        return Err(config_error(
            "a server of TLS needs a certificate and its key: set ssl.certificate.location and ssl.key.location",
        ));
    };
    let built = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&versions(config)?)
        .map_err(|error| config_error(format!("ssl.enabled.protocols: {error}")))?;
    let built = match client_auth {
        true => {
            let roots = Arc::new(roots(config)?);
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider).build();
            built.with_client_cert_verifier(
                verifier.map_err(|error| config_error(format!("ssl.truststore: {error}")))?,
            )
        }
        false => built.with_no_client_auth(),
    };
    let mut built = built.with_cert_resolver(Arc::new(SingleCertAndKey::from(identity)));
    // Tickets resume sessions without memory here.
    built.session_storage = Arc::new(NoServerSessionStorage {});
    built.ticketer = ring::Ticketer::new().map_err(|_| config_error("no random numbers for TLS"))?;
    Ok(built)
}
