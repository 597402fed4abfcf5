//! HTTP's method CONNECT (RFC 9110, 9.3.6): the client's side, without I/O.
//!
//! Invariants: a host that is no name or address is not sent, so that a broker's advertised name cannot add to
//! the request; a response is bounded, its body is not read, and its reason is not shown if it repeats a secret.

use zeroize::Zeroizing;

use super::credentials::Credentials;
use super::{Handshake, fault};
use crate::endpoint::Endpoint;
use crate::error::{Error, ProxyFault, Result};
use crate::printable::printable;
use crate::secret::Secret;

/// The largest response without its body, in bytes.
const RESPONSE_MAX: usize = 16 * 1024;
/// The most headers of a response.
const HEADERS_MAX: usize = 64;
/// The longest reason phrase that is shown, in characters.
const REASON_MAX: usize = 100;

/// The client's side of the handshake.
pub(super) struct HttpConnect {
    target: Endpoint,
    /// The password, and the user and the password as they were sent, which a proxy may repeat.
    secrets: Vec<Secret>,
    output: Option<Zeroizing<Vec<u8>>>,
    response: Vec<u8>,
    done: bool,
}

impl HttpConnect {
    pub(super) fn new(target: &Endpoint, credentials: Option<&Credentials>) -> Result<Self> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:".contains(&byte);
        if target.host.is_empty() || !target.host.bytes().all(is_allowed) {
            let message = format!("\"{}\" is not a name that can be sent to it", printable(&target.host));
            return Err(fault(ProxyFault::Refused, message));
        }
        let authorization = credentials.map(Credentials::basic);
        let mut request = Zeroizing::new(Vec::with_capacity(1024));
        request.extend(format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n").as_bytes());
        if let Some(value) = &authorization {
            for part in ["Proxy-Authorization: ", value.expose(), "\r\n"] {
                request.extend(part.as_bytes());
            }
        }
        request.extend(b"\r\n");
        Ok(Self {
            target: target.clone(),
            secrets: [credentials.map(|it| it.password.clone()), authorization]
                .into_iter()
                .flatten()
                .collect(),
            output: Some(request),
            response: Vec::new(),
            done: false,
        })
    }

    fn judge(&self, status: u16, reason: &str) -> Result<()> {
        let target = &self.target;
        let is_secret = |secret: &Secret| {
            let text = secret.expose().rsplit(' ').next().unwrap_or_default();
            !text.is_empty() && reason.contains(text)
        };
        let reason = if self.secrets.iter().any(is_secret) { "" } else { reason };
        let reason: String = printable(reason).chars().take(REASON_MAX).collect();
        let shown =
            if reason.is_empty() { format!("status {status}") } else { format!("status {status} {reason}") };
        Err(match status {
            200..=299 => return Ok(()),
            407 if !self.secrets.is_empty() => {
                fault(ProxyFault::Credentials, format!("it rejected the user and the password ({shown})"))
            }
            407 => fault(
                ProxyFault::Credentials,
                format!("it asks for a user and a password, and none is configured ({shown})"),
            ),
            400 | 404 | 405 | 501 => fault(
                ProxyFault::NotAProxy,
                format!("it does not serve CONNECT, as a web server does not ({shown})"),
            ),
            408 | 429 | 500.. => {
                fault(ProxyFault::ServerUnreachable, format!("it cannot reach {target} ({shown})"))
            }
            _ => fault(ProxyFault::Refused, format!("it does not allow connections to {target} ({shown})")),
        })
    }
}

fn malformed(response: &[u8]) -> Error {
    let hint = match response.first() {
        Some(5) => ": it seems to speak SOCKS5; write socks5h://",
        Some(0x15 | 0x16) => ": it speaks TLS",
        _ => "",
    };
    fault(ProxyFault::NotAProxy, format!("it does not speak HTTP{hint}"))
}

impl Handshake for HttpConnect {
    fn take_output(&mut self) -> Option<Zeroizing<Vec<u8>>> {
        self.output.take()
    }

    fn wanted(&self) -> usize {
        if self.done { 0 } else { RESPONSE_MAX - self.response.len() }
    }

    fn receive(&mut self, bytes: &[u8]) -> Result<()> {
        self.response.extend(bytes);
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut response = httparse::Response::new(&mut headers);
        match response.parse(&self.response) {
            Ok(httparse::Status::Complete(end)) => {
                self.judge(response.code.unwrap_or_default(), response.reason.unwrap_or_default())?;
                if self.response.len() > end {
                    // Servers of Kafka, TLS and HTTP wait for the client's first message.
                    return Err(fault(ProxyFault::NotAProxy, "it sent more than its response"));
                }
                self.done = true;
                Ok(())
            }
            Ok(httparse::Status::Partial) if self.response.len() < RESPONSE_MAX => Ok(()),
            Err(error) if error != httparse::Error::TooManyHeaders => Err(malformed(&self.response)),
            _ => {
                let message =
                    format!("its response is longer than {RESPONSE_MAX} bytes or {HEADERS_MAX} headers");
                Err(fault(ProxyFault::NotAProxy, message))
            }
        }
    }
}
