//! A network whose streams remember how the other side began: what a port speaks is told by its
//! first bytes, also where they make no sense to the one who reads them.
//!
//! The phases of a connection run on it as they do for a client; what they cannot tell is read off
//! here afterwards.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;

use super::check::Reason;
use crate::environment::read_observer::{ObservedStream, ReadObserver};
use crate::environment::{BoxFuture, Environment, Network, SocketOptions, Stream};

/// So many bytes tell all that is told here.
const HEAD: usize = 8;

/// How the other side began, and whether it has ended the connection.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen(Arc<Mutex<Note>>);

#[derive(Debug, Default)]
struct Note {
    head: Vec<u8>,
    ended: bool,
    refused: Option<io::ErrorKind>,
}

impl Seen {
    /// What speaks like this, if it is not Kafka; nothing if there is nothing to tell it by.
    pub(super) fn speaks(&self) -> Option<Reason> {
        speaks(&self.0.lock().head)
    }

    /// Whether the other side ended the connection.
    pub(super) fn ended(&self) -> bool {
        self.0.lock().ended
    }

    /// Why there is no connection.
    pub(super) fn refused(&self) -> Option<io::ErrorKind> {
        self.0.lock().refused
    }
}

/// The network of one connection, and what is seen on it. Connections elsewhere, as to a token
/// endpoint, are not watched.
#[derive(Debug)]
pub(super) struct Watched {
    network: Arc<dyn Network>,
    address: SocketAddr,
    seen: Seen,
}

impl Watched {
    /// The same environment, with connections to an address watched.
    pub(super) fn environment(environment: &Environment, address: SocketAddr) -> (Environment, Seen) {
        let seen = Seen::default();
        let network = Self { network: Arc::clone(&environment.network), address, seen: seen.clone() };
        (environment.with_network(Arc::new(network)), seen)
    }
}

impl Network for Watched {
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
        self.network.resolve(host, port)
    }

    fn connect(
        &self,
        address: SocketAddr,
        options: SocketOptions,
    ) -> BoxFuture<'_, io::Result<Box<dyn Stream>>> {
        if address != self.address {
            return self.network.connect(address, options);
        }
        Box::pin(async move {
            match self.network.connect(address, options).await {
                Ok(stream) => Ok(Box::new(ObservedStream::new(stream, self.seen.clone())) as Box<dyn Stream>),
                Err(error) => {
                    self.seen.0.lock().refused = Some(error.kind());
                    Err(error)
                }
            }
        })
    }
}

/// What begins like this.
pub(super) fn speaks(head: &[u8]) -> Option<Reason> {
    match head {
        // An alert or a handshake, in a record of any version since SSL 3.
        [0x15 | 0x16, 0x03, ..] => Some(Reason::SpeaksTls),
        [b'H', b'T', b'T', b'P', ..] => Some(Reason::SpeaksHttp),
        [b'S', b'S', b'H', b'-', ..] => Some(Reason::SpeaksSsh),
        _ => None,
    }
}

impl ReadObserver for Seen {
    fn on_read(&mut self, read: &io::Result<&[u8]>) {
        let new = *read.as_ref().unwrap_or(&&[][..]);
        let mut note = self.0.lock();
        let room = HEAD.saturating_sub(note.head.len());
        note.head.extend(new.iter().take(room));
        note.ended |= new.is_empty();
    }
}
