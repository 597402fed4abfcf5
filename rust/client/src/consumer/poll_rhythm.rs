//! When the application polls next, learnt from how long it stayed away before.
//!
//! At a trickle of records, each fetch returns the first one that comes, and the next fetch another: a request for each
//! record, of which an application that is busy for twenty milliseconds sees nothing. Fetched shortly before it comes
//! back, its poll returns them all: it waits a moment for the brokers that have not responded yet, since their records
//! would otherwise be as old as the time until the poll after it.
//!
//! Invariants: nothing is held back while the application waits in a poll, and none waits for more than [`GRACE`].
//! Callers pass the time.

use tokio::time::{Duration, Instant};

/// How long before the next poll to fetch: timers have a resolution of a millisecond, and the response takes time, too.
const LEAD: Duration = Duration::from_millis(2);
/// How long a poll that has records waits for the responses to fetches that were held back, from when these were sent.
const GRACE: Duration = Duration::from_millis(5);
/// Absences up to this are too short to hold anything back.
const NEGLIGIBLE: Duration = Duration::from_millis(4);
/// The longest time to hold a fetch back.
const LONGEST: Duration = Duration::from_millis(500);

/// What to do with a fetch that returns few records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hold {
    /// The application waits, or is never away for long: send it.
    No,
    /// Hold it back.
    Until(Instant),
    /// The application is about to poll: send it, and let the poll wait for it.
    Over,
}

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
    /// The fetches in flight that were held back, and when the last was sent.
    released: usize,
    released_at: Option<Instant>,
    /// A poll has come before its time: what is held back is about to be sent.
    is_awaited: bool,
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
    pub(super) fn begin_wait(&mut self, now: Instant) -> bool {
        let holds_back = std::mem::take(&mut self.holds_back);
        if holds_back {
            (self.is_awaited, self.released_at) = (true, Some(now));
        }
        holds_back
    }

    /// A fetch that was held back is sent.
    pub(super) fn release(&mut self, now: Instant) {
        self.released += 1;
        self.released_at = Some(now);
        (self.is_awaited, self.holds_back) = (false, false);
    }

    /// A fetch that was held back has ended.
    pub(super) fn released_ended(&mut self) {
        self.released = self.released.saturating_sub(1);
    }

    /// Until when a poll that has records waits for more.
    pub(super) fn wait_for_more(&self, now: Instant) -> Option<Instant> {
        let until = self.released_at? + GRACE;
        ((self.released > 0 || self.is_awaited) && now < until).then_some(until)
    }

    /// Whether to hold back a fetch that returns few records. The broker's last one `was_held` back.
    pub(super) fn hold(&mut self, was_held: bool, now: Instant) -> Hold {
        let [last, before] = self.absences;
        let absence = last.min(before).min(LONGEST);
        let Some(since) = self.away_since.filter(|_| self.active_polls == 0) else { return Hold::No };
        if absence <= NEGLIGIBLE {
            return Hold::No;
        }
        let elapsed = now.saturating_duration_since(since);
        let is_imminent = absence <= elapsed + LEAD && elapsed <= absence + GRACE;
        if is_imminent && !was_held {
            return Hold::Over;
        }
        let mut at = absence;
        // Who stays away for longer than before is expected less and less often.
        while at <= elapsed + LEAD && at < LONGEST {
            at = (2 * at).min(LONGEST);
        }
        if at <= elapsed + LEAD {
            at = elapsed + LEAD + LONGEST;
        }
        self.holds_back = true;
        Hold::Until(since + at - LEAD)
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
        assert_eq!(rhythm.hold(true, now), Hold::Until(now + ms(18)));
        assert_eq!(rhythm.hold(true, now + ms(17)), Hold::Until(now + ms(18)));
        // A response that comes just before the poll is expected must not make the next fetch wait for the one after.
        assert_eq!(rhythm.hold(false, now + ms(18)), Hold::Over);
        assert_eq!(rhythm.hold(false, now + ms(25)), Hold::Over);
        // One that was sent for it has returned: if it does not come, it is expected less and less often.
        assert_eq!(rhythm.hold(true, now + ms(18)), Hold::Until(now + ms(38)));
        assert_eq!(rhythm.hold(true, now + ms(26)), Hold::Until(now + ms(38)));
        assert_eq!(rhythm.hold(true, now + ms(38)), Hold::Until(now + ms(78)));
        assert_eq!(rhythm.hold(true, now + ms(5_000)), Hold::Until(now + ms(5_500)));
        // One longer absence does not change what is expected next.
        let now = polled(&mut rhythm, now, &[5_000]);
        assert_eq!(rhythm.hold(true, now), Hold::Until(now + ms(18)));
        let now = polled(&mut rhythm, now, &[5_000]);
        assert_eq!(rhythm.hold(true, now), Hold::Until(now + ms(498)));
    }

    #[test]
    fn nothing_is_held_back_from_an_application_that_waits_or_returns_soon() {
        let mut rhythm = PollRhythm::default();
        assert_eq!(rhythm.hold(true, Instant::now()), Hold::No);
        let now = polled(&mut rhythm, Instant::now(), &[0, 20]);
        assert_eq!(rhythm.hold(true, now), Hold::No, "after one absence");
        let now = polled(&mut rhythm, now, &[20]);
        rhythm.enter(now);
        assert_eq!(rhythm.hold(true, now), Hold::No);
        rhythm.exit(now);
        let now = polled(&mut rhythm, now, &[3]);
        assert_eq!(rhythm.hold(true, now), Hold::No);
    }

    #[test]
    fn a_poll_that_waits_releases_what_is_held_back() {
        let mut rhythm = PollRhythm::default();
        let now = polled(&mut rhythm, Instant::now(), &[0, 20, 20]);
        assert!(!rhythm.begin_wait(now));
        assert_ne!(rhythm.hold(true, now), Hold::No);
        assert!(rhythm.begin_wait(now + ms(15)));
        assert_eq!(rhythm.wait_for_more(now + ms(15)), Some(now + ms(20)), "it is about to be sent");
        assert!(!rhythm.begin_wait(now + ms(15)));
        rhythm.release(now + ms(16));
        rhythm.released_ended();
        assert_eq!(rhythm.wait_for_more(now + ms(16)), None);
    }

    #[test]
    fn a_poll_waits_a_moment_for_all_brokers_whose_fetches_were_held_back() {
        let mut rhythm = PollRhythm::default();
        let now = Instant::now();
        assert_eq!(rhythm.wait_for_more(now), None);
        rhythm.release(now);
        rhythm.release(now + ms(1));
        assert_eq!(rhythm.wait_for_more(now + ms(2)), Some(now + ms(6)));
        rhythm.released_ended();
        assert_eq!(rhythm.wait_for_more(now + ms(2)), Some(now + ms(6)));
        assert_eq!(rhythm.wait_for_more(now + ms(6)), None, "one broker has nothing");
        rhythm.released_ended();
        assert_eq!(rhythm.wait_for_more(now + ms(2)), None, "all have responded");
    }
}
