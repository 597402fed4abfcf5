//! One broker's listener: accepts connections and owns them.
//!
//! Invariant: when the listener's task ends, for whatever reason, so do all of its connections.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

use crate::connection;
use crate::shared::Shared;
use crate::transport::{Listener, Reserved};

/// More connections than this are closed at once.
const MAX_CONNECTIONS: usize = 10_000;
/// After a failed accept (no descriptors left, as a rule) trying again at once would spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// A running listener.
#[derive(Debug)]
pub(crate) struct Listening {
    stop: oneshot::Sender<()>,
    task: JoinHandle<io::Result<Reserved>>,
}

/// Starts to listen at a reserved address.
pub(crate) fn listen(
    reserved: Reserved,
    id: i32,
    shared: Arc<Shared>,
    runtime: &Handle,
) -> io::Result<Listening> {
    let _context = runtime.enter();
    let listener = reserved.listen()?;
    let (stop, stopped) = oneshot::channel();
    let task = runtime.spawn(accept(listener, id, shared, stopped));
    Ok(Listening { stop, task })
}

impl Listening {
    /// Closes the listener and its connections, and keeps the address.
    pub(crate) async fn stop(self) -> io::Result<Reserved> {
        // It may have ended already; then nobody hears, and that is as well.
        let _ = self.stop.send(());
        self.task.await.map_err(io::Error::other)?
    }

    /// Closes the listener and its connections, and gives the address back.
    pub(crate) async fn end(self) {
        let _ = self.stop().await;
    }

    /// Ends everything without waiting.
    pub(crate) fn abort(&self) {
        self.task.abort();
    }
}

async fn accept(
    mut listener: Listener,
    id: i32,
    shared: Arc<Shared>,
    mut stop: oneshot::Receiver<()>,
) -> io::Result<Reserved> {
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
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
    let reserved = listener.release();
    connections.shutdown().await;
    reserved
}
