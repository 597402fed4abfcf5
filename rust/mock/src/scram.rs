//! The server side of SCRAM (RFC 5802), without I/O.
//!
//! Invariant: no credential is printed.

use std::fmt;
use std::num::NonZeroU32;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use ring::rand::{SecureRandom, SystemRandom};
use ring::{digest, hmac, pbkdf2};

/// Kafka's default.
pub(crate) const ITERATIONS: NonZeroU32 = NonZeroU32::MIN.saturating_add(4095);

/// A hash function of SCRAM, with its code in requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ScramMechanism {
    Sha256 = 1,
    Sha512 = 2,
}

impl ScramMechanism {
    pub(crate) const ALL: [Self; 2] = [Self::Sha256, Self::Sha512];

    pub(crate) fn from_code(code: i8) -> Option<Self> {
        Self::ALL.into_iter().find(|mechanism| *mechanism as i8 == code)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "SCRAM-SHA-256",
            Self::Sha512 => "SCRAM-SHA-512",
        }
    }

    fn hmac(self) -> hmac::Algorithm {
        match self {
            Self::Sha256 => hmac::HMAC_SHA256,
            Self::Sha512 => hmac::HMAC_SHA512,
        }
    }

    fn digest(self) -> &'static digest::Algorithm {
        match self {
            Self::Sha256 => &digest::SHA256,
            Self::Sha512 => &digest::SHA512,
        }
    }

    fn pbkdf2(self) -> pbkdf2::Algorithm {
        match self {
            Self::Sha256 => pbkdf2::PBKDF2_HMAC_SHA256,
            Self::Sha512 => pbkdf2::PBKDF2_HMAC_SHA512,
        }
    }
}

/// What a broker stores of a password: enough to verify it, not enough to log in with it.
#[derive(Clone)]
pub(crate) struct ScramCredential {
    pub(crate) iterations: NonZeroU32,
    salt: Bytes,
    stored_key: digest::Digest,
    server_key: hmac::Tag,
}

impl ScramCredential {
    /// The credential of a salted password.
    pub(crate) fn new(mechanism: ScramMechanism, iterations: NonZeroU32, salt: Bytes, salted: &[u8]) -> Self {
        let salted = hmac::Key::new(mechanism.hmac(), salted);
        let client_key = hmac::sign(&salted, b"Client Key");
        Self {
            iterations,
            salt,
            stored_key: digest::digest(mechanism.digest(), client_key.as_ref()),
            server_key: hmac::sign(&salted, b"Server Key"),
        }
    }

    /// The credential of a password, with a new salt; `None` without random numbers.
    pub(crate) fn of_password(mechanism: ScramMechanism, password: &str) -> Option<Self> {
        let salt = random::<16>()?;
        let mut salted = vec![0; mechanism.digest().output_len()];
        pbkdf2::derive(mechanism.pbkdf2(), ITERATIONS, &salt, password.as_bytes(), &mut salted);
        Some(Self::new(mechanism, ITERATIONS, Bytes::copy_from_slice(&salt), &salted))
    }
}

impl fmt::Debug for ScramCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScramCredential").field("iterations", &self.iterations).finish_non_exhaustive()
    }
}

/// The client's first message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ClientFirst<'a> {
    pub(crate) user: String,
    /// Whether the user is the id of a delegation token.
    pub(crate) is_token: bool,
    nonce: &'a str,
    bare: &'a str,
}

impl<'a> ClientFirst<'a> {
    /// Reads the message; `None` if it is malformed.
    pub(crate) fn parse(message: &'a [u8]) -> Option<Self> {
        let bare = std::str::from_utf8(message).ok()?.strip_prefix("n,,")?;
        let (name, rest) = bare.strip_prefix("n=")?.split_once(",r=")?;
        let mut rest = rest.split(',');
        let nonce = rest.next()?;
        let is_token = rest.any(|extension| extension == "tokenauth=true");
        Some(Self { user: name.replace("=2C", ",").replace("=3D", "="), is_token, nonce, bare })
    }
}

/// A SCRAM exchange after the server's first message.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) mechanism: ScramMechanism,
    credential: ScramCredential,
    nonce: String,
    /// Both first messages: the start of the AuthMessage that the signatures cover.
    first_messages: String,
}

impl Server {
    /// Returns the server's first message; `None` without random numbers.
    pub(crate) fn start(
        mechanism: ScramMechanism,
        first: &ClientFirst<'_>,
        credential: ScramCredential,
    ) -> Option<(Self, String)> {
        let nonce = format!("{}{}", first.nonce, BASE64.encode(random::<18>()?));
        let (salt, iterations) = (BASE64.encode(&credential.salt), credential.iterations);
        let server_first = format!("r={nonce},s={salt},i={iterations}");
        let first_messages = format!("{},{server_first}", first.bare);
        Some((Self { mechanism, credential, nonce, first_messages }, server_first))
    }

    /// Returns the server's final message; `None` if the client's proof is wrong.
    pub(crate) fn finish(&self, last: &[u8]) -> Option<String> {
        let (without_proof, proof) = std::str::from_utf8(last).ok()?.rsplit_once(",p=")?;
        if without_proof != format!("c=biws,r={}", self.nonce) {
            return None;
        }
        let proof = BASE64.decode(proof).ok()?;
        let ScramCredential { stored_key, server_key, .. } = &self.credential;
        let key = |key: &[u8]| hmac::Key::new(self.mechanism.hmac(), key);
        let message = format!("{},{without_proof}", self.first_messages);
        let signature = hmac::sign(&key(stored_key.as_ref()), message.as_bytes());
        let client_key: Vec<u8> = proof.iter().zip(signature.as_ref()).map(|(a, b)| a ^ b).collect();
        if digest::digest(self.mechanism.digest(), &client_key).as_ref() != stored_key.as_ref() {
            return None;
        }
        let signature = hmac::sign(&key(server_key.as_ref()), message.as_bytes());
        Some(format!("v={}", BASE64.encode(signature)))
    }
}

/// Random bytes; `None` without random numbers.
pub(crate) fn random<const N: usize>() -> Option<[u8; N]> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(bytes)
}
