//! Proves: TLS 1.2 and 1.3 work with authorities from a file or text, with and without a client
//! certificate (its key encrypted or not); every invalid certificate is rejected with cause and fix; a
//! listener that speaks another protocol is recognised; nothing falls back to plaintext.

use std::time::SystemTime;

use crate::support::tls::*;
use crate::support::*;
use ottla_client::Endpoint;
use ottla_client::config::Value;
use ottla_client::connection::Settings;
use ottla_client::connection::setup::ConnectionSetup;
use ottla_client::error::Phase;
use ottla_client::{Client, Config, Error, Kind};
use ottla_mock::SaslConfig;
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::rustls;

/// A throwaway key, plain and encrypted with the password `hunter2` (PBES2, AES-256-CBC).
const KEY: &str = "-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg1+6w+qrZeFls5jBp
pt01LTzx0iaFO/yCWuuM7tdSJHqhRANCAAT6sM4QNbqdeK9T8KYdON9IUvK0NYsw
+2QUCvQ2C8pcQ5AS2BUc6pko7CND8b/RfD/AKToLg1Oo/h8sUu5kwz46
-----END PRIVATE KEY-----
";
const ENCRYPTED_KEY: &str = "-----BEGIN ENCRYPTED PRIVATE KEY-----
MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAjvIW1/0B6X4QICCAAw
DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEBWKMzW4ED4bOa4hbFmfMHUEgZCU
8DlYNXyiNFhs8NNFRbB08WjbJ7RF17RxRjXuCzyesXcNMuY8OMtzKOI30sCERMlB
aLsB2soOnyZ6VviUVG7vxlSOiCGriGKNPF7mbxcO5hQ2pGGPIFIpU4sYf2OxvmDQ
1+UHo1IqvJVqbB940i/Q8RiFta0QlKPyaX3VMQY4eBvNCWnpHiZ6Lkbd6oISaXo=
-----END ENCRYPTED PRIVATE KEY-----
";

async fn rejection(terms: Terms, pairs: &[(&str, &str)]) -> Error {
    let (_cluster, address) = broker(None).await;
    let error = try_connect(terminate(terms, address).await, pairs).await.expect_err("rejected");
    assert_eq!(error.context().phase, Some(Phase::Tls), "{error}");
    error
}

#[tokio::test]
async fn both_versions_with_authorities_from_a_file_and_from_text() {
    let (_cluster, address) = broker(None).await;
    let authority = Authority::new("authority");
    let pem = authority.pem();
    let file = std::env::temp_dir().join(format!("ottla-ca-{}.pem", std::process::id()));
    std::fs::write(&file, &pem).unwrap();
    let by_file = ("ssl.truststore.location", file.to_str().unwrap());
    let by_text = ("ssl.truststore.certificates", pem.as_str());
    for (versions, expected) in
        [(&[&rustls::version::TLS12][..], "TLSv1.2"), (&[&rustls::version::TLS13][..], "TLSv1.3")]
    {
        let terms = Terms {
            versions: Box::leak(versions.into()),
            ..Terms::new(authority.issue(&["localhost", "127.0.0.1"], |_| {}))
        };
        let server = terminate(terms, address).await;
        try_connect(server, &[by_file]).await.expect(expected);
        try_connect(server, &[by_text]).await.expect(expected);
        try_connect(server, &[by_text, ("ssl.enabled.protocols", expected)]).await.expect(expected);
        let other = if expected == "TLSv1.2" { "TLSv1.3" } else { "TLSv1.2" };
        let error = try_connect(server, &[by_text, ("ssl.enabled.protocols", other)]).await.expect_err(other);
        assert!(error.message().contains("ssl.enabled.protocols"), "{error}");

        // The facts that the doctor shows; connected by address this time.
        let pairs = [("security.protocol", "SSL"), by_text];
        let settings = Settings::try_from(&config(&server.to_string(), &pairs)).unwrap();
        let endpoint = Endpoint { host: server.ip().to_string(), port: server.port() };
        let mut opening =
            within_deadline(ConnectionSetup::tcp(&endpoint, server, &settings, &Default::default()))
                .await
                .unwrap();
        within_deadline(opening.tls()).await.unwrap();
        assert!(within_deadline(opening.api_versions()).await.unwrap().len() > 10);
        assert_eq!(within_deadline(opening.sasl()).await.unwrap(), None);
        let info = opening.tls_info().unwrap();
        assert_eq!(info.version.as_deref(), Some(expected));
        assert!(info.cipher.as_ref().unwrap().starts_with("TLS_"), "{info:?}");
        let peer = info.peer.as_ref().unwrap();
        assert_eq!(peer.names, ["localhost", "127.0.0.1"]);
        assert!(peer.subject.contains("test broker") && peer.issuer.contains("authority"), "{peer:?}");
        assert!(peer.not_before < SystemTime::now() && peer.not_after > SystemTime::now());
        assert!(!info.client_certificate_requested);
    }
    std::fs::remove_file(file).unwrap();
}

#[tokio::test]
async fn an_invalid_certificate_is_rejected_with_its_cause() {
    let authority = Authority::new("right authority");
    let pem = authority.pem();
    let trust = [("ssl.truststore.certificates", pem.as_str())];
    let name_off = [trust[0], ("ssl.endpoint.identification.algorithm", "")];

    let expired = |params: &mut CertificateParams| params.not_after = rcgen::date_time_ymd(2021, 2, 3);
    for pairs in [&trust[..], &name_off] {
        let error = rejection(Terms::new(authority.issue(&["localhost"], expired)), pairs).await;
        assert_eq!((error.kind(), error.is_retriable()), (Kind::Authentication, false));
        assert!(error.message().contains("expired on 2021-02-03"), "{error}");
    }
    let future = |params: &mut CertificateParams| params.not_before = rcgen::date_time_ymd(2099, 2, 3);
    let error = rejection(Terms::new(authority.issue(&["localhost"], future)), &trust).await;
    assert!(error.message().contains("not valid before 2099-02-03"), "{error}");

    let error = rejection(Terms::new(authority.issue(&["kafka.example.com"], |_| {})), &trust).await;
    let message = error.message();
    assert!(message.contains("kafka.example.com") && message.contains("not for \"localhost\""), "{error}");
    // The common name does not count as a host name.
    let common =
        |params: &mut CertificateParams| params.distinguished_name.push(DnType::CommonName, "localhost");
    let error = rejection(Terms::new(authority.issue(&[], common)), &trust).await;
    assert!(error.message().contains("for no host name"), "{error}");

    let stranger = Authority::new("stranger");
    for pairs in [&trust[..], &name_off] {
        let error = rejection(Terms::new(stranger.issue(&["localhost"], |_| {})), pairs).await;
        let message = error.message();
        assert!(
            message.contains("\"CN=stranger\"") && message.contains("ssl.truststore.location"),
            "{error}"
        );
    }
    let for_clients = |params: &mut CertificateParams| {
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    };
    let error = rejection(Terms::new(authority.issue(&["localhost"], for_clients)), &trust).await;
    assert!(error.message().contains("serverAuth"), "{error}");
}

#[tokio::test]
async fn the_host_name_is_not_checked_if_that_is_turned_off() {
    let (_cluster, address) = broker(None).await;
    let authority = Authority::new("authority");
    let server = terminate(Terms::new(authority.issue(&["elsewhere"], |_| {})), address).await;
    let pem = authority.pem();
    let pairs =
        [("ssl.truststore.certificates", pem.as_str()), ("ssl.endpoint.identification.algorithm", "")];
    try_connect(server, &pairs).await.expect("any name");
}

#[tokio::test]
async fn a_client_certificate_is_presented_if_requested() {
    let (_cluster, address) = broker(None).await;
    let (servers, clients) = (Authority::new("servers"), Authority::new("clients"));
    let pem = servers.pem();
    let trust = ("ssl.truststore.certificates", pem.as_str());
    let chain = clients.issue_for(&KeyPair::from_pem(KEY).unwrap(), &[], |_| {});
    let file = std::env::temp_dir().join(format!("ottla-client-{}.pem", std::process::id()));
    std::fs::write(&file, format!("{ENCRYPTED_KEY}{chain}")).unwrap();
    for versions in [&[&rustls::version::TLS12][..], &[&rustls::version::TLS13][..]] {
        let requiring = || Terms {
            clients: Some(clients.pem()),
            versions: Box::leak(versions.into()),
            ..Terms::new(servers.issue(&["localhost"], |_| {}))
        };
        let server = terminate(requiring(), address).await;
        let by_text = [trust, ("ssl.keystore.certificate.chain", &chain), ("ssl.keystore.key", KEY)];
        try_connect(server, &by_text).await.expect("a certificate");
        let password = ("ssl.key.password", "hunter2");
        let encrypted = [
            trust,
            ("ssl.keystore.certificate.chain", &chain),
            ("ssl.keystore.key", ENCRYPTED_KEY),
            password,
        ];
        try_connect(server, &encrypted).await.expect("an encrypted key");
        let by_file = [trust, ("ssl.keystore.location", file.to_str().unwrap()), password];
        try_connect(server, &by_file).await.expect("a file");
        let (crt, key) = (file.with_extension("crt"), file.with_extension("key"));
        std::fs::write(&crt, &chain).unwrap();
        std::fs::write(&key, ENCRYPTED_KEY).unwrap();
        let certificate = ("ssl.certificate.location", crt.to_str().unwrap());
        let by_files = [trust, certificate, ("ssl.key.location", key.to_str().unwrap()), password];
        try_connect(server, &by_files).await.expect("two files");
        for file in [crt, key] {
            std::fs::remove_file(file).unwrap();
        }

        let error = rejection(requiring(), &[trust]).await;
        assert_eq!(error.kind(), Kind::Authentication, "{error}");
        assert!(error.message().contains("requires a client certificate"), "{error}");

        let (other, key) = servers.issue(&[], |_| {});
        let wrong = [trust, ("ssl.keystore.certificate.chain", &other), ("ssl.keystore.key", &key)];
        let error = rejection(requiring(), &wrong).await;
        assert_eq!(error.kind(), Kind::Authentication, "{error}");
        assert!(error.message().contains("rejected this client's certificate"), "{error}");
    }
    std::fs::remove_file(file).unwrap();
}

#[tokio::test]
async fn a_port_that_speaks_another_protocol_is_recognised() {
    let (_cluster, address) = broker(None).await;
    let authority = Authority::new("authority");
    let pem = authority.pem();
    let trust = ("ssl.truststore.certificates", pem.as_str());
    // A broker reads TLS's first bytes as a length that is too large, and closes the connection.
    let error = try_connect(address, &[trust]).await.expect_err("plaintext");
    assert!(error.message().contains("security.protocol=PLAINTEXT"), "{error}");
    assert_eq!(error.context().phase, Some(Phase::Tls));
    let http = server_responding(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
    let error = try_connect(http, &[trust]).await.expect_err("HTTP");
    assert!(error.message().contains("HTTP"), "{error}");
    let silent = tcp_server(|stream| async move {
        let _open = stream;
        std::future::pending().await
    });
    let pairs = [trust, ("socket.connection.setup.timeout.ms", "300")];
    let error = try_connect(silent.await, &pairs).await.expect_err("silence");
    assert_eq!(error.context().phase, Some(Phase::Tls), "{error}");

    let tls = terminate(Terms::new(authority.issue(&["localhost"], |_| {})), address).await;
    let plaintext = [("security.protocol", "PLAINTEXT")];
    let error = try_connect(tls, &plaintext).await.expect_err("TLS");
    assert!(error.message().contains("TLS") && error.message().contains("security.protocol"), "{error}");
    // And one that closes the connection without an alert.
    let abrupt = tcp_server(|mut stream| async move {
        let _ = stream.read(&mut [0; 8]).await;
        let _ = stream.shutdown().await;
    });
    let error = try_connect(abrupt.await, &plaintext).await.expect_err("closed");
    assert!(error.message().contains("if this listener speaks TLS"), "{error}");
}

#[tokio::test]
async fn sasl_works_over_tls() {
    let users = [("ann".to_owned(), "secret".to_owned())].into();
    let (_cluster, address) = broker(Some(SaslConfig { users, ..Default::default() })).await;
    let authority = Authority::new("authority");
    let pem = authority.pem();
    let server = terminate(Terms::new(authority.issue(&["localhost"], |_| {})), address).await;
    let pairs = |password| {
        [
            ("ssl.truststore.certificates", pem.as_str()),
            ("security.protocol", "SASL_SSL"),
            ("sasl.mechanism", "SCRAM-SHA-512"),
            ("sasl.username", "ann"),
            ("sasl.password", password),
        ]
    };
    try_connect(server, &pairs("secret")).await.expect("authenticated");
    let error = try_connect(server, &pairs("wrong")).await.expect_err("wrong password");
    assert_eq!((error.kind(), error.context().phase), (Kind::Authentication, Some(Phase::Sasl)), "{error}");
}

fn config_error(pairs: &[(&str, &str)]) -> String {
    let all = [("bootstrap.servers", "localhost:9092"), ("security.protocol", "SSL")];
    let all = all.iter().chain(pairs).map(|(key, value)| (*key, Value::from(*value)));
    let made = Config::from_pairs(all).and_then(|config| Client::new(config, Default::default()));
    let error = made.expect_err("a wrong configuration");
    assert_eq!(error.kind(), Kind::Config, "{error}");
    let message = format!("{error} {error:?}");
    assert!(!message.contains("hunter2") && !message.contains("MIGHAgEAMBMG"), "{message}");
    message
}

#[test]
fn java_stores_are_rejected_with_the_command_that_converts_them() {
    const JKS: &[u8] = &[0xFE, 0xED, 0xFE, 0xED, 0, 0];
    const JCEKS: &[u8] = &[0xCE, 0xCE, 0xCE, 0xCE, 0, 0];
    assert!(
        config_error(&[("ssl.truststore.type", "JKS")]).contains("name the store in ssl.truststore.location")
    );
    for (bytes, what) in [(JKS, "a JKS"), (JCEKS, "a JCEKS")] {
        let file = std::env::temp_dir().join(format!("ottla's store {} {what}", std::process::id()));
        std::fs::write(&file, bytes).unwrap();
        let path = file.to_str().unwrap();
        let word = format!("'{}'", path.replace('\'', "'\\''"));
        for (store, to) in [("ssl.truststore", "truststore.p12"), ("ssl.keystore", "keystore.p12")] {
            let of = |name: &str| format!("{store}.{name}");
            let (location, password, ty) = (of("location"), of("password"), of("type"));
            let command = format!(
                "keytool -importkeystore -srckeystore {word} -destkeystore {to} -deststoretype PKCS12"
            );
            let location = (&*location, path);
            // Also with its password and type, as in Java's configurations.
            let (password, ty) = ((&*password, "hunter2"), (&*ty, "JKS"));
            for pairs in [&[location][..], &[location, password], &[location, password, ty], &[location, ty]]
            {
                let message = config_error(pairs);
                assert!(message.contains(what) && message.contains(&format!("`{command}`")), "{message}");
            }
        }
        std::fs::remove_file(file).unwrap();
    }
}

#[test]
fn unusable_stores_are_rejected_with_a_fix() {
    let authority = Authority::new("authority").pem();
    let chain = ("ssl.keystore.certificate.chain", authority.as_str());
    assert!(
        config_error(&[("ssl.truststore.location", "/nowhere.pem")])
            .contains("\"/nowhere.pem\" cannot be read")
    );
    assert!(config_error(&[("ssl.truststore.certificates", "nothing")]).contains("no certificate"));
    assert!(config_error(&[("ssl.truststore.password", "hunter2")]).contains("no password"));
    assert!(config_error(&[("ssl.keystore.key", KEY)]).contains("belong together"));
    assert!(config_error(&[chain, ("ssl.keystore.key", ENCRYPTED_KEY)]).contains("ssl.key.password"));
    let wrong_password = ("ssl.key.password", "hunter3");
    assert!(
        config_error(&[chain, ("ssl.keystore.key", ENCRYPTED_KEY), wrong_password])
            .contains("cannot be decrypted")
    );
    assert!(config_error(&[chain, ("ssl.keystore.key", "hunter2")]).contains("no private key"));
    assert!(
        config_error(&[chain, ("ssl.keystore.key", &KEY.replace("MIGHAgEAMBMG", "????"))])
            .contains("ssl.keystore")
    );
    let old = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n-----END RSA PRIVATE KEY-----";
    assert!(config_error(&[chain, ("ssl.keystore.key", old)]).contains("openssl pkcs8 -topk8"));
    assert!(
        config_error(&[chain, ("ssl.keystore.key", KEY)]).contains("ssl.keystore"),
        "the key of another certificate"
    );
    assert!(config_error(&[("ssl.enabled.protocols", "TLSv1.1")]).contains("TLSv1.2"));
    assert!(config_error(&[("ssl.enabled.protocols", "")]).contains("ssl.enabled.protocols"));
    assert!(config_error(&[("ssl.endpoint.identification.algorithm", "http")]).contains("https"));
    assert!(
        config_error(&[("ssl.ca.location", "/no/ca.pem")])
            .contains("ssl.truststore.location: \"/no/ca.pem\"")
    );
    assert!(
        config_error(&[("ssl.certificate.location", "/no/tls.crt")])
            .contains("ssl.key.location belong together")
    );
    let files = [("ssl.key.location", "/no/tls.key"), ("ssl.certificate.location", "/no/tls.crt")];
    assert!(config_error(&files).contains("ssl.certificate.location: \"/no/tls.crt\" cannot be read"));
    assert!(config_error(&[files[0], files[1], chain]).contains("choose one"));
}
