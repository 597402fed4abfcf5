//! [`Login`]: the user of a SASL exchange that passes through.
//!
//! Invariant: only the name is kept, and only once the broker has accepted it; a password is not copied anywhere.

use bytes::Bytes;
use ottla_protocol::Message;
use ottla_protocol::messages::sasl_authenticate::SaslAuthenticateRequest;
use ottla_protocol::messages::sasl_handshake::SaslHandshakeRequest;
use ottla_protocol::wire::Reader;

use crate::stream::RequestHead;

/// The longest message of an exchange that is looked at, and the longest name that is kept, in bytes.
const MESSAGE_MAX: usize = 4096;
const NAME_MAX: usize = 256;

/// A SASL exchange, as far as it has come.
#[derive(Debug, Default)]
pub(super) struct Login {
    mechanism: String,
    /// The name in the exchange that goes on.
    claimed: Option<String>,
    /// How many responses of the exchange have come.
    responses: u32,
    accepted: Option<String>,
}

impl Login {
    /// The user whom the broker has accepted.
    pub(super) fn user(&self) -> Option<&str> {
        self.accepted.as_deref()
    }

    /// The mechanism that the client has chosen last.
    pub(super) fn mechanism(&self) -> &str {
        &self.mechanism
    }

    /// The client chooses a mechanism.
    pub(super) fn handshake(&mut self, head: &RequestHead<'_>) {
        self.mechanism =
            decode::<SaslHandshakeRequest>(head).map_or_else(String::new, |request| request.mechanism);
        (self.claimed, self.responses) = (None, 0);
    }

    /// The client sends a message of the exchange.
    pub(super) fn authenticate(&mut self, head: &RequestHead<'_>) {
        // The name is in the first message.
        if self.claimed.is_some() {
            return;
        }
        if head.is_token {
            let is_readable = head.is_whole && head.body.len() <= MESSAGE_MAX;
            self.claimed = name_in(&self.mechanism, head.body).filter(|_| is_readable);
        } else if let Some(request) = decode::<SaslAuthenticateRequest>(head) {
            self.claimed = name_in(&self.mechanism, &request.auth_bytes.0);
        }
    }

    /// The broker responds to a message of the exchange.
    pub(super) fn responded(&mut self, error_code: i16) {
        self.responses += 1;
        // The first response of SCRAM is a challenge.
        let last = if self.mechanism == "PLAIN" { 1 } else { 2 };
        match error_code {
            0 if self.responses < last => {}
            0 => self.accepted = self.claimed.take().or(self.accepted.take()),
            _ => self.claimed = None,
        }
    }
}

fn decode<M: Message>(head: &RequestHead<'_>) -> Option<M> {
    if !head.is_whole || head.body.len() > MESSAGE_MAX {
        return None;
    }
    M::decode(&mut Reader::new(Bytes::copy_from_slice(head.body)), head.version).ok()
}

/// The user's name in the first message: of PLAIN (RFC 4616) and SCRAM (RFC 5802). A token is not looked into.
fn name_in(mechanism: &str, message: &[u8]) -> Option<String> {
    let name = match mechanism {
        "PLAIN" => message.split(|byte| *byte == 0).nth(1)?,
        "SCRAM-SHA-256" | "SCRAM-SHA-512" => {
            let mut parts = message.split(|byte| *byte == b',');
            parts.nth(2)?.strip_prefix(b"n=")?
        }
        _ => return None,
    };
    let name = std::str::from_utf8(name).ok().filter(|name| !name.is_empty() && name.len() <= NAME_MAX)?;
    match mechanism {
        "PLAIN" => Some(name.to_owned()),
        _ => Some(name.replace("=2C", ",").replace("=3D", "=")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_in_the_first_message() {
        assert_eq!(name_in("PLAIN", b"\0alice\0secret").as_deref(), Some("alice"));
        assert_eq!(name_in("SCRAM-SHA-256", b"n,,n=a=2Cb=3Dc,r=nonce").as_deref(), Some("a,b=c"));
        assert_eq!(name_in("SCRAM-SHA-512", b"n,,r=nonce"), None);
        assert_eq!(name_in("OAUTHBEARER", b"n,,\x01auth=Bearer secret\x01\x01"), None);
        assert_eq!(name_in("PLAIN", b"secret"), None);
    }

    #[test]
    fn a_user_is_known_once_the_broker_has_accepted_it() {
        let mut login = Login { mechanism: "PLAIN".to_owned(), ..Login::default() };
        login.claimed = name_in(&login.mechanism, b"\0alice\0secret");
        login.responded(58);
        assert_eq!(login.user(), None);
        (login.claimed, login.responses) = (name_in(&login.mechanism, b"\0bob\0secret"), 0);
        login.responded(0);
        assert_eq!(login.user(), Some("bob"));
        let mut login = Login { mechanism: "SCRAM-SHA-256".to_owned(), ..Login::default() };
        login.claimed = name_in(&login.mechanism, b"n,,n=eve,r=nonce");
        login.responded(0);
        assert_eq!(login.user(), None);
        login.responded(0);
        assert_eq!(login.user(), Some("eve"));
        assert!(!format!("{login:?}").contains("secret"));
    }
}
