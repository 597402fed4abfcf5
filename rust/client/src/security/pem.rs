//! Certificates and private keys in PEM, from files or text. Java's stores are rejected with the command
//! that converts them.
//!
//! Invariant: no error contains a part of a text or file, nor what a parser's error quotes of it.

use pkcs8::EncryptedPrivateKeyInfoRef;
use rustls::pki_types::{
    CertificateDer, PrivateKeyDer, PrivatePkcs1KeyDer, PrivatePkcs8KeyDer, PrivateSec1KeyDer,
};
use zeroize::Zeroizing;

use super::pem_blocks::{blocks, instead};
use super::pkcs12::is_der;
use super::{Secret, config_error, java_stores};
use crate::error::Result;

/// The largest file that is read; bundles of authorities are far smaller.
const MAX_FILE: u64 = 16 * 1024 * 1024;

/// The kinds of private keys that TLS uses.
const KEY_KINDS: [&str; 4] = ["PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY"];

/// Encrypts a private key in the form that is supported.
const CONVERT: &str = "openssl pkcs8 -topk8 -v2 aes-256-cbc -in key.pem";

/// Reads the PEM file that the configuration key `key` names.
pub(super) fn read_file(key: &str, path: &str) -> Result<Zeroizing<String>> {
    text(key, path, &read_bytes(key, path)?)
}

/// Reads a file of certificates or keys in any format.
pub(super) fn read_bytes(key: &str, path: &str) -> Result<Zeroizing<Vec<u8>>> {
    let unreadable = |why: &dyn std::fmt::Display| {
        config_error(format!(
            "{key}: {path:?} cannot be read ({why}): name a PEM file that this process can read"
        ))
    };
    let found = std::fs::metadata(path).map_err(|error| unreadable(&error))?;
    if !found.is_file() {
        // A pipe may never be written, and a device never end.
        return Err(unreadable(&"it is not a regular file"));
    }
    let length = found.len();
    if length > MAX_FILE {
        return Err(unreadable(&format_args!("with {length} bytes it is too large for certificates")));
    }
    let bytes = Zeroizing::new(std::fs::read(path).map_err(|error| unreadable(&error))?);
    match java_stores::reject_file(key, path, &bytes) {
        Some(error) => Err(error),
        None => Ok(bytes),
    }
}

/// The text of a PEM file.
pub(super) fn text(key: &str, path: &str, bytes: &[u8]) -> Result<Zeroizing<String>> {
    if is_der(bytes) {
        return Err(config_error(format!(
            "{key}: {path:?} is in DER or PKCS#12, and only ssl.keystore.location and ssl.truststore.location may be PKCS#12: name a PEM file"
        )));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| {
        config_error(format!("{key}: {path:?} cannot be read (it is not text, as PEM is): name a PEM file"))
    })?;
    Ok(Zeroizing::new(text.to_owned()))
}

/// Parses all certificates in a text; at least one.
pub(super) fn certificates(key: &str, text: &str) -> Result<Vec<CertificateDer<'static>>> {
    let found = blocks(text);
    let certificates = found.iter().filter(|block| block.kind == "CERTIFICATE");
    let decoded = certificates.map(|block| block.decode().map(|content| content.to_vec().into()));
    let decoded: Result<Vec<_>, _> = decoded.collect();
    let decoded = decoded.map_err(|why| config_error(format!("{key}: {why}")))?;
    if decoded.is_empty() {
        return Err(config_error(format!(
            "{key}: it contains no certificate (-----BEGIN CERTIFICATE-----): {}",
            instead(text, &found)
        )));
    }
    Ok(decoded)
}

/// The password of an encrypted private key, with the configuration key that sets it.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeyPassword<'a> {
    pub(super) key: &'static str,
    pub(super) value: &'a Secret,
}

/// Parses the private key in a text and decrypts it if necessary.
pub(super) fn private_key(
    key: &str,
    text: &str,
    password: KeyPassword<'_>,
) -> Result<PrivateKeyDer<'static>> {
    let found = blocks(text);
    let Some(block) = found.iter().find(|block| KEY_KINDS.contains(&block.kind)) else {
        return Err(config_error(format!(
            "{key}: it contains no private key (-----BEGIN PRIVATE KEY-----): {}",
            instead(text, &found)
        )));
    };
    if block.has_old_encryption() {
        return Err(config_error(format!(
            "{key}: the private key's encryption is outdated; convert the key with: {CONVERT}"
        )));
    }
    let content = block.decode().map_err(|why| config_error(format!("{key}: {why}")))?;
    Ok(match block.kind {
        "ENCRYPTED PRIVATE KEY" => decrypt(key, &content, password)?,
        "RSA PRIVATE KEY" => PrivatePkcs1KeyDer::from(content.to_vec()).into(),
        "EC PRIVATE KEY" => PrivateSec1KeyDer::from(content.to_vec()).into(),
        _ => PrivatePkcs8KeyDer::from(content.to_vec()).into(),
    })
}

fn decrypt(key: &str, content: &[u8], password: KeyPassword<'_>) -> Result<PrivateKeyDer<'static>> {
    let KeyPassword { key: password_key, value: password } = password;
    if password.is_empty() {
        return Err(config_error(format!(
            "{key}: the private key is encrypted: set {password_key} to its password"
        )));
    }
    let unsupported = |_| {
        config_error(format!(
            "{key}: the private key's encryption is not supported (PBES2 with AES is); convert the key with: {CONVERT}"
        ))
    };
    let encrypted = EncryptedPrivateKeyInfoRef::try_from(content).map_err(unsupported)?;
    let plain = encrypted.decrypt(password.expose()).map_err(|_| {
        config_error(format!("{key}: the private key cannot be decrypted: is {password_key} right?"))
    })?;
    Ok(PrivatePkcs8KeyDer::from(plain.as_bytes().to_vec()).into())
}
