//! The server side of SCRAM (RFC 5802), without I/O.

use std::num::NonZeroU32;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::rand::{SecureRandom, SystemRandom};
use ring::{digest, hmac, pbkdf2};

use crate::config::SaslMechanism;

/// Kafka's default.
const ITERATIONS: NonZeroU32 = NonZeroU32::MIN.saturating_add(4095);

/// A SCRAM exchange after the server's first message.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) mechanism: SaslMechanism,
    pub(crate) user: String,
    password: String,
    salt: [u8; 16],
    nonce: String,
    /// Both first messages: the start of the AuthMessage that the signatures cover.
    first_messages: String,
}

impl Server {
    /// Returns the server's first message; `None` for an unknown user or a malformed message.
    pub(crate) fn start(
        mechanism: SaslMechanism,
        first: &[u8],
        password: impl Fn(&str) -> Option<String>,
    ) -> Option<(Self, String)> {
        let bare = std::str::from_utf8(first).ok()?.strip_prefix("n,,")?;
        let (name, rest) = bare.strip_prefix("n=")?.split_once(",r=")?;
        let client_nonce = rest.split(',').next()?;
        let user = name.replace("=2C", ",").replace("=3D", "=");
        let mut random = [0; 34];
        SystemRandom::new().fill(&mut random).ok()?;
        let (salt, extension) = random.split_first_chunk::<16>()?;
        let nonce = format!("{client_nonce}{}", BASE64.encode(extension));
        let server_first = format!("r={nonce},s={},i={ITERATIONS}", BASE64.encode(salt));
        let first_messages = format!("{bare},{server_first}");
        Some((
            Self { mechanism, password: password(&user)?, user, salt: *salt, nonce, first_messages },
            server_first,
        ))
    }

    /// Returns the server's final message; `None` if the client's proof is wrong.
    pub(crate) fn finish(&self, last: &[u8]) -> Option<String> {
        let (without_proof, proof) = std::str::from_utf8(last).ok()?.rsplit_once(",p=")?;
        if without_proof != format!("c=biws,r={}", self.nonce) {
            return None;
        }
        let proof = BASE64.decode(proof).ok()?;
        let (hmac, pbkdf2, digest) = match self.mechanism {
            SaslMechanism::ScramSha512 => (hmac::HMAC_SHA512, pbkdf2::PBKDF2_HMAC_SHA512, &digest::SHA512),
            _ => (hmac::HMAC_SHA256, pbkdf2::PBKDF2_HMAC_SHA256, &digest::SHA256),
        };
        let mut salted = vec![0; digest.output_len()];
        pbkdf2::derive(pbkdf2, ITERATIONS, &self.salt, self.password.as_bytes(), &mut salted);
        let salted = hmac::Key::new(hmac, &salted);
        let stored = digest::digest(digest, hmac::sign(&salted, b"Client Key").as_ref());
        let message = format!("{},{without_proof}", self.first_messages);
        let signature = hmac::sign(&hmac::Key::new(hmac, stored.as_ref()), message.as_bytes());
        let client_key: Vec<u8> = proof.iter().zip(signature.as_ref()).map(|(a, b)| a ^ b).collect();
        if digest::digest(digest, &client_key).as_ref() != stored.as_ref() {
            return None;
        }
        let server_key = hmac::Key::new(hmac, hmac::sign(&salted, b"Server Key").as_ref());
        Some(format!("v={}", BASE64.encode(hmac::sign(&server_key, message.as_bytes()))))
    }
}
