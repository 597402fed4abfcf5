//! Proves: PKCS#12 stores of keytool and openssl, old and new, give the key, its chain and the authorities; each
//! that cannot be used is an error that says why, without the password; a damaged one never panics.

use std::path::PathBuf;

use crate::support::tls::{Terms, broker, settings, terminate, try_connect};
use ottla_client::{Error, Kind};

const PASSWORD: &str = "hunter2";

fn path(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/pkcs12");
    folder.join(name).to_str().unwrap().to_owned()
}

fn text(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap()
}

/// A server that requires a certificate of the stores' authority.
fn terms() -> Terms {
    let mut terms = Terms::new((text("server.pem"), text("server.key")));
    terms.clients = Some(text("ca.pem"));
    terms
}

/// The error of a store: `ssl.truststore` or `ssl.keystore`.
fn error(store: &str, file: &str, pairs: &[(&str, &str)]) -> String {
    let keys: Vec<(String, &str)> =
        pairs.iter().map(|(key, value)| (format!("{store}.{key}"), *value)).collect();
    let location = format!("{store}.location");
    let mut all = vec![(&*location, file)];
    all.extend(keys.iter().map(|(key, value)| (&**key, *value)));
    let error: Error = settings("127.0.0.1:9".parse().unwrap(), &all).expect_err("unusable");
    assert_eq!(error.kind(), Kind::Config, "{error}");
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains(PASSWORD) && !shown.contains("hunter3"), "{shown}");
    error.message().to_owned()
}

#[tokio::test]
async fn key_stores_of_keytool_and_openssl_authenticate_a_client() {
    let (_cluster, address) = broker(None).await;
    let server = terminate(terms(), address).await;
    let ca = path("ca.pem");
    let trust = ("ssl.truststore.location", &*ca);
    try_connect(server, &[trust]).await.expect_err("it requires a certificate");
    for (name, password, store_type) in [
        ("openssl.p12", PASSWORD, "PKCS12"),
        ("openssl-legacy.p12", PASSWORD, "pkcs12"),
        ("plain.p12", "", "PKCS12"),
        ("keytool.p12", PASSWORD, "JKS"),
        // As for librdkafka, which has no key for the type.
        ("keytool-legacy.p12", PASSWORD, "PEM"),
    ] {
        let location = path(name);
        let pairs = [
            trust,
            ("ssl.keystore.location", &*location),
            ("ssl.keystore.password", password),
            ("ssl.keystore.type", store_type),
            ("ssl.key.password", password),
        ];
        try_connect(server, &pairs).await.expect(name);
    }
}

#[tokio::test]
async fn trust_stores_of_keytool_and_openssl_name_the_authorities() {
    let (_cluster, address) = broker(None).await;
    let terms = Terms::new((text("server.pem"), text("server.key")));
    let server = terminate(terms, address).await;
    try_connect(server, &[]).await.expect_err("the system does not know the authority");
    for name in ["keytool-trust.p12", "openssl-trust.p12"] {
        let location = path(name);
        let pairs = [("ssl.truststore.location", &*location), ("ssl.truststore.password", PASSWORD)];
        try_connect(server, &pairs).await.expect(name);
    }
}

#[test]
fn stores_that_cannot_be_used_say_why() {
    let right = ("password", PASSWORD);
    for (store, name, pairs, expected) in [
        (
            "ssl.keystore",
            "keytool.p12",
            &[("password", "hunter3")][..],
            "ssl.keystore.password is not its password",
        ),
        (
            "ssl.truststore",
            "openssl-trust.p12",
            &[("password", "hunter3")],
            "ssl.truststore.password is not its password",
        ),
        ("ssl.keystore", "keytool.p12", &[], "it is encrypted: set ssl.keystore.password"),
        (
            "ssl.keystore",
            "keytool-trust.p12",
            &[right],
            "no private key, only certificates: is it a trust store?",
        ),
        ("ssl.keystore", "two-keys.p12", &[right], "2 private keys (me, other), and none can be chosen"),
        ("ssl.keystore", "rc4.p12", &[right], "its encryption is not supported"),
        ("ssl.truststore", "ca.der", &[], "`openssl x509 -inform DER -in "),
        ("ssl.keystore", "ca.pem", &[("type", "PKCS12")], "if it is PEM, remove ssl.keystore.type"),
        ("ssl.keystore", "keytool.p12", &[("type", "BKS")], "expected PEM or PKCS12"),
        ("ssl.truststore", "keytool-trust.p12", &[right, ("certificates", "x")], "choose one"),
    ] {
        let message = error(store, &path(name), pairs);
        assert!(message.contains(expected), "{name}: {message}");
    }
    let location = path("keytool.p12");
    let pairs = [
        ("ssl.keystore.location", &*location),
        ("ssl.keystore.password", PASSWORD),
        ("ssl.key.password", "hunter3"),
    ];
    let error = settings("127.0.0.1:9".parse().unwrap(), &pairs).expect_err("another password");
    assert!(error.message().contains("has the store's password: remove this key"), "{error}");
    let pairs = [("ssl.certificate.location", &*location), ("ssl.key.location", &*location)];
    let error = settings("127.0.0.1:9".parse().unwrap(), &pairs).expect_err("not PEM");
    assert!(error.message().contains("only ssl.keystore.location and ssl.truststore.location"), "{error}");
}

#[test]
fn a_damaged_store_is_an_error_or_still_whole() {
    let file = std::env::temp_dir().join(format!("ottla damaged {}.p12", std::process::id()));
    // The system's authorities would take most of the time.
    let authority = path("ca.pem");
    let try_bytes = |bytes: &[u8]| {
        std::fs::write(&file, bytes).unwrap();
        let location = file.to_str().unwrap();
        for pairs in [
            &[("ssl.keystore.location", location), ("ssl.truststore.location", &authority)][..],
            &[("ssl.truststore.location", location)],
        ] {
            if let Err(error) = settings("127.0.0.1:9".parse().unwrap(), pairs) {
                assert_eq!(error.kind(), Kind::Config);
            }
        }
    };
    // Without a MAC, no check comes before the parsers.
    let whole = std::fs::read(path("plain.p12")).unwrap();
    for at in (0..whole.len()).step_by(3) {
        if at % 8 == 0 {
            try_bytes(&whole[..at]);
        }
        let mut damaged = whole.clone();
        damaged[at] ^= [0x01, 0x80, 0xff][at / 3 % 3];
        try_bytes(&damaged);
    }
    // Sequences in sequences, far deeper than a stack.
    let headers =
        (0..20_000_u32).rev().map(|inner| [&[0x30, 0x83][..], &(5 * inner).to_be_bytes()[1..]].concat());
    let nested: Vec<u8> = headers.flatten().collect();
    try_bytes(&nested);
    std::fs::remove_file(&file).unwrap();
}
