//! Staggered attempts (as Happy Eyeballs, RFC 8305): the next candidate starts when the one before has
//! failed, or has not finished within the attempt delay. The first success wins.
//!
//! Used for the addresses of a host, for bootstrap servers and for brokers: one that does not respond
//! does not cost its whole timeout.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;

use tokio::time::{Duration, Instant, sleep};

use crate::error::{Error, Result};

/// The next event.
enum Step<T> {
    Done(usize, Result<T>),
    Next,
}

/// Default time between the starts of two attempts.
const ATTEMPT_DELAY: Duration = Duration::from_millis(500);

/// The attempt delay that lets all candidates start before `deadline`, even if none responds.
pub(crate) fn attempt_delay(candidates: usize, deadline: Option<Instant>) -> Duration {
    let turns = u32::try_from(candidates).unwrap_or(u32::MAX).saturating_mul(2).max(1);
    let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    left.map_or(ATTEMPT_DELAY, |left| ATTEMPT_DELAY.min(left / turns))
}

/// Returns the first success, or all failures in the order of the candidates. Drops attempts that are
/// still running.
pub(crate) async fn first_success<C, T, F: Future<Output = Result<T>>>(
    candidates: impl IntoIterator<Item = C>,
    attempt_delay: Duration,
    attempt: impl Fn(C) -> F,
) -> Result<T, Vec<Error>> {
    let mut waiting = candidates.into_iter().enumerate().peekable();
    let mut running: Vec<(usize, Pin<Box<F>>)> = Vec::new();
    let mut failures = Vec::new();
    loop {
        if let Some((number, candidate)) = waiting.next() {
            running.push((number, Box::pin(attempt(candidate))));
        } else if running.is_empty() {
            failures.sort_by_key(|(number, _)| *number);
            return Err(failures.into_iter().map(|(_, error)| error).collect());
        }
        let mut attempt_delay = pin!(sleep(attempt_delay));
        let step = poll_fn(|cx| {
            for (at, (_, attempt)) in running.iter_mut().enumerate() {
                if let Poll::Ready(result) = attempt.as_mut().poll(cx) {
                    return Poll::Ready(Step::Done(at, result));
                }
            }
            match waiting.peek() {
                Some(_) => attempt_delay.as_mut().poll(cx).map(|()| Step::Next),
                None => Poll::Pending,
            }
        });
        match step.await {
            Step::Done(_, Ok(won)) => return Ok(won),
            Step::Done(at, Err(error)) => failures.push((running.swap_remove(at).0, error)),
            Step::Next => {}
        }
    }
}
