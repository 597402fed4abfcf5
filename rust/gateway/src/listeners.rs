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

/// The listeners of brokers by id.
#[derive(Debug, Default)]
pub(crate) struct Listeners(Mutex<BTreeMap<i32, AbortHandle>>);

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
    /// Adds the listener of a broker, unless it has one. `start` opens it and returns its task.
    pub(crate) fn open(
        &self,
        broker: i32,
        start: impl FnOnce() -> io::Result<AbortHandle>,
    ) -> io::Result<()> {
        let mut open = self.0.lock();
        if !open.contains_key(&broker) {
            open.insert(broker, start()?);
        }
        Ok(())
    }

    /// Closes the listener of a broker.
    pub(crate) fn close(&self, broker: i32) {
        if let Some(task) = self.0.lock().remove(&broker) {
            task.abort();
        }
    }

    /// Closes all listeners of brokers.
    pub(crate) fn close_all(&self) {
        std::mem::take(&mut *self.0.lock()).into_values().for_each(|task| task.abort());
    }
}
