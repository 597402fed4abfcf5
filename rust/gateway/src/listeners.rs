//! [`Listeners`]: the open listeners, one for the bootstrap address and, with addresses by port, one for each broker.
//!
//! Invariant: a broker has a listener while it is in the cluster, and none otherwise, so that one that is gone refuses
//! connections here as it does there.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;

use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

/// The connections that the system holds until they are accepted.
const BACKLOG: u32 = 1024;

/// The listeners of brokers by id. A broker that returns gets the port that it had.
#[derive(Debug, Default)]
pub(crate) struct Listeners(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    by_broker: BTreeMap<i32, BrokerListener>,
    /// Whether the gateway stops: no listener opens any more.
    is_closed: bool,
}

#[derive(Debug)]
struct BrokerListener {
    port: u16,
    /// The task that accepts connections; `None` while the broker is not in the cluster.
    task: Option<AbortHandle>,
}

/// Opens a listener.
pub(crate) fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => tokio::net::TcpSocket::new_v4()?,
        SocketAddr::V6(_) => tokio::net::TcpSocket::new_v6()?,
    };
    // A gateway that starts again gets its ports although connections of the last one linger.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

impl Listeners {
    /// Opens the listener of a broker, unless it is open, and returns its port. `start` opens it at the port that the
    /// broker had, or at `port`, and returns its port and its task.
    pub(crate) fn open(
        &self,
        broker: i32,
        port: u16,
        start: impl FnOnce(u16) -> io::Result<(u16, AbortHandle)>,
    ) -> io::Result<u16> {
        let mut listeners = self.0.lock();
        let is_closed = listeners.is_closed;
        let known = listeners.by_broker.get(&broker);
        if let Some(known) = known.filter(|listener| listener.task.is_some() || is_closed) {
            return Ok(known.port);
        }
        if is_closed {
            return Err(io::Error::other("the gateway stops"));
        }
        let (port, task) = start(known.map_or(port, |listener| listener.port))?;
        listeners.by_broker.insert(broker, BrokerListener { port, task: Some(task) });
        Ok(port)
    }

    /// The port of a broker, open or not.
    pub(crate) fn port(&self, broker: i32) -> Option<u16> {
        self.0.lock().by_broker.get(&broker).map(|listener| listener.port)
    }

    /// Closes the listener of a broker.
    pub(crate) fn close(&self, broker: i32) {
        if let Some(task) = self.0.lock().by_broker.get_mut(&broker).and_then(|listener| listener.task.take())
        {
            task.abort();
        }
    }

    /// Closes all listeners of brokers, for good.
    pub(crate) fn close_all(&self) {
        let mut listeners = self.0.lock();
        listeners.is_closed = true;
        let tasks: Vec<_> =
            listeners.by_broker.values_mut().filter_map(|listener| listener.task.take()).collect();
        drop(listeners);
        tasks.into_iter().for_each(|task| task.abort());
    }
}
