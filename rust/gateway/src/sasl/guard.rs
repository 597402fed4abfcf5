//! [`Guard`]: the login of a session. It answers the client's renewals of its login, and renews the gateway's own.
//!
//! Invariants: no request passes after the client's login has expired. While the gateway renews its own login, and while
//! a client renews its, no other request is read.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use ottla_protocol::header;
use ottla_protocol::messages::sasl_authenticate::SaslAuthenticateRequest;
use ottla_protocol::messages::sasl_handshake::{SaslHandshakeRequest, SaslHandshakeResponse};
use ottla_protocol::wire::Reader;
use ottla_protocol::{ApiKey, ErrorCode, Message};
use tokio::io::AsyncWrite;

use super::logins::Logins;
use super::state::Login;
use super::upstream::Upstream;
use crate::session::{Session, SessionEnd};
use crate::stream::{RequestHead, Violation, tokens_follow};

/// The login of a session.
#[derive(Debug)]
pub(crate) struct Guard {
    logins: Arc<Logins>,
    login: Login,
    upstream: Upstream,
    /// What must be done before the next request.
    work: Option<Work>,
    /// The response to the client's message, after `work` was done.
    answer: Option<Bytes>,
    is_refused: bool,
}

#[derive(Debug)]
enum Work {
    Client(LoginRequest),
    Upstream,
}

/// What becomes of a request.
#[derive(Debug)]
pub(crate) enum Ruling {
    /// Nothing speaks against it.
    Pass,
    /// It must be whole.
    Gather,
    /// It must wait for [`Guard::work`].
    Wait,
    /// The gateway responds with this frame.
    Answer(Bytes),
}

impl Guard {
    pub(super) fn new(logins: Arc<Logins>, login: Login, upstream: Upstream) -> Self {
        Self { logins, login, upstream, work: None, answer: None, is_refused: false }
    }

    /// Decides what becomes of a request.
    pub(crate) fn judge(&mut self, head: &RequestHead<'_>, now: Instant) -> Result<Ruling, Violation> {
        let is_login = matches!(head.api, ApiKey::SaslHandshake | ApiKey::SaslAuthenticate);
        if is_login && let Some(answer) = self.answer.take() {
            return Ok(Ruling::Answer(answer));
        }
        if !self.login.allows(head.api, now) {
            return Err(Violation::BeforeLogin(head.api.name()));
        }
        if is_login && !head.is_whole {
            return Ok(Ruling::Gather);
        }
        // As a broker whose sessions do not expire. A client that knows of their end has version 1 (KIP-368).
        if tokens_follow(head.api, head.version) {
            let response = SaslHandshakeResponse {
                error_code: ErrorCode::IllegalSaslState.code(),
                ..SaslHandshakeResponse::default()
            };
            let frame = header::response_frame(head.api, head.version, head.correlation_id, &response);
            return Ok(Ruling::Answer(frame.map_err(|_| Violation::RequestHeader)?.to_bytes()));
        }
        if is_login {
            self.work = Some(Work::Client(LoginRequest::read(head)?));
            return Ok(Ruling::Wait);
        }
        if self.upstream.is_due(now) {
            self.work = Some(Work::Upstream);
            return Ok(Ruling::Wait);
        }
        Ok(Ruling::Pass)
    }

    /// Whether the client's login was refused, so that the session ends after the response.
    pub(crate) fn is_refused(&self) -> bool {
        self.is_refused
    }

    /// Does what a request waits for.
    pub(crate) async fn work(
        &mut self,
        session: &Session<'_>,
        to_broker: &mut (impl AsyncWrite + Unpin + Send),
    ) -> Result<(), SessionEnd> {
        match self.work.take() {
            None => Ok(()),
            Some(Work::Client(request)) => {
                // In boxes: each session would have room for what happens once in a while.
                let handled = Box::pin(request.handle(&self.logins, &mut self.login)).await;
                let handled = handled.map_err(SessionEnd::ClientViolation)?;
                (self.answer, self.is_refused) = (Some(handled.sent), handled.is_refused);
                Ok(())
            }
            Some(Work::Upstream) => {
                let Some(user) = self.login.user() else { return Ok(()) };
                let renewed = Box::pin(self.upstream.renew(&self.logins, user, session, to_broker)).await;
                renewed.map_err(SessionEnd::Login)
            }
        }
    }
}

/// A request of a client's login.
#[derive(Debug)]
pub(super) struct LoginRequest {
    version: i16,
    correlation_id: i32,
    /// Whether it has no header.
    is_token: bool,
    message: LoginMessage,
}

#[derive(Debug)]
enum LoginMessage {
    Handshake(SaslHandshakeRequest),
    Authenticate(SaslAuthenticateRequest),
}

/// A response to a request of a login.
pub(super) struct Handled {
    /// The bytes for the client: to a refused message without a header there are none.
    pub(super) sent: Bytes,
    /// The frame with the response.
    pub(super) response: Bytes,
    pub(super) is_complete: bool,
    pub(super) is_refused: bool,
}

impl LoginRequest {
    /// Decodes the request, which must be whole.
    pub(super) fn read(head: &RequestHead<'_>) -> Result<Self, Violation> {
        let mut r = Reader::new(Bytes::copy_from_slice(head.body));
        let malformed = |_| Violation::MalformedRequest(head.api.name());
        let message = match head.api {
            _ if head.is_token => {
                LoginMessage::Authenticate(SaslAuthenticateRequest { auth_bytes: r.rest().clone().into() })
            }
            ApiKey::SaslHandshake => LoginMessage::Handshake(
                SaslHandshakeRequest::decode(&mut r, head.version).map_err(malformed)?,
            ),
            _ => LoginMessage::Authenticate(
                SaslAuthenticateRequest::decode(&mut r, head.version).map_err(malformed)?,
            ),
        };
        let RequestHead { version, correlation_id, is_token, .. } = *head;
        Ok(Self { version, correlation_id, is_token, message })
    }

    /// The response to it.
    pub(super) async fn handle(self, logins: &Logins, login: &mut Login) -> Result<Handled, Violation> {
        let (version, id) = (self.version, self.correlation_id);
        let mut token = None;
        let (frame, is_complete, is_refused) = match self.message {
            LoginMessage::Handshake(request) => {
                let response = logins.handshake(login, &request).await;
                let is_refused = response.error_code != ErrorCode::None.code();
                (header::response_frame(ApiKey::SaslHandshake, version, id, &response), false, is_refused)
            }
            LoginMessage::Authenticate(request) => {
                let checked = logins.authenticate(login, &request.auth_bytes.0).await;
                let frame = header::response_frame(ApiKey::SaslAuthenticate, version, id, &checked.response);
                if self.is_token {
                    let reply = &checked.response.auth_bytes.0;
                    token = Some(if checked.is_refused { Bytes::new() } else { framed(reply) });
                }
                (frame, checked.is_complete, checked.is_refused)
            }
        };
        let response = frame.map_err(|_| Violation::RequestHeader)?.to_bytes();
        let sent = token.unwrap_or_else(|| response.clone());
        Ok(Handled { sent, response, is_complete, is_refused })
    }
}

/// A token with its length in front; those of the gateway are short.
fn framed(token: &[u8]) -> Bytes {
    let length = u32::try_from(token.len()).unwrap_or_default();
    [&length.to_be_bytes()[..], token].concat().into()
}
