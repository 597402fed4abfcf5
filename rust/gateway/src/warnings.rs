//! [`Warnings`]: warnings of what strangers can cause as often as they like: one at once, one a minute while it lasts,
//! and one when it has passed.
//!
//! Invariant: the number of lines depends on time alone, not on what clients do.

use std::fmt::Display;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::time::sleep;

use crate::shared::Shared;

/// The time between two lines about one condition, and the time without it after which it has passed.
const INTERVAL: Duration = Duration::from_secs(60);
/// How often conditions are looked at.
const TICK: Duration = Duration::from_secs(5);

/// What is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Condition {
    /// The system gives no connection, as with too many open files.
    Accept,
    /// There are as many connections as there may be.
    TooMany,
    /// There are as many connections from one address as there may be.
    TooManyFromOne,
    /// A client was not set up in time: TLS, login, first request.
    TooSlow,
    /// A client's login was refused.
    Refused,
    /// A broker cannot be reached, or refuses the gateway's login.
    Broker,
}

impl Condition {
    const ALL: [Self; 6] =
        [Self::Accept, Self::TooMany, Self::TooManyFromOne, Self::TooSlow, Self::Refused, Self::Broker];

    fn text(self) -> &'static str {
        match self {
            Self::Accept => "a connection cannot be accepted",
            Self::TooMany => "too many connections: this one is closed",
            Self::TooManyFromOne => "too many connections from this address: this one is closed",
            Self::TooSlow => "a client was not ready in time (TLS, login, first request): it is closed",
            Self::Refused => "a client's login was refused",
            Self::Broker => "a client's connection is closed, since its broker did not accept one",
        }
    }
}

/// The conditions of now.
#[derive(Debug, Default)]
pub(crate) struct Warnings([Mutex<Option<Lasting>>; Condition::ALL.len()]);

/// A condition that has not passed.
#[derive(Debug)]
struct Lasting {
    reported: Instant,
    seen: Instant,
    unreported: u64,
    all: u64,
}

/// What to say about a condition.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    First,
    More(u64),
    Passed(u64),
}

impl Warnings {
    /// Reports a condition with its detail, unless a line about it is recent.
    pub(crate) fn report(&self, condition: Condition, detail: &dyn Display) {
        if let Some(line) = see(&mut self.0[condition as usize].lock(), Instant::now()) {
            write(condition, &line, Some(detail));
        }
    }

    fn tick(&self, now: Instant) {
        for condition in Condition::ALL {
            let line = check(&mut self.0[condition as usize].lock(), now);
            if let Some(line) = line {
                write(condition, &line, None);
            }
        }
    }
}

/// Reports what lasts and what has passed, until it is dropped.
pub(crate) async fn watch(shared: Arc<Shared>) {
    loop {
        sleep(TICK).await;
        shared.warnings.tick(Instant::now());
    }
}

fn see(state: &mut Option<Lasting>, now: Instant) -> Option<Line> {
    match state {
        None => {
            *state = Some(Lasting { reported: now, seen: now, unreported: 0, all: 1 });
            Some(Line::First)
        }
        Some(lasting) => {
            (lasting.seen, lasting.all, lasting.unreported) = (now, lasting.all + 1, lasting.unreported + 1);
            None
        }
    }
}

fn check(state: &mut Option<Lasting>, now: Instant) -> Option<Line> {
    let lasting =
        state.as_mut().filter(|lasting| now.saturating_duration_since(lasting.reported) >= INTERVAL)?;
    if lasting.unreported > 0 {
        lasting.reported = now;
        return Some(Line::More(std::mem::take(&mut lasting.unreported)));
    }
    if now.saturating_duration_since(lasting.seen) < INTERVAL {
        return None;
    }
    let all = lasting.all;
    *state = None;
    // One that came alone needs no second line.
    (all > 1).then_some(Line::Passed(all))
}

fn write(condition: Condition, line: &Line, detail: Option<&dyn Display>) {
    let text = condition.text();
    match (line, detail) {
        (Line::More(count), _) => {
            tracing::warn!(target: "ottla.gateway", count, "{text}: more in the last minute");
        }
        (Line::Passed(count), _) => {
            tracing::info!(target: "ottla.gateway", count, "{text}: not in the last minute any more");
        }
        (Line::First, Some(detail)) => tracing::warn!(target: "ottla.gateway", "{text}: {detail}"),
        (Line::First, None) => tracing::warn!(target: "ottla.gateway", "{text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_depend_on_time_alone() {
        let (mut state, start) = (None, Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(see(&mut state, at(0)), Some(Line::First));
        for _ in 0..1000 {
            assert_eq!(see(&mut state, at(1)), None);
        }
        assert_eq!(check(&mut state, at(59)), None);
        assert_eq!(check(&mut state, at(60)), Some(Line::More(1000)));
        assert_eq!(see(&mut state, at(100)), None);
        assert_eq!(check(&mut state, at(120)), Some(Line::More(1)));
        assert_eq!(check(&mut state, at(159)), None);
        assert_eq!(check(&mut state, at(180)), Some(Line::Passed(1002)));
        assert_eq!(check(&mut state, at(300)), None);
        // One alone is one line.
        assert_eq!(see(&mut state, at(300)), Some(Line::First));
        assert_eq!(check(&mut state, at(400)), None);
        assert_eq!(see(&mut state, at(401)), Some(Line::First));
    }
}
