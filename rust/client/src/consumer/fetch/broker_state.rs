//! The fetch state of one broker: its session, its request in flight and its backoff.
//!
//! Invariant: a fetch session orders its requests, so a broker has at most one fetch in flight.

use tokio::time::{Duration, Instant};

use super::fetch_session::FetchSession;
use super::request::min_interval;
use crate::topic_partition::TopicPartition;

/// The fetch state of one broker.
#[derive(Debug, Default)]
pub(crate) struct BrokerState {
    pub(crate) session: FetchSession,
    pub(crate) in_flight: Option<InFlightFetch>,
    /// How many fetches were sent to it.
    pub(crate) sent: u64,
    pub(crate) not_before: Option<Instant>,
    pub(crate) failures: u32,
    /// When the first of the consecutive failures happened.
    pub(crate) failing_since: Option<Instant>,
    /// While a partition's buffer is full: when to check the others for new records again.
    pub(crate) check_at: Option<Instant>,
    /// The bytes of records of the last response.
    pub(crate) last_bytes: usize,
    /// Until when the next fetch is held back, since the application would not see its records before.
    pub(crate) held_until: Option<Instant>,
    /// Whether the last fetch was.
    pub(crate) last_was_held: bool,
}

/// A partition of a request in flight, as of the time it was sent.
#[derive(Debug)]
pub(crate) struct InFlightPartition {
    pub(crate) partition: TopicPartition,
    pub(crate) version: u64,
    pub(crate) offset: i64,
}

/// A fetch in flight.
#[derive(Debug)]
pub(crate) struct InFlightFetch {
    /// The most bytes of records that it may return.
    pub(crate) reserved: usize,
    pub(crate) sent: Instant,
    /// Of this broker's fetches.
    pub(crate) number: u64,
    pub(crate) requested: Vec<InFlightPartition>,
    /// Whether it was held back until the application was about to poll.
    pub(crate) was_held: bool,
}

impl BrokerState {
    /// Whether a fetch may be sent now.
    pub(crate) fn can_send(&self, now: Instant) -> bool {
        self.in_flight.is_none() && self.not_before.is_none_or(|not_before| not_before <= now)
    }

    /// Delays the next request after a response without records, unless the broker waited for some.
    pub(crate) fn record_empty_response(&mut self, sent: Instant, configured: Duration) {
        self.not_before = Some(sent + min_interval(configured));
    }
}
