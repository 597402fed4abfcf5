//! The private key that signs assertions (RS256, ES256), from PEM as TLS's keys are.
//!
//! Invariant: no error contains a part of the key.

use std::fmt;
use std::sync::Arc;

use rustls::SignatureScheme;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::sign::SigningKey as RustlsKey;
use x509_cert::der::asn1::UintRef;
use x509_cert::der::{Reader, SliceReader};

use super::super::config_error;
use super::super::pem::{self, KeyPassword};
use crate::error::{Error, Kind, Result};

/// Bytes of each of the two numbers in a signature of ES256.
const P256_NUMBER: usize = 32;

/// A signature algorithm of JSON web tokens (RFC 7518).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Algorithm {
    /// RSA (PKCS#1 1.5) with SHA-256.
    Rs256,
    /// ECDSA on P-256 with SHA-256.
    Es256,
}

impl Algorithm {
    pub(super) fn parse(text: &str) -> Result<Self> {
        match text.to_ascii_uppercase().as_str() {
            "RS256" => Ok(Self::Rs256),
            "ES256" => Ok(Self::Es256),
            _ => Err(config_error(format!(
                "sasl.oauthbearer.assertion.algorithm={text}: expected RS256 or ES256"
            ))),
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Es256 => "ES256",
        }
    }

    fn scheme(self) -> SignatureScheme {
        match self {
            Self::Rs256 => SignatureScheme::RSA_PKCS1_SHA256,
            Self::Es256 => SignatureScheme::ECDSA_NISTP256_SHA256,
        }
    }

    /// The keys that it takes, for errors.
    fn needs(self) -> &'static str {
        match self {
            Self::Rs256 => {
                "an RSA key of 2048 to 4096 bits (for a key on P-256, set sasl.oauthbearer.assertion.algorithm=ES256)"
            }
            Self::Es256 => {
                "a key on the curve P-256 (for an RSA key, set sasl.oauthbearer.assertion.algorithm=RS256)"
            }
        }
    }
    /// What a key of Java's may lack.
    fn incomplete(self) -> &'static str {
        match self {
            Self::Rs256 => "",
            Self::Es256 => {
                "; if Java has written it, the public key is missing in it, which this adds: openssl ec -in key.pem -out complete.pem"
            }
        }
    }
}

/// A private key for one algorithm.
pub(super) struct SigningKey {
    algorithm: Algorithm,
    key: Arc<dyn RustlsKey>,
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").field("algorithm", &self.algorithm).finish_non_exhaustive()
    }
}

impl SigningKey {
    /// Reads the key in a PEM text that comes from the configuration key `key`.
    pub(super) fn from_pem(
        key: &str,
        text: &str,
        password: KeyPassword<'_>,
        algorithm: Algorithm,
    ) -> Result<Self> {
        let der = pem::private_key(key, text, password)?;
        // The errors of the library are left out: they say less, and may quote what they read.
        let loaded = any_supported_type(&der).map_err(|_| {
            config_error(format!(
                "{key}: the private key is damaged or of another kind: {} needs {}{}",
                algorithm.name(),
                algorithm.needs(),
                algorithm.incomplete()
            ))
        })?;
        let this = Self { algorithm, key: loaded };
        match this.key.choose_scheme(&[algorithm.scheme()]) {
            Some(_) => Ok(this),
            None => Err(config_error(format!("{key}: {} needs {}", algorithm.name(), algorithm.needs()))),
        }
    }

    /// The signature as JSON web tokens have it.
    pub(super) fn sign(&self, message: &[u8]) -> Result<Vec<u8>> {
        let failed = || Error::new(Kind::Authentication, "the assertion cannot be signed");
        let signer = self.key.choose_scheme(&[self.algorithm.scheme()]).ok_or_else(failed)?;
        let signature = signer.sign(message).map_err(|_| failed())?;
        match self.algorithm {
            Algorithm::Rs256 => Ok(signature),
            Algorithm::Es256 => fixed(&signature).ok_or_else(failed),
        }
    }
}

/// Both numbers of an ECDSA signature in DER, as TLS has it, one after the other in their full width.
fn fixed(signature: &[u8]) -> Option<Vec<u8>> {
    let mut reader = SliceReader::new(signature).ok()?;
    let numbers = reader.sequence(|inner: &mut SliceReader<'_>| {
        Ok::<_, x509_cert::der::Error>([inner.decode::<UintRef<'_>>()?, inner.decode::<UintRef<'_>>()?])
    });
    let mut joined = Vec::with_capacity(2 * P256_NUMBER);
    for number in numbers.ok()? {
        let bytes = number.as_bytes();
        joined.resize(joined.len() + P256_NUMBER.checked_sub(bytes.len())?, 0);
        joined.extend_from_slice(bytes);
    }
    Some(joined)
}
