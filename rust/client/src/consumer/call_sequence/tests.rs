//! Proves: polls and closing run their steps in one order, whatever a step returns.

use tokio::time::Duration;

use super::*;

/// What each step does; an event queue feeds `NextRebalance`.
fn run(
    mut sequence: CallSequence<Error>,
    mut events: Vec<RebalanceEvent>,
    fails: &[&str],
    late: &str,
    outcome: impl Fn(&str) -> Progress,
) -> (Vec<String>, Result<(), Error>) {
    let (mut steps, start) = (Vec::new(), Instant::now());
    let mut now = start;
    loop {
        assert!(steps.len() < 30, "no end: {steps:?}");
        let step = sequence.step().clone();
        let name = format!("{step:?}").split(['(', ' ']).next().unwrap_or_default().to_owned();
        if matches!(step, Step::Done) {
            return (steps, sequence.finish());
        }
        steps.push(name.clone());
        if name == late {
            now = start + Duration::from_secs(60);
        }
        let result = match step {
            _ if fails.contains(&&*name) => Err(Error::new(Kind::Protocol, name)),
            Step::NextRebalance => Ok(events.pop().map_or(Progress::Nothing, Progress::Rebalance)),
            _ => Ok(outcome(&name)),
        };
        if let Err(error) = sequence.advance(result, now) {
            return (steps, Err(error));
        }
    }
}

fn close() -> CallSequence<Error> {
    CallSequence::close(Instant::now() + Duration::from_secs(30))
}

fn revoke() -> Vec<RebalanceEvent> {
    vec![RebalanceEvent::Lost(Vec::new()), RebalanceEvent::Revoke(Vec::new())]
}

const CLOSING: [&str; 9] = [
    "AcquirePollLock",
    "CommitCallbacks",
    "BeginClose",
    "NextRebalance",
    "Rebalance",
    "NextRebalance",
    "Rebalance",
    "NextRebalance",
    "EndClose",
];

fn something(_: &str) -> Progress {
    Progress::Something
}

#[test]
fn a_poll_calls_callbacks_then_waits_then_takes() {
    let (steps, result) = run(CallSequence::poll(), Vec::new(), &[], "", something);
    assert_eq!(steps, ["CommitCallbacks", "Wait", "Take"]);
    assert!(result.is_ok(), "{result:?}");
}

#[test]
fn a_poll_ends_at_its_timeout_and_with_its_first_error() {
    let nothing = |_: &str| Progress::Nothing;
    assert_eq!(run(CallSequence::poll(), Vec::new(), &[], "", nothing).0, ["CommitCallbacks", "Wait"]);
    for step in ["CommitCallbacks", "Wait", "Take"] {
        let (steps, result) = run(CallSequence::poll(), Vec::new(), &[step], "", something);
        assert_eq!((steps.last().map(String::as_str), result.is_err()), (Some(step), true));
    }
}

#[test]
fn a_poll_waits_again_after_a_rebalance_and_after_stale_records() {
    let mut sequence = CallSequence::<Error>::poll();
    let mut advance = |progress| {
        assert!(sequence.advance(Ok(progress), Instant::now()).is_ok());
        format!("{:?}", sequence.step())
    };
    assert_eq!(advance(Progress::Nothing), "Wait");
    assert_eq!(advance(Progress::Rebalance(RebalanceEvent::Lost(Vec::new()))), "Rebalance(Lost([]))");
    assert_eq!(advance(Progress::Something), "CommitCallbacks");
    assert_eq!(advance(Progress::Something), "Wait");
    assert_eq!(advance(Progress::Something), "Take");
    assert_eq!(advance(Progress::Nothing), "CommitCallbacks");
}

#[test]
fn closing_completes_every_step_and_returns_the_first_error() {
    let quiet = |name: &str| progress_unless(name, "NextRebalance");
    let (steps, result) = run(close(), revoke(), &[], "", quiet);
    assert_eq!(steps[..9], CLOSING);
    assert_eq!(steps[9..], ["CommitCallbacks"]);
    assert!(result.is_ok(), "{result:?}");
    let fails = ["CommitCallbacks", "Rebalance", "EndClose"];
    for first in 0..fails.len() {
        let (steps, result) = run(close(), revoke(), &fails[first..], "", quiet);
        assert_eq!(steps[..9], CLOSING);
        assert!(result.is_err_and(|error| error.to_string().contains(fails[first])));
    }
}

fn progress_unless(name: &str, nothing: &str) -> Progress {
    if name == nothing { Progress::Nothing } else { Progress::Something }
}

#[test]
fn closing_skips_rebalances_while_another_call_is_in_a_callback() {
    let (steps, result) = run(close(), revoke(), &[], "", |name| progress_unless(name, "AcquirePollLock"));
    assert_eq!(steps[2..], ["BeginClose", "EndClose", "CommitCallbacks"]);
    assert!(result.is_ok(), "{result:?}");
}

#[test]
fn a_callback_that_outlives_closing_is_a_timeout() {
    let (steps, result) = run(close(), revoke(), &[], "Rebalance", something);
    assert_eq!(steps[4..], ["Rebalance", "EndClose", "CommitCallbacks"]);
    assert!(result.is_err_and(|error| {
        error.kind() == Kind::Timeout && error.to_string().contains("a callback of the last rebalance")
    }));
    // Without a callback it is the commits that took long.
    let uncalled = |name: &str| progress_unless(name, "Rebalance");
    assert!(
        run(close(), revoke(), &[], "Rebalance", uncalled)
            .1
            .is_err_and(|error| { error.to_string().contains("a callback of a commit") })
    );
}

#[test]
fn a_late_commit_callback_is_a_timeout_before_and_after_leaving() {
    for late in ["CommitCallbacks", "EndClose"] {
        let result = run(close(), Vec::new(), &[], late, something).1;
        assert!(result.is_err_and(|error| error.to_string().contains("a callback of a commit")), "{late}");
    }
}

#[test]
fn unsubscribing_handles_the_remaining_rebalances() {
    let sequence = CallSequence::unsubscribe(Instant::now() + Duration::from_secs(30));
    let (steps, result) = run(sequence, revoke(), &["Rebalance"], "", something);
    assert_eq!(steps, ["NextRebalance", "Rebalance", "NextRebalance", "Rebalance", "NextRebalance"]);
    assert!(result.is_err());
}

#[test]
fn closing_in_a_handler_takes_no_lock_and_handles_rebalances_only_if_the_poll_handles_none() {
    let deadline = Instant::now() + Duration::from_secs(30);
    let (steps, result) = run(CallSequence::close_in_handler(deadline, true), revoke(), &[], "", something);
    assert_eq!(steps[..8], CLOSING[1..]);
    assert!(result.is_ok(), "{result:?}");
    let (steps, result) = run(CallSequence::close_in_handler(deadline, false), revoke(), &[], "", something);
    assert_eq!(steps, ["CommitCallbacks", "BeginClose", "EndClose", "CommitCallbacks"]);
    assert!(result.is_ok(), "{result:?}");
}
