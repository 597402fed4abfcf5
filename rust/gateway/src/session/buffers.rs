//! Pooled buffers for reading.
//!
//! Invariant: a connection has a buffer only while it has bytes that were read and not yet sent; an idle one has none.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::Poll;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, ReadBuf};

/// The size of a buffer: few system calls a gigabyte, and no more memory than a connection may have.
const BUFFER_SIZE: usize = 64 * 1024;
/// The number of unused buffers that are kept.
const KEPT_MAX: usize = 64;

/// Buffers that no connection uses.
#[derive(Debug, Default)]
pub(crate) struct BufferPool(Mutex<Vec<Vec<u8>>>);

impl BufferPool {
    fn take(&self) -> Vec<u8> {
        let kept = self.0.lock().pop();
        kept.unwrap_or_else(|| vec![0; BUFFER_SIZE])
    }

    fn give(&self, buffer: Vec<u8>) {
        // One that grew for a long response is not worth keeping.
        if buffer.len() == BUFFER_SIZE {
            let mut kept = self.0.lock();
            if kept.len() < KEPT_MAX {
                kept.push(buffer);
            }
        }
    }
}

/// The bytes that were read from one side of a connection and not yet consumed.
#[derive(Debug)]
pub(super) struct Inlet<'a> {
    pool: &'a BufferPool,
    /// Empty while there are no bytes.
    buffer: Vec<u8>,
    filled: usize,
}

impl<'a> Inlet<'a> {
    /// Starts without bytes.
    pub(super) fn new(pool: &'a BufferPool) -> Self {
        Self { pool, buffer: Vec::new(), filled: 0 }
    }

    /// The bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[..self.filled]
    }

    /// Reads once, at most `max` bytes as of the moment at which there are some, unless `is_interrupted` returns true;
    /// returns the number of bytes, 0 at the end of the stream, and `None` if interrupted.
    pub(super) async fn read(
        &mut self,
        from: &mut (impl AsyncRead + Unpin),
        max: impl Fn() -> usize,
        is_interrupted: impl Fn() -> bool,
    ) -> io::Result<Option<usize>> {
        poll_fn(|cx| {
            if is_interrupted() {
                return Poll::Ready(Ok(None));
            }
            if self.buffer.is_empty() {
                self.buffer = self.pool.take();
            }
            let end = self.buffer.len().min(self.filled.saturating_add(max()));
            let mut room = ReadBuf::new(&mut self.buffer[self.filled..end]);
            let polled = Pin::new(&mut *from).poll_read(cx, &mut room);
            let read = room.filled().len();
            self.filled += read;
            self.release();
            polled.map_ok(|()| Some(read))
        })
        .await
    }

    /// Removes the first bytes, and makes room for at least `wanted` bytes, counted from the first that is left.
    pub(super) fn consume(&mut self, consumed: usize, wanted: usize) {
        self.buffer.copy_within(consumed..self.filled, 0);
        self.filled -= consumed;
        if wanted > self.buffer.len() && self.filled > 0 {
            let mut larger = vec![0; wanted];
            larger[..self.filled].copy_from_slice(self.bytes());
            self.pool.give(std::mem::replace(&mut self.buffer, larger));
        }
        self.release();
    }

    fn release(&mut self) {
        if self.filled == 0 && !self.buffer.is_empty() {
            self.pool.give(std::mem::take(&mut self.buffer));
        }
    }
}

impl Drop for Inlet<'_> {
    fn drop(&mut self) {
        self.filled = 0;
        self.release();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail")]
    use super::*;

    #[tokio::test]
    async fn an_idle_connection_has_no_buffer() {
        let pool = BufferPool::default();
        let mut inlet = Inlet::new(&pool);
        let mut peer: &[u8] = b"abcdef";
        assert_eq!(inlet.read(&mut peer, || usize::MAX, || false).await.unwrap(), Some(6));
        inlet.consume(2, 1);
        assert_eq!(inlet.bytes(), b"cdef");
        inlet.consume(0, 3 * BUFFER_SIZE);
        assert_eq!((inlet.bytes(), inlet.buffer.len()), (&b"cdef"[..], 3 * BUFFER_SIZE));
        assert_eq!(inlet.read(&mut peer, || usize::MAX, || true).await.unwrap(), None);
        inlet.consume(4, 1);
        assert!(inlet.buffer.is_empty());
        assert_eq!(inlet.read(&mut peer, || usize::MAX, || false).await.unwrap(), Some(0));
        assert!(inlet.buffer.is_empty());
        assert_eq!(pool.0.lock().len(), 1);
    }
}
