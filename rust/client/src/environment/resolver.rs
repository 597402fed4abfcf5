//! The operating system's resolver, with one lookup of a name at a time.
//!
//! Invariants: a name server that does not respond blocks one thread per name, not one per attempt.
//! Lookups have threads of their own, so that no other work delays them. Clients share nothing, so that
//! a forked child does not wait for a lookup of its parent.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use dns_lookup::{AddrInfoHints, LookupErrorKind, SockType};
use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};

/// Maximum number of names that one client looks up at once.
const MAX_LOOKUPS: usize = 256;

type LookupResult = Option<Result<Vec<SocketAddr>, Arc<io::Error>>>;

/// The running lookups of one client.
#[derive(Debug, Clone, Default)]
pub(crate) struct Resolver(Arc<Mutex<HashMap<String, watch::Receiver<LookupResult>>>>);

impl Resolver {
    /// Resolves all addresses of a host. The lookup continues if the caller gives up.
    pub(crate) async fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        if let Ok(address) = host.parse() {
            return Ok(vec![SocketAddr::new(address, port)]);
        }
        let mut found = self.look_up(host)?;
        let ended = || io::Error::other("the lookup ended without a result");
        let found = found.wait_for(Option::is_some).await.map_err(|_| ended())?;
        match found.as_ref().ok_or_else(ended)? {
            Ok(addresses) => {
                // Kept whole: a link-local address has the scope of its zone.
                let with_port = addresses.iter().map(|found| {
                    let mut found = *found;
                    found.set_port(port);
                    found
                });
                Ok(with_port.collect())
            }
            Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
        }
    }

    /// Joins the lookup of a name that is running, or starts one.
    fn look_up(&self, host: &str) -> io::Result<watch::Receiver<LookupResult>> {
        let mut running = self.0.lock();
        if let Some(known) = running.get(host) {
            return Ok(known.clone());
        }
        if running.len() >= MAX_LOOKUPS {
            return Err(io::Error::other(format!("{MAX_LOOKUPS} other lookups are running")));
        }
        let (sender, receiver) = watch::channel(None);
        let (name, resolver) = (host.to_owned(), self.clone());
        spawn_thread(move || {
            let found = addresses(&name);
            resolver.0.lock().remove(&name);
            sender.send_replace(Some(found.map_err(Arc::new)));
        })?;
        running.insert(host.to_owned(), receiver.clone());
        Ok(receiver)
    }
}

/// Looks up all addresses of a name. Only a name that does not exist gives an error of kind `NotFound`.
fn addresses(name: &str) -> io::Result<Vec<SocketAddr>> {
    let hints = AddrInfoHints { socktype: SockType::Stream.into(), ..AddrInfoHints::default() };
    match dns_lookup::getaddrinfo(Some(name), None, Some(hints)) {
        Ok(found) => found.map(|found| found.map(|found| found.sockaddr)).collect(),
        Err(error) => {
            let none = matches!(error.kind(), LookupErrorKind::NoName | LookupErrorKind::NoData);
            let message = io::Error::from(error).to_string();
            let kind = if none { io::ErrorKind::NotFound } else { io::ErrorKind::Other };
            Err(io::Error::new(kind, message))
        }
    }
}

/// Looks up the canonical name of an address.
pub(crate) async fn canonical_name(address: IpAddr) -> io::Result<String> {
    let (sender, found) = oneshot::channel();
    spawn_thread(move || {
        // An error only says that the caller is gone.
        let _ = sender.send(dns_lookup::lookup_addr(&address));
    })?;
    found.await.unwrap_or_else(|_| Err(io::Error::other("the lookup ended without a result")))
}

/// Runs a blocking call of the system's resolver on a thread of its own.
fn spawn_thread(call: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name("ottla-dns".to_owned()).spawn(call).map(drop)
}

#[cfg(test)]
#[allow(clippy::expect_used, clippy::panic, reason = "a test may fail")]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// Regression: the scope was dropped, without which a link-local address cannot be connected to.
    #[tokio::test]
    async fn a_zone_becomes_the_scope_of_the_address() {
        for name in ["fe80::1%1", "fe80::1%lo"] {
            let found = Resolver::default().resolve(name, 9092).await.expect("an address");
            let v6 = match found[..] {
                [SocketAddr::V6(v6)] => v6,
                _ => panic!("{found:?}"),
            };
            // The loopback interface is the first one of every Linux machine.
            assert_eq!((v6.scope_id(), v6.port(), v6.ip().to_string()), (1, 9092, "fe80::1".to_owned()));
        }
    }

    /// Regression: eight blocking calls occupied all threads that names were looked up on.
    #[test]
    fn names_are_looked_up_while_all_threads_of_the_runtime_wait() {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().max_blocking_threads(1).build().expect("a runtime");
        let (release, held) = mpsc::channel::<()>();
        runtime.block_on(async {
            let busy = tokio::task::spawn_blocking(move || held.recv());
            let resolver = Resolver::default();
            let (one, other) =
                tokio::join!(resolver.resolve("localhost", 1), resolver.resolve("localhost", 2));
            assert!(one.expect("addresses").iter().all(|address| address.port() == 1));
            assert!(other.expect("addresses").iter().all(|address| address.port() == 2));
            assert!(resolver.0.lock().is_empty());
            release.send(()).expect("it waits");
            let _ = busy.await;
        });
    }
}
