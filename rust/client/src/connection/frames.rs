//! Cuts a stream into frames.
//!
//! A small frame is cut out of what was read; a large one is read straight into memory of its own,
//! which comes back for the next one once nobody holds it any more (`spare.rs`): fresh memory would
//! cost a page fault for every 4 KiB, and a place outside of the processor's caches.
//!
//! Invariants: the memory for a frame grows with the bytes that have come, and with what earlier
//! frames of this connection took; not with the announced length. What was read stays when a call is
//! cancelled.

use std::io;
use std::sync::Arc;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use ottla_protocol::header::{self, LENGTH_PREFIX};
use tokio::io::AsyncReadExt;
use tokio::time::{Duration, Instant, timeout_at};

use super::transport_error::transport_error;
use crate::connection::buffer_pool::Spare;
use crate::error::{Error, Kind, Outlook, Phase};

/// So much is read when it is not known what comes.
const READ_AHEAD: usize = 16 * 1024;
/// Frames longer than this have memory of their own. The first takes so much, which doubles as bytes
/// come in.
const LARGE: usize = 64 * 1024;
/// Memory that no large frame has needed for so long is given back.
const IDLE: Duration = Duration::from_secs(1);

/// Why a frame could not be read.
pub(super) enum FrameError {
    Io(io::Error),
    /// The length prefix is impossible; these are its bytes.
    NotKafka([u8; LENGTH_PREFIX], usize),
}

impl FrameError {
    /// The length that is announced and the limit, if this may well be a response that is too large.
    pub(super) fn too_large(&self) -> Option<(i32, usize)> {
        let Self::NotKafka(prefix, max) = *self else { return None };
        let length = i32::from_be_bytes(prefix);
        let large = usize::try_from(length).is_ok_and(|length| length > max);
        (large && other_protocol(prefix).is_none()).then_some((length, max))
    }

    /// The error in words; the bytes where a length should be often say what answered.
    pub(super) fn at(self, address: &str, phase: Phase) -> Error {
        let (prefix, max) = match self {
            Self::Io(error) => return transport_error(&error, phase, address),
            Self::NotKafka(prefix, max) => (prefix, max),
        };
        let (words, outlook) = match other_protocol(prefix) {
            Some(words) => (words.to_owned(), Outlook::Lasts),
            None => {
                let words = format!(
                    "the answer announces {} bytes; at most {max} are accepted (receive.message.max.bytes). Is this a Kafka listener?",
                    i32::from_be_bytes(prefix)
                );
                (words, Outlook::ProbablyLasts)
            }
        };
        Error::new(Kind::Connection, words).phase(phase).address(address).with_outlook(outlook)
    }
}

/// What to say of the first bytes of another protocol.
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

/// Cuts a stream into frames. Cancel-safe: what was read stays here.
pub(super) struct FrameReader {
    /// What was read and belongs to no large frame.
    buffer: BytesMut,
    max: usize,
    /// A large frame that is being read.
    large: Option<Large>,
    spare: Arc<Spare>,
    /// When the last large frame came, if memory may wait for the next.
    kept_since: Option<Instant>,
}

/// A large frame that is being read.
struct Large {
    bytes: Vec<u8>,
    length: usize,
}

impl FrameReader {
    pub(super) fn new(max: usize) -> Self {
        Self { buffer: BytesMut::new(), max, large: None, spare: Arc::default(), kept_since: None }
    }

    /// The same stream from here on, with another limit. What was read too far stays.
    pub(super) fn with_max(mut self, max: usize) -> Self {
        self.max = max;
        self
    }

    /// The next frame, without its length.
    pub(super) async fn next<S: AsyncReadExt + Unpin>(
        &mut self,
        stream: &mut S,
    ) -> Result<Bytes, FrameError> {
        if self.large.is_none() {
            let length = self.length(stream).await?;
            if length <= LARGE {
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
        self.kept_since = Some(Instant::now());
        let bytes = self.large.take().map(|large| large.bytes).unwrap_or_default();
        Ok(Spare::lend(&self.spare, bytes))
    }

    /// The next frame's length, which stays in the buffer.
    async fn length<S: AsyncReadExt + Unpin>(&mut self, stream: &mut S) -> Result<usize, FrameError> {
        loop {
            if let Some(prefix) = self.buffer.first_chunk::<LENGTH_PREFIX>() {
                return header::frame_length(*prefix, self.max)
                    .map_err(|_| FrameError::NotKafka(*prefix, self.max));
            }
            let more = fill(stream, &mut self.buffer, READ_AHEAD);
            match self.kept_since {
                None => more.await?,
                Some(since) => match timeout_at(since + IDLE, more).await {
                    Ok(more) => more?,
                    Err(_) => {
                        self.spare.close();
                        self.kept_since = None;
                    }
                },
            }
        }
    }

    fn begin_large(&mut self, length: usize) {
        self.buffer.advance(LENGTH_PREFIX);
        let mut bytes = self.spare.take(length, LARGE);
        let here = self.buffer.split_to(length.min(self.buffer.len()));
        bytes.extend_from_slice(&here);
        self.large = Some(Large { bytes, length });
    }
}

impl Large {
    async fn fill<S: AsyncReadExt + Unpin>(&mut self, stream: &mut S) -> Result<(), FrameError> {
        let missing = self.length - self.bytes.len();
        if self.bytes.capacity() == self.bytes.len() {
            self.bytes.reserve_exact(missing.min(self.bytes.len().max(LARGE)));
        }
        // Not a byte of the next frame.
        let read = stream.read_buf(&mut (&mut self.bytes).limit(missing)).await;
        came(read)
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
    came(stream.read_buf(buffer).await)
}

fn came(read: io::Result<usize>) -> Result<(), FrameError> {
    match read {
        Ok(0) => Err(FrameError::Io(io::ErrorKind::UnexpectedEof.into())),
        Ok(_) => Ok(()),
        Err(error) => Err(FrameError::Io(error)),
    }
}
