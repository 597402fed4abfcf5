//! Exponential backoff with a maximum, and with jitter so that clients that failed together do not retry
//! together. The caller supplies the random number.

use std::time::Duration;

use crate::config::Config;

/// The bounds of the wait between attempts.
#[derive(Debug, Clone, Copy)]
pub struct Backoff {
    /// The wait after the first failure.
    pub first: Duration,
    /// The maximum.
    pub max: Duration,
}

impl Backoff {
    /// The wait after `failures` consecutive failures: doubled each time up to the maximum, then changed
    /// by up to 20 % (KIP-580). `random` is in `0.0..1.0`.
    #[must_use]
    pub fn after(self, failures: u32, random: f64) -> Duration {
        let doubled = self.first.saturating_mul(1_u32 << failures.saturating_sub(1).min(20));
        doubled.min(self.max).mul_f64(0.8 + 0.4 * random)
    }
}

impl Config {
    /// For attempts of a request: `retry.backoff.ms`, up to `retry.backoff.max.ms`.
    pub(crate) fn backoff(&self) -> Backoff {
        Backoff { first: self.retry_backoff, max: self.retry_backoff_max }
    }

    /// For attempts to connect: `reconnect.backoff.ms`, up to `reconnect.backoff.max.ms`.
    pub(crate) fn connect_backoff(&self) -> Backoff {
        Backoff { first: self.reconnect_backoff, max: self.reconnect_backoff_max }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_up_to_the_maximum_within_the_jitter() {
        let backoff = Backoff { first: Duration::from_millis(100), max: Duration::from_secs(1) };
        assert_eq!(backoff.after(1, 0.5), Duration::from_millis(100));
        assert_eq!(backoff.after(3, 0.5), Duration::from_millis(400));
        assert_eq!(backoff.after(60, 0.5), Duration::from_secs(1));
        assert_eq!(backoff.after(60, 0.0), Duration::from_millis(800));
        assert!(backoff.after(60, 1.0) <= Duration::from_millis(1200));
    }
}
