//! [`SessionStatus`]: what a session shows of itself.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use ottla_protocol::messages::api_versions::ApiVersionsRequest;
use ottla_protocol::wire::Reader;
use ottla_protocol::{ApiKey, ErrorCode, Message};
use parking_lot::Mutex;

use super::coordinated::Coordinated;
use super::counts::Counts;
use super::login::Login;
use super::role::Role;
use crate::stream::{PendingResponse, RequestHead};

/// The longest client id that is kept; Kafka allows longer ones.
const CLIENT_ID_MAX: usize = 256;

/// The longest name and version of a library that are kept, in bytes of the request.
const SOFTWARE_MAX: usize = 512;

/// The groups and transactional ids that are kept.
const COORDINATED_MAX: usize = 16;

/// An error in a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastError {
    /// The API.
    pub api: ApiKey,
    /// The code.
    pub code: i16,
    /// How long ago the response came.
    pub age: Duration,
}

/// A session, at one point in time.
#[derive(Debug, Clone)]
pub struct SessionInfo {
    /// Its number, which no other session of the gateway has.
    pub id: u64,
    /// The client's address.
    pub peer: SocketAddr,
    /// The broker that the client named; `None` for the bootstrap address.
    pub broker: Option<i32>,
    /// What it is for.
    pub roles: BTreeSet<Role>,
    /// The groups and transactional ids that its requests name; at most 16.
    pub coordinated: BTreeSet<Coordinated>,
    /// The client id of the latest request.
    pub client_id: String,
    /// The name and the version of the client's library, if it has sent them (KIP-511).
    pub software: Option<String>,
    /// The user: the name of SASL that was accepted, or the subject of the client's certificate.
    pub user: Option<String>,
    /// What happened.
    pub counts: Counts,
    /// The requests that wait for their responses.
    pub in_flight: u64,
    /// The latest response with an error: the first one in it.
    pub last_error: Option<LastError>,
    /// How long it has lasted.
    pub age: Duration,
    /// How long ago its latest request came; `None` before the first one.
    pub idle: Option<Duration>,
}

/// What a session shows of itself while it runs.
#[derive(Debug)]
pub(crate) struct SessionStatus {
    id: u64,
    peer: SocketAddr,
    since: Instant,
    received: AtomicU64,
    sent: AtomicU64,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    broker: Option<i32>,
    roles: BTreeSet<Role>,
    coordinated: BTreeSet<Coordinated>,
    client_id: Vec<u8>,
    software: Option<String>,
    subject: Option<String>,
    login: Login,
    counts: Counts,
    in_flight: u64,
    last_error: Option<(ApiKey, i16, Instant)>,
    last_request: Option<Instant>,
}

impl SessionStatus {
    pub(crate) fn new(id: u64, peer: SocketAddr, broker: Option<i32>) -> Self {
        let (received, sent) = (AtomicU64::new(0), AtomicU64::new(0));
        let seen = Mutex::new(Seen { broker, ..Seen::default() });
        Self { id, peer, since: Instant::now(), received, sent, seen }
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Records the broker that the client has named in the TLS handshake, and the subject of its certificate.
    pub(crate) fn set_identity(&self, broker: Option<i32>, subject: Option<String>) {
        let mut seen = self.seen.lock();
        (seen.broker, seen.subject) = (broker, subject);
    }

    /// Records that the connection to the broker is there: from now on the session has a role.
    pub(super) fn connected(&self) {
        let mut seen = self.seen.lock();
        if seen.broker.is_none() {
            seen.roles.insert(Role::Bootstrap);
        }
    }

    pub(super) fn received(&self, bytes: usize) {
        self.received.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(super) fn sent(&self, bytes: usize) {
        self.sent.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// A number that changes with each byte that moves.
    pub(super) fn moved(&self) -> u64 {
        self.received.load(Ordering::Relaxed).wrapping_add(self.sent.load(Ordering::Relaxed))
    }

    /// Whether the client has said that its library is ottla.
    pub(crate) fn is_of_ottla(&self) -> bool {
        self.seen.lock().software.as_deref().is_some_and(|software| software.starts_with("ottla "))
    }

    /// Records a request; returns what it names that the broker coordinates.
    pub(crate) fn requested(&self, head: &RequestHead<'_>, now: Instant) -> Option<Coordinated> {
        let mut seen = self.seen.lock();
        let client_id = head.client_id.unwrap_or_default();
        let client_id = &client_id[..client_id.len().min(CLIENT_ID_MAX)];
        if seen.client_id != client_id && !head.is_token {
            seen.client_id = client_id.to_vec();
        }
        seen.counts.request(head.api);
        seen.in_flight += u64::from(head.expects_response);
        seen.last_request = Some(now);
        match head.api {
            ApiKey::ApiVersions => seen.software = software(head),
            ApiKey::SaslHandshake => seen.login.handshake(head),
            ApiKey::SaslAuthenticate => seen.login.authenticate(head),
            _ => {}
        }
        seen.roles.extend(Role::of(head.api));
        Coordinated::of(head)
    }

    /// Records a response: `body` is what follows its correlation id, or the beginning of it. Returns whether it has an
    /// error.
    pub(crate) fn responded(&self, pending: &PendingResponse, body: &[u8], now: Instant) -> bool {
        let mut seen = self.seen.lock();
        let waited = now.saturating_duration_since(pending.since);
        let findings = seen.counts.response(pending.api, pending.version, waited, body);
        seen.in_flight = seen.in_flight.saturating_sub(1);
        let is_refused = findings.first_error != 0;
        if is_refused {
            seen.last_error = Some((pending.api, findings.first_error, now));
        }
        if pending.api == ApiKey::SaslAuthenticate {
            seen.login.responded(findings.first_error);
        }
        if let Some(named) = pending.named.as_deref().filter(|_| !is_refused)
            && seen.coordinated.len() < COORDINATED_MAX
            && !seen.coordinated.contains(named)
        {
            seen.coordinated.insert(named.clone());
        }
        is_refused
    }

    /// Records that an injected fault has hit the session, and the error that the client sees.
    pub(crate) fn faulted(&self, kind: &'static str, error: Option<(ApiKey, ErrorCode)>) {
        let mut seen = self.seen.lock();
        *seen.counts.faults.entry(kind).or_default() += 1;
        if let Some((api, code)) = error {
            seen.last_error = Some((api, code.code(), Instant::now()));
        }
    }

    /// The broker that the client named; `None` for the bootstrap address.
    pub(crate) fn broker(&self) -> Option<i32> {
        self.seen.lock().broker
    }

    /// The mechanism of the latest login.
    pub(super) fn mechanism(&self) -> String {
        self.seen.lock().login.mechanism().to_owned()
    }

    /// The client id of the latest request.
    pub(crate) fn client_id(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().client_id).into_owned()
    }

    /// What happened so far.
    pub(crate) fn counts(&self) -> Counts {
        let (received, sent) = (self.received.load(Ordering::Relaxed), self.sent.load(Ordering::Relaxed));
        Counts { received, sent, ..self.seen.lock().counts.clone() }
    }

    /// The state now.
    pub(crate) fn info(&self) -> SessionInfo {
        let (counts, now) = (self.counts(), Instant::now());
        let seen = self.seen.lock();
        let ago = |moment: Instant| now.saturating_duration_since(moment);
        SessionInfo {
            id: self.id,
            peer: self.peer,
            broker: seen.broker,
            roles: seen.roles.clone(),
            coordinated: seen.coordinated.clone(),
            client_id: String::from_utf8_lossy(&seen.client_id).into_owned(),
            software: seen.software.clone(),
            user: seen.login.user().map(str::to_owned).or_else(|| seen.subject.clone()),
            counts,
            in_flight: seen.in_flight,
            last_error: seen.last_error.map(|(api, code, at)| LastError { api, code, age: ago(at) }),
            age: ago(self.since),
            idle: seen.last_request.map(ago),
        }
    }
}

/// The name and the version of the client's library.
fn software(head: &RequestHead<'_>) -> Option<String> {
    if !head.is_whole || head.body.len() > SOFTWARE_MAX {
        return None;
    }
    let mut r = Reader::new(Bytes::copy_from_slice(head.body));
    let request = ApiVersionsRequest::decode(&mut r, head.version).ok()?;
    let is_plain = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic());
    let (name, version) = (&request.client_software_name, &request.client_software_version);
    (is_plain(name) && is_plain(version)).then(|| format!("{name} {version}"))
}
