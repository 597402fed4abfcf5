//! [`Credential`]: what the gateway keeps of a password, in the form in which Kafka keeps it: salt, stored key, server
//! key and iterations of SCRAM. No I/O.
//!
//! Invariants: it suffices to check a password or a proof, and not to log in. Nothing of it is ever shown. What a client
//! sends is compared in constant time.

use std::fmt;
use std::num::NonZeroU32;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ottla_client::security::scram::{Hash, MAX_ITERATIONS, MIN_ITERATIONS};
use ring::{digest, hmac, pbkdf2};
use zeroize::Zeroizing;

/// The length of a salt that the gateway makes up.
const DECOY_SALT: usize = 18;

/// What the gateway keeps of a password for one hash function.
#[derive(Clone)]
pub(crate) struct Credential {
    pub(super) hash: Hash,
    pub(super) iterations: NonZeroU32,
    pub(super) salt: Vec<u8>,
    stored_key: Vec<u8>,
    server_key: Vec<u8>,
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential").field("hash", &self.hash).finish_non_exhaustive()
    }
}

impl Credential {
    /// Reads `salt=…,stored_key=…,server_key=…,iterations=…`; says what is wrong, and never repeats the text.
    pub(super) fn parse(hash: Hash, text: &str) -> Result<Self, &'static str> {
        let (mut salt, mut stored_key, mut server_key, mut iterations) = (None, None, None, None);
        for field in text.split(',') {
            let (name, value) = field
                .trim()
                .split_once('=')
                .ok_or("expected salt=…,stored_key=…,server_key=…,iterations=…")?;
            match name {
                "salt" => salt = BASE64.decode(value).ok(),
                "stored_key" => stored_key = BASE64.decode(value).ok(),
                "server_key" => server_key = BASE64.decode(value).ok(),
                "iterations" => iterations = value.parse::<u32>().ok(),
                _ => return Err("a field that is none of salt, stored_key, server_key and iterations"),
            }
        }
        let length = hash.digest().output_len();
        let key = |key: Option<Vec<u8>>| key.filter(|key| key.len() == length);
        let salt = salt.filter(|salt| !salt.is_empty()).ok_or("salt is missing, or no base64")?;
        let stored_key =
            key(stored_key).ok_or("stored_key is missing, or not a key of this mechanism in base64")?;
        let server_key =
            key(server_key).ok_or("server_key is missing, or not a key of this mechanism in base64")?;
        let iterations = iterations.filter(|count| (MIN_ITERATIONS..=MAX_ITERATIONS).contains(count));
        let iterations = iterations
            .and_then(NonZeroU32::new)
            .ok_or("iterations is missing, or not from 4,096 to 1,000,000")?;
        Ok(Self { hash, iterations, salt, stored_key, server_key })
    }

    /// A credential that no password has, always the same one for a name, so that a client cannot find out which users
    /// exist.
    pub(super) fn decoy(hash: Hash, iterations: NonZeroU32, secret: &[u8], user: &str) -> Self {
        let secret = hmac::Key::new(hash.hmac(), secret);
        let derived = |what: &str| hmac::sign(&secret, format!("{what} {user}").as_bytes()).as_ref().to_vec();
        let mut salt = derived("salt");
        salt.truncate(DECOY_SALT);
        Self { hash, iterations, salt, stored_key: derived("stored"), server_key: derived("server") }
    }

    /// Whether this is the password. Takes milliseconds.
    pub(super) fn is_password(&self, password: &str) -> bool {
        let mut salted = Zeroizing::new(vec![0; self.hash.digest().output_len()]);
        pbkdf2::derive(self.hash.pbkdf2(), self.iterations, &self.salt, password.as_bytes(), &mut salted);
        let client_key = hmac::sign(&hmac::Key::new(self.hash.hmac(), &salted), b"Client Key");
        self.is_client_key(client_key.as_ref())
    }

    /// Whether `proof` proves that the client knows the password, in an exchange with this message.
    pub(super) fn is_proof(&self, message: &str, proof: &[u8]) -> bool {
        let signature = hmac::sign(&hmac::Key::new(self.hash.hmac(), &self.stored_key), message.as_bytes());
        let signature = signature.as_ref();
        let client_key: Vec<u8> = proof.iter().zip(signature).map(|(proof, sign)| proof ^ sign).collect();
        proof.len() == signature.len() && self.is_client_key(&client_key)
    }

    /// The proof that the gateway knows the credential.
    pub(super) fn signature(&self, message: &str) -> String {
        let key = hmac::Key::new(self.hash.hmac(), &self.server_key);
        BASE64.encode(hmac::sign(&key, message.as_bytes()))
    }

    fn is_client_key(&self, client_key: &[u8]) -> bool {
        let found = digest::digest(self.hash.digest(), client_key);
        // The comparison of two signatures takes the same time wherever they differ.
        let key = hmac::Key::new(self.hash.hmac(), &self.salt);
        hmac::verify(&key, found.as_ref(), hmac::sign(&key, &self.stored_key).as_ref()).is_ok()
    }
}
