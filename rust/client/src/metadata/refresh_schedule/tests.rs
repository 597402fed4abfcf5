//! When refreshes are due, rule by rule. `retry.backoff.ms` is 100 without jitter unless a test says so.

#![allow(clippy::panic, reason = "a test may fail")]

use super::RefreshNeed::{Missing, Stale};
use super::*;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const PACE: Pace = Pace {
    backoff: Backoff { first: Duration::from_millis(100), max: Duration::from_secs(1) },
    max_age: Duration::from_secs(300),
};
const NO_JITTER: f64 = 0.5;

/// A schedule and its clock.
struct Harness {
    schedule: RefreshSchedule,
    now: Instant,
    pace: Pace,
    generation: u64,
}

impl Harness {
    /// A schedule whose first refresh has just succeeded.
    fn new() -> Self {
        let mut harness = Self::unconnected();
        harness.refresh();
        harness
    }

    fn unconnected() -> Self {
        Self { schedule: RefreshSchedule::default(), now: Instant::now(), pace: PACE, generation: 0 }
    }

    fn state(&mut self, need: RefreshNeed) -> bool {
        self.schedule.request(need, false, false)
    }

    fn missing(&mut self) -> bool {
        self.state(Missing(self.generation))
    }

    fn stale(&mut self) -> bool {
        self.state(Stale(self.generation))
    }

    fn track(&mut self) {
        self.schedule.request(Missing(self.generation), true, false);
    }

    fn start(&mut self) -> bool {
        self.schedule.start(self.now)
    }

    fn succeed(&mut self) {
        self.generation += 1;
        self.schedule.succeed(self.now, self.generation);
    }

    fn refresh(&mut self) {
        self.start();
        self.succeed();
    }

    fn fail(&mut self) {
        self.start();
        self.schedule.fail(self.now);
    }

    fn next(&self) -> Option<NextRefresh> {
        self.schedule.next(self.now, &self.pace, NO_JITTER)
    }

    /// How long from now until a requested refresh is due; `None` if none is requested.
    fn requested_in(&self) -> Option<Duration> {
        self.next().filter(|next| next.requested).map(|next| next.due.saturating_duration_since(self.now))
    }

    /// How long until the refresh by age or after a lost connection.
    fn background_in(&self) -> Option<Duration> {
        self.next().filter(|next| !next.requested).map(|next| next.due.saturating_duration_since(self.now))
    }

    /// Waits for the next refresh. Returns how long it took.
    fn wait(&mut self) -> Duration {
        let before = self.now;
        self.now = self.next().map_or(before, |next| next.due.max(before));
        self.now - before
    }
}

#[test]
fn stale_metadata_is_refreshed_at_the_pace_of_the_backoff() {
    let mut harness = Harness::new();
    for _ in 0..5 {
        assert_eq!(harness.requested_in(), None);
        harness.stale();
        assert_eq!(harness.requested_in(), Some(ms(100)));
        harness.now += ms(30);
        assert_eq!(harness.requested_in(), Some(ms(70)), "since the last refresh");
        harness.wait();
        harness.refresh();
    }
    harness.now += ms(5_000);
    harness.stale();
    assert_eq!(harness.requested_in(), Some(ms(0)));
}

#[test]
fn what_stays_missing_is_asked_for_less_and_less_often() {
    let mut harness = Harness::new();
    let mut waits = Vec::new();
    for _ in 0..7 {
        harness.missing();
        waits.push(harness.wait());
        harness.refresh();
    }
    assert_eq!(waits, [100, 100, 200, 400, 800, 1000, 1000].map(ms));
    // A refresh that nobody needs for something missing ends the series.
    harness.stale();
    harness.wait();
    harness.refresh();
    harness.missing();
    assert_eq!(harness.requested_in(), Some(ms(100)));
}

#[test]
fn stale_metadata_does_not_wait_for_what_is_missing() {
    let mut harness = Harness::new();
    for _ in 0..6 {
        harness.missing();
        harness.wait();
        harness.refresh();
    }
    harness.missing();
    assert_eq!(harness.requested_in(), Some(ms(1000)));
    harness.stale();
    assert_eq!(harness.requested_in(), Some(ms(100)));
}

#[test]
fn newly_tracked_topics_are_asked_for_at_once_and_start_a_new_series() {
    let mut harness = Harness::new();
    for _ in 0..6 {
        harness.missing();
        harness.wait();
        harness.refresh();
    }
    harness.missing();
    harness.track();
    assert_eq!(harness.requested_in(), Some(ms(0)));
    harness.refresh();
    harness.missing();
    assert_eq!(harness.requested_in(), Some(ms(100)));
    harness.track();
    assert_eq!(harness.requested_in(), Some(MIN_PAUSE), "a topic tracked again and again does not spin");
    harness.wait();
    harness.fail();
    harness.track();
    assert_eq!(harness.requested_in(), Some(ms(100)), "the cluster may be down");
}

#[test]
fn failures_delay_every_refresh() {
    let mut harness = Harness::new();
    let mut waits = Vec::new();
    for attempt in 0..18 {
        match attempt % 3 {
            0 => drop(harness.stale()),
            1 => drop(harness.missing()),
            _ => harness.schedule.connection_lost(harness.now, &harness.pace),
        }
        waits.push(harness.wait());
        harness.fail();
    }
    assert_eq!(waits[..6], [100, 100, 200, 400, 800, 1000].map(ms));
    assert_eq!(waits[6..], [ms(1000); 12]);
    harness.refresh();
    harness.stale();
    assert_eq!(harness.requested_in(), Some(ms(100)), "a success ends the series");
}

#[test]
fn an_attempt_uses_up_the_needs_even_if_it_fails() {
    let mut harness = Harness::new();
    harness.stale();
    harness.track();
    harness.wait();
    harness.fail();
    assert_eq!(harness.requested_in(), None);
    assert_eq!(harness.background_in(), Some(PACE.max_age));
}

#[test]
fn a_need_stated_during_a_refresh_is_met_by_a_newer_response_only() {
    let mut harness = Harness::new();
    harness.stale();
    harness.start();
    assert!(harness.stale() && harness.missing(), "the response may have left before");
    assert_eq!(harness.next(), None, "one refresh at a time");
    let old = harness.generation;
    harness.succeed();
    assert_eq!(harness.requested_in(), None, "the response is newer than what the callers saw");
    assert!(!harness.state(Stale(old)) && !harness.state(Missing(old)), "so it is for later callers");

    harness.stale();
    harness.start();
    harness.stale();
    harness.schedule.fail(harness.now);
    assert_eq!(harness.requested_in(), Some(ms(100)), "no response, so the need remains");

    let mut harness = Harness::new();
    harness.start();
    harness.track();
    harness.succeed();
    assert_eq!(harness.requested_in(), Some(ms(0)), "the request did not name the topic");
}

#[test]
fn an_abandoned_refresh_leaves_its_needs() {
    let mut harness = Harness::new();
    harness.schedule.request(Missing(harness.generation), true, true);
    assert!(harness.start());
    harness.missing();
    harness.schedule.cancel();
    assert_eq!(harness.requested_in(), Some(MIN_PAUSE));
    assert!(harness.start(), "the topics may still be created");
    harness.schedule.cancel();
    harness.schedule.cancel();
    harness.fail();
    assert_eq!(harness.requested_in(), None);
}

#[test]
fn topics_are_created_only_for_who_needs_it() {
    let mut harness = Harness::new();
    harness.schedule.request(Missing(harness.generation), false, true);
    assert!(harness.start());
    assert!(!harness.schedule.request(Missing(0), false, true), "an old need changes nothing");
    harness.schedule.request(Missing(harness.generation), false, true);
    harness.succeed();
    harness.stale();
    assert!(!harness.start(), "the response has met the need");
}

#[test]
fn metadata_is_refreshed_by_age_since_the_last_attempt() {
    let mut harness = Harness::new();
    assert_eq!(harness.background_in(), Some(PACE.max_age));
    harness.now += ms(200_000);
    harness.fail();
    assert_eq!(harness.background_in(), Some(PACE.max_age));
    harness.pace.max_age = Duration::ZERO;
    harness.refresh();
    assert_eq!(harness.background_in(), Some(MIN_BACKGROUND_PAUSE));
    assert_eq!(Harness::unconnected().next(), None, "nobody has asked for anything yet");
}

#[test]
fn a_lost_connection_causes_one_refresh_after_a_pause() {
    let mut harness = Harness::new();
    harness.now += ms(5_000);
    for _ in 0..3 {
        harness.schedule.connection_lost(harness.now, &harness.pace);
        harness.now += ms(20);
    }
    assert_eq!(harness.background_in(), Some(ms(40)));
    // Right after the loss the cluster may not have elected another leader yet.
    harness.refresh();
    assert_eq!(harness.background_in(), Some(ms(40)));
    harness.wait();
    harness.refresh();
    assert_eq!(harness.background_in(), Some(PACE.max_age));
    harness.pace.backoff.first = Duration::ZERO;
    harness.schedule.connection_lost(harness.now, &harness.pace);
    assert_eq!(harness.background_in(), Some(MIN_BACKGROUND_PAUSE));
}

#[test]
fn the_first_refresh_is_due_when_it_is_needed() {
    for need in [Stale(0), Missing(0)] {
        let mut harness = Harness::unconnected();
        harness.state(need);
        assert_eq!(harness.requested_in(), Some(ms(0)));
        harness.fail();
        harness.state(need);
        assert_eq!(harness.requested_in(), Some(ms(100)));
    }
}

/// Whatever is stated when, refreshes have pauses, needs are met, and a client without needs is idle.
#[test]
fn no_sequence_of_events_causes_a_refresh_without_a_pause() {
    for seed in 0..200 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut harness = Harness::new();
        // Also the configurations that ask for no pause at all.
        harness.pace.backoff.first = ms(random.u64(0..3) * 50);
        harness.pace.backoff.max = ms(random.u64(0..3) * 500);
        harness.pace.max_age = ms(random.u64(0..2) * 10_000);
        let (mut ended, mut at_once, mut was_at_once) = (harness.now, false, false);
        for _ in 0..300 {
            harness.now += ms(random.u64(0..40));
            for _ in 0..random.u8(0..3) {
                match random.u8(0..4) {
                    0 => drop(harness.stale()),
                    1 => drop(harness.missing()),
                    2 => {
                        harness.track();
                        at_once = true;
                    }
                    _ => harness.schedule.connection_lost(harness.now, &harness.pace),
                }
            }
            let next = harness.schedule.next(harness.now, &harness.pace, random.f64());
            let Some(due) = next.map(|next| next.due) else { panic!("seed {seed}: no refresh by age") };
            if at_once {
                let bound = harness.pace.backoff.max.mul_f64(1.2).max(MIN_PAUSE);
                assert!(due <= harness.now.max(ended + bound), "seed {seed}: the need waits too long");
            }
            if due > harness.now {
                continue;
            }
            let pause = harness.now - ended;
            assert!(pause >= MIN_PAUSE || (at_once && !was_at_once), "seed {seed}: {pause:?}");
            harness.start();
            (at_once, was_at_once) = (false, at_once);
            harness.now += ms(random.u64(0..20));
            match random.u8(0..4) {
                0 => harness.schedule.fail(harness.now),
                _ => harness.succeed(),
            }
            ended = harness.now;
        }
    }
}
