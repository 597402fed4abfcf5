//! The trust stores and the key store that the configuration names.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use rustls::{InconsistentKeys, RootCertStore};
use zeroize::Zeroizing;

use super::pem::KeyPassword;
use super::pkcs12::{StoreFile, is_der};
use super::{Secret, config_error, java_stores, pem};
use crate::config::Config;
use crate::error::Result;

/// The trusted authorities for brokers: the configured ones, or else the system's.
pub(super) fn roots(config: &Config) -> Result<RootCertStore> {
    const STORE: &str = "ssl.truststore";
    let (location, text) = (&config.ssl_truststore_location, &config.ssl_truststore_certificates);
    let password = &config.ssl_truststore_password;
    if let Some(bytes) = pkcs12_file(STORE, &config.ssl_truststore_type, location)? {
        check_one_source(STORE, location, text)?;
        let file = StoreFile { store: STORE, path: location };
        return trusting(&format!("{STORE}.location"), file.authorities(&bytes, password)?);
    }
    if !password.is_empty() {
        return Err(config_error(
            "ssl.truststore.password: PEM trust stores have no password: remove this key",
        ));
    }
    pem_roots(STORE, location, text)
}

/// The prefix of the keys for a token endpoint's trust store.
pub(super) const TOKEN_ENDPOINT_STORE: &str = "sasl.oauthbearer.token.endpoint.ssl.truststore";

/// The trusted authorities for a token endpoint: the configured ones, or else the system's.
pub(super) fn token_endpoint_roots(config: &Config) -> Result<RootCertStore> {
    let location = &config.sasl_oauthbearer_token_endpoint_ssl_truststore_location;
    let text = &config.sasl_oauthbearer_token_endpoint_ssl_truststore_certificates;
    pem_roots(TOKEN_ENDPOINT_STORE, location, text)
}

/// The authorities in the PEM file or text of the keys with the prefix `store`; the system's if both are empty.
fn pem_roots(store: &str, location: &str, text: &str) -> Result<RootCertStore> {
    check_one_source(store, location, text)?;
    let (key, certificates) = match (location.is_empty(), text.is_empty()) {
        (true, true) => return system_roots(),
        (false, true) => {
            let key = format!("{store}.location");
            let certificates = pem::certificates(&key, &pem::read_file(&key, location)?)?;
            (key, certificates)
        }
        (_, false) => {
            let key = format!("{store}.certificates");
            let certificates = pem::certificates(&key, text)?;
            (key, certificates)
        }
    };
    trusting(&key, certificates)
}

/// Refuses authorities in a file and as text.
fn check_one_source(store: &str, location: &str, text: &str) -> Result<()> {
    if location.is_empty() || text.is_empty() {
        return Ok(());
    }
    Err(config_error(format!("{store}.location and {store}.certificates are both set: choose one")))
}

fn trusting(key: &str, certificates: Vec<CertificateDer<'static>>) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        roots
            .add(certificate)
            .map_err(|error| config_error(format!("{key}: a certificate cannot be used: {error}")))?;
    }
    Ok(roots)
}

/// The contents of the store at `location` if it is PKCS#12, whatever it is said to be: stores that are called JKS
/// mostly are, and Java reads them too. Errors for Java's other formats, and for types that do not exist.
fn pkcs12_file(store: &str, store_type: &str, location: &str) -> Result<Option<Zeroizing<Vec<u8>>>> {
    let key = format!("{store}.location");
    let bytes = if location.is_empty() { None } else { Some(pem::read_bytes(&key, location)?) };
    let found = bytes.filter(|bytes| is_der(bytes));
    let is_pem = store_type.eq_ignore_ascii_case("PEM");
    match (&found, store_type.to_ascii_uppercase().as_str()) {
        (None, _) if is_pem => Ok(None),
        (None, "PKCS12" | "JKS") => {
            Err(java_stores::reject_type(&format!("{store}.type"), store_type, location))
        }
        (_, "PEM" | "PKCS12" | "JKS") => Ok(found),
        _ => Err(config_error(format!("{store}.type={store_type}: expected PEM or PKCS12"))),
    }
}

fn system_roots() -> Result<RootCertStore> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    // Some systems have malformed certificates, which are skipped.
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        let why = found.errors.first().map(|error| format!(" ({error})")).unwrap_or_default();
        return Err(config_error(format!(
            "this system has no trusted certificates{why}: install ca-certificates or name a PEM file in ssl.truststore.location"
        )));
    }
    Ok(roots)
}

/// This client's certificate and key, if configured.
pub(super) fn identity(config: &Config, provider: &Arc<CryptoProvider>) -> Result<Option<CertifiedKey>> {
    let store = pkcs12_file("ssl.keystore", &config.ssl_keystore_type, &config.ssl_keystore_location)?;
    if store.is_none() && !config.ssl_keystore_password.is_empty() {
        return Err(config_error(
            "ssl.keystore.password: PEM key stores have no password: set the key's password in ssl.key.password",
        ));
    }
    let Some(KeyPair { chain: (chain_key, chain), key: (key_key, key) }) =
        key_pair(config, store.as_deref().map(Vec::as_slice))?
    else {
        return Ok(None);
    };
    // The errors of the library are left out: they say less, and may quote what they read.
    let key = provider.key_provider.load_private_key(key).map_err(|_| {
        config_error(format!(
            "{key_key}: the private key is damaged, or of a kind that is not supported (RSA from 2048 bits, ECDSA with P-256 or P-384, and Ed25519 are)"
        ))
    })?;
    let pair = CertifiedKey::new(chain, key);
    match pair.keys_match() {
        Ok(()) | Err(rustls::Error::InconsistentKeys(InconsistentKeys::Unknown)) => Ok(Some(pair)),
        Err(rustls::Error::InconsistentKeys(_)) => Err(config_error(format!(
            "{key_key}: the private key is not that of the first certificate in {chain_key}"
        ))),
        Err(_) => Err(config_error(format!("{chain_key}: the first certificate is damaged"))),
    }
}

/// A certificate chain and its private key, each with the configuration key that it comes from.
struct KeyPair {
    chain: (&'static str, Vec<CertificateDer<'static>>),
    key: (&'static str, PrivateKeyDer<'static>),
}

/// Reads the chain and the key from the configured source: a PKCS#12 store, one file, two files, or texts.
fn key_pair(config: &Config, pkcs12: Option<&[u8]>) -> Result<Option<KeyPair>> {
    const ONE_FILE: &str = "ssl.keystore.location";
    const FILES: [&str; 2] = ["ssl.certificate.location", "ssl.key.location"];
    const TEXTS: [&str; 2] = ["ssl.keystore.certificate.chain", "ssl.keystore.key"];
    let location = &config.ssl_keystore_location;
    let files = [&config.ssl_certificate_location, &config.ssl_key_location];
    let texts = [config.ssl_keystore_certificate_chain.as_str(), config.ssl_keystore_key.expose()];
    let [has_files, has_texts] =
        [files.iter().any(|file| !file.is_empty()), texts.iter().any(|text| !text.is_empty())];
    let password = &config.ssl_key_password;
    let key_password = KeyPassword { key: "ssl.key.password", value: password };
    if u8::from(!location.is_empty()) + u8::from(has_files) + u8::from(has_texts) > 1 {
        return Err(config_error(format!(
            "{ONE_FILE}, {} and {}, and {} and {} exclude each other: choose one",
            FILES[0], FILES[1], TEXTS[0], TEXTS[1]
        )));
    }
    let incomplete = |[first, second]: [&str; 2]| {
        Err(config_error(format!("{first} and {second} belong together, but only one of them is set")))
    };
    if let Some(bytes) = pkcs12 {
        if ![&Secret::default(), &config.ssl_keystore_password].contains(&password) {
            return Err(config_error(
                "ssl.key.password: the private key in a PKCS#12 store has the store's password: remove this key",
            ));
        }
        let file = StoreFile { store: "ssl.keystore", path: location };
        let (chain, key) = file.key_pair(bytes, &config.ssl_keystore_password)?;
        return Ok(Some(KeyPair { chain: (ONE_FILE, chain), key: (ONE_FILE, key) }));
    }
    if !location.is_empty() {
        let text = pem::read_file(ONE_FILE, location)?;
        let (chain, key) =
            (pem::certificates(ONE_FILE, &text)?, pem::private_key(ONE_FILE, &text, key_password)?);
        return Ok(Some(KeyPair { chain: (ONE_FILE, chain), key: (ONE_FILE, key) }));
    }
    if has_files {
        if files.iter().any(|file| file.is_empty()) {
            return incomplete(FILES);
        }
        let chain = pem::certificates(FILES[0], &pem::read_file(FILES[0], files[0])?)?;
        let key = pem::private_key(FILES[1], &pem::read_file(FILES[1], files[1])?, key_password)?;
        return Ok(Some(KeyPair { chain: (FILES[0], chain), key: (FILES[1], key) }));
    }
    match texts.map(str::is_empty) {
        [true, true] => Ok(None),
        [false, false] => {
            let chain = pem::certificates(TEXTS[0], texts[0])?;
            let key = pem::private_key(TEXTS[1], texts[1], key_password)?;
            Ok(Some(KeyPair { chain: (TEXTS[0], chain), key: (TEXTS[1], key) }))
        }
        _ => incomplete(TEXTS),
    }
}
