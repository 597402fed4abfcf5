//! The trust store and the key store, as the configuration names them.

use std::sync::Arc;

use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls::sign::CertifiedKey;

use super::{java_stores, pem};
use crate::config::Config;
use crate::error::{Error, Kind, Result};

fn wrong(message: impl Into<String>) -> Error {
    Error::new(Kind::Config, message)
}

/// The authorities that are trusted: the configured ones, or else the system's.
pub(super) fn roots(config: &Config) -> Result<RootCertStore> {
    let (location, text) = (&config.ssl_truststore_location, &config.ssl_truststore_certificates);
    check_type("ssl.truststore", &config.ssl_truststore_type, location)?;
    if !config.ssl_truststore_password.is_empty() {
        refuse_other_kinds("ssl.truststore.location", location)?;
        return Err(wrong("ssl.truststore.password: a PEM trust store has no password; leave it out"));
    }
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

/// Refuses a type other than PEM; where there is a file, by what it is: a store that is called JKS is often PKCS#12.
fn check_type(store: &str, store_type: &str, location: &str) -> Result<()> {
    if store_type.eq_ignore_ascii_case("PEM") {
        return Ok(());
    }
    refuse_other_kinds(&format!("{store}.location"), location)?;
    Err(java_stores::refuse_type(&format!("{store}.type"), store_type, location))
}

/// What has a password is most likely a store as Java makes it, and to convert that comes first.
fn refuse_other_kinds(key: &str, location: &str) -> Result<()> {
    if location.is_empty() { Ok(()) } else { pem::read_file(key, location).map(drop) }
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
pub(super) fn identity(config: &Config, provider: &Arc<CryptoProvider>) -> Result<Option<CertifiedKey>> {
    check_type("ssl.keystore", &config.ssl_keystore_type, &config.ssl_keystore_location)?;
    if !config.ssl_keystore_password.is_empty() {
        refuse_other_kinds("ssl.keystore.location", &config.ssl_keystore_location)?;
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
