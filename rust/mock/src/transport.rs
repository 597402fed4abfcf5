//! How clients reach a broker: over TCP, or through in-memory streams.
//!
//! Invariant: in memory, no byte leaves the runtime; with tokio's paused clock, a test takes no time and is
//! deterministic.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, duplex};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc;

const BACKLOG: u32 = 1024;
/// The buffer of an in-memory stream, of the order of a socket's buffers.
const STREAM_BUFFER: usize = 256 * 1024;
/// The accept backlog of an in-memory listener.
const MEMORY_BACKLOG: usize = 1024;
/// The address of in-memory brokers, which no host has (RFC 5737).
const MEMORY_HOST: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 1));
const FIRST_PORT: u16 = 9092;

/// How clients reach the brokers.
#[derive(Debug, Clone, Default)]
pub enum Transport {
    /// Over loopback TCP, for clients in any process.
    #[default]
    Tcp,
    /// Through in-memory streams, for clients in the same tokio runtime.
    Memory(MemoryNetwork),
}

/// An in-memory network: listeners by address. Clusters that share it have different addresses.
#[derive(Debug, Clone, Default)]
pub struct MemoryNetwork(Arc<Mutex<Listeners>>);

#[derive(Debug, Default)]
struct Listeners {
    by_address: HashMap<SocketAddr, mpsc::Sender<DuplexStream>>,
    addresses: u16,
}

impl MemoryNetwork {
    /// Connects to the broker at an address.
    ///
    /// # Errors
    ///
    /// `ConnectionRefused` if no broker listens there.
    pub fn connect(&self, address: SocketAddr) -> io::Result<DuplexStream> {
        let (near, far) = duplex(STREAM_BUFFER);
        let listener = self.0.lock().by_address.get(&address).cloned();
        let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
        listener.ok_or_else(refused)?.try_send(far).map_err(|_| refused())?;
        Ok(near)
    }

    /// Listens at a new address, for a scripted peer of a test.
    #[must_use]
    pub fn listen(&self) -> MemoryListener {
        self.listen_at(self.new_address())
    }

    fn listen_at(&self, address: SocketAddr) -> MemoryListener {
        let (listener, connections) = mpsc::channel(MEMORY_BACKLOG);
        self.0.lock().by_address.insert(address, listener);
        MemoryListener { address, network: self.clone(), connections }
    }

    /// Whether an address belongs to an in-memory network, with or without a listener.
    #[must_use]
    pub fn contains(&self, address: SocketAddr) -> bool {
        address.ip() == MEMORY_HOST
    }

    fn new_address(&self) -> SocketAddr {
        let mut listeners = self.0.lock();
        listeners.addresses += 1;
        SocketAddr::new(MEMORY_HOST, FIRST_PORT + listeners.addresses)
    }
}

/// Accepts in-memory connections; once dropped, its address refuses them.
#[derive(Debug)]
pub struct MemoryListener {
    address: SocketAddr,
    network: MemoryNetwork,
    connections: mpsc::Receiver<DuplexStream>,
}

impl MemoryListener {
    /// The address at which it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Accepts the next connection.
    pub async fn accept(&mut self) -> DuplexStream {
        match self.connections.recv().await {
            Some(stream) => stream,
            None => std::future::pending().await,
        }
    }
}

impl Drop for MemoryListener {
    fn drop(&mut self) {
        self.network.0.lock().by_address.remove(&self.address);
    }
}

/// A stream from a client.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A reserved address, which refuses connections.
#[derive(Debug)]
pub(crate) struct ReservedAddress {
    pub(crate) address: SocketAddr,
    binding: Binding,
}

#[derive(Debug)]
enum Binding {
    Tcp(TcpSocket),
    Memory(MemoryNetwork),
}

/// Accepts connections at an address.
#[derive(Debug)]
pub(crate) enum Listener {
    Tcp(TcpListener),
    Memory(MemoryListener),
}

impl Transport {
    /// Reserves an address for a broker: a free port of `host`, or an in-memory address.
    pub(crate) fn reserve(&self, host: IpAddr) -> io::Result<ReservedAddress> {
        match self {
            Self::Tcp => reserve_port(SocketAddr::new(host, 0)),
            Self::Memory(network) => Ok(ReservedAddress {
                address: network.new_address(),
                binding: Binding::Memory(network.clone()),
            }),
        }
    }
}

/// Resolves a host to an address.
pub(crate) fn resolve(host: &str) -> io::Result<IpAddr> {
    let unknown = || io::Error::new(io::ErrorKind::AddrNotAvailable, format!("{host} has no address"));
    (host, 0).to_socket_addrs()?.next().map(|address| address.ip()).ok_or_else(unknown)
}

fn reserve_port(address: SocketAddr) -> io::Result<ReservedAddress> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(ReservedAddress { address: socket.local_addr()?, binding: Binding::Tcp(socket) })
}

impl ReservedAddress {
    /// Starts listening. TCP needs the context of a tokio runtime.
    pub(crate) fn listen(self) -> io::Result<Listener> {
        match self.binding {
            Binding::Tcp(socket) => Ok(Listener::Tcp(socket.listen(BACKLOG)?)),
            Binding::Memory(network) => Ok(Listener::Memory(network.listen_at(self.address))),
        }
    }
}

impl Listener {
    /// Accepts the next connection.
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

    /// Stops listening; the address stays reserved.
    pub(crate) fn release(self) -> io::Result<ReservedAddress> {
        match self {
            Self::Tcp(listener) => {
                let address = listener.local_addr()?;
                drop(listener);
                reserve_port(address)
            }
            Self::Memory(listener) => {
                let (address, network) = (listener.address, listener.network.clone());
                Ok(ReservedAddress { address, binding: Binding::Memory(network) })
            }
        }
    }
}
