//! The task that owns a connection's stream: the writer sends frames, the reader matches responses to
//! requests, the guard (`overdue_responses.rs`) enforces timeouts.
//!
//! Invariant: when any of the three ends, its cause reaches the shared state and the socket is closed.

use std::io;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use ottla_protocol::ApiKey;
use ottla_protocol::header::LENGTH_PREFIX;
use tokio::io::{AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::frames::{FrameError, FrameReader};
use super::in_flight::{ConnectionShared, InFlightRequests, Outgoing};
use super::transport_error::transport_error;
use crate::connection::overdue_responses::guard;
use crate::environment::Stream;
use crate::error::{Error, Kind, Outlook, Phase, Result};
use crate::tasks::panics::catch;

/// Serves a connection until it closes. `hint` is advice for a connection that closes before the first
/// response.
pub(super) async fn drive(
    stream: Box<dyn Stream>,
    frames: FrameReader,
    queue: mpsc::UnboundedReceiver<Outgoing>,
    shared: Arc<ConnectionShared>,
    hint: &'static str,
) {
    let (reader, writer) = tokio::io::split(stream);
    let serve = async {
        tokio::select! {
            cause = read_loop(reader, frames, &shared, hint) => cause,
            cause = write_loop(writer, queue, &shared) => cause,
            cause = guard(&shared) => cause,
        }
    };
    let cause = catch("the task of a connection", serve).await.unwrap_or_else(|panicked| {
        // A new connection may work.
        panicked.as_kind(Kind::Connection).address(&shared.address)
    });
    shared.poison(cause);
}

/// Writes frames until the queue closes or the stream fails.
async fn write_loop(
    mut stream: WriteHalf<Box<dyn Stream>>,
    mut queue: mpsc::UnboundedReceiver<Outgoing>,
    shared: &ConnectionShared,
) -> Error {
    while let Some(Outgoing { correlation_id, api, frame, timeout, on_written }) = queue.recv().await {
        let (deadline, bytes) = (Instant::now() + timeout, frame.len());
        match timeout_at(deadline, write_frame(&mut stream, frame.into_segments())).await {
            Ok(Ok(())) => {
                shared.meter.sent(api, bytes);
                match on_written {
                    // An error only says that the caller is gone.
                    Some((written, _permit)) => drop(written.send(())),
                    None => mark_written(shared, correlation_id),
                }
            }
            Ok(Err(error)) => return transport_error(&error, Phase::Request, &shared.address),
            Err(_) => {
                let message = format!("the broker accepted no bytes for {} ms", timeout.as_millis());
                return Error::new(Kind::Connection, message).address(&shared.address);
            }
        }
    }
    shared.closed_error("closed by this client")
}

/// Starts the broker's time for a request.
fn mark_written(shared: &ConnectionShared, correlation_id: i32) {
    if let InFlightRequests::Alive(pending) = &mut *shared.state.lock()
        && let Some(request) = pending.iter_mut().find(|request| request.correlation_id == correlation_id)
    {
        request.written_at = Some(Instant::now());
    }
    shared.changed.notify_one();
}

async fn write_frame(stream: &mut WriteHalf<Box<dyn Stream>>, segments: Vec<Bytes>) -> io::Result<()> {
    let mut chain = Segments { segments, front: 0 };
    while chain.has_remaining() {
        stream.write_buf(&mut chain).await?;
    }
    stream.flush().await
}

/// Several segments as one buffer, so that one system call can write many of them.
struct Segments {
    segments: Vec<Bytes>,
    front: usize,
}

impl Buf for Segments {
    fn remaining(&self) -> usize {
        self.segments[self.front..].iter().map(Bytes::len).sum()
    }

    fn chunk(&self) -> &[u8] {
        self.segments[self.front..].iter().find(|segment| !segment.is_empty()).map_or(&[], |segment| segment)
    }

    fn advance(&mut self, mut count: usize) {
        while count > 0 {
            let segment = &mut self.segments[self.front];
            let step = count.min(segment.len());
            segment.advance(step);
            count -= step;
            if segment.is_empty() {
                self.front += 1;
            }
        }
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [io::IoSlice<'a>]) -> usize {
        let filled = self.segments[self.front..].iter().filter(|segment| !segment.is_empty());
        filled.zip(slices).map(|(segment, slice)| *slice = io::IoSlice::new(segment)).count()
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
        // An error only says that the caller is gone.
        let _ = request.response.send(Err(error));
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
            // An error only says that the caller is gone.
            let _ = request.response.send(Ok(frame));
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
            let _ = request.response.send(Err(cause.clone().api(request.api)));
            Err(cause)
        }
        None => Err(protocol_error(shared, "a response to no request")),
    }
}

fn protocol_error(shared: &ConnectionShared, what: &str) -> Error {
    Error::new(Kind::Protocol, format!("the broker sent {what}")).address(&shared.address)
}
