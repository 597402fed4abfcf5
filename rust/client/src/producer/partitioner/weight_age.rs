//! When to calculate the weights of partitions again. No I/O; the time is an argument.
//!
//! Invariant: weights are as old as it takes to send some hundreds of records at most, and what they cost does not grow
//! with the partitions.

use tokio::time::{Duration, Instant};

/// How long the weights of a partition are kept: some fifty times as long as it takes to calculate them.
const KEPT_FOR_EACH_PARTITION: Duration = Duration::from_micros(2);

/// What is known of the weights that were last calculated.
#[derive(Debug, Default)]
pub struct WeightAge {
    kept_until: Option<Instant>,
    /// The generation of the metadata, if no batch was queued or in flight.
    idle_since: Option<u64>,
}

impl WeightAge {
    /// Whether the weights are too old, or of a load that has changed.
    #[must_use]
    pub fn is_due(&self, idle_since: Option<u64>, now: Instant) -> bool {
        let is_still_idle = idle_since.is_some() && idle_since == self.idle_since;
        !is_still_idle && self.kept_until.is_none_or(|until| now >= until)
    }

    /// The weights of so many partitions were calculated.
    pub fn calculated(&mut self, partitions: usize, idle_since: Option<u64>, now: Instant) {
        let partitions = u32::try_from(partitions).unwrap_or(u32::MAX);
        self.kept_until = Some(now + KEPT_FOR_EACH_PARTITION.saturating_mul(partitions));
        self.idle_since = idle_since;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_kept_the_longer_the_more_partitions_there_are_and_while_nothing_is_sent() {
        let now = Instant::now();
        let mut age = WeightAge::default();
        assert!(age.is_due(Some(7), now));
        age.calculated(10_000, None, now);
        assert!(!age.is_due(None, now + Duration::from_millis(19)));
        assert!(age.is_due(None, now + Duration::from_millis(20)));
        age.calculated(3, Some(7), now);
        let later = now + Duration::from_secs(30);
        assert!(!age.is_due(Some(7), later), "still idle");
        assert!(age.is_due(Some(8), later), "the metadata has changed");
        assert!(age.is_due(None, later), "a batch was queued");
    }
}
