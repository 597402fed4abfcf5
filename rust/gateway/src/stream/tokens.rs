//! The messages of a login without headers, which follow SaslHandshake version 0. No I/O.
//!
//! Nothing in these bytes says when such a login ends; that depends on its mechanism. The first frame is a token in
//! every mechanism. A later one is a request if it begins as one: with the key of an API. No later message of GSSAPI,
//! SCRAM, OAUTHBEARER or AWS_MSK_IAM begins so, and PLAIN has none.
//!
//! Invariant: what a broker handles as a request is never passed on as a token. A broker that has logged the client in
//! does not know any API whose key a token may begin with, and closes the connection.

use ottla_protocol::ApiKey;
use ottla_protocol::header::LENGTH_PREFIX;

use super::{InFlight, PendingResponse, RequestHead, Verdict, Violation};

/// The longest token: Kafka's default of `sasl.server.max.receive.size`.
const TOKEN_MAX: usize = 512 * 1024;
/// The keys that the APIs of a broker may have: Kafka has less than 100, and vendors have some above 10,000.
const KEYS: std::ops::Range<i16> = 0..0x4000;
/// The first bytes of a message of GSSAPI after the context is established (RFC 4121, section 4.2.6.2).
const GSSAPI_WRAP: i16 = 0x0504;
/// The length of an API key.
const KEY: usize = 2;

/// How far the login without headers of a connection has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tokens {
    /// There is none.
    None,
    /// The broker has not responded to SaslHandshake: the next frame may be a token or a request.
    Asked,
    /// The next frame is the first token.
    First,
    /// There was one.
    Later,
}

/// What the next frame is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    Request,
    /// A token of this length.
    Token(usize),
    /// Its start must have this many bytes to know.
    Wanted(usize),
}

impl Tokens {
    /// What follows a request or a token with this verdict.
    pub(super) fn after(head: &RequestHead<'_>, verdict: &Verdict) -> Self {
        let is_asked = tokens_follow(head.api, head.version) && *verdict == Verdict::Pass;
        match head.is_token {
            true => Self::Later,
            false if is_asked => Self::Asked,
            false => Self::None,
        }
    }

    /// What the next frame is, of which the announced length and the first bytes are known.
    pub(super) fn next(self, announced: i32, start: &[u8]) -> Result<Next, Violation> {
        let length = match self {
            Self::None | Self::Asked => return Ok(Next::Request),
            Self::First => token_length(announced)?,
            Self::Later => {
                let is_short = usize::try_from(announced).is_ok_and(|length| length < KEY);
                match start.first_chunk::<KEY>().map(|key| i16::from_be_bytes(*key)) {
                    None if !is_short => return Ok(Next::Wanted(LENGTH_PREFIX + KEY)),
                    Some(key) if !is_short && KEYS.contains(&key) && key != GSSAPI_WRAP => {
                        return Ok(Next::Request);
                    }
                    _ => token_length(announced)?,
                }
            }
        };
        Ok(Next::Token(length))
    }
}

impl<'a> RequestHead<'a> {
    /// A token of `length` bytes, of which these have arrived. It is a message of the login, as SaslAuthenticate has one.
    pub(crate) fn token(body: &'a [u8], length: usize) -> Self {
        Self {
            api: ApiKey::SaslAuthenticate,
            version: 0,
            correlation_id: 0,
            client_id: None,
            expects_response: true,
            body,
            is_whole: body.len() == length,
            length,
            is_token: true,
            flexible: false,
        }
    }
}

/// Whether the messages of a login follow this request without headers, if it is accepted.
pub(crate) fn tokens_follow(api: ApiKey, version: i16) -> bool {
    api == ApiKey::SaslHandshake && version == 0
}

/// Takes the oldest request, which is a token, and the length of the broker's own, which is passed on with its prefix.
pub(super) fn begin_token(
    announced: i32,
    in_flight: &mut InFlight,
    answered: &mut dyn FnMut(&PendingResponse, &[u8]),
) -> Result<u64, Violation> {
    let length = token_length(announced)?;
    if let Some(pending) = in_flight.pop() {
        answered(&pending, &[]);
    }
    Ok((LENGTH_PREFIX + length) as u64)
}

fn token_length(announced: i32) -> Result<usize, Violation> {
    let length = usize::try_from(announced).ok().filter(|length| *length <= TOKEN_MAX);
    length.ok_or(Violation::FrameLength { length: announced, min: 0, max: TOKEN_MAX })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail")]
    use super::*;

    #[test]
    fn tokens_are_told_from_requests() {
        let next =
            |tokens: Tokens, frame: &[u8]| tokens.next(i32::try_from(frame.len()).unwrap(), frame).unwrap();
        // It begins with the key of an API, and is no request.
        assert_eq!(next(Tokens::First, b"\0alice\0secret"), Next::Token(13));
        assert_eq!(next(Tokens::Later, b"\0\x03\0\x09\0\0\0\x01\0\0"), Next::Request);
        assert_eq!(next(Tokens::Later, b"\x27\x10\0\0\0\0\0\x01\0\0"), Next::Request);
        for token in [
            &b""[..],
            b"\x01",
            b"c=biws,r=nonce,p=proof",
            b"n,,\x01auth=Bearer token\x01\x01",
            b"{\"version\": 1}",
            b"\x60\x82\x02\x51 of Kerberos",
            b"\x05\x04\x05\xff wrapped",
        ] {
            assert_eq!(next(Tokens::Later, token), Next::Token(token.len()), "{token:?}");
        }
        assert_eq!(Tokens::Later.next(10, b"\0").unwrap(), Next::Wanted(6));
        for (tokens, announced) in [(Tokens::First, -1), (Tokens::First, 512 * 1024 + 1)] {
            assert!(matches!(tokens.next(announced, b"n,"), Err(Violation::FrameLength { .. })));
        }
    }
}
