//! Proves: with one port for all brokers, the server name of TLS leads each connection to the broker that the client
//! named, and a certificate that changes is used for new connections.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ottla_client::config::Value;
use ottla_client::environment::{BoxFuture, Environment, Network, SocketOptions, Stream, SystemNetwork};
use ottla_client::producer::{Producer, Record};
use ottla_client::{Client, Config};
use ottla_gateway::addresses::Routing;
use ottla_gateway::{Gateway, GatewayConfig, GatewayError, TlsConfig};
use ottla_protocol::ApiKey;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use crate::support::*;

/// A network in which all names are loopback's.
#[derive(Debug, Default)]
struct Loopback(SystemNetwork);

impl Network for Loopback {
    fn resolve<'a>(&'a self, _: &'a str, port: u16) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
        Box::pin(async move { Ok(vec![SocketAddr::from(([127, 0, 0, 1], port))]) })
    }

    fn connect(
        &self,
        address: SocketAddr,
        options: SocketOptions,
    ) -> BoxFuture<'_, io::Result<Box<dyn Stream>>> {
        self.0.connect(address, options)
    }
}

fn names(servers: &str, files: Option<Config>) -> GatewayConfig {
    let pattern = "broker-{id}.gw.example.com".to_owned();
    GatewayConfig {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        advertised_host: "gw.example.com".to_owned(),
        routing: Routing::ServerName { pattern },
        tls: files.map(|files| TlsConfig { files, client_auth: false }),
        ..gateway_config(servers)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_name_leads_to_its_broker() {
    let cluster = cluster().await;
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let hosts = ["*.gw.example.com", "gw.example.com"].map(str::to_owned);
    let certificate = CertificateParams::new(hosts).unwrap().signed_by(&key, &authority).unwrap();
    let files = config(
        "none:1",
        &[("ssl.keystore.certificate.chain", &certificate.pem()), ("ssl.keystore.key", &key.serialize_pem())],
    );
    let started = Gateway::start(names(&cluster.bootstrap(), Some(files)), Environment::default());
    let gateway = started.await.expect("a gateway");
    let port = gateway.address().port();
    let network = Arc::new(Loopback::default()) as Arc<dyn Network>;
    let pairs = [
        ("bootstrap.servers", format!("gw.example.com:{port}")),
        ("security.protocol", "SSL".to_owned()),
        ("ssl.truststore.certificates", authority.pem()),
    ];
    let pairs = pairs.iter().map(|(key, value)| (*key, Value::from(value.as_str())));
    let connecting = Client::connect(
        Config::from_pairs(pairs).unwrap(),
        Environment::new(network, fastrand::Rng::new()),
        Duration::from_secs(15),
    );
    let producer = Producer::new(within_deadline(connecting).await.expect("a client")).expect("a producer");
    for partition in 0..6 {
        let record = Record { timestamp: 1000, key: None, value: Some(b"v"), headers: &[] };
        let delivery = producer.send("t", Some(partition), &record).await.expect("accepted");
        within_deadline(delivery.wait()).await.expect("written");
    }
    for broker in 1..=3 {
        assert_eq!(cluster.request_count(Some(broker), ApiKey::Produce), 2, "{broker}");
        assert_eq!(gateway.brokers()[&broker].to_string(), format!("broker-{broker}.gw.example.com:{port}"));
    }
    let mut named: Vec<_> = gateway.sessions().iter().map(|session| session.broker).collect();
    named.sort_unstable();
    assert!(named.ends_with(&[Some(1), Some(2), Some(3)]), "{named:?}");
}

#[tokio::test]
async fn server_names_need_tls() {
    let started = Gateway::start(names("none:1", None), Environment::default()).await;
    assert!(matches!(started, Err(GatewayError::ServerNameWithoutTls)));
}
