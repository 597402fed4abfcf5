//! The operating system's resolver: one look-up of a name at a time, however many wait for it.
//!
//! Invariant: a name server that does not answer holds a thread for each name that is looked up, not for
//! each attempt. The threads are the resolver's own: whatever else waits, names are looked up.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use tokio::sync::{Semaphore, oneshot, watch};

/// Names that are looked up at once, in the whole process.
const NAMES: usize = 256;

type Found = Option<Result<Vec<SocketAddr>, Arc<io::Error>>>;

#[derive(Debug)]
struct LookUps {
    places: Semaphore,
    running: Mutex<HashMap<String, watch::Receiver<Found>>>,
}

static LOOK_UPS: LazyLock<LookUps> =
    LazyLock::new(|| LookUps { places: Semaphore::const_new(NAMES), running: Mutex::default() });

/// All addresses of a host. The look-up goes on if the wait for it is given up.
pub(crate) async fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let mut found = join(host);
    let found = found.wait_for(Option::is_some).await;
    let found = found.map_err(|_| io::Error::other("the look-up has ended without a result"))?;
    match found.as_ref() {
        Some(Ok(addresses)) => Ok(addresses.iter().map(|found| SocketAddr::new(found.ip(), port)).collect()),
        Some(Err(error)) => Err(io::Error::new(error.kind(), error.to_string())),
        None => Err(io::Error::other("the look-up has ended without a result")),
    }
}

/// The name that an address is known by.
pub(crate) async fn canonical_name(address: IpAddr) -> io::Result<String> {
    on_a_thread(move || dns_lookup::lookup_addr(&address)).await
}

/// Runs a call of the system's resolver on a thread of its own.
async fn on_a_thread<T: Send + 'static>(
    call: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let place = LOOK_UPS.places.acquire().await.map_err(io::Error::other)?;
    let (sender, done) = oneshot::channel();
    std::thread::Builder::new().name("ottla-dns".to_owned()).spawn(move || {
        let _place = place;
        // Whoever asked may have gone.
        let _ = sender.send(call());
    })?;
    done.await.unwrap_or_else(|_| Err(io::Error::other("the system's resolver has panicked")))
}

/// The look-up of a name that is under way, or a new one.
fn join(host: &str) -> watch::Receiver<Found> {
    let mut running = LOOK_UPS.running.lock();
    if let Some(known) = running.get(host) {
        return known.clone();
    }
    let (sender, receiver) = watch::channel(None);
    running.insert(host.to_owned(), receiver.clone());
    let host = host.to_owned();
    tokio::spawn(async move {
        let name = host.clone();
        let found = on_a_thread(move || (name.as_str(), 0).to_socket_addrs()).await;
        LOOK_UPS.running.lock().remove(&host);
        sender.send_replace(Some(found.map(Iterator::collect).map_err(Arc::new)));
    });
    receiver
}

#[cfg(test)]
#[allow(clippy::expect_used, reason = "a test may fail")]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// Regression: eight calls that waited for something else held all threads that names are looked up on.
    #[test]
    fn names_are_looked_up_while_all_threads_of_the_runtime_wait() {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().max_blocking_threads(1).build().expect("a runtime");
        let (release, held) = mpsc::channel::<()>();
        runtime.block_on(async {
            let busy = tokio::task::spawn_blocking(move || held.recv());
            let (one, other) = tokio::join!(resolve("localhost", 1), resolve("localhost", 2));
            assert!(one.expect("addresses").iter().all(|address| address.port() == 1));
            assert!(other.expect("addresses").iter().all(|address| address.port() == 2));
            assert!(LOOK_UPS.running.lock().is_empty());
            release.send(()).expect("it waits");
            let _ = busy.await;
        });
    }
}
