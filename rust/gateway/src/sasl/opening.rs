//! A connection until its client is logged in, and the connection to a broker that goes with it.
//!
//! Invariants: a client that is not logged in may send frames of 64 KiB at most, and only those of a login: after
//! SaslHandshake version 0, messages without headers until it is logged in. The gateway is logged in to the broker before
//! the client learns that it is logged in here.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use ottla_client::Error;
use ottla_client::connection::setup::ConnectionSetup;
use ottla_client::environment::Stream;
use ottla_protocol::header::LENGTH_PREFIX;
use ottla_protocol::messages::api_versions::ApiVersionsResponse;
use ottla_protocol::{ApiKey, ErrorCode, header};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::guard::{Guard, LoginRequest};
use super::logins::Logins;
use super::state::Login;
use super::upstream::Upstream;
use crate::rewrite::{describe_gateway, supported_versions};
use crate::rules::AccessRules;
use crate::session::{SessionStatus, unsupported_version};
use crate::shared::{Connected, Shared};
use crate::stream::{
    FRAME_MAX_BEFORE_LOGIN, LENGTH_MIN, PendingResponse, RequestHead, Source, Violation, read_head,
    tokens_follow,
};

/// The length of a correlation id.
const CORRELATION_ID: usize = 4;

/// Why a client was not logged in, or has no broker.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    /// The client's connection failed or ended.
    #[error("the connection to the client failed: {0}")]
    Client(#[from] io::Error),
    /// The client sent what no client sends.
    #[error("the client sent {0}")]
    Violation(#[from] Violation),
    /// The client's mechanism or its credentials were refused.
    #[error("the client's login was refused")]
    Refused,
    /// The broker cannot be reached, or refuses the gateway.
    #[error("the broker cannot be reached: {0}")]
    Broker(#[from] Error),
}

/// Lets the client log in, and connects to the broker as the client's user.
pub(crate) async fn open(
    client: &mut Box<dyn Stream>,
    shared: &Shared,
    logins: &Arc<Logins>,
    broker: Option<i32>,
    status: &SessionStatus,
) -> Result<(Connected<Box<dyn Stream>>, Guard), OpenError> {
    let mut login = Login::new();
    let mut setup: Option<Connected<ConnectionSetup>> = None;
    let mut is_headerless = false;
    loop {
        let frame = read_frame(client, if is_headerless { 0 } else { LENGTH_MIN }).await?;
        let head = match is_headerless {
            true => RequestHead::token(&frame, frame.len()),
            false => read_head(&frame, true)?.ok_or(Violation::RequestHeader)?,
        };
        let (api, version, correlation_id) = (head.api, head.version, head.correlation_id);
        if !login.allows(api, Instant::now()) {
            return Err(Violation::BeforeLogin(api.name()).into());
        }
        let now = Instant::now();
        status.requested(&head, now);
        let pending = PendingResponse::new(api, version, correlation_id, now, Source::Broker);
        if api == ApiKey::ApiVersions {
            let response = match version > supported_versions(api).1 {
                true => unsupported_version(correlation_id)?,
                false => {
                    let connected = match setup.take() {
                        Some(connected) => connected,
                        None => shared.connect_unauthenticated(broker).await?,
                    };
                    let response =
                        versions(&connected.to, &head, shared.rules.as_ref(), status.is_of_ottla());
                    setup = Some(connected);
                    response?
                }
            };
            send(client, &response).await?;
            status.responded(&pending, body_of(&response), Instant::now());
            continue;
        }
        is_headerless |= tokens_follow(api, version);
        let request = LoginRequest::read(&head)?;
        let handled = request.handle(logins, &mut login).await?;
        if handled.is_refused {
            send(client, &handled.sent).await?;
            status.responded(&pending, body_of(&handled.response), Instant::now());
            return Err(OpenError::Refused);
        }
        let opened = match login.user().filter(|_| handled.is_complete) {
            None => None,
            Some(user) => {
                let mut connected = match setup.take() {
                    Some(connected) => connected,
                    None => shared.connect_unauthenticated(broker).await?,
                };
                let environment = shared.environment.clone();
                let upstream = Upstream::log_in(&mut connected.to, logins, user, environment).await?;
                Some((Connected { to: connected.to.into_stream()?, era: connected.era }, upstream))
            }
        };
        send(client, &handled.sent).await?;
        status.responded(&pending, body_of(&handled.response), Instant::now());
        if let Some((stream, upstream)) = opened {
            return Ok((stream, Guard::new(Arc::clone(logins), login, upstream)));
        }
    }
}

/// Reads a frame without its length.
async fn read_frame(client: &mut Box<dyn Stream>, min: usize) -> Result<Vec<u8>, OpenError> {
    let announced = client.read_i32().await?;
    let max = FRAME_MAX_BEFORE_LOGIN;
    let length = usize::try_from(announced).ok().filter(|length| (min..=max).contains(length));
    let length = length.ok_or(Violation::FrameLength { length: announced, min, max })?;
    // Grows with the bytes that arrive, not with those that are announced.
    let mut frame = Vec::new();
    client.take(length as u64).read_to_end(&mut frame).await?;
    match frame.len() == length {
        true => Ok(frame),
        false => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
    }
}

/// What follows the correlation id of a frame.
fn body_of(frame: &[u8]) -> &[u8] {
    frame.get(LENGTH_PREFIX + CORRELATION_ID..).unwrap_or_default()
}

async fn send(client: &mut Box<dyn Stream>, response: &[u8]) -> io::Result<()> {
    client.write_all(response).await?;
    client.flush().await
}

/// The response to ApiVersions: the broker's, as far as the gateway supports it.
fn versions(
    connected: &ConnectionSetup,
    head: &RequestHead<'_>,
    rules: Option<&AccessRules>,
    is_for_ottla: bool,
) -> Result<Bytes, Violation> {
    let mut response = connected.versions().cloned().unwrap_or_else(|| ApiVersionsResponse {
        error_code: ErrorCode::UnknownServerError.code(),
        ..Default::default()
    });
    describe_gateway(&mut response, rules, is_for_ottla);
    if head.version < FIRST_WITH_FEATURES_FROM_ZERO {
        response.supported_features.retain(|feature| feature.min_version > 0);
    }
    let frame = header::response_frame(ApiKey::ApiVersions, head.version, head.correlation_id, &response);
    frame.map(|frame| frame.to_bytes()).map_err(|_| Violation::RequestHeader)
}

/// Brokers leave out features whose lowest version is 0 from older responses (KAFKA-17492).
const FIRST_WITH_FEATURES_FROM_ZERO: i16 = 4;
