//! Writes frames to a connection's stream: at once, by the thread that sends a request, or by the connection's
//! task if the socket accepts no more for now.
//!
//! Invariants: frames are written whole, in the order in which their requests are registered. No thread waits for
//! the socket: what it does not accept is left to the task, with a deadline.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker, ready};

use bytes::{Buf, Bytes};
use ottla_protocol::ApiKey;
use ottla_protocol::wire::Frame;
use parking_lot::Mutex;
use tokio::io::{AsyncWrite, WriteHalf};
use tokio::sync::{Notify, oneshot};
use tokio::time::{Duration, Instant, sleep_until};

use super::InFlightPermit;
use super::in_flight::{ConnectionShared, InFlightRequest};
use super::transport_error::transport_error;
use crate::environment::Stream;
use crate::error::{Error, Kind, Phase, Result};

/// A frame to write.
pub(super) struct Outgoing {
    pub(super) correlation_id: i32,
    pub(super) api: ApiKey,
    pub(super) frame: Frame,
    /// How long the socket may take to accept the frame.
    pub(super) timeout: Duration,
    /// For a request without a response: notified when the frame is written. The permit is held until
    /// then.
    pub(super) on_written: Option<(oneshot::Sender<()>, InFlightPermit)>,
}

/// The frame that is being written.
struct Current {
    correlation_id: i32,
    api: ApiKey,
    segments: Segments,
    bytes: usize,
    timeout: Duration,
    deadline: Instant,
    on_written: Option<(oneshot::Sender<()>, InFlightPermit)>,
}

/// Wakes the connection's task, which goes on when the socket accepts more.
#[derive(Default)]
struct WakeTask(Notify);

impl Wake for WakeTask {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}

struct WriterState {
    /// `None` once the connection is closed.
    stream: Option<WriteHalf<Box<dyn Stream>>>,
    current: Option<Current>,
    queue: VecDeque<Outgoing>,
    /// Why the stream failed; the task takes it.
    failed: Option<Error>,
}

/// The writing side of a connection.
pub(super) struct FrameWriter {
    state: Mutex<WriterState>,
    task: Arc<WakeTask>,
    waker: Waker,
}

impl FrameWriter {
    pub(super) fn new(stream: WriteHalf<Box<dyn Stream>>) -> Self {
        let task = Arc::new(WakeTask::default());
        let waker = Waker::from(Arc::clone(&task));
        let (current, queue, failed) = (None, VecDeque::new(), None);
        Self { state: Mutex::new(WriterState { stream: Some(stream), current, queue, failed }), task, waker }
    }

    /// Registers a request, if it has a response, and writes its frame behind earlier ones. After an error, nothing was
    /// sent.
    pub(super) fn send(
        &self,
        shared: &ConnectionShared,
        outgoing: Outgoing,
        request: Option<InFlightRequest>,
    ) -> Result<()> {
        let mut state = self.state.lock();
        if state.stream.is_none() {
            return Err(shared.close_reason().unwrap_or_else(|| shared.closed_error("closed")));
        }
        let is_free = state.current.is_none() && state.queue.is_empty();
        // The response may come before this thread returns from the socket.
        let written_at = is_free.then(Instant::now);
        shared.register(request.map(|request| InFlightRequest { written_at, ..request }))?;
        state.queue.push_back(outgoing);
        if is_free && !self.write_on(&mut state, shared) {
            if let Some(current) = &state.current {
                shared.mark_unwritten(current.correlation_id);
            }
            // Its deadline is the task's.
            self.task.0.notify_one();
        }
        Ok(())
    }

    /// Writes what the socket does not accept at once, until the stream fails.
    pub(super) async fn run(&self, shared: &ConnectionShared) -> Error {
        loop {
            let deadline = {
                let mut state = self.state.lock();
                self.write_on(&mut state, shared);
                if let Some(error) = state.failed.take() {
                    return error;
                }
                match &state.current {
                    Some(current) if current.deadline <= Instant::now() => {
                        let message =
                            format!("the broker accepted no bytes for {} ms", current.timeout.as_millis());
                        return Error::new(Kind::Connection, message).address(&shared.address);
                    }
                    current => current.as_ref().map(|current| current.deadline),
                }
            };
            match deadline {
                None => self.task.0.notified().await,
                Some(deadline) => tokio::select! {
                    () = self.task.0.notified() => {}
                    () = sleep_until(deadline) => {}
                },
            }
        }
    }

    /// Closes the stream and drops the frames that were not written.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        (state.stream, state.current) = (None, None);
        state.queue.clear();
    }

    /// Writes frames until the socket accepts no more or none is left; returns whether none is left.
    fn write_on(&self, state: &mut WriterState, shared: &ConnectionShared) -> bool {
        let mut context = Context::from_waker(&self.waker);
        loop {
            let Some(stream) = state.stream.as_mut().filter(|_| state.failed.is_none()) else { return false };
            let current = match &mut state.current {
                Some(current) => current,
                None => match state.queue.pop_front() {
                    Some(outgoing) => state.current.insert(Current::from(outgoing)),
                    None => return true,
                },
            };
            match current.segments.poll_write(Pin::new(stream), &mut context) {
                Poll::Pending => return false,
                Poll::Ready(Err(error)) => {
                    state.failed = Some(transport_error(&error, Phase::Request, &shared.address));
                    return false;
                }
                Poll::Ready(Ok(())) => {
                    shared.meter.sent(current.api, current.bytes);
                    let correlation_id = current.correlation_id;
                    let on_written = state.current.take().and_then(|current| current.on_written);
                    match on_written {
                        // An error only says that the caller is gone.
                        Some((written, _permit)) => drop(written.send(())),
                        None => shared.mark_written(correlation_id),
                    }
                }
            }
        }
    }
}

impl From<Outgoing> for Current {
    fn from(outgoing: Outgoing) -> Self {
        let Outgoing { correlation_id, api, frame, timeout, on_written } = outgoing;
        let (bytes, deadline) = (frame.len(), Instant::now() + timeout);
        let segments = Segments { segments: frame.into_segments(), front: 0 };
        Self { correlation_id, api, segments, bytes, timeout, deadline, on_written }
    }
}

/// Several segments as one buffer, so that one system call can write many of them.
struct Segments {
    segments: Vec<Bytes>,
    front: usize,
}

/// As many segments as one system call writes.
const SLICES: usize = 64;

impl Segments {
    /// Writes the segments and flushes the stream.
    fn poll_write(
        &mut self,
        mut stream: Pin<&mut WriteHalf<Box<dyn Stream>>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while self.has_remaining() {
            let written = if stream.is_write_vectored() {
                let mut slices = [io::IoSlice::new(&[]); SLICES];
                let count = self.chunks_vectored(&mut slices);
                ready!(stream.as_mut().poll_write_vectored(context, slices.get(..count).unwrap_or_default()))?
            } else {
                ready!(stream.as_mut().poll_write(context, self.chunk()))?
            };
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.advance(written);
        }
        stream.poll_flush(context)
    }
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
