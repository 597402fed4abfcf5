//! A broker's listener: accepts connections and owns their tasks.
//!
//! Invariant: when the listener's task ends, for whatever reason, so do all of its connections.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

use crate::connection;
use crate::shared::SharedCluster;
use crate::transport::{Listener, ReservedAddress};

/// Further connections are closed on accept.
const MAX_CONNECTIONS: usize = 10_000;
/// The pause after a failed accept, usually for lack of file descriptors: an immediate retry would spin.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(10);

/// A broker that accepts connections.
#[derive(Debug)]
pub(crate) struct RunningBroker {
    stop: oneshot::Sender<()>,
    task: JoinHandle<io::Result<ReservedAddress>>,
}

/// Starts listening at a reserved address.
pub(crate) fn listen(
    reserved: ReservedAddress,
    id: i32,
    shared: Arc<SharedCluster>,
    runtime: &Handle,
) -> io::Result<RunningBroker> {
    let _context = runtime.enter();
    let listener = reserved.listen()?;
    let (stop, stopped) = oneshot::channel();
    let task = runtime.spawn(accept(listener, id, shared, stopped));
    Ok(RunningBroker { stop, task })
}

impl RunningBroker {
    /// Closes the listener and its connections; the address stays reserved.
    pub(crate) async fn stop(self) -> io::Result<ReservedAddress> {
        // The task may have ended already.
        let _ = self.stop.send(());
        self.task.await.map_err(io::Error::other)?
    }

    /// Closes the listener and its connections, and releases the address.
    pub(crate) async fn end(self) {
        let _ = self.stop().await;
    }

    /// Ends the task without waiting for it.
    pub(crate) fn abort(&self) {
        self.task.abort();
    }
}

async fn accept(
    mut listener: Listener,
    id: i32,
    shared: Arc<SharedCluster>,
    mut stop: oneshot::Receiver<()>,
) -> io::Result<ReservedAddress> {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            _ = &mut stop => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            accepted = listener.accept() => match accepted {
                Ok(stream) if connections.len() < MAX_CONNECTIONS => {
                    connections.spawn(connection::run(stream, id, Arc::clone(&shared)));
                }
                Ok(_) => tracing::warn!(broker = id, "too many connections"),
                Err(error) => {
                    tracing::warn!(broker = id, %error, "accept failed");
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                }
            },
        }
    }
    let reserved = listener.release();
    connections.shutdown().await;
    reserved
}
