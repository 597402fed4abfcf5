//! Certificates and private keys in PEM, from files or from text; a store of Java's is refused with
//! how to convert it.

use base64::Engine as _;
use pkcs8::EncryptedPrivateKeyInfoRef;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use zeroize::Zeroizing;

use super::java_stores;
use crate::error::{Error, Kind, Result};
use crate::secret::Secret;

/// The largest file that is read: no bundle of authorities comes near.
const MAX_FILE: u64 = 16 * 1024 * 1024;

fn wrong(message: String) -> Error {
    Error::new(Kind::Config, message)
}

/// The text of the PEM file that `key` names.
pub(super) fn read_file(key: &str, path: &str) -> Result<Zeroizing<String>> {
    let unreadable = |why: &dyn std::fmt::Display| {
        wrong(format!("{key}: {path:?} cannot be read ({why}): name a PEM file that this process may read"))
    };
    let length = std::fs::metadata(path).map_err(|error| unreadable(&error))?.len();
    if length > MAX_FILE {
        return Err(unreadable(&format_args!("it has {length} bytes, which no certificates have")));
    }
    let bytes = Zeroizing::new(std::fs::read(path).map_err(|error| unreadable(&error))?);
    if let Some(refusal) = java_stores::refuse_file(key, path, &bytes) {
        return Err(refusal);
    }
    let text = std::str::from_utf8(&bytes).map_err(|_| unreadable(&"it is not PEM, which is text"))?;
    Ok(Zeroizing::new(text.to_owned()))
}

/// All certificates in a text; at least one.
pub(super) fn certificates(key: &str, text: &str) -> Result<Vec<CertificateDer<'static>>> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
    let found = found.map_err(|error| wrong(format!("{key}: the PEM is damaged: {error:?}")))?;
    if found.is_empty() {
        return Err(wrong(format!("{key}: it holds no certificate (-----BEGIN CERTIFICATE-----)")));
    }
    Ok(found)
}

/// The private key in a text, decrypted if need be.
pub(super) fn private_key(key: &str, text: &str, password: &Secret) -> Result<PrivateKeyDer<'static>> {
    if text.contains("Proc-Type: 4,ENCRYPTED") {
        let convert = "openssl pkcs8 -topk8 -v2 aes-256-cbc -in key.pem";
        return Err(wrong(format!(
            "{key}: the private key is encrypted in an outdated way; convert it with: {convert}"
        )));
    }
    if let Some(body) = section(text, "ENCRYPTED PRIVATE KEY") {
        return decrypt(key, body, password);
    }
    // What the parser says could quote the key.
    PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|error| match error {
        rustls::pki_types::pem::Error::NoItemsFound => {
            wrong(format!("{key}: it holds no private key (-----BEGIN PRIVATE KEY-----)"))
        }
        _ => wrong(format!("{key}: the private key's PEM is damaged")),
    })
}

/// What stands between a label's BEGIN and END.
fn section<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("-----BEGIN {label}-----"))?;
    rest.split_once(&format!("-----END {label}-----")).map(|(body, _)| body)
}

fn decrypt(key: &str, body: &str, password: &Secret) -> Result<PrivateKeyDer<'static>> {
    if password.is_empty() {
        return Err(wrong(format!(
            "{key}: the private key is encrypted: give its password in ssl.key.password"
        )));
    }
    let digits: String = body.split_whitespace().collect();
    let der = base64::engine::general_purpose::STANDARD.decode(digits);
    let der = der.map_err(|_| wrong(format!("{key}: the private key's PEM is damaged")))?;
    let unknown = |_| {
        let convert = "openssl pkcs8 -topk8 -v2 aes-256-cbc -in key.pem";
        wrong(format!(
            "{key}: the private key is encrypted in a way that is not supported (PBES2 with AES is); convert it with: {convert}"
        ))
    };
    let encrypted = EncryptedPrivateKeyInfoRef::try_from(&der[..]).map_err(unknown)?;
    let plain = encrypted.decrypt(password.expose()).map_err(|_| {
        wrong(format!("{key}: the private key cannot be decrypted: is ssl.key.password right?"))
    })?;
    Ok(PrivatePkcs8KeyDer::from(plain.as_bytes().to_vec()).into())
}
