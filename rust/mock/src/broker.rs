//! One broker's listener: accepts connections and owns them.
//!
//! Invariant: when the listener's task ends, for whatever reason, so do all of its connections.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

use crate::connection;
use crate::shared::Shared;

const BACKLOG: u32 = 1024;
/// More connections than this are closed at once.
const MAX_CONNECTIONS: usize = 10_000;
/// After a failed accept (no descriptors left, as a rule) trying again at once would spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// A port that is held but refuses connections.
#[derive(Debug)]
pub(crate) struct Reserved {
    socket: TcpSocket,
    pub(crate) address: SocketAddr,
}

/// A running listener.
#[derive(Debug)]
pub(crate) struct Listening {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
    address: SocketAddr,
}

/// The address that `host` stands for.
pub(crate) fn resolve(host: &str) -> io::Result<IpAddr> {
    let unknown = || io::Error::new(io::ErrorKind::AddrNotAvailable, format!("{host} has no address"));
    (host, 0).to_socket_addrs()?.next().map(|address| address.ip()).ok_or_else(unknown)
}

/// Takes a port without listening on it; port 0 takes any.
pub(crate) fn reserve(address: SocketAddr) -> io::Result<Reserved> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    let address = socket.local_addr()?;
    Ok(Reserved { socket, address })
}

/// Starts to listen on a reserved port.
pub(crate) fn listen(
    reserved: Reserved,
    id: i32,
    shared: Arc<Shared>,
    runtime: &Handle,
) -> io::Result<Listening> {
    let _context = runtime.enter();
    let listener = reserved.socket.listen(BACKLOG)?;
    let (stop, stopped) = oneshot::channel();
    let task = runtime.spawn(accept(listener, id, shared, stopped));
    Ok(Listening { stop, task, address: reserved.address })
}

impl Listening {
    /// Closes the listener and its connections, and keeps the port.
    pub(crate) async fn stop(self) -> io::Result<Reserved> {
        let address = self.address;
        self.end().await;
        reserve(address)
    }

    /// Closes the listener and its connections, and gives the port back.
    pub(crate) async fn end(self) {
        // It may have ended already; then nobody hears, and that is as well.
        let _ = self.stop.send(());
        let _ = self.task.await;
    }

    /// Ends everything without waiting.
    pub(crate) fn abort(&self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, id: i32, shared: Arc<Shared>, mut stop: oneshot::Receiver<()>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            _ = &mut stop => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) if connections.len() < MAX_CONNECTIONS => {
                    connections.spawn(connection::run(stream, id, Arc::clone(&shared)));
                }
                Ok(_) => tracing::warn!(broker = id, "too many connections"),
                Err(error) => {
                    tracing::warn!(broker = id, %error, "accept failed");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
    drop(listener);
    connections.shutdown().await;
}
