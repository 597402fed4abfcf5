//! The server's side of SCRAM (RFC 5802). No I/O.
//!
//! Invariant: a client that does not know the password learns neither that nor whether the user exists before its proof
//! is checked.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::credential::Credential;

/// The longest message of a client, in bytes.
const MESSAGE_MAX: usize = 4096;

/// The client's first message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ClientFirst<'a> {
    pub(super) user: String,
    nonce: &'a str,
    bare: &'a str,
}

impl<'a> ClientFirst<'a> {
    /// Reads the message; `None` if it is malformed, or wants what the gateway does not have: a channel binding,
    /// another user to act as, a delegation token.
    pub(super) fn parse(message: &'a [u8]) -> Option<Self> {
        let text = std::str::from_utf8(message).ok().filter(|text| text.len() <= MESSAGE_MAX)?;
        let bare = text.strip_prefix("n,,")?;
        let (name, rest) = bare.strip_prefix("n=")?.split_once(",r=")?;
        let mut rest = rest.split(',');
        let nonce = rest.next().filter(|nonce| !nonce.is_empty())?;
        let is_token = rest.any(|extension| extension == "tokenauth=true");
        let user = name.replace("=2C", ",").replace("=3D", "=");
        (!is_token && !user.is_empty()).then_some(Self { user, nonce, bare })
    }
}

/// An exchange after the gateway's first message.
#[derive(Debug)]
pub(super) struct Exchange {
    credential: Credential,
    nonce: String,
    /// Both first messages, with which the message that is signed begins.
    first_messages: String,
}

impl Exchange {
    /// Returns the gateway's first message. `nonce` is random and printable, without commas.
    pub(super) fn start(first: &ClientFirst<'_>, credential: Credential, nonce: &str) -> (Self, String) {
        let nonce = format!("{}{nonce}", first.nonce);
        let (salt, iterations) = (BASE64.encode(&credential.salt), credential.iterations);
        let reply = format!("r={nonce},s={salt},i={iterations}");
        let first_messages = format!("{},{reply}", first.bare);
        (Self { credential, nonce, first_messages }, reply)
    }

    /// Returns the gateway's final message; `None` if the client does not know the password.
    pub(super) fn finish(&self, last: &[u8]) -> Option<String> {
        let text = std::str::from_utf8(last).ok().filter(|text| text.len() <= MESSAGE_MAX)?;
        let (without_proof, proof) = text.rsplit_once(",p=")?;
        if without_proof != format!("c=biws,r={}", self.nonce) {
            return None;
        }
        let proof = BASE64.decode(proof).ok()?;
        let message = format!("{},{without_proof}", self.first_messages);
        let is_proof = self.credential.is_proof(&message, &proof);
        is_proof.then(|| format!("v={}", self.credential.signature(&message)))
    }
}
