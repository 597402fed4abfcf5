//! How often a task may walk over all of its partitions.
//!
//! Invariant: walks that take long (a hundred thousand partitions) take at most a third of the time, whatever
//! wakes the task; what happens meanwhile is seen by the next walk. Short ones are not delayed.

use tokio::time::{Duration, Instant};

/// A walk that takes no longer than this is as good as none.
const NEGLIGIBLE: Duration = Duration::from_millis(1);

/// The times of a task's walks.
#[derive(Debug, Default)]
pub(crate) struct DutyCycle {
    not_before: Option<Instant>,
}

impl DutyCycle {
    /// When the next walk may begin, if that is not now.
    pub(crate) fn wait_until(&self, now: Instant) -> Option<Instant> {
        self.not_before.filter(|not_before| *not_before > now)
    }

    /// Notes a walk that has just ended.
    pub(crate) fn record_pass(&mut self, began: Instant, ended: Instant) {
        let took = ended.saturating_duration_since(began);
        self.not_before = (took > NEGLIGIBLE).then(|| ended + 2 * took);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_walks_take_a_third_of_the_time_and_short_ones_follow_at_once() {
        let began = Instant::now();
        let mut duty_cycle = DutyCycle::default();
        assert_eq!(duty_cycle.wait_until(began), None);
        let ended = began + Duration::from_micros(900);
        duty_cycle.record_pass(began, ended);
        assert_eq!(duty_cycle.wait_until(ended), None);
        let ended = began + Duration::from_millis(20);
        duty_cycle.record_pass(began, ended);
        assert_eq!(duty_cycle.wait_until(ended), Some(began + Duration::from_millis(60)));
        assert_eq!(duty_cycle.wait_until(began + Duration::from_millis(60)), None);
    }
}
