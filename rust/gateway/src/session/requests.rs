//! The requests of a session: from the client to the broker.

use std::time::Instant;

use bytes::Bytes;
use ottla_protocol::messages::api_versions::{ApiVersion, ApiVersionsResponse};
use ottla_protocol::{ApiKey, ErrorCode, header};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use super::buffers::Inlet;
use super::{Session, SessionEnd, send};
use crate::rewrite::supported_versions;
use crate::stream::{Output, PendingResponse, RequestHead, RequestStream, Source, Verdict, Violation};

/// Passes on requests until the client closes the connection, or the gateway stops and no request is incomplete.
pub(super) async fn pump(
    session: &Session<'_>,
    from_client: &mut (impl AsyncRead + Unpin),
    to_broker: &mut (impl AsyncWrite + Unpin),
) -> SessionEnd {
    let mut stream = RequestStream::new(session.limits.request_max);
    let mut inlet = Inlet::new(session.pool);
    let mut output = Output::default();
    loop {
        let may_stop = stream.is_between_requests() && inlet.bytes().is_empty();
        match inlet.read(from_client, || may_stop && session.is_draining()).await {
            Ok(None) => return SessionEnd::Drained,
            Ok(Some(0)) => {
                // A client that has sent its last request may wait for responses; the broker must know.
                return match to_broker.shutdown().await {
                    Ok(()) => SessionEnd::ClientClosed,
                    Err(error) => SessionEnd::Broker(error),
                };
            }
            Ok(Some(read)) => session.status.received(read),
            Err(error) => return SessionEnd::Client(error),
        }
        let progress = stream.advance(inlet.bytes(), &mut output, |head| judge(session, head));
        let progress = match progress {
            Ok(progress) => progress,
            Err(violation) => return SessionEnd::ClientViolation(violation),
        };
        if let Err(error) = send(to_broker, inlet.bytes(), &output).await {
            return SessionEnd::Broker(error);
        }
        output.clear();
        inlet.consume(progress.consumed, progress.wanted);
    }
}

/// Decides what becomes of a request, and remembers it until its response.
fn judge(session: &Session<'_>, head: &RequestHead<'_>) -> Result<Verdict, Violation> {
    let now = Instant::now();
    if let Some(named) = session.status.requested(head, now) {
        session.events.coordinates(session.status, named);
    }
    let mut pending = PendingResponse {
        api: head.api,
        version: head.version,
        correlation_id: head.correlation_id,
        since: now,
        source: Source::Broker,
    };
    if head.version > supported_versions(head.api).1 {
        pending.source = Source::Gateway(unsupported_version(head)?);
        session.in_flight.lock().push(pending)?;
        return Ok(Verdict::Discard);
    }
    if head.expects_response {
        session.in_flight.lock().push(pending)?;
    }
    Ok(Verdict::Pass)
}

/// The response of a broker to ApiVersions in a version that it does not support: which ones it supports.
fn unsupported_version(head: &RequestHead<'_>) -> Result<Bytes, Violation> {
    let (min_version, max_version) = supported_versions(ApiKey::ApiVersions);
    let response = ApiVersionsResponse {
        error_code: ErrorCode::UnsupportedVersion.code(),
        api_keys: vec![ApiVersion { api_key: ApiKey::ApiVersions as i16, min_version, max_version }],
        ..Default::default()
    };
    let frame = header::response_frame(ApiKey::ApiVersions, 0, head.correlation_id, &response);
    frame.map(|frame| frame.to_bytes()).map_err(|_| Violation::RequestHeader)
}
