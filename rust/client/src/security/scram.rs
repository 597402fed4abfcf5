//! SCRAM (RFC 5802, RFC 7677) as a state machine without I/O, in Kafka's variant: no SASLprep, no
//! channel binding, delegation tokens with `tokenauth=true` (KIP-48).
//!
//! Invariants: the server's nonce extends the client's; the iteration count has a lower and an upper
//! bound, so that a rogue server can neither get a cheap hash nor keep the client busy; the exchange
//! succeeds only with the server's signature, which is compared in constant time.

use std::num::NonZeroU32;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::{digest, hmac, pbkdf2};
use zeroize::Zeroizing;

use crate::error::{Error, Kind, Result};
use crate::printable::printable;
use crate::secret::Secret;

/// With fewer iterations the password is easy to guess from the proof; Kafka's own minimum.
pub const MIN_ITERATIONS: u32 = 4096;
/// With more iterations the client only burns CPU time.
pub const MAX_ITERATIONS: u32 = 1_000_000;
/// The longest server message that is accepted, in bytes.
const MAX_MESSAGE: usize = 4096;

/// The hash of a SCRAM mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hash {
    /// SCRAM-SHA-256.
    Sha256,
    /// SCRAM-SHA-512.
    Sha512,
}

impl Hash {
    /// The algorithm, for ring.
    #[must_use]
    pub fn hmac(self) -> hmac::Algorithm {
        match self {
            Self::Sha256 => hmac::HMAC_SHA256,
            Self::Sha512 => hmac::HMAC_SHA512,
        }
    }

    /// The algorithm, for ring.
    #[must_use]
    pub fn pbkdf2(self) -> pbkdf2::Algorithm {
        match self {
            Self::Sha256 => pbkdf2::PBKDF2_HMAC_SHA256,
            Self::Sha512 => pbkdf2::PBKDF2_HMAC_SHA512,
        }
    }

    /// The algorithm, for ring.
    #[must_use]
    pub fn digest(self) -> &'static digest::Algorithm {
        match self {
            Self::Sha256 => &digest::SHA256,
            Self::Sha512 => &digest::SHA512,
        }
    }
}

/// The user's credentials.
#[derive(Debug, Clone)]
pub struct Credentials {
    /// The user's name, or a delegation token's id.
    pub username: String,
    /// The password, or the token's HMAC.
    pub password: Secret,
    /// Whether it is a delegation token.
    pub token: bool,
}

/// The client's side of one exchange: `first`, `process_first`, `process_final`, in that order.
#[derive(Debug)]
pub struct Client {
    hash: Hash,
    credentials: Credentials,
    nonce: String,
    first_bare: String,
    /// The server's key and the message that it has to sign, once its first message is known.
    expected: Option<(hmac::Key, String)>,
}

fn auth_error(why: impl Into<String>) -> Error {
    Error::new(Kind::Authentication, why)
}

impl Client {
    /// An exchange with a fresh `nonce`: printable, without commas.
    #[must_use]
    pub fn new(hash: Hash, credentials: Credentials, nonce: String) -> Self {
        let name = credentials.username.replace('=', "=3D").replace(',', "=2C");
        let extension = if credentials.token { ",tokenauth=true" } else { "" };
        let first_bare = format!("n={name},r={nonce}{extension}");
        Self { hash, credentials, nonce, first_bare, expected: None }
    }

    /// The client's first message.
    #[must_use]
    pub fn first(&self) -> String {
        format!("n,,{}", self.first_bare)
    }

    /// The client's final message, in reply to the server's first. Its cost grows with the server's
    /// iteration count.
    pub fn process_first(&mut self, server_first: &[u8]) -> Result<String> {
        let server_first = text(server_first)?;
        let (nonce, salt, iterations) = parse_first(server_first)?;
        if !nonce.starts_with(&self.nonce) || nonce.len() == self.nonce.len() {
            return Err(auth_error(
                "SCRAM: the server's nonce does not extend the client's: this is not the server that the client contacted",
            ));
        }
        if !(MIN_ITERATIONS..=MAX_ITERATIONS).contains(&iterations) {
            let bounds = format!("this client accepts {MIN_ITERATIONS} to {MAX_ITERATIONS}");
            return Err(auth_error(format!("SCRAM: the broker requests {iterations} iterations; {bounds}")));
        }
        let iterations = NonZeroU32::new(iterations).unwrap_or(NonZeroU32::MIN);
        let algorithm = self.hash.hmac();
        let mut salted = Zeroizing::new(vec![0; algorithm.digest_algorithm().output_len()]);
        let password = self.credentials.password.expose().as_bytes();
        pbkdf2::derive(self.hash.pbkdf2(), iterations, &salt, password, &mut salted);
        let salted = hmac::Key::new(algorithm, &salted);
        let client_key = hmac::sign(&salted, b"Client Key");
        let stored_key = digest::digest(self.hash.digest(), client_key.as_ref());
        let without_proof = format!("c=biws,r={nonce}");
        let auth_message = format!("{},{server_first},{without_proof}", self.first_bare);
        let signature = hmac::sign(&hmac::Key::new(algorithm, stored_key.as_ref()), auth_message.as_bytes());
        let proof: Vec<u8> =
            client_key.as_ref().iter().zip(signature.as_ref()).map(|(key, sign)| key ^ sign).collect();
        let server_key = hmac::Key::new(algorithm, hmac::sign(&salted, b"Server Key").as_ref());
        self.expected = Some((server_key, auth_message));
        Ok(format!("{without_proof},p={}", BASE64.encode(proof)))
    }

    /// Checks the server's final message, which proves that it knows the password too.
    pub fn process_final(&self, server_final: &[u8]) -> Result<()> {
        let server_final = text(server_final)?;
        if let Some(error) = server_final.strip_prefix("e=") {
            return Err(auth_error(format!("SCRAM: the broker says \"{}\"", printable(error))));
        }
        let signature = server_final.strip_prefix("v=").and_then(|rest| rest.split(',').next());
        let signature = signature.and_then(|signature| BASE64.decode(signature).ok());
        let verified = match (&self.expected, signature) {
            (Some((key, message)), Some(sign)) => hmac::verify(key, message.as_bytes(), &sign).is_ok(),
            _ => false,
        };
        if verified {
            return Ok(());
        }
        Err(auth_error(
            "SCRAM: the server's signature is wrong: it does not know the password, so it is not the right server",
        ))
    }
}

fn text(message: &[u8]) -> Result<&str> {
    let fits = message.len() <= MAX_MESSAGE;
    let text = fits.then(|| std::str::from_utf8(message).ok()).flatten();
    text.ok_or_else(|| auth_error("SCRAM: the broker's message is not a SCRAM message"))
}

/// Parses `r=nonce,s=salt,i=iterations`; extensions after it are ignored.
fn parse_first(message: &str) -> Result<(&str, Vec<u8>, u32)> {
    if let Some(error) = message.strip_prefix("e=") {
        return Err(auth_error(format!("SCRAM: the broker says \"{}\"", printable(error))));
    }
    if message.starts_with("m=") {
        return Err(auth_error("SCRAM: the broker requires an extension that this client does not support"));
    }
    let mut fields = message.split(',');
    let mut field = |name: &str| fields.next().and_then(|field| field.strip_prefix(name));
    let parsed = (|| {
        let nonce = field("r=")?;
        let salt = field("s=").and_then(|salt| BASE64.decode(salt).ok()).filter(|salt| !salt.is_empty())?;
        let iterations = field("i=")?;
        // A number with too many digits is still a number, and too large.
        let digits = !iterations.is_empty() && iterations.bytes().all(|b| b.is_ascii_digit());
        Some((nonce, salt, digits.then(|| iterations.parse().unwrap_or(u32::MAX))?))
    })();
    parsed.ok_or_else(|| auth_error("SCRAM: the broker's first message is malformed"))
}
