//! A stream whose reads are shown to an observer. Writes are not.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::environment::Stream;

/// Observes the reads of a stream.
pub(crate) trait ReadObserver: Unpin {
    /// Called with the result of each read: the bytes, none at the end of the stream, or an error.
    fn on_read(&mut self, read: &io::Result<&[u8]>);
}

/// A stream and the observer of its reads.
pub struct ObservedStream<T> {
    stream: Box<dyn Stream>,
    pub(crate) observer: T,
}

impl<T> ObservedStream<T> {
    pub(crate) fn new(stream: Box<dyn Stream>, observer: T) -> Self {
        Self { stream, observer }
    }
}

impl<T: ReadObserver> AsyncRead for ObservedStream<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buffer);
        match &polled {
            Poll::Ready(Ok(())) => {
                self.observer.on_read(&Ok(buffer.filled().get(before..).unwrap_or_default()))
            }
            Poll::Ready(Err(error)) => self.observer.on_read(&Err(error.kind().into())),
            Poll::Pending => {}
        }
        polled
    }
}

impl<T: ReadObserver> AsyncWrite for ObservedStream<T> {
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
