//! Brokers that have accepted nothing for longer than `partitioner.availability.timeout.ms`
//! (KIP-794). No I/O; the time is an argument.
//!
//! Invariant: a broker is available again as soon as it accepts something, and one that has nothing
//! to accept stays available.

use std::collections::HashMap;

use tokio::time::{Duration, Instant};

/// Since when batches wait for each broker.
#[derive(Debug, Default)]
pub struct BrokerAvailability {
    waiting_since: HashMap<i32, Instant>,
}

impl BrokerAvailability {
    /// Batches for this broker could be sent and still wait.
    pub fn mark_waiting(&mut self, broker: i32, now: Instant) {
        self.waiting_since.entry(broker).or_insert(now);
    }

    /// The broker has responded, or nothing waits for it.
    pub fn mark_progress(&mut self, broker: i32) {
        self.waiting_since.remove(&broker);
    }

    /// Whether no batch has waited for this broker for longer than `timeout`. Zero disables the
    /// check, as in Java.
    #[must_use]
    pub fn is_available(&self, broker: i32, timeout: Duration, now: Instant) -> bool {
        let overdue = |since: &Instant| now.saturating_duration_since(*since) > timeout;
        timeout.is_zero() || !self.waiting_since.get(&broker).is_some_and(overdue)
    }
}
