//! Trying several candidates without waiting for each in full: the next one starts when the one
//! before has failed, or has kept everyone waiting for a while. The first success wins.
//!
//! One silent server among many must not cost its whole time-out.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;

use tokio::time::{Duration, Instant, sleep};

use crate::error::{Error, Result};

/// What happens next.
enum Step<T> {
    Done(usize, Result<T>),
    Next,
}

/// How long a candidate may keep the next one waiting for its turn.
const ATTEMPT_DELAY: Duration = Duration::from_millis(500);

/// The patience with which so many candidates all get their chance by `deadline`, even if each is silent.
pub(crate) fn attempt_delay(candidates: usize, deadline: Option<Instant>) -> Duration {
    let turns = u32::try_from(candidates).unwrap_or(u32::MAX).saturating_mul(2).max(1);
    let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    left.map_or(ATTEMPT_DELAY, |left| ATTEMPT_DELAY.min(left / turns))
}

/// The first success; or all failures, in the order of the candidates. What has not ended by then
/// is dropped.
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
