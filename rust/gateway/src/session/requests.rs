//! The requests of a session: from the client to the broker.

use std::sync::atomic::Ordering;
use std::time::Instant;

use bytes::Bytes;
use ottla_protocol::messages::api_versions::{ApiVersion, ApiVersionsResponse};
use ottla_protocol::{ApiKey, ErrorCode, header};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use super::buffers::Inlet;
use super::{Session, SessionEnd, send};
use crate::faults::{Injected, SessionFaults, Toward};
use crate::rewrite::supported_versions;
use crate::rules::{AccessRules, RuleRuling};
use crate::sasl::{Guard, Ruling};
use crate::stream::{
    FRAME_MAX_BEFORE_LOGIN, Output, PendingResponse, RequestHead, RequestStream, Source, Verdict, Violation,
    tokens_follow,
};

/// Passes on requests until the client closes the connection, or the gateway stops and no request is incomplete.
pub(super) async fn pump(
    session: &Session<'_>,
    from_client: &mut (impl AsyncRead + Unpin),
    to_broker: &mut (impl AsyncWrite + Unpin + Send),
    (mut guard, rules, mut faults): (Option<Box<Guard>>, Option<&AccessRules>, Option<Box<SessionFaults>>),
) -> SessionEnd {
    let mut stream = RequestStream::new(session.limits.request_max);
    let mut inlet = Inlet::new(session.pool);
    let mut output = Output::default();
    // The end of the connection, once the broker has the request before it.
    let mut closing = None;
    loop {
        if let Err(error) = session.link.thawed(session.status, session.events).await {
            return SessionEnd::Client(error);
        }
        if stream.is_waiting() {
            session.wait_for_room().await;
            if stream.awaits_handshake() {
                stream.handshake_answered(session.wait_for_handshake().await);
            }
            if let Some(faults) = &faults {
                faults.wait(&session.link).await;
            }
            if let Some(guard) = &mut guard
                && let Err(end) = guard.work(session, to_broker).await
            {
                return end;
            }
        } else {
            let may_stop = stream.is_between_requests() && inlet.bytes().is_empty();
            let is_over = || may_stop && session.is_draining();
            match inlet.read(from_client, || session.link.read_max(), is_over).await {
                Ok(None) => return SessionEnd::Drained,
                Ok(Some(0)) => {
                    // A client that has sent its last request may wait for responses; the broker must know.
                    return match to_broker.shutdown().await {
                        Ok(()) => SessionEnd::ClientClosed,
                        Err(error) => SessionEnd::Broker(error),
                    };
                }
                Ok(Some(read)) => {
                    session.status.received(read);
                    session.link.moved(read, Toward::Broker).await;
                    if let Err(error) = session.link.thawed(session.status, session.events).await {
                        return SessionEnd::Client(error);
                    }
                }
                Err(error) => return SessionEnd::Client(error),
            }
        }
        let progress = stream.advance(inlet.bytes(), &mut output, |head| {
            judge(session, (guard.as_deref_mut(), rules, faults.as_deref_mut()), head, &mut closing)
        });
        let progress = match progress {
            Ok(progress) => progress,
            Err(violation) => return SessionEnd::ClientViolation(violation),
        };
        if let Err(error) = send(to_broker, inlet.bytes(), &output).await {
            return SessionEnd::Broker(error);
        }
        if !stream.is_passing()
            && let Some(closing) = closing.take()
        {
            session.in_flight.lock().push(closing);
        }
        session.has_request.fetch_or(stream.has_request(), Ordering::Relaxed);
        output.clear();
        inlet.consume(progress.consumed, progress.wanted);
        if guard.as_ref().is_some_and(|guard| guard.is_refused()) && !stream.is_waiting() {
            return SessionEnd::Refused;
        }
    }
}

/// Decides what becomes of a request, and remembers it until its response.
fn judge(
    session: &Session<'_>,
    (guard, rules, faults): (Option<&mut Guard>, Option<&AccessRules>, Option<&mut SessionFaults>),
    head: &RequestHead<'_>,
    closing: &mut Option<PendingResponse>,
) -> Result<Verdict, Violation> {
    let now = Instant::now();
    let follows_token = {
        let in_flight = session.in_flight.lock();
        if closing.is_some() || in_flight.is_over() {
            return Ok(Verdict::Discard);
        }
        if in_flight.is_full() {
            return Ok(Verdict::Wait);
        }
        in_flight.ends_with_token()
    };
    if head.is_token {
        return Ok(session.pass_token(head, now));
    }
    if follows_token {
        session.end_tokens(now);
    }
    // The mechanism says how the login ends.
    if tokens_follow(head.api, head.version) && !head.is_whole {
        return Ok(Verdict::Gather(FRAME_MAX_BEFORE_LOGIN));
    }
    let answer = match guard.map(|guard| guard.judge(head, now)).transpose()? {
        None | Some(Ruling::Pass) if head.version > supported_versions(head.api).1 => {
            Some(unsupported_version(head.correlation_id)?)
        }
        None | Some(Ruling::Pass) => None,
        Some(Ruling::Gather) => return Ok(Verdict::Gather(FRAME_MAX_BEFORE_LOGIN)),
        Some(Ruling::Wait) => return Ok(Verdict::Wait),
        Some(Ruling::Answer(frame)) => Some(frame),
    };
    let (mut source, mut verdict, filter) = match (answer, rules) {
        (Some(answer), _) => (Some(Source::Gateway(answer)), Verdict::Discard, None),
        (None, None) => (None, Verdict::Pass, None),
        (None, Some(rules)) => match rules.judge(head).inspect_err(|_| session.deny(head))? {
            RuleRuling::Pass(filter) => (None, Verdict::Pass, filter),
            RuleRuling::Gather(max) => return Ok(Verdict::Gather(max)),
            RuleRuling::Replace(frame, filter) => (None, Verdict::Replace(frame), filter),
            RuleRuling::Answer(frame) => {
                session.deny(head);
                (Some(Source::Gateway(frame)), Verdict::Discard, None)
            }
        },
    };
    let (mut fault, mut closes) = (None, false);
    if let (None, Some(faults)) = (&source, faults) {
        match faults.judge(head, now, (session.status, &session.link, session.events)) {
            Injected::Gather => return Ok(Verdict::Gather(session.limits.request_max)),
            Injected::Wait => return Ok(Verdict::Wait),
            Injected::Pass(found) => fault = found,
            Injected::PassAndClose => closes = true,
            Injected::Respond(own, found) => {
                (source, verdict, fault) = (Some(own), Verdict::Discard, found);
            }
        }
    }
    if tokens_follow(head.api, head.version) {
        *session.handshake.lock() = None;
    }
    let named = session.status.requested(head, now).map(Box::new);
    let pending = |source| PendingResponse {
        api: head.api,
        version: head.version,
        correlation_id: head.correlation_id,
        since: now,
        source,
        named,
        fault,
        filter,
    };
    if closes {
        *closing = Some(pending(Source::Close));
    } else if head.expects_response || source.is_some() {
        session.in_flight.lock().push(pending(source.unwrap_or(Source::Broker)));
    }
    Ok(verdict)
}

/// The response of a broker to ApiVersions in a version that it does not support: which ones it supports.
pub(crate) fn unsupported_version(correlation_id: i32) -> Result<Bytes, Violation> {
    let (min_version, max_version) = supported_versions(ApiKey::ApiVersions);
    let response = ApiVersionsResponse {
        error_code: ErrorCode::UnsupportedVersion.code(),
        api_keys: vec![ApiVersion { api_key: ApiKey::ApiVersions as i16, min_version, max_version }],
        ..Default::default()
    };
    let frame = header::response_frame(ApiKey::ApiVersions, 0, correlation_id, &response);
    frame.map(|frame| frame.to_bytes()).map_err(|_| Violation::RequestHeader)
}
