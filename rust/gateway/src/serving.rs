//! From an accepted connection to the end of its session.
//!
//! Invariants: what a client sends ends at most its own session. A task that panics is a session that ended.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ottla_client::environment::Stream;
use ottla_client::{Endpoint, Error};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep, timeout};

use crate::addresses::Routing;
use crate::brokers::Era;
use crate::connection_counts::Excess;
use crate::events::{Event, EventKind};
use crate::faults::{Link, Presence, SessionFaults};
use crate::listeners::bind;
use crate::rewrite::AddressBook;
use crate::rules::AccessRules;
use crate::sasl::{self, Guard, OpenError};
use crate::session::{Session, SessionEnd, SessionStart, SessionStatus};
use crate::shared::{Connected, Shared};
use crate::warnings::Condition;

/// The pause after a failure to accept, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The brokers without an address of which warnings tell.
const WITHOUT_ADDRESS_MAX: usize = 1_000;

/// Accepts connections for a broker, or for the bootstrap address.
pub(crate) async fn accept(listener: TcpListener, shared: Arc<Shared>, broker: Option<i32>) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => start_session(stream, peer, &shared, broker),
            Err(error) => {
                shared.warnings.report(Condition::Accept, &error);
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

fn start_session(stream: TcpStream, peer: SocketAddr, shared: &Arc<Shared>, broker: Option<i32>) {
    let counted = match shared.connections.add(peer.ip()) {
        Ok(counted) => counted,
        Err(excess) => {
            let (condition, max) = match excess {
                Excess::All(max) => (Condition::TooMany, max),
                Excess::Address(max) => (Condition::TooManyFromOne, max),
            };
            shared.warnings.report(condition, &format_args!("{peer}, more than {max}"));
            shared.sessions.refuse();
            shared.events.push(Event { peer: Some(peer), ..Event::new(EventKind::Refused) });
            return;
        }
    };
    let id = shared.next_session.fetch_add(1, Ordering::Relaxed);
    let status = Arc::new(SessionStatus::new(id, peer, broker));
    let running = Arc::clone(shared);
    let in_session = Arc::clone(&status);
    shared.sessions.add(status, || {
        let serving = async move {
            let _counted = counted;
            let end = "its task failed".to_owned();
            let mut entry = Entry { shared: Arc::clone(&running), id, end };
            entry.end = serve(stream, &running, broker, &in_session).await;
        };
        tokio::spawn(serving).abort_handle()
    });
}

/// Removes a session from the table, however it ends.
struct Entry {
    shared: Arc<Shared>,
    id: u64,
    /// Why the session ended.
    end: String,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.shared.sessions.remove(self.id, std::mem::take(&mut self.end));
    }
}

/// Serves a connection, and returns why it has ended.
async fn serve(
    mut stream: TcpStream,
    shared: &Arc<Shared>,
    broker: Option<i32>,
    status: &Arc<SessionStatus>,
) -> String {
    let mut draining = shared.draining.subscribe();
    let mut presence = None;
    if let Some(faults) = &shared.faults {
        let client = match Presence::observe(stream) {
            Ok((observed, client)) => {
                stream = observed;
                client
            }
            Err(error) => return SessionEnd::Client(error).to_string(),
        };
        // A frozen broker takes a connection, and nothing else.
        tokio::select! {
            () = faults.thawed(broker) => {}
            () = client.left() => return SessionEnd::ClientClosed.to_string(),
            _ = draining.wait_for(|draining| *draining) => return SessionEnd::Drained.to_string(),
        }
        presence = Some(client);
    }
    let begun = Instant::now();
    let connecting = timeout(shared.limits.setup, shared.open(stream, broker, status));
    let connected = tokio::select! {
        connected = connecting => connected,
        // Nothing is in flight.
        _ = draining.wait_for(|draining| *draining) => return SessionEnd::Drained.to_string(),
    };
    let (end, is_failure) = match connected {
        Ok(Ok(Opened { client, broker: Connected { to: broker, era }, guard })) => {
            let Shared { limits, pool, events, .. } = &**shared;
            let link = Link::new(shared.faults.as_ref(), draining.clone(), presence);
            let session = Session::new(limits, pool, status, events, link, draining);
            let start = SessionStart {
                guard,
                rules: shared.rules.as_ref(),
                faults: shared.faults.as_ref().map(|faults| Box::new(SessionFaults::new(faults))),
                first_request_by: begun + limits.setup,
            };
            // In a box, so that a connection that is dropped while it is set up has never had room for it.
            let end = Box::pin(session.run(client, broker, &mut Book { shared, status, era }, start)).await;
            warn_of_end(shared, status, &end);
            (end.to_string(), end.is_failure())
        }
        Ok(Err(error)) => {
            warn_of_setup(shared, status, &error);
            (error.to_string(), true)
        }
        Err(_) => {
            shared.warnings.report(Condition::TooSlow, &status.peer());
            ("the connection was not set up in time".to_owned(), true)
        }
    };
    tracing::debug!(target: "ottla.gateway", session = status.id(), peer = %status.peer(), end, "the session ended");
    if is_failure {
        shared.events.push(Event::of(EventKind::ConnectionFailed, status).detail(&end));
    }
    end
}

/// Warns of a connection that was not set up.
fn warn_of_setup(shared: &Shared, status: &SessionStatus, error: &SetupError) {
    match error {
        SetupError::Login(OpenError::Refused) => {
            shared.warnings.report(Condition::Refused, &status.peer());
        }
        SetupError::Login(OpenError::Broker(error)) | SetupError::Broker(error) => {
            shared.warnings.report(Condition::Broker, error);
        }
        SetupError::Tls(_) | SetupError::Login(_) => {}
    }
}

/// Warns of a session that has ended for the want of a request or a login.
fn warn_of_end(shared: &Shared, status: &SessionStatus, end: &SessionEnd) {
    match end {
        SessionEnd::NoRequest => shared.warnings.report(Condition::TooSlow, &status.peer()),
        SessionEnd::Refused => shared.warnings.report(Condition::Refused, &status.peer()),
        SessionEnd::Login(error) => shared.warnings.report(Condition::Broker, error),
        _ => {}
    }
}

/// Why a connection was not set up.
#[derive(Debug, thiserror::Error)]
enum SetupError {
    #[error("the TLS handshake with the client failed: {0}")]
    Tls(io::Error),
    #[error("the broker cannot be reached: {0}")]
    Broker(Error),
    #[error(transparent)]
    Login(#[from] OpenError),
}

/// Both sides of a session.
struct Opened {
    client: Box<dyn Stream>,
    broker: Connected<Box<dyn Stream>>,
    /// The client's login, unless SASL passes through.
    guard: Option<Box<Guard>>,
}

impl Shared {
    /// Sets up both sides of a session.
    async fn open(
        &self,
        stream: TcpStream,
        broker: Option<i32>,
        status: &SessionStatus,
    ) -> Result<Opened, SetupError> {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(target: "ottla.gateway", %error, "a socket has no TCP_NODELAY");
        }
        let loaded = self.loaded.load_full();
        let client: Box<dyn Stream> = Box::new(stream);
        let (mut client, broker, subject) = match &loaded.tls {
            None => (client, broker, None),
            Some(tls) => {
                let accepted = tls.accept(client).await.map_err(SetupError::Tls)?;
                let named = accepted.server_name.and_then(|name| self.addresses.broker_of(&name));
                let subject = accepted.certificate.map(|certificate| certificate.subject);
                (accepted.stream, broker.or(named), subject)
            }
        };
        status.set_identity(broker, subject);
        if let Some(logins) = &loaded.logins {
            // Few gateways have logins, and every connection would have room for one.
            let opening = Box::pin(sasl::open(&mut client, self, logins, broker, status));
            let (broker, guard) = opening.await?;
            return Ok(Opened { client, broker, guard: Some(Box::new(guard)) });
        }
        let broker = self.connect(broker).await.map_err(SetupError::Broker)?;
        Ok(Opened { client, broker, guard: None })
    }
}

/// Gives the addresses of brokers, and opens the listener of one that is new.
struct Book<'a> {
    shared: &'a Arc<Shared>,
    status: &'a SessionStatus,
    /// When the session's broker was named.
    era: Era,
}

impl AddressBook for Book<'_> {
    fn translate(&mut self, broker: i32, host: &str, port: i32) -> Option<Endpoint> {
        let port = u16::try_from(port).ok()?;
        self.shared.advertise(self.era, broker, host, port)
    }

    fn is_for_ottla(&self) -> bool {
        self.status.is_of_ottla()
    }

    fn rules(&self) -> Option<&AccessRules> {
        self.shared.rules.as_ref()
    }
}

impl Shared {
    /// Records a broker of the cluster, and returns its address behind the gateway once a listener is open there;
    /// `None` for a broker of an earlier cluster that the present one does not have.
    pub(crate) fn advertise(
        self: &Arc<Self>,
        era: Era,
        broker: i32,
        host: &str,
        port: u16,
    ) -> Option<Endpoint> {
        let address = match self.addresses.of(broker) {
            Ok(address) => address,
            Err(error) => {
                self.warn_of_missing_address(broker, &error);
                return None;
            }
        };
        if let Some(change) = self.brokers.observe(era, broker, host, port) {
            self.apply(&change);
        }
        if !self.brokers.has(broker) {
            return None;
        }
        match self.open_listener(broker, address.port) {
            Ok(port) => {
                self.without_address.lock().remove(&broker);
                Some(Endpoint { port, ..address })
            }
            Err(error) => {
                let message = format!("port {} cannot be opened: {error}", address.port);
                self.warn_of_missing_address(broker, &message);
                None
            }
        }
    }

    /// Warns once of a broker that clients cannot reach, until it has an address.
    fn warn_of_missing_address(&self, broker: i32, why: &dyn std::fmt::Display) {
        let mut known = self.without_address.lock();
        if known.len() < WITHOUT_ADDRESS_MAX && known.insert(broker) {
            tracing::warn!(target: "ottla.gateway", broker, "the broker has no address here, so that clients cannot reach it: {why}");
        }
    }

    /// Opens the listener of a broker, unless it is open, and returns its port.
    fn open_listener(self: &Arc<Self>, broker: i32, port: u16) -> io::Result<u16> {
        if matches!(self.addresses.routing(), Routing::ServerName { .. }) {
            return Ok(port);
        }
        self.listeners.open(broker, port, |port| {
            let listener = bind(SocketAddr::new(self.listen.ip(), port))?;
            let port = listener.local_addr()?.port();
            // Not in the set of tasks, which a session cannot reach; it ends with the listener's entry.
            Ok((port, tokio::spawn(accept(listener, Arc::clone(self), Some(broker))).abort_handle()))
        })
    }
}
