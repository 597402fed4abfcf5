//! The task of a connection: the reader matches responses to requests, the guard (`overdue_responses.rs`) enforces
//! timeouts, and the writer (`frame_writer.rs`) goes on with frames that the socket did not accept at once.
//!
//! Invariant: when any of the three ends, its cause reaches the shared state and the socket is closed.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::{Buf, Bytes};
use ottla_protocol::ApiKey;
use ottla_protocol::header::LENGTH_PREFIX;
use tokio::io::ReadHalf;

use super::frame_writer::FrameWriter;
use super::frames::{FrameError, FrameReader};
use super::in_flight::{ConnectionShared, InFlightRequests};
use super::overdue_responses::record_response;
use crate::connection::overdue_responses::guard;
use crate::environment::Stream;
use crate::error::{Error, Kind, Outlook, Phase, Result};
use crate::tasks::panics::catch;

/// Serves a connection until it closes. `hint` is advice for a connection that closes before the first
/// response.
pub(super) async fn drive(
    reader: ReadHalf<Box<dyn Stream>>,
    frames: FrameReader,
    shared: Arc<ConnectionShared>,
    writer: Arc<FrameWriter>,
    hint: &'static str,
) {
    let _closes = CloseWriter(&writer);
    let serve = async {
        tokio::select! {
            cause = read_loop(reader, frames, &shared, hint) => cause,
            cause = writer.run(&shared) => cause,
            cause = guard(&shared) => cause,
        }
    };
    let cause = catch("the task of a connection", serve).await.unwrap_or_else(|panicked| {
        // A new connection may work.
        panicked.as_kind(Kind::Connection).address(&shared.address)
    });
    shared.poison(cause);
}

/// Closes the writing side when the task ends, also by being aborted.
struct CloseWriter<'a>(&'a FrameWriter);

impl Drop for CloseWriter<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Reads responses until the stream fails or a response does not match its request.
async fn read_loop(
    mut stream: ReadHalf<Box<dyn Stream>>,
    mut frames: FrameReader,
    shared: &ConnectionShared,
    hint: &str,
) -> Error {
    let mut hint = Some(hint);
    loop {
        let frame = frames.next(&mut stream).await;
        if let Err(error) = &frame {
            fail_oversized_fetch(shared, error);
        }
        let frame = frame.map_err(|error| match (&error, hint) {
            (FrameError::Io(closed), Some(hint)) if closed_by_peer(closed) => {
                let error = error.into_error(&shared.address, Phase::Request);
                let outlook = if hint.is_empty() { error.outlook() } else { Outlook::ProbablyPermanent };
                error.clone().with_message(format!("{}{hint}", error.message())).with_outlook(outlook)
            }
            _ => error.into_error(&shared.address, Phase::Request),
        });
        if let Err(cause) = frame.and_then(|frame| deliver(shared, frame)) {
            return cause;
        }
        hint = None;
    }
}

/// Fails the fetch whose response exceeds the maximum size. Without this, the fetch would be retried as
/// after a lost connection, which does not help.
fn fail_oversized_fetch(shared: &ConnectionShared, error: &FrameError) {
    let Some((length, max)) = error.too_large() else { return };
    let request = match &mut *shared.state.lock() {
        InFlightRequests::Alive(pending)
            if pending.front().is_some_and(|request| request.api == ApiKey::Fetch) =>
        {
            pending.pop_front()
        }
        _ => None,
    };
    if let Some(request) = request {
        let message = format!(
            "a response of {length} bytes is larger than receive.message.max.bytes={max}: raise it to read records of this size"
        );
        let error = Error::new(Kind::Config, message).api(request.api).address(&shared.address);
        request.respond(Err(error));
    }
}

/// Whether the peer closed the connection.
pub(super) fn closed_by_peer(error: &io::Error) -> bool {
    use io::ErrorKind as E;
    matches!(error.kind(), E::UnexpectedEof | E::ConnectionReset | E::BrokenPipe | E::ConnectionAborted)
}

/// Delivers a response to the oldest request in flight, which it must belong to.
fn deliver(shared: &ConnectionShared, frame: Bytes) -> Result<()> {
    let mut header = frame.clone();
    let correlation_id = if header.len() >= 4 {
        header.get_i32()
    } else {
        return Err(protocol_error(shared, "a response without a header"));
    };
    let request = match &mut *shared.state.lock() {
        InFlightRequests::Dead(cause) => return Err(cause.clone()),
        InFlightRequests::Alive(pending) => pending.pop_front(),
    };
    match request {
        Some(request) if request.correlation_id == correlation_id => {
            let waited = request.written_at.map(|written| written.elapsed());
            let allowed = request.allowed_wait(shared.request_timeout);
            shared.meter.received(request.api, LENGTH_PREFIX + frame.len(), waited, allowed);
            if shared.is_late.load(Ordering::Relaxed) {
                shared.is_late.store(false, Ordering::Relaxed);
                record_response(&shared.failures, &shared.address);
            }
            request.respond(Ok(frame));
            Ok(())
        }
        Some(request) => {
            let cause = protocol_error(
                shared,
                &format!(
                    "a response with correlation id {correlation_id} instead of {}",
                    request.correlation_id
                ),
            );
            let api = request.api;
            request.respond(Err(cause.clone().api(api)));
            Err(cause)
        }
        None => Err(protocol_error(shared, "a response to no request")),
    }
}

fn protocol_error(shared: &ConnectionShared, what: &str) -> Error {
    Error::new(Kind::Protocol, format!("the broker sent {what}")).address(&shared.address)
}
