//! The two halves of a connection's stream: the writer sends frames, the reader matches answers.
//!
//! Invariant: whichever half ends, its cause reaches the shared state, and both halves end. The
//! memory for an incoming frame grows with the bytes that have come, not with the announced length.

use std::io;
use std::sync::Arc;

use bytes::{Buf, Bytes, BytesMut};
use ottla_protocol::header::{self, LENGTH_PREFIX};
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::mpsc;
use tokio::time::{Duration, Instant, timeout_at};

use super::{Outgoing, Shared, State, transport_error};
use crate::environment::Stream;
use crate::error::{Error, Kind, Phase, Result};

/// The first step in which memory for a frame is taken; it doubles as bytes come in.
const READ_STEP: usize = 64 * 1024;
/// How often, at most and at least, the reader looks for overdue requests.
const OVERDUE_CHECK: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// Writes frames until the queue closes or the stream fails.
pub(super) async fn write_loop(
    mut stream: WriteHalf<Box<dyn Stream>>,
    mut queue: mpsc::Receiver<Outgoing>,
    shared: Arc<Shared>,
) {
    while let Some(Outgoing { frame, timeout }) = queue.recv().await {
        let deadline = Instant::now() + timeout;
        let written = timeout_at(deadline, write_frame(&mut stream, frame.into_segments())).await;
        let cause = match written {
            Ok(Ok(())) => {
                mark_written(&shared, timeout);
                continue;
            }
            Ok(Err(error)) => transport_error(&error, Phase::Request, &shared.address),
            Err(_) => Error::new(
                Kind::Connection,
                format!("the broker took no bytes for {} ms", timeout.as_millis()),
            )
            .address(&shared.address),
        };
        shared.poison(cause);
        return;
    }
}

/// From here on the broker has the request, and its time runs.
fn mark_written(shared: &Shared, timeout: Duration) {
    if let State::Alive(pending) = &mut *shared.state.lock()
        && let Some(request) = pending.iter_mut().find(|request| request.overdue.is_none())
    {
        request.overdue = Some(Instant::now() + timeout);
    }
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

/// Reads answers until the stream fails or an answer is overdue.
pub(super) async fn read_loop(
    mut stream: ReadHalf<Box<dyn Stream>>,
    max: usize,
    request_timeout: Duration,
    shared: Arc<Shared>,
) {
    let mut frames = FrameReader::new(max);
    let check = (request_timeout / 4).clamp(OVERDUE_CHECK.0, OVERDUE_CHECK.1);
    loop {
        let frame = tokio::select! {
            frame = frames.next(&mut stream) => frame.map_err(|e| e.at(&shared.address, Phase::Request)),
            error = overdue(&shared, check) => Err(error),
        };
        if let Err(cause) = frame.and_then(|frame| deliver(&shared, frame)) {
            shared.poison(cause);
            return;
        }
    }
}

/// Waits until a request is overdue, or until the other half has ended the connection.
async fn overdue(shared: &Shared, check: Duration) -> Error {
    loop {
        tokio::time::sleep(check).await;
        let now = Instant::now();
        let late = |request: &&super::Pending| request.overdue.is_some_and(|overdue| overdue <= now);
        match &*shared.state.lock() {
            State::Dead(cause) => return cause.clone(),
            State::Alive(pending) => {
                if let Some(late) = pending.iter().find(late) {
                    let words = format!(
                        "no answer to {} v{} within request.timeout.ms",
                        late.api.name(),
                        late.version
                    );
                    return Error::new(Kind::Connection, words).address(&shared.address);
                }
            }
        }
    }
}

/// Gives an answer to the request that it belongs to: the oldest in flight.
fn deliver(shared: &Shared, frame: Bytes) -> Result<()> {
    let mut peek = frame.clone();
    let correlation_id = if peek.len() >= 4 {
        peek.get_i32()
    } else {
        return Err(broken(shared, "an answer without header"));
    };
    let request = match &mut *shared.state.lock() {
        State::Dead(cause) => return Err(cause.clone()),
        State::Alive(pending) => pending.pop_front(),
    };
    match request {
        Some(request) if request.correlation_id == correlation_id => {
            // Whoever gave up waiting does not need the answer.
            let _ = request.answer.send(Ok(frame));
            Ok(())
        }
        Some(request) => {
            let cause = broken(
                shared,
                &format!(
                    "an answer with correlation id {correlation_id} where {} was due",
                    request.correlation_id
                ),
            );
            let _ = request.answer.send(Err(cause.clone().api(request.api)));
            Err(cause)
        }
        None => Err(broken(shared, "an answer that nobody asked for")),
    }
}

fn broken(shared: &Shared, what: &str) -> Error {
    Error::new(Kind::Protocol, format!("the broker sent {what}")).address(&shared.address)
}

/// Why a frame could not be read.
pub(super) enum FrameError {
    Io(io::Error),
    /// The length prefix is impossible; these are its bytes.
    NotKafka([u8; LENGTH_PREFIX], usize),
}

impl FrameError {
    /// The error in words; the bytes where a length should be often say what answered.
    pub(super) fn at(self, address: &str, phase: Phase) -> Error {
        let (prefix, max) = match self {
            Self::Io(error) => return transport_error(&error, phase, address),
            Self::NotKafka(prefix, max) => (prefix, max),
        };
        let words = match prefix {
            [0x15 | 0x16, 0x03, ..] => {
                "this port speaks TLS, and security.protocol is PLAINTEXT: use the plaintext listener or set security.protocol".to_owned()
            }
            p if &p == b"HTTP" => "this is not Kafka: it answered HTTP; use the address of a Kafka listener".to_owned(),
            p if &p == b"SSH-" => "this is not Kafka: it answered SSH; use the address of a Kafka listener".to_owned(),
            p => format!(
                "the answer announces {} bytes; at most {max} are accepted (receive.message.max.bytes). Is this a Kafka listener?",
                i32::from_be_bytes(p)
            ),
        };
        Error::new(Kind::Connection, words).phase(phase).address(address)
    }
}

/// Cuts a stream into frames. Cancel-safe: what was read stays in the buffer.
pub(super) struct FrameReader {
    buffer: BytesMut,
    max: usize,
}

impl FrameReader {
    pub(super) fn new(max: usize) -> Self {
        Self { buffer: BytesMut::new(), max }
    }

    /// The next frame, without its length.
    pub(super) async fn next<S: AsyncReadExt + Unpin>(
        &mut self,
        stream: &mut S,
    ) -> Result<Bytes, FrameError> {
        let length = loop {
            if let Some(prefix) = self.buffer.first_chunk::<LENGTH_PREFIX>() {
                match header::frame_length(*prefix, self.max) {
                    Ok(length) => break length,
                    Err(_) => return Err(FrameError::NotKafka(*prefix, self.max)),
                }
            }
            self.fill(stream, READ_STEP).await?;
        };
        let whole = LENGTH_PREFIX + length;
        while self.buffer.len() < whole {
            let missing = whole - self.buffer.len();
            self.fill(stream, missing.min(self.buffer.len().max(READ_STEP))).await?;
        }
        self.buffer.advance(LENGTH_PREFIX);
        Ok(self.buffer.split_to(length).freeze())
    }

    async fn fill<S: AsyncReadExt + Unpin>(&mut self, stream: &mut S, room: usize) -> Result<(), FrameError> {
        if self.buffer.capacity() - self.buffer.len() < room.min(READ_STEP) / 4 {
            self.buffer.reserve(room);
        }
        match stream.read_buf(&mut self.buffer).await {
            Ok(0) => Err(FrameError::Io(io::ErrorKind::UnexpectedEof.into())),
            Ok(_) => Ok(()),
            Err(error) => Err(FrameError::Io(error)),
        }
    }
}
