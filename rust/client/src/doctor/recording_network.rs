//! A network that records the first bytes of each peer, which identify its protocol even if the reader
//! cannot parse them.
//!
//! The steps of a connection run on it as they do for a client; `explain.rs` reads the recording
//! afterwards.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;

use super::check::Reason;
use crate::environment::read_observer::{ObservedStream, ReadObserver};
use crate::environment::{BoxFuture, Environment, Network, SocketOptions, Stream};

/// How many bytes are recorded, enough to detect any known protocol.
const HEAD_BYTES: usize = 8;

/// What was recorded of one connection.
#[derive(Debug, Clone, Default)]
pub(super) struct Recording(Arc<Mutex<Recorded>>);

#[derive(Debug, Default)]
struct Recorded {
    head: Vec<u8>,
    closed: bool,
    connect_error: Option<io::ErrorKind>,
}

impl Recording {
    /// The peer's protocol, if its first bytes identify one other than Kafka's.
    pub(super) fn detected_protocol(&self) -> Option<Reason> {
        detect_protocol(&self.0.lock().head)
    }

    /// Begins anew, with a peer behind a proxy.
    pub(super) fn restart(&self) {
        *self.0.lock() = Recorded::default();
    }

    /// Whether the peer closed the connection.
    pub(super) fn closed(&self) -> bool {
        self.0.lock().closed
    }

    /// The error of connecting, if any.
    pub(super) fn connect_error(&self) -> Option<io::ErrorKind> {
        self.0.lock().connect_error
    }
}

/// A network that records the connection to one address; other connections, such as to a token endpoint,
/// are not recorded.
#[derive(Debug)]
pub(super) struct RecordingNetwork {
    network: Arc<dyn Network>,
    address: SocketAddr,
    recording: Recording,
}

impl RecordingNetwork {
    /// Returns the environment with connections to `address` recorded, and the recording.
    pub(super) fn install(environment: &Environment, address: SocketAddr) -> (Environment, Recording) {
        let recording = Recording::default();
        let network =
            Self { network: Arc::clone(&environment.network), address, recording: recording.clone() };
        (environment.with_network(Arc::new(network)), recording)
    }
}

impl Network for RecordingNetwork {
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
                Ok(stream) => {
                    Ok(Box::new(ObservedStream::new(stream, self.recording.clone())) as Box<dyn Stream>)
                }
                Err(error) => {
                    self.recording.0.lock().connect_error = Some(error.kind());
                    Err(error)
                }
            }
        })
    }
}

/// The protocol that a response with these first bytes belongs to, if it is a known one other than Kafka's.
pub(super) fn detect_protocol(head: &[u8]) -> Option<Reason> {
    match head {
        // A TLS record with an alert or a handshake, of any version since SSL 3.
        [0x15 | 0x16, 0x03, ..] => Some(Reason::SpeaksTls),
        [b'H', b'T', b'T', b'P', ..] => Some(Reason::SpeaksHttp),
        [b'S', b'S', b'H', b'-', ..] => Some(Reason::SpeaksSsh),
        _ => None,
    }
}

impl ReadObserver for Recording {
    fn on_read(&mut self, read: &io::Result<&[u8]>) {
        let new = *read.as_ref().unwrap_or(&&[][..]);
        let mut recorded = self.0.lock();
        let free = HEAD_BYTES.saturating_sub(recorded.head.len());
        recorded.head.extend(new.iter().take(free));
        recorded.closed |= new.is_empty();
    }
}
