//! One connection: frames in, frames out, one request at a time, as in Kafka.
//!
//! Invariant: no memory is taken because a frame announces it; what is not a frame ends the connection.

use std::io;
use std::pin::pin;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use ottla_protocol::header::{LENGTH_PREFIX, RequestHeader, frame_length};
use ottla_protocol::wire::Frame;
use tokio::io::{
    AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, BufWriter, ReadHalf, WriteHalf, split,
};

use crate::dispatch::{self, Incoming, Verdict};
use crate::session::Session;
use crate::shared::Shared;
use crate::transport::Stream;

/// A frame's memory grows by no more than this ahead of its bytes.
const READ_STEP: usize = 256 * 1024;

type Input = BufReader<ReadHalf<Box<dyn Stream>>>;
type Output = BufWriter<WriteHalf<Box<dyn Stream>>>;

/// Serves a connection until either side ends it.
pub(crate) async fn run(stream: Box<dyn Stream>, broker: i32, shared: Arc<Shared>) {
    let (number, _counted) = shared.count_connection(broker);
    if let Err(error) = serve(stream, broker, number, &shared).await {
        tracing::debug!(broker, connection = number, %error, "connection ended");
    }
}

async fn serve(stream: Box<dyn Stream>, broker: i32, connection: u64, shared: &Shared) -> io::Result<()> {
    let (input, output) = split(stream);
    let (mut input, mut output) = (BufReader::new(input), BufWriter::new(output));
    let mut session = Session::default();
    while let Some(bytes) = read_frame(&mut input, shared.config.max_request_bytes).await? {
        let (header, body) = RequestHeader::decode_any(&bytes).map_err(io::Error::other)?;
        drop(bytes);
        shared.seen.lock().note(broker, connection, &header);
        let verdict = {
            let gone = pin!(hung_up(&mut input));
            let session = &mut session;
            dispatch::answer(Incoming { shared, broker, header: &header, body, session, gone }).await
        };
        match verdict {
            Verdict::Answer(frame) => write_frame(&mut output, &frame).await?,
            Verdict::Raw(bytes) => {
                output.write_all(&bytes).await?;
                output.flush().await?;
            }
            Verdict::Half(frame) => {
                let bytes = frame.to_bytes();
                output.write_all(&bytes[..bytes.len() / 2]).await?;
                output.flush().await?;
                return Ok(());
            }
            Verdict::Nothing => {}
            Verdict::Silence => return swallow(&mut input).await,
            Verdict::Close => return Ok(()),
        }
    }
    Ok(())
}

/// Reads one frame without its length; `None` at the connection's end.
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

/// Ends when the peer has closed the connection and nothing of it is left to read. A peer that has
/// sent its next requests already is not watched: they are read in their turn.
async fn hung_up(input: &mut Input) {
    match input.fill_buf().await {
        Ok(bytes) if !bytes.is_empty() => std::future::pending().await,
        _ => {}
    }
}

/// Reads and forgets until the peer gives up.
async fn swallow(input: &mut Input) -> io::Result<()> {
    loop {
        let length = input.fill_buf().await?.len();
        if length == 0 {
            return Ok(());
        }
        input.consume(length);
    }
}
