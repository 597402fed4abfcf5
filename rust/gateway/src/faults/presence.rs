//! [`Presence`]: whether a client is still there while nothing is read from it.
//!
//! Invariant: no byte is taken from the connection, and its readiness for others does not change.

use std::io;

use tokio::io::Interest;
use tokio::net::TcpStream;

/// A second handle of a client's socket, with a readiness of its own.
#[derive(Debug)]
pub(crate) struct Presence(TcpStream);

impl Presence {
    /// Returns the socket, and the handle that observes it.
    pub(crate) fn observe(socket: TcpStream) -> io::Result<(TcpStream, Self)> {
        let socket = socket.into_std()?;
        let second = socket.try_clone()?;
        Ok((TcpStream::from_std(socket)?, Self(TcpStream::from_std(second)?)))
    }

    /// Waits until the client has closed the connection, whatever it has sent before.
    pub(crate) async fn left(&self) {
        while let Ok(ready) = self.0.ready(Interest::READABLE).await
            && !ready.is_read_closed()
        {
            // Bytes that are there are not what is waited for.
            _ = self.0.try_io(Interest::READABLE, || Err::<(), _>(io::ErrorKind::WouldBlock.into()));
        }
    }
}
