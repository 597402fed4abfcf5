//! [`Pace`]: how long bytes must wait so that a rate is kept. The time is an argument.

use std::num::NonZeroU64;
use std::time::{Duration, Instant};

/// How much may move at once, as a part of a second's bytes: a slow link is not a stalled one.
const PARTS_A_SECOND: u64 = 10;

/// The pace of one direction of a connection.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// When the bytes so far have moved.
    done: Option<Instant>,
}

impl Pace {
    /// How many bytes to read at most.
    pub(super) fn step(rate: NonZeroU64) -> usize {
        usize::try_from(rate.get().div_ceil(PARTS_A_SECOND)).unwrap_or(usize::MAX)
    }

    /// How long these bytes take.
    pub(super) fn wait(&mut self, rate: NonZeroU64, bytes: usize, now: Instant) -> Duration {
        let start = self.done.map_or(now, |done| done.max(now));
        let micros = u128::from(bytes as u64) * 1_000_000 / u128::from(rate.get());
        let takes = Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX));
        let done = start.checked_add(takes).unwrap_or(start);
        self.done = Some(done);
        done.saturating_duration_since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_move_at_the_rate_whatever_the_pieces() {
        let rate = NonZeroU64::new(1_000).unwrap_or(NonZeroU64::MIN);
        let (mut pace, start) = (Pace::default(), Instant::now());
        assert_eq!(Pace::step(rate), 100);
        let mut now = start;
        for _ in 0..25 {
            now += pace.wait(rate, 100, now);
        }
        assert_eq!(now - start, Duration::from_millis(2_500));
        // Time in which nothing was there to move is not made up for.
        now += Duration::from_secs(60);
        assert_eq!(pace.wait(rate, 100, now), Duration::from_millis(100));
    }

    #[test]
    fn the_slowest_link_moves_a_byte_at_a_time() {
        assert_eq!(Pace::step(NonZeroU64::MIN), 1);
        assert_eq!(Pace::default().wait(NonZeroU64::MIN, 1, Instant::now()), Duration::from_secs(1));
    }
}
