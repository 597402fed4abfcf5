//! Splits a stream into frames.
//!
//! Small frames are slices of the read buffer. A large frame is read straight into a buffer of its own,
//! which is reused for later frames (`buffer_pool.rs`): a new allocation would cost a page fault for
//! every 4 KiB, and is not in the processor's caches.
//!
//! Invariants: memory for a frame grows with the bytes received and with the size of earlier frames of
//! this connection, never with the announced length. Reading is cancel-safe.

use std::io;
use std::sync::Arc;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use ottla_protocol::header::{self, LENGTH_PREFIX};
use tokio::io::AsyncReadExt;
use tokio::time::{Duration, Instant, timeout_at};

use super::transport_error::transport_error;
use crate::connection::buffer_pool::BufferPool;
use crate::error::{Error, Kind, Outlook, Phase};

/// Bytes to read when the length of the next frame is unknown.
const READ_AHEAD: usize = 16 * 1024;
/// Frames longer than this get a buffer of their own. It starts with this capacity, which doubles as
/// bytes arrive.
const LARGE_FRAME: usize = 64 * 1024;
/// Idle buffers are freed when no large frame has arrived for this long.
const IDLE_BUFFERS_FREED_AFTER: Duration = Duration::from_secs(1);

/// The reason why a frame could not be read.
pub(super) enum FrameError {
    Io(io::Error),
    /// The length prefix is invalid: its bytes, and the maximum length.
    NotKafka([u8; LENGTH_PREFIX], usize),
}

impl FrameError {
    /// The announced length and the maximum, if this is probably a response that is too large.
    pub(super) fn too_large(&self) -> Option<(i32, usize)> {
        let Self::NotKafka(prefix, max) = *self else { return None };
        let length = i32::from_be_bytes(prefix);
        let large = usize::try_from(length).is_ok_and(|length| length > max);
        (large && other_protocol(prefix).is_none()).then_some((length, max))
    }

    /// Converts it into an error. The bytes of an invalid length often identify another protocol.
    pub(super) fn into_error(self, address: &str, phase: Phase) -> Error {
        let (prefix, max) = match self {
            Self::Io(error) => return transport_error(&error, phase, address),
            Self::NotKafka(prefix, max) => (prefix, max),
        };
        let (message, outlook) = match other_protocol(prefix) {
            Some(message) => (message.to_owned(), Outlook::Permanent),
            None => {
                let message = format!(
                    "the response announces {} bytes; at most {max} are accepted (receive.message.max.bytes). Is this a Kafka listener?",
                    i32::from_be_bytes(prefix)
                );
                (message, Outlook::ProbablyPermanent)
            }
        };
        Error::new(Kind::Connection, message).phase(phase).address(address).with_outlook(outlook)
    }
}

/// The message for the first bytes of another protocol.
fn other_protocol(prefix: [u8; LENGTH_PREFIX]) -> Option<&'static str> {
    match &prefix {
        [0x15 | 0x16, 0x03, ..] => Some(
            "this port speaks TLS, and security.protocol is PLAINTEXT: use the plaintext listener or set security.protocol",
        ),
        b"HTTP" => Some("this is not Kafka: it speaks HTTP; use the address of a Kafka listener"),
        b"SSH-" => Some("this is not Kafka: it speaks SSH; use the address of a Kafka listener"),
        _ => None,
    }
}

/// Splits a stream into frames. Cancel-safe: the reader keeps the bytes read so far.
pub(super) struct FrameReader {
    /// Bytes that do not belong to a large frame.
    buffer: BytesMut,
    max: usize,
    /// The large frame that is being read.
    large: Option<LargeFrame>,
    buffers: Arc<BufferPool>,
    /// When the last large frame arrived, unless the idle buffers were freed since.
    last_large_frame: Option<Instant>,
}

/// A large frame that is being read.
struct LargeFrame {
    bytes: Vec<u8>,
    length: usize,
}

impl FrameReader {
    pub(super) fn new(max: usize) -> Self {
        Self { buffer: BytesMut::new(), max, large: None, buffers: Arc::default(), last_large_frame: None }
    }

    /// Changes the maximum length. Bytes that were read ahead are kept.
    pub(super) fn with_max(mut self, max: usize) -> Self {
        self.max = max;
        self
    }

    /// Reads the next frame, without its length prefix.
    pub(super) async fn next<S: AsyncReadExt + Unpin>(
        &mut self,
        stream: &mut S,
    ) -> Result<Bytes, FrameError> {
        if self.large.is_none() {
            let length = self.length(stream).await?;
            if length <= LARGE_FRAME {
                while self.buffer.len() < LENGTH_PREFIX + length {
                    let missing = LENGTH_PREFIX + length - self.buffer.len();
                    fill(stream, &mut self.buffer, missing.max(READ_AHEAD)).await?;
                }
                self.buffer.advance(LENGTH_PREFIX);
                return Ok(self.buffer.split_to(length).freeze());
            }
            self.begin_large(length);
        }
        if let Some(large) = &mut self.large {
            while large.bytes.len() < large.length {
                large.fill(stream).await?;
            }
        }
        self.last_large_frame = Some(Instant::now());
        let bytes = self.large.take().map(|large| large.bytes).unwrap_or_default();
        Ok(BufferPool::into_pooled(&self.buffers, bytes))
    }

    /// Reads the next frame's length and leaves the prefix in the buffer.
    async fn length<S: AsyncReadExt + Unpin>(&mut self, stream: &mut S) -> Result<usize, FrameError> {
        loop {
            if let Some(prefix) = self.buffer.first_chunk::<LENGTH_PREFIX>() {
                return header::frame_length(*prefix, self.max)
                    .map_err(|_| FrameError::NotKafka(*prefix, self.max));
            }
            let more = fill(stream, &mut self.buffer, READ_AHEAD);
            match self.last_large_frame {
                None => more.await?,
                Some(since) => match timeout_at(since + IDLE_BUFFERS_FREED_AFTER, more).await {
                    Ok(more) => more?,
                    Err(_) => {
                        self.buffers.close();
                        self.last_large_frame = None;
                    }
                },
            }
        }
    }

    fn begin_large(&mut self, length: usize) {
        self.buffer.advance(LENGTH_PREFIX);
        let mut bytes = self.buffers.take(length, LARGE_FRAME);
        let here = self.buffer.split_to(length.min(self.buffer.len()));
        bytes.extend_from_slice(&here);
        self.large = Some(LargeFrame { bytes, length });
    }
}

impl LargeFrame {
    async fn fill<S: AsyncReadExt + Unpin>(&mut self, stream: &mut S) -> Result<(), FrameError> {
        let missing = self.length - self.bytes.len();
        if self.bytes.capacity() == self.bytes.len() {
            self.bytes.reserve_exact(missing.min(self.bytes.len().max(LARGE_FRAME)));
        }
        // Reads no byte of the next frame.
        let read = stream.read_buf(&mut (&mut self.bytes).limit(missing)).await;
        check_eof(read)
    }
}

async fn fill<S: AsyncReadExt + Unpin>(
    stream: &mut S,
    buffer: &mut BytesMut,
    room: usize,
) -> Result<(), FrameError> {
    if buffer.capacity() - buffer.len() < room.min(READ_AHEAD / 4) {
        buffer.reserve(room);
    }
    check_eof(stream.read_buf(buffer).await)
}

fn check_eof(read: io::Result<usize>) -> Result<(), FrameError> {
    match read {
        Ok(0) => Err(FrameError::Io(io::ErrorKind::UnexpectedEof.into())),
        Ok(_) => Ok(()),
        Err(error) => Err(FrameError::Io(error)),
    }
}
