//! A stream that remembers the first bytes that came: when they are no TLS, they say what they are.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::environment::Stream;

/// A stream and how it began.
pub struct Heard {
    stream: Box<dyn Stream>,
    first: [u8; 4],
    count: usize,
}

impl Heard {
    pub(super) fn new(stream: Box<dyn Stream>) -> Self {
        Self { stream, first: [0; 4], count: 0 }
    }

    /// The first four bytes, or as many as came.
    pub(super) fn first(&self) -> &[u8] {
        self.first.get(..self.count).unwrap_or_default()
    }
}

impl AsyncRead for Heard {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        for byte in buffer.filled().iter().skip(before) {
            let at = self.count;
            let Some(place) = self.first.get_mut(at) else { break };
            *place = *byte;
            self.count += 1;
        }
        read
    }
}

impl AsyncWrite for Heard {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
