//! Key stores and trust stores in PKCS#12, Java's format since version 9, as `keytool` and `openssl` write it.
//!
//! Invariants: a store has one private key, or it is an error that names all of them; no error contains a
//! password, or more of a store than the names of its entries; the library bounds iterations and memory before it
//! derives a key.

use p12_keystore::error::Error as StoreError;
use p12_keystore::{Certificate, CertificateBag, Pkcs12Archive, PrivateKeyBag};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use super::{Secret, config_error};
use crate::error::{Error, Result};
use crate::first_names::first_names;
use crate::printable::printable;
use crate::shell;

/// The longest chain of certificates.
const CHAIN_MAX: usize = 16;

/// Whether the bytes of a file are not PEM, but a PKCS#12 store or another file in DER: a sequence of some length.
pub(super) fn is_der(bytes: &[u8]) -> bool {
    matches!(bytes.first_chunk::<2>(), Some([0x30, 0x80..=0x84]))
}

/// The file of a store, for errors.
#[derive(Clone, Copy)]
pub(super) struct StoreFile<'a> {
    /// The first part of its configuration keys, such as `ssl.keystore`.
    pub(super) store: &'a str,
    pub(super) path: &'a str,
}

impl StoreFile<'_> {
    /// The certificate authorities in a trust store.
    pub(super) fn authorities(self, bytes: &[u8], password: &Secret) -> Result<Vec<CertificateDer<'static>>> {
        let archive = self.read(bytes, password)?;
        // keytool marks the authorities; other programs mark none.
        let is_marked = archive.certs.iter().any(|bag| bag.trusted);
        let trusted = archive.certs.iter().filter(|bag| bag.trusted || !is_marked);
        let found: Vec<_> = trusted.map(|bag| der(&bag.cert)).collect();
        if found.is_empty() {
            return Err(self.error("it contains no certificate"));
        }
        Ok(found)
    }

    /// The private key in a key store, and its certificate chain, the key's own certificate first.
    pub(super) fn key_pair(
        self,
        bytes: &[u8],
        password: &Secret,
    ) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)> {
        let Pkcs12Archive { keys, certs, .. } = self.read(bytes, password)?;
        let key = match keys.as_slice() {
            [key] => key,
            [] => {
                let hint = if certs.is_empty() { "" } else { ", only certificates: is it a trust store?" };
                return Err(self.error(&format!("it contains no private key{hint}")));
            }
            several => return Err(self.several_keys(several)),
        };
        let Some(own) = own_certificate(key, &certs) else {
            return Err(self.error("it contains no certificate of its private key"));
        };
        let chain = chain(own, &certs);
        Ok((chain, PrivatePkcs8KeyDer::from(key.key.as_der().to_vec()).into()))
    }

    fn read(self, bytes: &[u8], password: &Secret) -> Result<Pkcs12Archive> {
        Pkcs12Archive::from_pkcs12(bytes, password.expose()).map_err(|error| self.explain(&error, password))
    }

    fn several_keys(self, keys: &[PrivateKeyBag]) -> Error {
        let names: Vec<String> = keys
            .iter()
            .map(|key| key.friendly_name.as_deref().map_or("one without a name".to_owned(), printable))
            .collect();
        let path = shell::quote(self.path);
        self.error(&format!(
            "it contains {} private keys ({}), and none can be chosen: make a store of one with `keytool -importkeystore -srckeystore {path} -srcalias NAME -destkeystore one.p12 -deststoretype PKCS12`",
            keys.len(),
            first_names(names.iter().map(String::as_str))
        ))
    }

    /// The errors of the library are left out: they may quote what they read.
    fn explain(self, error: &StoreError, password: &Secret) -> Error {
        let store = self.store;
        match error {
            StoreError::MacError(_) | StoreError::Pkcs5Error(_) | StoreError::UnpadError if password.is_empty() => {
                self.error(&format!("it is encrypted: set {store}.password to its password"))
            }
            StoreError::MacError(_) => self.error(&format!("{store}.password is not its password, or it is damaged")),
            StoreError::Pkcs5Error(_) | StoreError::UnpadError => self.error(&format!(
                "it cannot be decrypted: is {store}.password right, and the password of its private key the same?"
            )),
            StoreError::UnsupportedEncryptionScheme | StoreError::UnsupportedMacAlgorithm => self.error(&format!(
                "its encryption is not supported (AES, 3DES and RC2 with 40 bits are). {}",
                self.conversion()
            )),
            StoreError::InvalidParameters => {
                self.error("its key derivation has no valid parameters, or asks for more than 1,000,000 iterations or 1 GiB of memory")
            }
            _ => self.error(&format!(
                "it is damaged, or another file in DER: a single certificate is converted by `openssl x509 -inform DER -in {0} -out cert.pem`. {1}",
                shell::quote(self.path),
                self.conversion()
            )),
        }
    }

    /// How to convert the store to PEM.
    fn conversion(self) -> String {
        let path = shell::quote(self.path);
        match self.store {
            "ssl.truststore" => format!(
                "Convert a store with `openssl pkcs12 -in {path} -nokeys -out ca.pem`, set ssl.truststore.location to ca.pem, and remove the store's type and password"
            ),
            _ => format!(
                "Convert a store with `openssl pkcs12 -in {path} -aes256 -out keystore.pem`, set ssl.keystore.location to keystore.pem and ssl.key.password to the PEM pass phrase, and remove the store's type and password"
            ),
        }
    }

    fn error(self, why: &str) -> Error {
        config_error(format!("{}.location: the PKCS#12 store {:?}: {why}", self.store, self.path))
    }
}

fn der(certificate: &Certificate) -> CertificateDer<'static> {
    CertificateDer::from(certificate.as_der().to_vec())
}

/// The certificate with the id of the key; the first one of a store without ids, where rustls compares the keys.
fn own_certificate<'a>(key: &PrivateKeyBag, certs: &'a [CertificateBag]) -> Option<&'a CertificateBag> {
    let id = key.local_key_id.as_ref().map(AsRef::as_ref);
    let with_id = certs.iter().find(|bag| id.is_some() && bag.local_key_id.as_deref() == id);
    with_id.or_else(|| certs.first())
}

/// The certificate and those of its issuers, as far as they are in the store. Chosen by name alone: it is the
/// broker that verifies them.
fn chain(own: &CertificateBag, certs: &[CertificateBag]) -> Vec<CertificateDer<'static>> {
    let mut chain = vec![&own.cert];
    while let Some(last) = chain.last().filter(|_| chain.len() < CHAIN_MAX) {
        let issuer = certs.iter().map(|bag| &bag.cert).find(|cert| cert.subject() == last.issuer());
        match issuer {
            Some(issuer) if !chain.contains(&issuer) => chain.push(issuer),
            _ => break,
        }
    }
    chain.into_iter().map(der).collect()
}
