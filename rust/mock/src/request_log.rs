//! The requests that brokers received: a bounded log and unbounded counts, for tests to inspect.
//!
//! Invariant: the log never exceeds its capacity; the counts include every request.

use std::collections::{HashMap, VecDeque};

use ottla_protocol::ApiKey;
use ottla_protocol::header::RequestHeader;
use tokio::time::Instant;

/// A request that a broker received.
#[derive(Debug, Clone)]
pub struct RecordedRequest {
    /// When the broker read it.
    pub at: Instant,
    /// The broker's id.
    pub broker: i32,
    /// The connection's number, unique in the cluster.
    pub connection: u64,
    /// The API key as sent.
    pub api_key: i16,
    /// The API; `None` if the key is unknown.
    pub api: Option<ApiKey>,
    /// The API version.
    pub version: i16,
    /// The client id.
    pub client_id: Option<String>,
    /// The correlation id.
    pub correlation_id: i32,
}

#[derive(Debug)]
pub(crate) struct RequestLog {
    capacity: usize,
    requests: VecDeque<RecordedRequest>,
    counts: HashMap<(i32, i16), u64>,
}

impl RequestLog {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, requests: VecDeque::new(), counts: HashMap::new() }
    }

    pub(crate) fn record(&mut self, broker: i32, connection: u64, header: &RequestHeader) {
        let api = ApiKey::try_from(header.api_key).ok();
        // Unknown keys share one counter, so that a peer cannot make the map grow.
        let counted = api.map_or(-1, |_| header.api_key);
        *self.counts.entry((broker, counted)).or_default() += 1;
        if self.capacity == 0 {
            return;
        }
        if self.requests.len() >= self.capacity {
            self.requests.pop_front();
        }
        self.requests.push_back(RecordedRequest {
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

    pub(crate) fn all(&self) -> Vec<RecordedRequest> {
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
