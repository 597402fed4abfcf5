//! Which brokers have taken nothing for longer than `partitioner.availability.timeout.ms` (KIP-794).
//! No I/O; the time is an argument.
//!
//! Invariant: a broker that takes something again is available at once, and one for which nothing
//! waits does not become unavailable.

use std::collections::HashMap;

use tokio::time::{Duration, Instant};

/// Since when batches wait for brokers that have taken nothing.
#[derive(Debug, Default)]
pub struct BrokerAvailability {
    waiting_since: HashMap<i32, Instant>,
}

impl BrokerAvailability {
    /// Batches that could go to a broker are still waiting_since.
    pub fn mark_waiting(&mut self, broker: i32, now: Instant) {
        self.waiting_since.entry(broker).or_insert(now);
    }

    /// A broker has answered, or there is nothing more that it could answer.
    pub fn mark_progress(&mut self, broker: i32) {
        self.waiting_since.remove(&broker);
    }

    /// Whether nothing has waited for a broker for longer than `timeout`. Zero is for ever, as in Java.
    #[must_use]
    pub fn is_available(&self, broker: i32, timeout: Duration, now: Instant) -> bool {
        let overdue = |since: &Instant| now.saturating_duration_since(*since) > timeout;
        timeout.is_zero() || !self.waiting_since.get(&broker).is_some_and(overdue)
    }
}
