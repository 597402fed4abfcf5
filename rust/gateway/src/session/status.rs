//! [`SessionStatus`]: what a session shows of itself.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use ottla_protocol::messages::api_versions::ApiVersionsRequest;
use ottla_protocol::wire::Reader;
use ottla_protocol::{ApiKey, Message};
use parking_lot::Mutex;

use crate::stream::{PendingResponse, RequestHead};

/// The longest client id that is kept; Kafka allows longer ones.
const CLIENT_ID_MAX: usize = 256;

/// The longest name and version of a library that are kept, in bytes of the request.
const SOFTWARE_MAX: usize = 512;

/// The requests of one API in a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ApiCount {
    /// The requests.
    pub requests: u64,
    /// The responses.
    pub responses: u64,
    /// The time from each request to its response, added up.
    pub waited: Duration,
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
    /// The client id of the latest request.
    pub client_id: String,
    /// The name and the version of the client's library, if it has sent them (KIP-511).
    pub software: Option<String>,
    /// The bytes received from the client.
    pub received: u64,
    /// The bytes sent to the client.
    pub sent: u64,
    /// The requests by API.
    pub requests: BTreeMap<ApiKey, ApiCount>,
    /// How long it has lasted.
    pub age: Duration,
}

/// What a session shows of itself while it runs.
#[derive(Debug)]
pub(crate) struct SessionStatus {
    id: u64,
    peer: SocketAddr,
    broker: Mutex<Option<i32>>,
    since: Instant,
    received: AtomicU64,
    sent: AtomicU64,
    requests: Mutex<Requests>,
}

#[derive(Debug, Default)]
struct Requests {
    client_id: Vec<u8>,
    software: Option<String>,
    by_api: BTreeMap<ApiKey, ApiCount>,
}

impl SessionStatus {
    pub(crate) fn new(id: u64, peer: SocketAddr, broker: Option<i32>) -> Self {
        let (received, sent) = (AtomicU64::new(0), AtomicU64::new(0));
        Self {
            id,
            peer,
            broker: Mutex::new(broker),
            since: Instant::now(),
            received,
            sent,
            requests: Mutex::default(),
        }
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Records the broker that the client has named in the TLS handshake.
    pub(crate) fn set_broker(&self, broker: Option<i32>) {
        *self.broker.lock() = broker;
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

    pub(crate) fn requested(&self, head: &RequestHead<'_>) {
        let mut requests = self.requests.lock();
        let client_id = head.client_id.unwrap_or_default();
        let client_id = &client_id[..client_id.len().min(CLIENT_ID_MAX)];
        if requests.client_id != client_id {
            requests.client_id = client_id.to_vec();
        }
        requests.by_api.entry(head.api).or_default().requests += 1;
        if head.api == ApiKey::ApiVersions {
            requests.software = software(head);
        }
    }

    pub(crate) fn responded(&self, pending: &PendingResponse) {
        let mut requests = self.requests.lock();
        let count = requests.by_api.entry(pending.api).or_default();
        count.responses += 1;
        count.waited += pending.since.elapsed();
    }

    /// The state now.
    pub(crate) fn info(&self) -> SessionInfo {
        let requests = self.requests.lock();
        SessionInfo {
            id: self.id,
            peer: self.peer,
            broker: *self.broker.lock(),
            client_id: String::from_utf8_lossy(&requests.client_id).into_owned(),
            software: requests.software.clone(),
            received: self.received.load(Ordering::Relaxed),
            sent: self.sent.load(Ordering::Relaxed),
            requests: requests.by_api.clone(),
            age: self.since.elapsed(),
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
