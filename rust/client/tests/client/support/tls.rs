//! Certificate authorities, TLS in front of a mock broker, and clients that connect to it.

use std::net::SocketAddr;
use std::sync::Arc;

use ottla_client::Endpoint;
use ottla_client::Error;
use ottla_client::connection::{Settings, connect};
use ottla_mock::{MockCluster, MockConfig, SaslConfig};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{self, RootCertStore, ServerConfig};

use crate::support::*;

/// A certificate authority.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    /// Issues a certificate for `names`, with its key.
    pub(crate) fn issue(
        &self,
        names: &[&str],
        change: impl FnOnce(&mut CertificateParams),
    ) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        (self.issue_for(&key, names, change), key.serialize_pem())
    }

    pub(crate) fn issue_for(
        &self,
        key: &KeyPair,
        names: &[&str],
        change: impl FnOnce(&mut CertificateParams),
    ) -> String {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.distinguished_name.push(DnType::CommonName, "test broker");
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(2100, 1, 1);
        change(&mut params);
        params.signed_by(key, &self.0).unwrap().pem()
    }
}

/// The TLS settings of a server.
pub(crate) struct Terms {
    pub(crate) identity: (String, String),
    /// The authority that must have issued client certificates.
    pub(crate) clients: Option<String>,
    pub(crate) versions: &'static [&'static rustls::SupportedProtocolVersion],
}

impl Terms {
    pub(crate) fn new(identity: (String, String)) -> Self {
        Self { identity, clients: None, versions: rustls::ALL_VERSIONS }
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        use rustls::pki_types::pem::PemObject;
        use rustls::pki_types::{CertificateDer, PrivateKeyDer};
        let certificates = |pem: &str| -> Vec<CertificateDer<'static>> {
            CertificateDer::pem_slice_iter(pem.as_bytes()).map(Result::unwrap).collect()
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_protocol_versions(self.versions).unwrap();
        let builder = match &self.clients {
            None => builder.with_no_client_auth(),
            Some(pem) => {
                let mut roots = RootCertStore::empty();
                roots.add_parsable_certificates(certificates(pem));
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                builder.with_client_cert_verifier(verifier.build().unwrap())
            }
        };
        let (chain, key) = &self.identity;
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
        TlsAcceptor::from(Arc::new(builder.with_single_cert(certificates(chain), key).unwrap()))
    }
}

/// Terminates TLS in front of a broker.
pub(crate) async fn terminate(terms: Terms, broker: SocketAddr) -> SocketAddr {
    let acceptor = terms.acceptor();
    tcp_server(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            let Ok(mut tls) = acceptor.accept(stream).await else { return };
            let mut plain = TcpStream::connect(broker).await.unwrap();
            // Either side may end it.
            let _ = tokio::io::copy_bidirectional(&mut tls, &mut plain).await;
        }
    })
    .await
}

pub(crate) async fn broker(sasl: Option<SaslConfig>) -> (MockCluster, SocketAddr) {
    let cluster = MockCluster::start(MockConfig { brokers: 1, sasl, ..Default::default() }).await.unwrap();
    let address = cluster.brokers()[0].address;
    (cluster, address)
}

/// The settings of a TLS connection.
pub(crate) fn settings(address: SocketAddr, pairs: &[(&str, &str)]) -> Result<Settings, Error> {
    let all = [("security.protocol", "SSL"), ("socket.connection.setup.timeout.ms", "5000")];
    let all: Vec<_> = all.iter().chain(pairs).copied().collect();
    Settings::try_from(&config(&address.to_string(), &all))
}

/// Connects to `localhost` at the port of `address`.
pub(crate) async fn connect_with(settings: &Settings, address: SocketAddr) -> Result<(), Error> {
    let endpoint = Endpoint { host: "localhost".to_owned(), port: address.port() };
    let network = Arc::new(NamedNetwork::default());
    network.names.lock().insert("localhost".to_owned(), vec![address]);
    within_deadline(connect(&endpoint, settings, &environment(&network, 1), None)).await.map(drop)
}

/// Connects once with these settings.
pub(crate) async fn try_connect(address: SocketAddr, pairs: &[(&str, &str)]) -> Result<(), Error> {
    connect_with(&settings(address, pairs)?, address).await
}
