//! Which requests the brokers saw: a bounded log for tests to look at, and counters that go on.
//!
//! Invariant: the log never holds more than its bound; the counters count everything.

use std::collections::{HashMap, VecDeque};

use ottla_protocol::ApiKey;
use ottla_protocol::header::RequestHeader;
use tokio::time::Instant;

/// A request that a broker received.
#[derive(Debug, Clone)]
pub struct SeenRequest {
    /// When it was read.
    pub at: Instant,
    /// The broker.
    pub broker: i32,
    /// The connection, numbered over the whole cluster.
    pub connection: u64,
    /// The API's key as sent.
    pub api_key: i16,
    /// The API, if there is one of this key.
    pub api: Option<ApiKey>,
    /// The request's version.
    pub version: i16,
    /// The client's name.
    pub client_id: Option<String>,
    /// The request's correlation id.
    pub correlation_id: i32,
}

#[derive(Debug)]
pub(crate) struct SeenLog {
    bound: usize,
    requests: VecDeque<SeenRequest>,
    counts: HashMap<(i32, i16), u64>,
}

impl SeenLog {
    pub(crate) fn new(bound: usize) -> Self {
        Self { bound, requests: VecDeque::new(), counts: HashMap::new() }
    }

    pub(crate) fn note(&mut self, broker: i32, connection: u64, header: &RequestHeader) {
        let api = ApiKey::try_from(header.api_key).ok();
        // Unknown keys share one counter, so that a peer cannot make the map grow.
        let counted = api.map_or(-1, |_| header.api_key);
        *self.counts.entry((broker, counted)).or_default() += 1;
        if self.bound == 0 {
            return;
        }
        if self.requests.len() >= self.bound {
            self.requests.pop_front();
        }
        self.requests.push_back(SeenRequest {
            at: Instant::now(),
            broker,
            connection,
            api_key: header.api_key,
            api,
            version: header.api_version,
            client_id: header.client_id.clone(),
            correlation_id: header.correlation_id,
        });
    }

    pub(crate) fn all(&self) -> Vec<SeenRequest> {
        self.requests.iter().cloned().collect()
    }

    pub(crate) fn count(&self, broker: Option<i32>, api: ApiKey) -> u64 {
        let matching = |key: &&(i32, i16)| key.1 == api as i16 && broker.is_none_or(|id| id == key.0);
        self.counts.iter().filter(|(key, _)| matching(key)).map(|(_, count)| count).sum()
    }

    pub(crate) fn clear(&mut self) {
        self.requests.clear();
        self.counts.clear();
    }
}
