//! Limits how often a task iterates over all of its partitions.
//!
//! Invariant: long passes (over a hundred thousand partitions) take at most a third of the time, however
//! often the task is woken; the next pass handles what happened meanwhile. Short passes are not delayed.

use tokio::time::{Duration, Instant};

/// Passes no longer than this are not limited.
const NEGLIGIBLE: Duration = Duration::from_millis(1);

/// The schedule of a task's passes.
#[derive(Debug, Default)]
pub(crate) struct DutyCycle {
    not_before: Option<Instant>,
}

impl DutyCycle {
    /// When the next pass may begin; `None` for now.
    pub(crate) fn wait_until(&self, now: Instant) -> Option<Instant> {
        self.not_before.filter(|not_before| *not_before > now)
    }

    /// Records a pass.
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
