//! One connection: reads and writes frames and handles one request at a time, as Kafka does.
//!
//! Invariant: no memory is allocated on a frame's announced length alone; an invalid frame closes the
//! connection.

use std::io;
use std::pin::pin;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use ottla_protocol::header::{LENGTH_PREFIX, RequestHeader, frame_length};
use ottla_protocol::wire::Frame;
use tokio::io::{
    AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, BufWriter, ReadHalf, WriteHalf, split,
};

use crate::dispatch::{self, IncomingRequest, ResponseAction};
use crate::session::Session;
use crate::shared::SharedCluster;
use crate::transport::Stream;

/// A frame's buffer is allocated at most this far ahead of the bytes received.
const READ_STEP: usize = 256 * 1024;

type Input = BufReader<ReadHalf<Box<dyn Stream>>>;
type Output = BufWriter<WriteHalf<Box<dyn Stream>>>;

/// Serves a connection until either side closes it.
pub(crate) async fn run(stream: Box<dyn Stream>, broker: i32, shared: Arc<SharedCluster>) {
    let (number, _counted) = shared.count_connection(broker);
    // Also when the broker stops and ends this task.
    let _sessions = CloseShareSessions { connection: number, shared: &shared };
    if let Err(error) = serve(stream, broker, number, &shared).await {
        tracing::debug!(broker, connection = number, %error, "connection ended");
    }
}

/// Closes the share sessions of a connection when it ends.
struct CloseShareSessions<'a> {
    connection: u64,
    shared: &'a SharedCluster,
}

impl Drop for CloseShareSessions<'_> {
    fn drop(&mut self) {
        let closed =
            self.shared.state.lock().close_share_sessions(|session| session.connection == self.connection);
        if closed {
            self.shared.notify_waiters();
        }
    }
}

async fn serve(
    stream: Box<dyn Stream>,
    broker: i32,
    connection: u64,
    shared: &SharedCluster,
) -> io::Result<()> {
    let (input, output) = split(stream);
    let (mut input, mut output) = (BufReader::new(input), BufWriter::new(output));
    let mut session = Session::default();
    while let Some(bytes) = read_frame(&mut input, shared.config.max_request_bytes).await? {
        if session.expects_token() {
            let step = session.authenticate(&shared.state.lock(), &bytes);
            // Without headers there is no error code: a refusal closes the connection.
            let reply = step.map_err(io::Error::other)?.auth_bytes;
            output.write_i32(i32::try_from(reply.len()).map_err(io::Error::other)?).await?;
            output.write_all(&reply).await?;
            output.flush().await?;
            continue;
        }
        let (header, body) = RequestHeader::decode_any(&bytes).map_err(io::Error::other)?;
        drop(bytes);
        shared.request_log.lock().record(broker, connection, &header);
        let action = {
            let disconnected = pin!(peer_closed(&mut input));
            let session = &mut session;
            dispatch::handle_request(IncomingRequest {
                shared,
                broker,
                connection,
                header: &header,
                body,
                session,
                disconnected,
            })
            .await
        };
        match action {
            ResponseAction::Respond(frame) => write_frame(&mut output, &frame).await?,
            ResponseAction::Raw(bytes) => {
                output.write_all(&bytes).await?;
                output.flush().await?;
            }
            ResponseAction::Truncated(frame) => {
                let bytes = frame.to_bytes();
                output.write_all(&bytes[..bytes.len() / 2]).await?;
                output.flush().await?;
                return Ok(());
            }
            ResponseAction::NoResponse => {}
            ResponseAction::Silence => return discard_input(&mut input).await,
            ResponseAction::Close => return Ok(()),
        }
    }
    Ok(())
}

/// Reads one frame without its length prefix; `None` at the end of the stream.
async fn read_frame(input: &mut Input, max: usize) -> io::Result<Option<Bytes>> {
    if input.fill_buf().await?.is_empty() {
        return Ok(None);
    }
    let mut prefix = [0; LENGTH_PREFIX];
    input.read_exact(&mut prefix).await?;
    let length = frame_length(prefix, max).map_err(io::Error::other)?;
    let mut frame = BytesMut::new();
    let mut rest = input.take(u64::try_from(length).unwrap_or(u64::MAX));
    while frame.len() < length {
        frame.reserve((length - frame.len()).min(READ_STEP.max(frame.len())));
        if rest.read_buf(&mut frame).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(Some(frame.freeze()))
}

async fn write_frame(output: &mut Output, frame: &Frame) -> io::Result<()> {
    for segment in frame.segments() {
        output.write_all(segment).await?;
    }
    output.flush().await
}

/// Completes when the peer has closed the connection and nothing is left to read. If the next request has
/// arrived already, it never completes: that request is read first.
async fn peer_closed(input: &mut Input) {
    match input.fill_buf().await {
        Ok(bytes) if !bytes.is_empty() => std::future::pending().await,
        _ => {}
    }
}

/// Discards input until the peer closes the connection.
async fn discard_input(input: &mut Input) -> io::Result<()> {
    loop {
        let length = input.fill_buf().await?.len();
        if length == 0 {
            return Ok(());
        }
        input.consume(length);
    }
}
