//! How clients reach a broker: over TCP, or through pipes in memory.
//!
//! Invariant: in memory no byte leaves the runtime, so that with tokio's clock paused a run takes no time
//! and is the same each time.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, duplex};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc;

const BACKLOG: u32 = 1024;
/// What a pipe holds before its writer waits; a socket's buffers are of this order.
const PIPE_BYTES: usize = 256 * 1024;
/// Connections in memory that were made and not yet accepted.
const PIPES_WAITING: usize = 1024;
/// Where brokers in memory seem to listen; no host has this address (RFC 5737).
const MEMORY_HOST: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 1));
const FIRST_PORT: u16 = 9092;

/// How clients reach the brokers.
#[derive(Debug, Clone, Default)]
pub enum Transport {
    /// Over loopback TCP, for clients in any process.
    #[default]
    Tcp,
    /// Through pipes in memory, for clients in the same tokio runtime.
    Memory(Pipes),
}

/// A network in memory: who listens at which address. Clusters that share it have different addresses.
#[derive(Debug, Clone, Default)]
pub struct Pipes(Arc<Mutex<Listeners>>);

#[derive(Debug, Default)]
struct Listeners {
    by_address: HashMap<SocketAddr, mpsc::Sender<DuplexStream>>,
    addresses: u16,
}

impl Pipes {
    /// Connects to the broker at an address.
    ///
    /// # Errors
    ///
    /// `ConnectionRefused` if no broker listens there.
    pub fn connect(&self, address: SocketAddr) -> io::Result<DuplexStream> {
        let (near, far) = duplex(PIPE_BYTES);
        let listener = self.0.lock().by_address.get(&address).cloned();
        let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
        listener.ok_or_else(refused)?.try_send(far).map_err(|_| refused())?;
        Ok(near)
    }

    /// Listens at an address of its own, for a peer that a test scripts itself.
    #[must_use]
    pub fn listen(&self) -> PipeListener {
        self.listen_at(self.new_address())
    }

    fn listen_at(&self, address: SocketAddr) -> PipeListener {
        let (listener, connections) = mpsc::channel(PIPES_WAITING);
        self.0.lock().by_address.insert(address, listener);
        PipeListener { address, pipes: self.clone(), connections }
    }

    /// Whether an address is one of this network's, listened at or not.
    #[must_use]
    pub fn is_inside(&self, address: SocketAddr) -> bool {
        address.ip() == MEMORY_HOST
    }

    fn new_address(&self) -> SocketAddr {
        let mut listeners = self.0.lock();
        listeners.addresses += 1;
        SocketAddr::new(MEMORY_HOST, FIRST_PORT + listeners.addresses)
    }
}

/// Accepts connections in memory; dropped, its address refuses them.
#[derive(Debug)]
pub struct PipeListener {
    address: SocketAddr,
    pipes: Pipes,
    connections: mpsc::Receiver<DuplexStream>,
}

impl PipeListener {
    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The next connection.
    pub async fn accept(&mut self) -> DuplexStream {
        match self.connections.recv().await {
            Some(stream) => stream,
            None => std::future::pending().await,
        }
    }
}

impl Drop for PipeListener {
    fn drop(&mut self) {
        self.pipes.0.lock().by_address.remove(&self.address);
    }
}

/// A stream from a client.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// An address that is held but refuses connections.
#[derive(Debug)]
pub(crate) struct Reserved {
    pub(crate) address: SocketAddr,
    by: Holder,
}

#[derive(Debug)]
enum Holder {
    Tcp(TcpSocket),
    Memory(Pipes),
}

/// What accepts connections at an address.
#[derive(Debug)]
pub(crate) enum Listener {
    Tcp(TcpListener),
    Memory(PipeListener),
}

impl Transport {
    /// Holds an address for a broker: a free port of `host`, or an address in memory.
    pub(crate) fn reserve(&self, host: IpAddr) -> io::Result<Reserved> {
        match self {
            Self::Tcp => reserve_port(SocketAddr::new(host, 0)),
            Self::Memory(pipes) => {
                Ok(Reserved { address: pipes.new_address(), by: Holder::Memory(pipes.clone()) })
            }
        }
    }
}

/// The address that `host` stands for.
pub(crate) fn resolve(host: &str) -> io::Result<IpAddr> {
    let unknown = || io::Error::new(io::ErrorKind::AddrNotAvailable, format!("{host} has no address"));
    (host, 0).to_socket_addrs()?.next().map(|address| address.ip()).ok_or_else(unknown)
}

fn reserve_port(address: SocketAddr) -> io::Result<Reserved> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(Reserved { address: socket.local_addr()?, by: Holder::Tcp(socket) })
}

impl Reserved {
    /// Accepts connections from now on. TCP needs a tokio runtime's context.
    pub(crate) fn listen(self) -> io::Result<Listener> {
        match self.by {
            Holder::Tcp(socket) => Ok(Listener::Tcp(socket.listen(BACKLOG)?)),
            Holder::Memory(pipes) => Ok(Listener::Memory(pipes.listen_at(self.address))),
        }
    }
}

impl Listener {
    /// The next connection.
    pub(crate) async fn accept(&mut self) -> io::Result<Box<dyn Stream>> {
        match self {
            Self::Tcp(listener) => {
                let (stream, _): (TcpStream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                Ok(Box::new(stream))
            }
            Self::Memory(listener) => Ok(Box::new(listener.accept().await)),
        }
    }

    /// Listens no more and keeps the address.
    pub(crate) fn release(self) -> io::Result<Reserved> {
        match self {
            Self::Tcp(listener) => {
                let address = listener.local_addr()?;
                drop(listener);
                reserve_port(address)
            }
            Self::Memory(listener) => {
                let (address, pipes) = (listener.address, listener.pipes.clone());
                Ok(Reserved { address, by: Holder::Memory(pipes) })
            }
        }
    }
}
