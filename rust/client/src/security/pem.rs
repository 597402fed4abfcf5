//! Certificates and private keys in PEM, from files or text. Java's stores are rejected with the command
//! that converts them.

use base64::Engine as _;
use pkcs8::EncryptedPrivateKeyInfoRef;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use zeroize::Zeroizing;

use super::{Secret, config_error, java_stores};
use crate::error::Result;

/// The largest file that is read; bundles of authorities are far smaller.
const MAX_FILE: u64 = 16 * 1024 * 1024;

/// Reads the PEM file that the configuration key `key` names.
pub(super) fn read_file(key: &str, path: &str) -> Result<Zeroizing<String>> {
    let unreadable = |why: &dyn std::fmt::Display| {
        config_error(format!(
            "{key}: {path:?} cannot be read ({why}): name a PEM file that this process can read"
        ))
    };
    let length = std::fs::metadata(path).map_err(|error| unreadable(&error))?.len();
    if length > MAX_FILE {
        return Err(unreadable(&format_args!("with {length} bytes it is too large for certificates")));
    }
    let bytes = Zeroizing::new(std::fs::read(path).map_err(|error| unreadable(&error))?);
    if let Some(error) = java_stores::reject_file(key, path, &bytes) {
        return Err(error);
    }
    let text = std::str::from_utf8(&bytes).map_err(|_| unreadable(&"it is not text, as PEM is"))?;
    Ok(Zeroizing::new(text.to_owned()))
}

/// Parses all certificates in a text; at least one.
pub(super) fn certificates(key: &str, text: &str) -> Result<Vec<CertificateDer<'static>>> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
    let found = found.map_err(|error| config_error(format!("{key}: the PEM is damaged: {error:?}")))?;
    if found.is_empty() {
        return Err(config_error(format!("{key}: it contains no certificate (-----BEGIN CERTIFICATE-----)")));
    }
    Ok(found)
}

/// Parses the private key in a text and decrypts it if necessary.
pub(super) fn private_key(key: &str, text: &str, password: &Secret) -> Result<PrivateKeyDer<'static>> {
    if text.contains("Proc-Type: 4,ENCRYPTED") {
        let convert = "openssl pkcs8 -topk8 -v2 aes-256-cbc -in key.pem";
        return Err(config_error(format!(
            "{key}: the private key's encryption is outdated; convert the key with: {convert}"
        )));
    }
    if let Some(body) = section(text, "ENCRYPTED PRIVATE KEY") {
        return decrypt(key, body, password);
    }
    // The parser's message is left out, since it could quote the key.
    PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|error| match error {
        rustls::pki_types::pem::Error::NoItemsFound => {
            config_error(format!("{key}: it contains no private key (-----BEGIN PRIVATE KEY-----)"))
        }
        _ => config_error(format!("{key}: the private key's PEM is damaged")),
    })
}

/// The text between a label's BEGIN and END.
fn section<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("-----BEGIN {label}-----"))?;
    rest.split_once(&format!("-----END {label}-----")).map(|(body, _)| body)
}

fn decrypt(key: &str, body: &str, password: &Secret) -> Result<PrivateKeyDer<'static>> {
    if password.is_empty() {
        return Err(config_error(format!(
            "{key}: the private key is encrypted: set ssl.key.password to its password"
        )));
    }
    let digits: String = body.split_whitespace().collect();
    let der = base64::engine::general_purpose::STANDARD.decode(digits);
    let der = der.map_err(|_| config_error(format!("{key}: the private key's PEM is damaged")))?;
    let unsupported = |_| {
        let convert = "openssl pkcs8 -topk8 -v2 aes-256-cbc -in key.pem";
        config_error(format!(
            "{key}: the private key's encryption is not supported (PBES2 with AES is); convert the key with: {convert}"
        ))
    };
    let encrypted = EncryptedPrivateKeyInfoRef::try_from(&der[..]).map_err(unsupported)?;
    let plain = encrypted.decrypt(password.expose()).map_err(|_| {
        config_error(format!("{key}: the private key cannot be decrypted: is ssl.key.password right?"))
    })?;
    Ok(PrivatePkcs8KeyDer::from(plain.as_bytes().to_vec()).into())
}
