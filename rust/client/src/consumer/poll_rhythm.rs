//! When the application polls next, learnt from how long it stayed away before.
//!
//! At a trickle of records, each fetch returns the first one that comes, and the next fetch another: a request for each
//! record, of which an application that is busy for twenty milliseconds sees nothing. Fetched shortly before it comes
//! back, its poll returns them all.
//!
//! Invariants: nothing is held back while the application waits in a poll. Callers pass the time.

use tokio::time::{Duration, Instant};

/// How long before the next poll to fetch: timers have a resolution of a millisecond, and the response takes time, too.
const LEAD: Duration = Duration::from_millis(2);
/// Absences up to this are too short to hold anything back.
const NEGLIGIBLE: Duration = Duration::from_millis(4);
/// The longest time to hold a fetch back.
const LONGEST: Duration = Duration::from_millis(500);

/// The application's polls.
#[derive(Debug, Default)]
pub(super) struct PollRhythm {
    /// How many polls the application is in.
    active_polls: usize,
    /// When the last poll ended.
    away_since: Option<Instant>,
    /// The last absences, the latest first.
    absences: [Duration; 2],
    /// Whether the fetcher holds a fetch back.
    holds_back: bool,
}

impl PollRhythm {
    /// A poll begins.
    pub(super) fn enter(&mut self, now: Instant) {
        self.active_polls += 1;
        if let Some(since) = self.away_since.take() {
            self.absences = [now.saturating_duration_since(since), self.absences[0]];
        }
    }

    /// A poll ends.
    pub(super) fn exit(&mut self, now: Instant) {
        self.active_polls = self.active_polls.saturating_sub(1);
        if self.active_polls == 0 {
            self.away_since = Some(now);
        }
    }

    /// A poll begins to wait for records. Returns whether a fetch was held back that must be sent now.
    pub(super) fn begin_wait(&mut self) -> bool {
        std::mem::take(&mut self.holds_back)
    }

    /// Until when to hold back a fetch that returns few records; `None` if it is to be sent now.
    pub(super) fn hold_until(&mut self, now: Instant) -> Option<Instant> {
        let since = self.away_since.filter(|_| self.active_polls == 0)?;
        let [last, before] = self.absences;
        let absence = last.min(before).min(LONGEST);
        if absence <= NEGLIGIBLE {
            return None;
        }
        let elapsed = now.saturating_duration_since(since) + LEAD;
        let mut at = absence;
        // Who stays away for longer than before is expected less and less often.
        while at <= elapsed && at < LONGEST {
            at = (2 * at).min(LONGEST);
        }
        if at <= elapsed {
            at = elapsed + LONGEST;
        }
        self.holds_back = true;
        Some(since + at - LEAD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// Polls that last a millisecond each, after these absences; returns the end of the last one.
    fn polled(rhythm: &mut PollRhythm, start: Instant, absences: &[u64]) -> Instant {
        let mut now = start;
        for absence in absences {
            now += ms(*absence);
            rhythm.enter(now);
            now += ms(1);
            rhythm.exit(now);
        }
        now
    }

    #[test]
    fn a_fetch_is_sent_shortly_before_the_next_poll() {
        let mut rhythm = PollRhythm::default();
        let now = polled(&mut rhythm, Instant::now(), &[0, 20, 20]);
        assert_eq!(rhythm.hold_until(now), Some(now + ms(18)));
        assert_eq!(rhythm.hold_until(now + ms(17)), Some(now + ms(18)));
        // If it does not come, it is expected less and less often.
        assert_eq!(rhythm.hold_until(now + ms(18)), Some(now + ms(38)));
        assert_eq!(rhythm.hold_until(now + ms(38)), Some(now + ms(78)));
        assert_eq!(rhythm.hold_until(now + ms(5_000)), Some(now + ms(5_500)));
        // One longer absence does not change what is expected next.
        let now = polled(&mut rhythm, now, &[5_000]);
        assert_eq!(rhythm.hold_until(now), Some(now + ms(18)));
        let now = polled(&mut rhythm, now, &[5_000]);
        assert_eq!(rhythm.hold_until(now), Some(now + ms(498)));
    }

    #[test]
    fn nothing_is_held_back_from_an_application_that_waits_or_returns_soon() {
        let mut rhythm = PollRhythm::default();
        assert_eq!(rhythm.hold_until(Instant::now()), None);
        let now = polled(&mut rhythm, Instant::now(), &[0, 20]);
        assert_eq!(rhythm.hold_until(now), None, "after one absence");
        let now = polled(&mut rhythm, now, &[20]);
        rhythm.enter(now);
        assert_eq!(rhythm.hold_until(now), None);
        rhythm.exit(now);
        let now = polled(&mut rhythm, now, &[3]);
        assert_eq!(rhythm.hold_until(now), None);
    }

    #[test]
    fn a_poll_that_waits_releases_what_is_held_back() {
        let mut rhythm = PollRhythm::default();
        let now = polled(&mut rhythm, Instant::now(), &[0, 20, 20]);
        assert!(!rhythm.begin_wait());
        assert!(rhythm.hold_until(now).is_some());
        assert!(rhythm.begin_wait());
        assert!(!rhythm.begin_wait());
    }
}
